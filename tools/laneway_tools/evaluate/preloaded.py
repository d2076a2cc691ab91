"""The page of what the preload saved: one HTML file of the JSON that LANEWAY_REPORT has it write."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from laneway_tools.evaluate.findings import humanised_bytes
from laneway_tools.measure.compare import humanised
from laneway_tools.places.errors import UserError

Report = Mapping[str, Any]

_HEAD = ("communicator", "operation", "calls", "bytes of a message", "neighbors", "MPI", "Laneway", "saved (95%)", "strategy, and why")
_TIMES = "Times are medians, from each call to the next, with what the program does between; means of the ranks."
_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em}
table{border-collapse:collapse;width:100%}th,td{padding:.35em .6em;text-align:right;border-bottom:1px solid #8885}
th:first-child,td:first-child,th:last-child,td:last-child{text-align:left}.verdict{font-size:1.25em}small{opacity:.75}
@media(prefers-color-scheme:dark){body{background:#16181c;color:#e6e6e6}}
"""


def read(path: Path) -> Report | None:
    """The preload's report in a file; nothing if the file is something else, which others read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and {"sentence", "rows", "ranks_that_told"} <= found.keys() else None


def _signed(seconds: float) -> str:
    return ("-" if seconds < 0 else "") + humanised(abs(seconds))


def _saved(row: Report) -> str:
    if not row["taken_over"]:
        return ""
    if saved := row["saved"]:
        return f"{_signed(saved['seconds'])} ({_signed(saved['low'])} to {_signed(saved['high'])})"
    if row["mpi_seconds"] is None:
        return "not measured: no call was timed by MPI's own"
    if row["laneway_seconds"] is None:
        return "not measured: no call was timed with the plan"
    return "not measured: fewer than six calls of a way were timed"


def _cells(row: Report) -> list[str]:
    def or_none(key: str, text: str) -> str:
        return "-" if row[key] is None else text.format(row[key])

    times = ("-" if row[key] is None else humanised(row[key]) for key in ("mpi_seconds", "laneway_seconds"))
    size = humanised_bytes(row["bytes"] // row["messages"]) if row["messages"] else "-"
    operation = row["operation"].partition("_")[2]
    return [row["communicator"], operation, str(row["calls"]), size, or_none("neighbors", "{:.3g}"), *times, _saved(row)]


def _reasons(row: Report) -> str:
    """Why this strategy, and why calls were left."""
    plan = f"{row['strategy']}: {row['why']}" if row["taken_over"] and row["strategy"] else ""
    left = (f"{one['calls']} {'call' if one['calls'] == 1 else 'calls'} left to MPI: {one['reason']}" for one in row["left"])
    return "<br>".join([html.escape(plan), *(f"<small>{html.escape(text)}</small>" for text in left)])


def page(report: Report) -> str:
    """One page that needs no other file."""
    head = "".join(f"<th>{title}</th>" for title in _HEAD)
    rows = (
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in _cells(row))}<td>{_reasons(row)}</td></tr>" for row in report["rows"]
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Laneway</title><style>{_STYLE}</style></head><body>
<h1>What Laneway saved</h1>
<p class="verdict">{html.escape(report["sentence"])}</p>
<table>
<tr>{head}</tr>
{chr(10).join(rows)}
</table>
<p><small>{_TIMES} {html.escape(report["note"])}</small></p>
</body></html>
"""


def write(report: Report, path: Path) -> Path:
    """The page in a file, whose folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.write_text(page(report), encoding="utf-8")
    except KeyError as missing:
        raise UserError(f"the preload's report has no {missing}: it is of another version") from missing
    return path
