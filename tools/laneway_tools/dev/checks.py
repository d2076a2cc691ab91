"""Everything that ``laneway test`` and ``laneway check`` run, counted, timed and summed up."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table

from laneway_tools.dev import affected, build, suites, times, wheels
from laneway_tools.dev.suites import Built, Choice, Outcome
from laneway_tools.places import talk
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root

SUITES = ("lint", *build.PRESETS, "python", "tidy", "bare")
FAST = ("lint", "openmpi", "mpich", "asan", "python")
"""What each change must pass; the others run with ``--nightly``, or where they are named."""
_CHECKED = {"openmpi": (("laneway_plan_tests", "laneway_mpi_runtime_tests"), Choice(label="^check$"))}
"""What ``laneway check`` builds and runs beside lint: rules, planner, passes and provers, and calls at 3 ranks."""

NIGHTLY = "^nightly$"
"""The label of ctests that run with ``--nightly``, or where a test is named."""

_NIGHTLY_SETTINGS = {
    "openmpi": ("LANEWAY_UNIT_TESTS=OFF",),
    "asan": ("LANEWAY_UNIT_TESTS=ON", "LANEWAY_INTEGRATIONS=ON", "LANEWAY_FORTRAN=ON"),
}
"""Unit tests run without MPI, and under sanitizers, where everything takes minutes more to build, and sees little that the MPI programs
at 3 ranks do not see. Sanitizers get no more random cases than those of each change: what these find they find in few."""

_FAST_TARGETS = {"mpich": ("src/all", "plugins/all", "fortran/all", "examples/all", "tests/all")}
"""What is built of a preset for the tests of each change: of MPICH no benchmarks, of which those of Open MPI are run."""


@dataclass(frozen=True)
class Wanted:
    """Which tests run: of these suites, or of all; with a name that matches; affected by what changed since a revision.

    With MPI libraries from PyPI, only what is wanted beside their suites.
    """

    suites: tuple[str, ...] = ()
    name: str = ""
    since: str = ""
    nightly: bool = False
    wheels: tuple[str, ...] = ()


def _print_summary(console: Console, outcomes: list[Outcome], seconds: float) -> None:
    table = Table(title="Tests")
    for column in ("suite", "passed", "failed", "skipped", "build s", "CPU s", "run s", "CPU s"):
        table.add_column(column, justify="left" if column == "suite" else "right", no_wrap=column == "suite")
    for outcome in outcomes:
        counts = (str(outcome.passed), str(outcome.failed), str(outcome.skipped))
        spent = [f"{value:.0f}" for part in (outcome.building, outcome.testing) for value in (part.seconds, part.cpu_seconds)]
        table.add_row(outcome.suite, *counts, *spent, style="red" if outcome.failed else "")
    console.print(table)
    for title, items in (
        ("Slowest files to build", [item for outcome in outcomes for item in outcome.built]),
        ("Slowest tests", [item for outcome in outcomes for item in outcome.tests]),
    ):
        if items:
            console.print(times.table_of_slowest(title, items))
    for outcome in outcomes:
        for text in outcome.second_tries:
            console.print(f"SECOND TRY {outcome.suite}: {text}", style="yellow", highlight=False, markup=False)
        for failure in outcome.failures:
            console.print(f"FAILED {outcome.suite}: {failure}", style="red", highlight=False, markup=False)
    console.print(f"{seconds:.0f} s; times of every file and test: build/times.json", highlight=False)


def summed_up(outcomes: list[Outcome], seconds: float) -> int:
    """Print the tables and totals, write build/times.json; the exit status."""
    console = talk.console()
    _print_summary(console, outcomes, seconds)
    built = [item for outcome in outcomes for item in outcome.built]
    tests = [item for outcome in outcomes for item in outcome.tests]
    times.write(root() / "build" / "times.json", [outcome.row() for outcome in outcomes], built, tests, seconds)
    passed, failed, skipped = (sum(getattr(o, key) for o in outcomes) for key in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


def _built(outcome: Outcome, built: Built) -> Outcome:
    return replace(outcome, building=built.spent, built=built.items)


def _preset(preset: str, builder: suites.Builder, environment: dict[str, str], wanted: Wanted, files: Sequence[str]) -> Outcome:
    built = builder.wait(preset)
    if built.error:
        return _built(Outcome(f"ctest {preset}", failed=1, failures=[built.error]), built)
    if wanted.name:
        return _built(suites.run_named(preset, environment, Choice(wanted.name)), built)
    choice = Choice(without_label="" if wanted.nightly else NIGHTLY)
    if wanted.since:
        names = affected.tests_affected(preset, files)
        if not names:
            return _built(Outcome(f"ctest {preset}"), built)
        choice = Choice("^(" + "|".join(re.escape(name) for name in names) + ")$")
    return _built(suites.run_ctest(preset, environment, choice), built)


def _run(console: Console, names: Sequence[str], builder: suites.Builder, wanted: Wanted, files: Sequence[str]) -> Iterator[Outcome]:
    environment = dict(os.environ)
    if wanted.nightly:
        environment["LANEWAY_TEST_LONG"] = "1"
    for name in names:
        console.rule(name)
        reason = suites.not_here(name)
        if reason:
            print(f"SKIP: {reason}")
            yield Outcome(f"ctest {name}", skipped=1)
        elif name == "lint":
            yield suites.run_lint()
        elif name == "tidy":
            yield suites.run_tidy()
        elif name == "python":
            yield suites.run_pytest(environment, Choice(wanted.name))
        elif name == "bare":
            yield suites.run_command(name, [sys.executable, "-m", "laneway_tools", "bare"], environment)
        elif name in wanted.wheels:
            yield suites.run_wheel(name, environment, Choice(wanted.name, "mpi"))
        else:
            given = dict(os.environ) if name == "asan" and not wanted.name else environment
            yield _preset(name, builder, given, wanted, files)


def run_all(wanted: Wanted) -> int:
    """Run the suites of each change, every suite, or those wanted; print the totals; the exit status."""
    begin = time.monotonic()
    unknown = [name for name in wanted.suites if name not in SUITES]
    if unknown:
        raise UserError(f"no suite {', '.join(unknown)}: expected some of {', '.join(SUITES)}")
    for name in wanted.wheels:
        wheels.find(name)
    files: list[str] = []
    chosen = wanted.suites or (() if wanted.wheels else SUITES if wanted.nightly or wanted.name else FAST)
    names = [name for name in SUITES if name in chosen]
    if wanted.since:
        files = affected.changed_files(wanted.since)
        print(f"{len(files)} files differ from {wanted.since}")
        concerned = affected.suites_affected(files, build.PRESETS)
        names = [name for name in names if name in concerned]
    if wanted.name:
        names = [name for name in names if name not in ("lint", "tidy", "bare")]
    names += wanted.wheels
    all_of_it = wanted.nightly or bool(wanted.name)
    few = {} if all_of_it else _FAST_TARGETS
    presets = [(name, few.get(name, ())) for name in names if name in build.PRESETS and not suites.not_here(name)]
    builder = suites.Builder(presets, _NIGHTLY_SETTINGS if all_of_it else None)
    builder.start()
    try:
        outcomes = list(_run(talk.console(), names, builder, wanted, files))
    finally:
        builder.stop()
    if wanted.name and not any(outcome.passed + outcome.failed + outcome.skipped for outcome in outcomes):
        raise UserError(f"no test's name matches {wanted.name}; './dev test --list' has them all", 1)
    return summed_up(outcomes, time.monotonic() - begin)


def run_check() -> int:
    """Run what shows most mistakes at once: lint, the unit tests of plans, one MPI program at 3 ranks; the exit status."""
    begin = time.monotonic()
    builder = suites.Builder([(preset, targets) for preset, (targets, _) in _CHECKED.items()])
    builder.start()
    for preset in _CHECKED:
        builder.ask(preset)  # beside lint, most of which is one process
    try:
        outcomes = [suites.run_lint()]
        for preset, (_, choice) in _CHECKED.items():
            built = builder.wait(preset)
            if built.error:
                outcome = Outcome(f"ctest {preset}", failed=1, failures=[built.error])
            else:
                outcome = suites.run_ctest(preset, dict(os.environ), choice)
            outcomes.append(_built(outcome, built))
    finally:
        builder.stop()
    return summed_up(outcomes, time.monotonic() - begin)


def list_tests() -> None:
    """Print the suites, and the tests of those that are configured, one a line."""
    for name in SUITES:
        found: list[str] = []
        if name in build.PRESETS:
            found = [test.name for test in affected.tests_of(name)]
        elif name == "python":
            argv = [sys.executable, "-m", "pytest", "-qq", "--collect-only"]
            done = subprocess.run([*argv, "tests/python"], cwd=root(), capture_output=True, text=True)
            found = [line for line in done.stdout.splitlines() if "::" in line]
        print(name + (f" ({len(found)})" if found else "" if name in ("lint", "tidy", "bare") else " (not configured yet)"))
        for test in found:
            print(f"  {test}")
