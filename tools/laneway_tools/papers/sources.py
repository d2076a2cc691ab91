"""``laneway reproduce sources``: what the sources describe, item by item, beside what runs here."""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root

STATUSES = ("works", "narrower", "other quantity", "missing")
TABLE = Path("bench/results/sources.toml")
PAGE = Path("docs/results/sources.md")
_HEAD = """# The sources, item by item

<!-- ./dev reproduce sources --keep writes this page from bench/results/sources.toml -->

Every algorithm, interface, figure and claim of the five sources, and what runs here. Values are as the texts state them:
their figures have more, without numbers. A status is one of four.

| status | says |
| --- | --- |
| works | as the source has it |
| narrower | a part of it, or not everywhere |
| other quantity | something else is measured: simulated times, another algorithm, another machine |
| missing | nothing runs |
"""


@dataclass(frozen=True)
class Item:
    """A row: where in the source, what, both values, what ours is from, a command or test, and what differs."""

    at: str
    what: str
    status: str
    theirs: str = ""
    ours: str = ""
    files: Sequence[str] = ()
    how: str = ""
    differs: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise UserError(f"{TABLE}: {self.at}, {self.what}: status '{self.status}' is not one of {', '.join(STATUSES)}")

    def row(self) -> str:
        links = ", ".join(f"[{Path(file.partition('#')[0]).name}]({os.path.relpath(file, PAGE.parent)})" for file in self.files)
        ours = ": ".join(part for part in (self.ours, links) if part)
        how = f"`{self.how}`" if self.how else ""
        return "| " + " | ".join((self.at, self.what, self.theirs, ours, how, self.status, self.differs)) + " |"


@dataclass(frozen=True)
class Source:
    """A paper, or the talks."""

    name: str
    title: str
    authors: str
    items: Sequence[Item]

    def counts(self) -> list[int]:
        found = Counter(item.status for item in self.items)
        return [found[status] for status in STATUSES]

    def markdown(self) -> str:
        head = "| where | what | theirs | ours | command or test | status | what differs |\n| --- | --- | --- | --- | --- | --- | --- |"
        return "\n".join((f"## {self.title}", "", f"{self.authors.rstrip('.')}.", "", head, *(item.row() for item in self.items)))


def read(table: Path) -> list[Source]:
    """The sources of the data file. A UserError that names the row where a key is unknown, or missing."""
    try:
        data = tomllib.loads(table.read_text(encoding="utf-8"))
        return [Source(s["name"], s["title"], s["authors"], [Item(**item) for item in s["item"]]) for s in data["source"]]
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise UserError(f"{table}: {error}") from None


def page(sources: Sequence[Source]) -> str:
    """The page of results."""
    lines = [_HEAD, "| source | items | " + " | ".join(STATUSES) + " |", "| --- |" + " ---: |" * (len(STATUSES) + 1)]
    lines += [
        f"| [{source.name}](#{_anchor(source.title)}) | {len(source.items)} | " + " | ".join(map(str, source.counts())) + " |"
        for source in sources
    ]
    total = [sum(column) for column in zip(*(source.counts() for source in sources), strict=True)]
    lines.append(f"| all | {sum(total)} | " + " | ".join(map(str, total)) + " |")
    return "\n".join(lines) + "\n\n" + "\n\n".join(source.markdown() for source in sources) + "\n"


def _anchor(title: str) -> str:
    """Of a heading, as the site makes it."""
    return "".join(c for c in title.lower() if c.isalnum() or c in " -").replace(" ", "-")


def run(output: Path, console: Console, *, kept: bool = False) -> None:
    """How many items have each status; the page, in a folder, or ``kept`` in docs."""
    sources = read(root() / TABLE)
    table = Table("source", "items", *STATUSES)
    for source in sources:
        table.add_row(source.name, str(len(source.items)), *map(str, source.counts()))
    console.print(table)
    written = root() / PAGE if kept else output / PAGE.name
    written.write_text(page(sources), encoding="utf-8")
    console.print(written)
