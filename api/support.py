"""docs/reference/support.md, from api/support.toml and the tables of operations; generate.py does so."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

FORMS = ("blocking", "nonblocking", "persistent")
HELPERS = ("engine", "thread")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def _yes(is_there: object) -> str:
    return "yes" if is_there else "–"


def read(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of support.toml, by kind."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def relays(helper: str) -> str:
    """Which forms relay where relays are advanced by that."""
    if helper.startswith(HELPERS):
        return "all" if helper in HELPERS else "blocking; all with the engine"
    return "blocking" + ("; all with the engine" if "engine" in helper else "")


def page(rows: dict[str, list[dict[str, Any]]], neighborhoods: Sequence[Any], dense: Sequence[Any]) -> str:
    """All tables. An operation of `neighborhoods` and `dense` has name, ways, counts and whether the preload takes it over."""
    names = [(f"`{o.stem('blocking', 'LNW') if 'blocking' in o.ways else o.stem('persistent', 'LNW')}`", o) for o in neighborhoods]
    operations = [
        (
            name,
            *(_yes(form in o.ways) for form in FORMS),
            _yes("large" in o.counts),
            _yes("topology" in o.places),
            "yes" if o.interposed else "–",
        )
        for name, o in names
    ]
    operations += [
        (f"`{o.stem('blocking', 'LNW')}`", *["yes"] * len(FORMS), _yes("large" in o.counts), "–", "blocking" if o.interposed else "–")
        for o in dense
    ]
    families = [
        (
            f"[{row['name']}]({row['page']})",
            *(", ".join(f"`{call}`" for call in row.get(form, [])) or "–" for form in FORMS),
            row["languages"],
            row["buffers"],
        )
        for row in rows["family"]
    ]
    libraries = [
        (row["name"], row["single"], relays(row["single"]), row["multiple"], relays(row["multiple"]), row["run"]) for row in rows["library"]
    ]
    devices = [(row["name"], *(row[key] for key in ("exchanges", "reductions", "streams", "queues", "mpi"))) for row in rows["device"]]
    heads = ("MPI library", "below `MPI_THREAD_MULTIPLE`", "what relays", "with `MPI_THREAD_MULTIPLE`", "what relays", "tests have run")
    return "\n".join(
        (
            "\n## What relays, by MPI library\n",
            _table(heads, libraries),
            "## Operations and forms\n",
            _table(("operation", *FORMS, "large counts (`_c`)", "on topologies", "preload takes it over"), operations),
            "## Other families\n",
            _table(("family", *FORMS, "languages", "buffers"), families),
            "## Devices\n",
            _table(
                ("device", "exchanges", "reductions", "streams", "[queues](../use/queues.md)", "MPI library takes its addresses"), devices
            ),
        )
    )
