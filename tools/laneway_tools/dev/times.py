"""Where the time of a test run goes: by suite, by file that was built and by test."""

from __future__ import annotations

import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rich.table import Table

SCHEMA = 1
_SLOWEST = 10


@dataclass(frozen=True)
class Spent:
    """Seconds that passed, and seconds of processors: of a process and of those that it waited for."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.seconds + other.seconds, self.cpu_seconds + other.cpu_seconds)


@dataclass(frozen=True)
class Item:
    """One test that ran or one file that was built."""

    suite: str
    name: str
    seconds: float


class Process:
    """A child whose time is counted. It ends with the block that started it."""

    def __init__(
        self, argv: Sequence[str], *, environment: Mapping[str, str] | None = None, directory: Path, output: IO[bytes] | None = None
    ) -> None:
        errors = None if output is None else subprocess.STDOUT
        self._process = subprocess.Popen(argv, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)

    def wait(self) -> tuple[int, float]:
        """The exit status, and seconds of processors."""
        try:
            _, status, usage = os.wait4(self._process.pid, 0)
        except BaseException:
            self._process.terminate()
            self._process.wait()
            raise
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode, usage.ru_utime + usage.ru_stime

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()


def ninja_lines(directory: Path) -> set[str]:
    """What Ninja has logged of a folder."""
    log = directory / ".ninja_log"
    return set(log.read_text(encoding="utf-8").splitlines()) if log.is_file() else set()


def built_since(directory: Path, before: set[str], suite: str) -> list[Item]:
    """What was built since `ninja_lines` was asked."""
    items = {}
    for line in ninja_lines(directory) - before:
        fields = line.split("\t")
        if len(fields) == 5 and not line.startswith("#"):
            name = os.path.relpath(fields[3], directory) if os.path.isabs(fields[3]) else fields[3]
            items[name] = Item(suite, name, (int(fields[1]) - int(fields[0])) / 1000)
    return list(items.values())


def tests_of(report: Path, suite: str) -> list[Item]:
    """The tests of a JUnit file and their times."""
    if not report.is_file():
        return []
    cases = ElementTree.parse(report).getroot().iter("testcase")
    return [Item(suite, _name(case), float(case.get("time") or 0)) for case in cases]


def _name(case: ElementTree.Element) -> str:
    """Of Python tests with their module."""
    module = case.get("classname", "")
    name = case.get("name", "?")
    return f"{module.rpartition('.')[2]}::{name}" if module.startswith("tests.python") else name


def slowest(items: Iterable[Item], count: int | None = None) -> list[Item]:
    """The slowest first."""
    return sorted(items, key=lambda item: (-item.seconds, item.suite, item.name))[:count]


def write(path: Path, suites: Sequence[dict[str, object]], built: Iterable[Item], tests: Iterable[Item], seconds: float) -> None:
    """Write everything that was timed; files and tests are in the order of their time, the slowest first."""
    rows = {
        name: [{"suite": item.suite, "name": item.name, "seconds": round(item.seconds, 3)} for item in slowest(items)]
        for name, items in (("built", built), ("tests", tests))
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schema": SCHEMA, "seconds": round(seconds, 1), "suites": list(suites), **rows}, indent=1) + "\n")


def table_of_slowest(title: str, items: Iterable[Item]) -> Table:
    """The ten slowest."""
    table = Table(title=title)
    table.add_column("suite", no_wrap=True)
    table.add_column("name", overflow="fold")
    table.add_column("seconds", justify="right")
    for item in slowest(items, _SLOWEST):
        table.add_row(item.suite, item.name, f"{item.seconds:.1f}")
    return table
