"""The page of what the preload saved, from the JSON that it writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from conftest import Command

from laneway_tools.evaluate import preloaded


def _row(**changes: Any) -> dict[str, Any]:
    row = {
        "communicator": '<b> & "c"',
        "operation": "MPI_Neighbor_allgather",
        "calls": 1000,
        "taken_over": 995,
        "left": [{"calls": 5, "reason": "at most one in 128"}],
        "ranks": 4,
        "neighbors": 2.5,
        "bytes": 4096,
        "messages": 2,
        "mpi_seconds": 30.4e-6,
        "laneway_seconds": 21.9e-6,
        "samples": {"mpi": 9, "laneway": 9},
        "saved": {"seconds": 6.76e-3, "low": -5.1e-3, "high": 8.02e-3},
        "strategy": "three_step",
        "why": "chosen when the graph was made",
    }
    return {**row, **changes}


def _report(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"schema": 1, "sentence": "Laneway saved <some> time.", "ranks": 4, "ranks_that_told": 4, "note": "a note", "rows": [*rows]}


def _cells(page: str) -> list[list[str]]:
    return [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)[1:]]


def test_the_page_has_what_the_report_has(command: Command, tmp_path: Path) -> None:
    file, page = tmp_path / "saved.json", tmp_path / "folder" / "saved.html"
    file.write_text(json.dumps(_report(_row())))
    code, said = command.run("report", str(file), "-o", str(page))
    assert code == 0 and str(page) in said
    text = page.read_text()
    assert "Laneway saved &lt;some&gt; time." in text and "a note" in text and "<style>" in text
    assert not re.search(r"https?:|src=|href=|url\(|@import", text), "it needs no other file"
    (cells,) = _cells(text)
    assert cells[:7] == ["&lt;b&gt; &amp; &quot;c&quot;", "Neighbor_allgather", "1000", "2 KiB", "2.5", "30.4 µs", "21.9 µs"]
    assert cells[7] == "6.76 ms (-5.1 ms to 8.02 ms)"
    assert cells[8] == "three_step: chosen when the graph was made<br><small>5 calls left to MPI: at most one in 128</small>"


def test_what_was_not_measured_is_said() -> None:
    rows = (
        _row(saved=None, mpi_seconds=None),
        _row(saved=None, laneway_seconds=None),
        _row(saved=None),
        _row(taken_over=0, saved=None, mpi_seconds=None, laneway_seconds=None, neighbors=None, messages=0, bytes=0, left=[]),
    )
    cells = _cells(preloaded.page(_report(*rows)))
    assert [row[7].partition(": ")[2] for row in cells] == [
        "no call was timed by MPI&#x27;s own",
        "no call was timed with the plan",
        "fewer than six calls of a way were timed",
        "",
    ]
    assert cells[3][3:] == ["-", "-", "-", "-", "", ""]


def test_what_was_saved_is_a_page_of_its_own(command: Command, tmp_path: Path) -> None:
    file, other = tmp_path / "saved.json", tmp_path / "results.jsonl"
    file.write_text(json.dumps(_report(_row())))
    other.write_text("{}\n")
    code, said = command.run("report", str(file), str(other), "-o", str(tmp_path / "page.html"))
    assert code == 2 and "a page of its own" in said
    file.write_text(json.dumps({"sentence": "x", "rows": [{}], "ranks_that_told": 1}))
    code, said = command.run("report", str(file), "-o", str(tmp_path / "page.html"))
    assert code == 2 and "Traceback" not in said and "of another version" in said
