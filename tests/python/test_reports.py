"""Counting tests, reading results, and the demo's table and pictures."""

import json
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console

from laneway_tools.dev import build, demo, steps, suites
from laneway_tools.dev.steps import Steps
from laneway_tools.draw.exchanges import Bar, NodeMatrix, draw_matrices, draw_times
from laneway_tools.measure import results
from laneway_tools.places import talk
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root

CTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="x" tests="4" failures="1" disabled="0" skipped="1">
 <testcase name="a" status="run"/>
 <testcase name="b" status="fail"><failure message="no"/></testcase>
 <testcase name="c" status="notrun"><skipped message="SKIP"/></testcase>
 <testcase name="d" status="run"/>
</testsuite>"""
PYTEST = """<testsuites><testsuite><testcase name="a"/><testcase name="b"><error/></testcase>
<testcase name="c"><skipped/></testcase></testsuite></testsuites>"""


@pytest.mark.parametrize(("text", "counts"), [(CTEST, (2, 1, 1)), (PYTEST, (1, 1, 1))])
def test_cases_are_counted(tmp_path: Path, text: str, counts: tuple[int, int, int]) -> None:
    report = tmp_path / "report.xml"
    report.write_text(text)
    outcome = suites.read_junit(report, "suite")
    assert (outcome.passed, outcome.failed, outcome.skipped) == counts
    assert outcome.failures == ["b"]


def _record(candidate: str, median: float, **more: object) -> dict[str, object]:
    base: dict[str, object] = {"benchmark": "neighbor", "op": "allgather", "pattern": "rsg:density=0.6,seed=1"}
    base |= {"bytes": 32768, "candidate": candidate, "median_s": median, "verified": True}
    return base | more


def test_results_are_read_and_bad_lines_are_named(tmp_path: Path) -> None:
    assert results.parse('{"a": 1}\n\n{"b": null}\n') == [{"a": 1}, {"b": None}]
    assert results.read(tmp_path / "none") == []
    assert results.number({"a": None, "b": True, "c": 2}, "a") is None
    assert results.number({"c": 2}, "c") == 2.0
    with pytest.raises(UserError, match="line 2"):
        results.parse('{"a": 1}\n{', "file")


def test_the_table_shows_every_candidate_once() -> None:
    records = [
        _record("mpi", 0.02, speedup_vs_mpi=1.0, limit_fraction=None),
        _record("three_step", 0.01, speedup_vs_mpi=2.0, limit_fraction=0.8, net_messages_total=12, net_bytes_total=5e6),
    ]
    records += [_record("auto", 12.345, chosen="common_neighborhood", net_bytes_total=1234e6, net_messages_total=4096)]
    console = Console(width=79)
    with console.capture() as capture:
        console.print(demo.table_of(records, "title"))
    text = capture.get()
    assert "auto: common_neighborhood" in text and "…" not in text
    assert text.count("allgather rsg:density=0.6,seed=1, 32 KiB") == 1
    for shown in ("20.000", "10.000", "2.00", "0.80", "12", "5.000"):
        assert shown in text


def test_pictures_are_written(tmp_path: Path) -> None:
    bars = [Bar("a", "mpi", 0.02, 0.005), Bar("a", "direct", 0.019), Bar("a", "other", 0.01)]
    table = [[0, 10, 2e6], [5, 0, 1], [3e4, 1, 0]]
    matrices = [NodeMatrix("a", name, table) for name in ("direct", "three_step")]
    made = draw_times(bars, "title", tmp_path / "times") + draw_matrices(matrices, tmp_path / "m")
    assert [path.name for path in made] == ["times.png", "times.svg", "m.png", "m.svg"]
    assert all(path.stat().st_size > 1000 for path in made)


def _console(terminal: bool) -> Console:
    return Console(file=sys.stdout, force_terminal=terminal, width=79)


@pytest.mark.parametrize("terminal", [False, True])
def test_steps_are_said_in_lines_where_there_is_no_terminal(terminal: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Steps(_console(terminal)) as running:
        spent = running.command("building", ["echo", "[1/2] compiling"], tmp_path / "build.log")
        running.command("again", ["echo", "more"], tmp_path / "build.log", append=True)
        with pytest.raises(UserError, match="compiling\nfalse"):
            running.command("drawing", ["sh", "-c", "echo compiling; echo false; exit 3"], tmp_path / "draw.log")
    assert 0 < spent.cpu_seconds < spent.seconds + 1
    assert (tmp_path / "build.log").read_text() == "[1/2] compiling\nmore\n"
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    if terminal:
        assert "building" in "".join(lines) and "building: 0 s" not in lines
    else:
        assert lines == ["building …", "building: 0 s", "again …", "again: 0 s", "drawing …", "drawing: 0 s"]


def test_a_long_step_says_how_much_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "SILENT_SECONDS", 0.2)
    with Steps(_console(False)) as running:
        running.command("building", ["sh", "-c", "echo '[1/4] a'; sleep 1.5; echo '[2/4] b'"], tmp_path / "build.log")
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"building, [01] s so far, 1/4, about [1-5] s left", lines[1]), lines
    assert lines[-1] in ("building: 1 s", "building: 2 s")


def test_steps_of_a_quiet_command_say_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(talk._state, "quiet", True)
    with Steps(_console(False)) as running:
        running.command("building", ["echo", "[1/4] a"], tmp_path / "build.log")
    assert capsys.readouterr().out == ""


def test_what_is_compiled_stays_when_the_demo_configures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "build_dir", lambda preset: tmp_path)
    assert "BUILD_TESTING=OFF" in demo._settings()
    (tmp_path / "CMakeCache.txt").write_text("BUILD_TESTING:BOOL=ON\nLANEWAY_FORTRAN:STRING=AUTO\nBUILD_TESTING_MORE:BOOL=OFF\n")
    assert {"BUILD_TESTING=ON", "LANEWAY_FORTRAN=AUTO", "LANEWAY_EXAMPLES=OFF"} <= set(demo._settings())
    # So that a build of the preset has them again: it names each, since a cache keeps what is not named.
    presets = json.loads((root() / "CMakePresets.json").read_text())["configurePresets"]
    named = {name for preset in presets if preset["name"] == "base" for name in preset["cacheVariables"]}
    assert set(demo._LEFT_OUT) <= named


def test_the_cases_of_a_launch_are_counted_and_named(tmp_path: Path) -> None:
    report = tmp_path / "ctest.xml"
    report.write_text(
        '<testsuite><testcase name="mpi.a.3" status="fail"><failure/></testcase><testcase name="mpi.b.3" status="run"/>'
        '<testcase name="mpi.c.3" status="fail"/><testcase name="d" status="run"/></testsuite>'
    )
    cases = tmp_path / "cases"
    cases.mkdir()
    (cases / "mpi.a.3.txt").write_text("begins S.One 0\npassed S.One 5\nbegins S.Two 0\nfailed S.Two 7\nbegins S.Three 0\n")
    (cases / "mpi.b.3.txt").write_text("begins S.One 0\nskipped S.One 0\nbegins S.Two 0\npassed S.Two 1500\n")
    (cases / "mpi.c.3.txt").write_text("begins S.One 0\npassed S.One 5\n")
    outcome = suites.read_junit(report, "suite", cases)
    assert (outcome.passed, outcome.failed, outcome.skipped) == (4, 3, 1)
    assert outcome.failures == ["mpi.a.3: S.Two", "mpi.a.3: S.Three did not end", "mpi.c.3"]
    assert ("mpi.b.3: S.Two", 1.5) in [(item.name, item.seconds) for item in outcome.tests]


def test_files_are_found_by_the_names_of_their_cases() -> None:
    assert suites.files_with(r"^exchange\.ExchangeTest\.Cartesian$") == ["exchange"]
    assert suites.files_with("^sparse_nodes") == ["sparse_nodes"]
    assert suites.files_with("no case has this name") == []
