"""The requirements of api/conformance.toml: their rows, and the page that is written from them; generate.py does so."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

VERDICTS = {"holds": "holds", "differs": "differs", "not_offered": "not offered", "not_shown": "not shown"}


class TableError(Exception):
    """A row of conformance.toml that makes no sense."""


@dataclass(frozen=True)
class Requirement:
    """A row of the table."""

    section: str
    asks: str
    tests: tuple[str, ...]
    verdict: str
    reason: str

    @property
    def chapter(self) -> str:
        """The number of its chapter."""
        return self.section.partition(".")[0]


def _requirement(row: dict[str, object]) -> Requirement:
    where = f"{row.get('section')}: {row.get('asks')}"
    unknown = set(row) - {"section", "asks", "tests", *VERDICTS}
    if unknown or "holds" in row:
        raise TableError(f"{where}: has {', '.join(sorted(unknown)) or 'holds'}, which is no key of a row")
    given = [verdict for verdict in VERDICTS if verdict in row]
    if len(given) > 1:
        raise TableError(f"{where}: has both {given[0]} and {given[1]}")
    verdict = given[0] if given else "holds"
    tests = row.get("tests", [])
    assert isinstance(tests, list)
    if not tests and verdict in ("holds", "differs"):
        raise TableError(f"{where}: names no test")
    return Requirement(str(row["section"]), str(row["asks"]), tuple(map(str, tests)), verdict, str(row.get(verdict, "")))


def read_table(path: Path) -> tuple[list[Requirement], dict[str, str]]:
    """The rows in order, and the titles of chapters by their numbers."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = [_requirement(row) for row in table["row"]]
    places = [[int(part) for part in row.section.split(".")] for row in rows]
    for row, before, place in zip(rows[1:], places, places[1:]):
        if place < before:
            raise TableError(f"{row.section}: {row.asks}: comes after a later section")
    titles: dict[str, str] = table["chapters"]
    if set(titles) != {row.chapter for row in rows}:
        raise TableError(f"chapters {', '.join(sorted(set(titles) ^ {row.chapter for row in rows}))} have either no title or no rows")
    return rows, titles


def _shown_by(tests: tuple[str, ...]) -> str:
    """Files in the order in which they are first named, with their cases."""
    cases: dict[str, list[str]] = {}
    for test in tests:
        file, _, case = test.partition(" ")
        cases.setdefault(file, []).extend([f"`{case}`"] if case else [])
    return "; ".join(f"`tests/{file}`" + (f": {', '.join(names)}" if names else "") for file, names in cases.items())


def page(rows: list[Requirement], titles: dict[str, str]) -> str:
    """Tables, a chapter each."""
    counts = Counter(row.verdict for row in rows)
    text = [
        f"{len(rows)} requirements: "
        + ", ".join(f"{counts[verdict]} {name}" for verdict, name in VERDICTS.items() if counts[verdict])
        + "."
    ]
    for chapter, title in titles.items():
        text += ["", f"## {title}", "", "| section | MPI asks | it | shown by |", "| --- | --- | --- | --- |"]
        for row in rows:
            if row.chapter == chapter:
                verdict = VERDICTS[row.verdict] + (f": {row.reason}" if row.reason else "")
                text.append(f"| {row.section} | {row.asks} | {verdict} | {_shown_by(row.tests)} |")
    return "\n".join(text) + "\n"
