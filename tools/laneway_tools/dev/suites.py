"""The suites of tests: each built, run, counted and timed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from laneway_tools.dev import build, lint, times, wheels
from laneway_tools.dev.steps import Steps
from laneway_tools.dev.times import Item, Process, Spent
from laneway_tools.places import processors
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root

_TEST_TIMEOUT_SECONDS = 600
_CASE = re.compile(r"^ *TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
_FILE = "_test.cpp"

TIMED = re.compile(r"^(mpi\.cost\.|mpi\.preload_\w+_trial\.|mpi\.tuning\.|Scaling\.|DeviceStream\.|Setup\.\w*Second|bench\.calibrate\.)")
"""Tests that compare times. Other work on the machine can fail them, so that they get a second try; both outcomes are printed."""


@dataclass
class Outcome:
    """What one suite did."""

    suite: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    second_tries: list[str] = field(default_factory=list)
    building: Spent = Spent()
    testing: Spent = Spent()
    built: list[Item] = field(default_factory=list)
    tests: list[Item] = field(default_factory=list)

    def row(self) -> dict[str, object]:
        """As build/times.json has it."""
        counts = {"suite": self.suite, "passed": self.passed, "failed": self.failed, "skipped": self.skipped}
        spent = {
            f"{what}_{unit}": round(getattr(getattr(self, what), unit), 1)
            for what in ("building", "testing")
            for unit in ("seconds", "cpu_seconds")
        }
        return {**counts, **spent, "second_tries": self.second_tries}


@dataclass(frozen=True)
class Choice:
    """Which tests of a suite run: all; those that a regular expression names and another does not; those with a label, or without."""

    names: str = ""
    label: str = ""
    without: str = ""
    without_label: str = ""
    may_be_none: bool = False

    def ctest(self) -> list[str]:
        """As options of ctest."""
        options = (("-R", self.names), ("-L", self.label), ("-E", self.without), ("-LE", self.without_label))
        return [word for option, value in options if value for word in (option, value)]


def cases_of(report: Path, suite: str, name: str) -> tuple[Outcome, str]:
    """What a launch of a program of many cases wrote of them (tests/mpi/main.cpp), and the case that it did not end."""
    outcome, running = Outcome(suite), ""
    for line in report.read_text(encoding="utf-8").splitlines():
        what, case, milliseconds = line.split(" ")
        if what == "begins":
            running = case
            continue
        running = ""
        setattr(outcome, what, getattr(outcome, what) + 1)
        outcome.tests.append(Item(suite, f"{name}: {case}", int(milliseconds) / 1000))
        if what == "failed":
            outcome.failures.append(f"{name}: {case}")
    return outcome, running


def _add_cases(outcome: Outcome, report: Path, name: str, failed: bool) -> None:
    cases, running = cases_of(report, outcome.suite, name)
    if running:
        cases.failed += 1
        cases.failures.append(f"{name}: {running} did not end")
    elif failed and not cases.failed:  # on another rank, after the last case, or in what was printed
        cases.failed += 1
        cases.failures.append(name)
    for what in ("passed", "failed", "skipped", "failures", "tests"):
        setattr(outcome, what, getattr(outcome, what) + getattr(cases, what))


def read_junit(path: Path, suite: str, reports: Path | None = None) -> Outcome:
    """Count the cases of a JUnit file, as CTest and pytest write it; of a test with a report, its own cases."""
    outcome = Outcome(suite)
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name", "?")
        failed = case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail"
        report = reports / f"{name}.txt" if reports else None
        if report and report.is_file():
            _add_cases(outcome, report, name, failed)
        elif failed:
            outcome.failed += 1
            outcome.failures.append(name)
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            outcome.skipped += 1
        else:
            outcome.passed += 1
    return outcome


def _run(argv: Sequence[str], environment: dict[str, str] | None = None) -> tuple[int, Spent]:
    begin = time.monotonic()
    status, cpu_seconds = Process(argv, environment=environment, directory=root()).wait()
    return status, Spent(time.monotonic() - begin, cpu_seconds)


def _from_junit(suite: str, report: Path, argv: Sequence[str], environment: dict[str, str], may_be_none: bool) -> Outcome:
    report.unlink(missing_ok=True)
    reports = report.parent / "cases"
    for old in reports.glob("*.txt"):
        old.unlink()
    code, spent = _run(argv, environment)
    if not report.is_file():
        return Outcome(suite, failed=1, failures=[f"{argv[0]} ended with status {code} and wrote no report"], testing=spent)
    outcome = read_junit(report, suite, reports)
    outcome.testing = spent
    outcome.tests = times.tests_of(report, suite) + outcome.tests
    none = outcome.passed + outcome.failed + outcome.skipped == 0
    if code != 0 and outcome.failed == 0 and not (none and may_be_none):
        outcome.failed = 1
        outcome.failures.append(f"{argv[0]} ended with status {code}")
    if none and not may_be_none:
        outcome.failed = 1
        outcome.failures.append("no test was found")
    return outcome


def _test_of(failure: str) -> str:
    """The test of CTest in which a case failed."""
    return failure.partition(": ")[0]


def _together(first: Outcome, second: Outcome) -> Outcome:
    """The same suite in two parts."""
    sums = {what: getattr(first, what) + getattr(second, what) for what in ("passed", "failed", "skipped", "failures", "testing", "tests")}
    return Outcome(first.suite, second_tries=first.second_tries + second.second_tries, **sums)


def files_with(expression: str) -> list[str]:
    """The files of tests/mpi, without _test.cpp, that have a case of which FILE.Suite.Case matches."""
    wanted = re.compile(expression)

    def cases(path: Path) -> Iterator[str]:
        for suite, case in _CASE.findall(path.read_text(encoding="utf-8")):
            yield f"{path.name.removesuffix(_FILE)}.{suite}.{case}"

    paths = sorted((root() / "tests" / "mpi").glob(f"*{_FILE}"))
    return [path.name.removesuffix(_FILE) for path in paths if any(wanted.search(case) for case in cases(path))]


def run_named(preset: str, environment: dict[str, str], choice: Choice) -> Outcome:
    """Run the tests of which a name matches, and of the programs of many cases those that match."""
    found = run_ctest(preset, environment, choice)
    files = files_with(choice.names)
    if not files:
        return found
    of_files = Choice("", label="^(" + "|".join(files) + ")$", without=choice.names, may_be_none=True)
    return _together(found, run_ctest(preset, {**environment, "LANEWAY_TEST_CASES": choice.names}, of_files))


def try_again(outcome: Outcome, second: Outcome) -> None:
    """Count those that failed and pass in the second try as passed, and say what both tries gave."""
    passed = {item.name for item in second.tests} - {_test_of(name) for name in second.failures}
    for name in [name for name in outcome.failures if TIMED.match(name)]:
        outcome.second_tries.append(f"{name}: failed, then {'passed' if _test_of(name) in passed else 'failed'}")
        if _test_of(name) in passed:
            outcome.failures.remove(name)
            outcome.failed -= 1
            outcome.passed += 1
    outcome.testing = outcome.testing + second.testing


def run_ctest(preset: str, environment: dict[str, str], choice: Choice = Choice()) -> Outcome:
    """Run the tests of a preset: side by side those that need one process, one after the other those of MPI."""
    directory = build.build_dir(preset)
    suite = f"ctest {preset}"

    def argv(report: Path, chosen: list[str]) -> list[str]:
        common = ["ctest", "--test-dir", str(directory), "--output-on-failure", "--output-junit", str(report)]
        return [*common, "--timeout", str(_TEST_TIMEOUT_SECONDS), "--no-tests=error", "-j", str(processors.usable()), *chosen]

    report = directory / "ctest.xml"
    outcome = _from_junit(suite, report, argv(report, choice.ctest()), environment, bool(choice.names) or choice.may_be_none)
    timed = sorted({_test_of(name) for name in outcome.failures if TIMED.match(name)})
    if timed:
        print(f"once more, since these compare times: {' '.join(timed)}", flush=True)
        report = directory / "ctest-again.xml"
        exactly = "^(" + "|".join(re.escape(name) for name in timed) + ")$"
        try_again(outcome, _from_junit(suite, report, argv(report, ["-R", exactly]), environment, False))
    return outcome


def run_wheel(name: str, environment: dict[str, str], choice: Choice) -> Outcome:
    """Build with an MPI library from PyPI and run the tests of MPI."""
    suite = f"ctest {name}"
    begin = time.monotonic()
    try:
        directory = wheels.build_with(name)
    except UserError as error:
        return Outcome(suite, failed=1, failures=[str(error)], building=Spent(time.monotonic() - begin))
    building = Spent(time.monotonic() - begin)
    report = directory / "ctest.xml"
    argv = ["ctest", "--test-dir", str(directory), "--output-on-failure", "--output-junit", str(report), *choice.ctest()]
    argv += ["-E", "consumer|preload_python|mpi4py", "--timeout", str(_TEST_TIMEOUT_SECONDS), "--no-tests=error"]
    outcome = _from_junit(suite, report, argv, {**environment, **wheels.environment(name)}, bool(choice.names))
    outcome.building = building
    return outcome


def run_pytest(environment: dict[str, str], choice: Choice = Choice(), modules: Sequence[str] = ()) -> Outcome:
    """Run the tests of the Python packages, those of one file one after the other."""
    report = root() / "build" / "pytest.xml"
    report.parent.mkdir(exist_ok=True)
    argv = [sys.executable, "-m", "pytest", "-rs"]
    argv += ["-n", str(min(2, processors.usable())), "--dist", "loadfile"]
    argv += [f"--junitxml={report}", *(["-k", choice.names] if choice.names else []), *(modules or ["tests/python"])]
    return _from_junit("pytest", report, argv, environment, bool(choice.names))


def run_command(suite: str, argv: Sequence[str], environment: dict[str, str]) -> Outcome:
    """Run what is one test: its exit status counts."""
    status, spent = _run(argv, environment)
    if status == 0:
        return Outcome(suite, passed=1, testing=spent)
    return Outcome(suite, failed=1, failures=[f"{' '.join(argv[-2:])} ended with status {status}"], testing=spent)


def run_checks(suite: str, checks: Callable[[Path], Mapping[str, Sequence[str]]]) -> Outcome:
    """Run checks of the tree, each a test that fails if it finds anything."""
    outcome = Outcome(suite)
    begin, cpu_begin = time.monotonic(), os.times()
    for name, problems in checks(root()).items():
        for problem in problems:
            print(problem)
        if problems:
            outcome.failed += 1
            outcome.failures.append(name)
        else:
            outcome.passed += 1
    cpu_seconds = sum(os.times()[:4]) - sum(cpu_begin[:4])
    outcome.testing = Spent(time.monotonic() - begin, cpu_seconds)
    return outcome


def run_lint() -> Outcome:
    """Check the layers, the format and the tracked text."""
    return run_checks("lint", lint.check_all)


def run_tidy() -> Outcome:
    """Run clang-tidy over all of src/."""
    preset = build.PRESETS[0]
    subprocess.run(build.configure_command(preset), cwd=root(), stdout=subprocess.DEVNULL, check=True)
    return run_checks("tidy", lambda top: {"clang-tidy": lint.check_tidy(top, preset)})


def not_here(preset: str) -> str:
    """Why a preset cannot be built on this machine; empty if it can."""
    if preset == "sim" and shutil.which("smpicxx") is None:
        return "SimGrid is not installed ('./dev setup --sim')"
    return ""


@dataclass
class Built:
    """What building a preset took."""

    spent: Spent = Spent()
    items: list[Item] = field(default_factory=list)
    error: str = ""


class Builder(threading.Thread):
    """Builds each preset when it is asked for, never beside tests: ranks that yield would hand their processors to compilers.

    The output goes to build/PRESET.log, and its end is shown if a build fails.
    """

    def __init__(self, wanted: Sequence[tuple[str, Sequence[str]]], settings: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(daemon=True)
        self._wanted = list(wanted)
        self._settings = settings or {}
        self._asked = {preset: threading.Event() for preset, _ in wanted}
        self._done = {preset: threading.Event() for preset, _ in wanted}
        self._built = {preset: Built() for preset, _ in wanted}
        self._steps: Steps | None = None
        self._stopped = False

    def run(self) -> None:
        for preset, targets in self._wanted:
            while not self._asked[preset].wait(1):
                if self._stopped:
                    return
            try:
                self._build(preset, targets)
            except Exception as error:  # whoever waits for this build would wait for ever
                self._built[preset].error = str(error) or repr(error)
            self._done[preset].set()

    def ask(self, preset: str) -> None:
        """Build it, once those before it are built."""
        self._asked[preset].set()

    def wait(self, preset: str) -> Built:
        """Once it is built, or is not."""
        self.ask(preset)
        while not self._done[preset].wait(1):  # so that signals are heard
            pass
        return self._built[preset]

    def stop(self) -> None:
        """End what is being built."""
        self._stopped = True
        if self._steps is not None:
            self._steps.terminate()

    def _build(self, preset: str, targets: Sequence[str]) -> None:
        directory = build.build_dir(preset)
        before = times.ninja_lines(directory)
        with Steps() as self._steps:
            try:
                self._built[preset].spent = build.make(self._steps, preset, targets=targets, settings=self._settings.get(preset, ()))
            finally:
                self._built[preset].items = times.built_since(directory, before, preset)
