"""What ``./dev test`` counts, times, tries again and leaves out."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from laneway_tools.dev import affected, build, checks, suites, times
from laneway_tools.dev.suites import Outcome
from laneway_tools.dev.times import Item, Process, Spent
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root


def _ninja_line(begin: int, end: int, output: str) -> str:
    return f"{begin}\t{end}\t123\t{output}\tabc"


def test_only_what_was_built_since_is_timed(tmp_path: Path) -> None:
    assert times.ninja_lines(tmp_path) == set()
    log = tmp_path / ".ninja_log"
    log.write_text("\n".join(["# ninja log v5", _ninja_line(0, 5000, "old.o")]) + "\n")
    before = times.ninja_lines(tmp_path)
    log.write_text("\n".join([log.read_text().strip(), _ninja_line(100, 2600, "new.o"), _ninja_line(1, 2, f"{tmp_path}/x")]))
    found = times.built_since(tmp_path, before, "nompi")
    assert times.slowest(found) == [Item("nompi", "new.o", 2.5), Item("nompi", "x", 0.001)]


def test_processors_are_counted_of_children_and_theirs() -> None:
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}], check=True)"
    status, cpu_seconds = Process([sys.executable, "-c", script], directory=Path.cwd()).wait()
    assert status == 0
    assert cpu_seconds >= 0.2


def test_times_are_written_the_slowest_first(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuite><testcase name="mpi.a" classname="mpi.a" time="0.5"/><testcase name="mpi.b" time="2.25"/>'
        '<testcase name="test_c" classname="tests.python.test_x" time="1"/></testsuite>'
    )
    tests = times.tests_of(report, "x")
    row = Outcome("x", passed=3, building=Spent(3.04, 5.0), testing=Spent(1.0, 2.0)).row()
    times.write(tmp_path / "build" / "times.json", [row], [], tests, 4.04)
    written = json.loads((tmp_path / "build" / "times.json").read_text())
    assert written["schema"] == times.SCHEMA
    assert [(test["name"], test["seconds"]) for test in written["tests"]] == [
        ("mpi.b", 2.25), ("test_x::test_c", 1.0), ("mpi.a", 0.5)
    ]  # fmt: skip
    assert written["suites"][0]["building_seconds"] == 3.0
    assert written["suites"][0]["testing_cpu_seconds"] == 2.0


def test_only_tests_that_compare_times_get_a_second_try() -> None:
    first = Outcome("x", passed=1, failed=3, failures=["mpi.cost.3", "mpi.tuning.2", "mpi.exchange.3"], testing=Spent(1, 1))
    second = Outcome("x", passed=1, failed=1, failures=["mpi.tuning.2"], testing=Spent(2, 1))
    second.tests = [Item("x", "mpi.cost.3", 1), Item("x", "mpi.tuning.2", 1), Item("x", "mpi.exchange.3", 1)]
    suites.try_again(first, second)
    assert (first.passed, first.failed, first.failures) == (2, 2, ["mpi.tuning.2", "mpi.exchange.3"])
    assert first.second_tries == ["mpi.cost.3: failed, then passed", "mpi.tuning.2: failed, then failed"]
    assert first.testing == Spent(3, 2)


def test_a_second_try_that_did_not_run_is_no_success() -> None:
    first = Outcome("x", failed=1, failures=["mpi.cost.3"])
    suites.try_again(first, Outcome("x", failed=1, failures=["ctest ended with status 8 and wrote no report"]))
    assert first.failures == ["mpi.cost.3"]


DEPS = """obj/a.o: #deps 2, deps mtime 1 (VALID)
    ../../src/base/a.cpp
    ../../src/base/a.hpp

"""
DOT = """digraph ninja {
"0x1" [label="bin/tests"]
"0x2" [label="LINKER", shape=ellipse]
"0x2" -> "0x1"
"0x3" -> "0x2" [arrowhead=none]
"0x3" [label="obj/a.o"]
"0x4" [label="bin/other"]
"0x3" -> "0x4" [arrowhead=none style=dotted]
"0x5" [label="/top/data.txt"]
"0x5" -> "0x4" [label=" COPY"]
}
"""


@pytest.mark.parametrize(("file", "programs"), [("src/base/a.hpp", {"bin/tests"}), ("data.txt", {"bin/other"}), ("src/base/b.hpp", set())])
def test_a_file_changes_the_programs_made_of_it(file: str, programs: set[str]) -> None:
    directory = Path("/top/build/x")
    graph = affected.Graph(affected.parse_deps(DEPS, directory))
    for output, inputs in affected.parse_dot(DOT, directory).items():
        graph.inputs.setdefault(output, set()).update(inputs)
    changed = graph.changed([f"/top/{file}"])
    assert {name for name in ("bin/tests", "bin/other") if str(directory / name) in changed} == programs


def test_documents_and_tools_are_in_no_program() -> None:
    presets = ("openmpi", "nompi")
    assert affected.suites_affected([], presets) == []
    assert affected.suites_affected(["docs/start/c.md", "python/laneway/x.py", "tools/laneway_tools/x.py"], presets) == ["lint", "python"]
    assert affected.suites_affected(["README.md", "src/base/a.cpp"], presets) == ["lint", *presets, "python"]


def test_what_says_how_everything_is_built_affects_every_test(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = [affected.Test("a", (), ("/x/a",)), affected.Test("b", (), ("/y/b",))]
    monkeypatch.setattr(affected, "tests_of", lambda preset: tests)
    monkeypatch.setattr(affected, "graph_of", lambda preset: affected.Graph({"/x/a": {str(root() / "tests/unit/a.cpp")}}))
    query = f"build.ninja:\n  input: RERUN_CMAKE\n    | {root()}/tests/unit/CMakeLists.txt\n"
    monkeypatch.setattr(affected, "_output", lambda argv: query)
    assert affected.tests_affected("nompi", ["tests/unit/a.cpp"]) == ["a"]
    assert affected.tests_affected("nompi", ["docs/concepts/layers.md"]) == []
    assert affected.tests_affected("nompi", ["tests/unit/CMakeLists.txt"]) == ["a", "b"]


def _fake_builds(monkeypatch: pytest.MonkeyPatch, top: Path, script: str) -> None:
    monkeypatch.setattr(build, "build_dir", lambda preset: top / preset)
    monkeypatch.setattr(build, "configure_command", lambda preset, directory, settings: ["true"])
    monkeypatch.setattr(build, "compile_command", lambda directory, targets: ["sh", "-c", script, "sh", directory.name])


def test_a_build_that_fails_shows_its_end_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake_builds(monkeypatch, tmp_path, "echo compiling $1; test $1 != a")
    builder = suites.Builder([("a", ()), ("b", ())])
    builder.start()
    error = builder.wait("a").error
    assert "ended with status 1" in error and error.endswith("compiling a")
    time.sleep(0.2)
    assert not (tmp_path / "b.log").exists()  # nothing is built beside tests
    assert builder.wait("b").error == ""
    assert (tmp_path / "b.log").read_text() == "compiling b\n"


def test_a_build_that_breaks_down_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "build_dir", lambda preset: 1 / 0)
    builder = suites.Builder([("a", ())])
    builder.start()
    assert builder.wait("a").error == "division by zero"


def test_a_build_ends_when_it_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake_builds(monkeypatch, tmp_path, "echo $$ > pid; exec sleep 100".replace("pid", str(tmp_path / "pid")))
    builder = suites.Builder([("a", ()), ("b", ())])
    builder.start()
    builder.ask("a")
    until = time.monotonic() + 30
    while not (tmp_path / "pid").is_file() or not (tmp_path / "pid").read_text().strip():
        assert time.monotonic() < until
        time.sleep(0.01)
    builder.stop()
    builder.join(30)
    assert not builder.is_alive()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_choice_of_tests_is_said_to_ctest() -> None:
    assert suites.Choice().ctest() == []
    assert suites.Choice("^a", "unit", "b").ctest() == ["-R", "^a", "-L", "unit", "-E", "b"]
    assert suites.Choice(without_label="^nightly$").ctest() == ["-LE", "^nightly$"]


def test_what_takes_long_runs_if_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []
    monkeypatch.setattr(suites.Builder, "wait", lambda builder, preset: suites.Built())
    monkeypatch.setattr(checks, "summed_up", lambda outcomes, seconds: 0)
    monkeypatch.setattr(suites, "run_ctest", lambda preset, environment, choice: chosen.append(choice) or Outcome(preset, passed=1))
    for wanted in (checks.Wanted(("mpich",)), checks.Wanted(("mpich",), nightly=True), checks.Wanted(("mpich",), name="^sparse_nodes")):
        checks.run_all(wanted)
    assert [(choice.names, choice.label, choice.without_label) for choice in chosen] == [
        ("", "", checks.NIGHTLY), ("", "", ""), ("^sparse_nodes", "", ""), ("", "^(sparse_nodes)$", "")
    ]  # fmt: skip


def test_suites_and_names_that_there_are_none_of_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="no suite openmp: expected some of lint, openmpi"):
        checks.run_all(checks.Wanted(("openmp",)))
    monkeypatch.setattr(suites, "run_pytest", lambda *arguments: Outcome("pytest"))
    with pytest.raises(UserError, match="no test's name matches nothing_like_it"):
        checks.run_all(checks.Wanted(("python",), "nothing_like_it"))
