"""Everything that ``laneway test`` runs, counted and summed up."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from laneway.tools.dev import build, lint, wheels
from laneway.tools.places import processors
from laneway.tools.places.errors import UserError
from laneway.tools.places.paths import root

_TEST_TIMEOUT_SECONDS = 600


@dataclass
class Outcome:
    """What one suite did."""

    suite: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def read_junit(path: Path, suite: str) -> Outcome:
    """Count the cases of a JUnit file, as CTest and pytest write it."""
    outcome = Outcome(suite)
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            outcome.failed += 1
            outcome.failures.append(case.get("name", "?"))
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            outcome.skipped += 1
        else:
            outcome.passed += 1
    return outcome


def _from_junit(suite: str, report: Path, argv: list[str], environment: dict[str, str]) -> Outcome:
    report.unlink(missing_ok=True)
    code = subprocess.run(argv, cwd=root(), env=environment, stdin=subprocess.DEVNULL).returncode
    if not report.is_file():
        return Outcome(suite, failed=1, failures=[f"{argv[0]} ended with status {code} and wrote no report"])
    outcome = read_junit(report, suite)
    if code != 0 and outcome.failed == 0:
        outcome.failed = 1
        outcome.failures.append(f"{argv[0]} ended with status {code}")
    if outcome.passed + outcome.failed + outcome.skipped == 0:
        outcome.failed = 1
        outcome.failures.append("no test was found")
    return outcome


def run_ctest(preset: str, environment: dict[str, str]) -> Outcome:
    """Build a preset and run its tests: side by side those that need one process, one after the other those of MPI."""
    if preset == "sim" and shutil.which("smpicxx") is None:
        print("SKIP: SimGrid is not installed ('./dev setup --sim')")
        return Outcome(f"ctest {preset}", skipped=1)
    directory = build.build(preset)
    report = directory / "ctest.xml"
    argv = ["ctest", "--test-dir", str(directory), "--output-on-failure", "--output-junit", str(report)]
    argv += ["--timeout", str(_TEST_TIMEOUT_SECONDS), "--no-tests=error", "-j", str(processors.usable())]
    return _from_junit(f"ctest {preset}", report, argv, environment)


def run_wheel(name: str, environment: dict[str, str]) -> Outcome:
    """Build with an MPI library from PyPI and run the tests of MPI."""
    directory = wheels.build_with(name)
    report = directory / "ctest.xml"
    argv = ["ctest", "--test-dir", str(directory), "--output-on-failure", "--output-junit", str(report), "-L", "mpi"]
    argv += ["-E", "consumer|preload_python|mpi4py", "--timeout", str(_TEST_TIMEOUT_SECONDS), "--no-tests=error"]
    return _from_junit(f"ctest {name}", report, argv, {**environment, **wheels.environment(name)})


def run_pytest(environment: dict[str, str]) -> Outcome:
    """Run the tests of the Python package."""
    report = root() / "build" / "pytest.xml"
    report.parent.mkdir(exist_ok=True)
    argv = [sys.executable, "-m", "pytest", "-rs", "-c", "python/pyproject.toml", "--rootdir", "."]
    argv += [f"--junitxml={report}", "tests/python"]
    return _from_junit("pytest", report, argv, environment)


def run_lint() -> Outcome:
    """Check the layers, the format and the tracked text."""
    outcome = Outcome("lint")
    for name, problems in lint.check_all(root()).items():
        for problem in problems:
            print(problem)
        if problems:
            outcome.failed += 1
            outcome.failures.append(name)
        else:
            outcome.passed += 1
    return outcome


def _timed(suite: str, run: Callable[[], Outcome]) -> Outcome:
    start = time.monotonic()
    try:
        outcome = run()
    except UserError as error:
        outcome = Outcome(suite, failed=1, failures=[str(error)])
    outcome.seconds = time.monotonic() - start
    return outcome


def _print_summary(console: Console, outcomes: list[Outcome]) -> None:
    table = Table(title="Tests")
    for column in ("suite", "passed", "failed", "skipped", "seconds"):
        table.add_column(column, justify="left" if column == "suite" else "right")
    for outcome in outcomes:
        style = "red" if outcome.failed else ""
        counts = (str(outcome.passed), str(outcome.failed), str(outcome.skipped))
        table.add_row(outcome.suite, *counts, f"{outcome.seconds:.0f}", style=style)
    console.print(table)
    for outcome in outcomes:
        for failure in outcome.failures:
            console.print(f"FAILED {outcome.suite}: {failure}", style="red", highlight=False, markup=False)


def run_all(long: bool, suites: tuple[str, ...] = (), mpis: tuple[str, ...] = ()) -> int:
    """Run every suite, or those named, or those of MPI with these libraries; print the totals; the exit status."""
    console = Console()
    environment = dict(os.environ)
    if long:
        environment["LANEWAY_TEST_LONG"] = "1"
    every: dict[str, Callable[[], Outcome]] = {"lint": run_lint}
    for preset in build.PRESETS:
        every[preset] = partial(run_ctest, preset, environment)
    every["python"] = partial(run_pytest, environment)
    for name in mpis:
        wheels.find(name)
        every[name] = partial(run_wheel, name, environment)
    suites = (*suites, *mpis)
    unknown = [name for name in suites if name not in every]
    if unknown:
        raise UserError(f"no suite {', '.join(unknown)}: expected some of {', '.join(every)}")

    outcomes = []
    for name, run in every.items():
        if not suites or name in suites:
            console.rule(name)
            outcomes.append(_timed(name, run))
    _print_summary(console, outcomes)
    passed, failed, skipped = (sum(getattr(o, key) for o in outcomes) for key in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0
