"""Traces of exchanges: the critical path of traces that are written by hand, and of programs that run."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import Command, needs_bench
from laneway.tools.measure import trace
from laneway.tools.places.errors import UserError
from laneway.tools.places.paths import find_program


def _line(rank: int, peer: int, steps: list[dict[str, Any]], moments: list[list[int]], **more: Any) -> str:
    plan = {"rank": rank, "steps": steps}
    head = {"schema": 1, "rank": rank, "host": "here", "group": 1, "tag": 64, "device": False, "world": {str(peer): peer}, "dropped": 0}
    return json.dumps({**head, "plan": plan, "moments": moments, **more}) + "\n"


def _message(kind: str, peer: int, size: int = 1000, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "stage": "network", "peer": peer, "channel": 0, "span": [{"send": "send"}.get(kind, "receive"), 0, size], **more}


COPY = {"kind": "move", "stage": "gather", "from": "send", "to": "staging", "runs": [[0, 0, 10, 0, 0, 4]]}


def _late_sender(tmp_path: Path) -> Path:
    """Rank 1 starts 500 ns late, copies for 100, and sends for 300 to rank 0, which waits and notices 50 later."""
    path = tmp_path / "t"
    (tmp_path / "t.0").write_text(
        _line(0, 1, [_message("receive", 1)], [[1, 0, -1, 0], [1, 2, 0, 10], [1, 3, 0, 900], [1, 1, -1, 950]]), encoding="utf-8"
    )
    (tmp_path / "t.1").write_text(
        _line(
            1,
            0,
            [COPY, _message("send", 0, after=[0])],
            [[1, 0, -1, 500], [1, 2, 0, 500], [1, 3, 0, 600], [1, 2, 1, 600], [1, 3, 1, 700], [1, 1, -1, 700]],
        ),
        encoding="utf-8",
    )
    return path


def test_a_late_sender_is_found(tmp_path: Path) -> None:
    (exchange,) = trace.read(_late_sender(tmp_path))
    path = trace.critical_path(exchange)
    assert [(each.rank, each.cause, each.begin, each.end) for each in path] == [
        (1, "start", 0, 500),
        (1, "copies", 500, 600),
        (0, "messages", 600, 900),
        (0, "progress", 900, 950),
    ]
    assert exchange.bytes == 1000
    said = " ".join(trace.in_words(exchange, path))
    assert "53% of the 950 ns went to a rank that started late (500 ns)." in said
    assert "The longest piece: rank 1 has not started yet, 500 ns." in said


def test_a_late_receiver_is_found(tmp_path: Path) -> None:
    (tmp_path / "t.0").write_text(
        _line(0, 1, [_message("receive", 1)], [[1, 0, -1, 400], [1, 2, 0, 400], [1, 3, 0, 900], [1, 1, -1, 900]]), encoding="utf-8"
    )
    (tmp_path / "t.1").write_text(
        _line(1, 0, [_message("send", 0)], [[1, 0, -1, 0], [1, 2, 0, 0], [1, 3, 0, 1000], [1, 1, -1, 1000]]), encoding="utf-8"
    )
    (exchange,) = trace.read(tmp_path / "t")
    assert [(each.rank, each.cause, each.begin, each.end) for each in trace.critical_path(exchange)] == [
        (0, "start", 0, 400),
        (1, "messages", 400, 1000),
    ]


def test_exchanges_are_matched_from_the_last_one(tmp_path: Path) -> None:
    """Rank 0 has dropped the first exchange of three, and its second is not whole."""
    one = [[1, 3, 0, 5], [2, 1, -1, 90], [3, 0, -1, 200], [3, 2, 0, 200], [3, 3, 0, 230], [3, 1, -1, 230]]
    other = [moment for n in (1, 2, 3) for moment in ([n, 0, -1, 70 * n], [n, 2, 0, 70 * n], [n, 3, 0, 70 * n + 9], [n, 1, -1, 70 * n + 9])]
    (tmp_path / "t.0").write_text(_line(0, 1, [_message("receive", 1)], one), encoding="utf-8")
    (tmp_path / "t.1").write_text(_line(1, 0, [_message("send", 0)], other), encoding="utf-8")
    exchanges = trace.read(tmp_path / "t")
    assert [sorted(exchange.parts) for exchange in exchanges] == [[1], [1], [0, 1]]
    assert exchanges[-1].begin == 200 and trace.choose(exchanges, "last") is exchanges[-1]


def test_bad_files_are_named(tmp_path: Path, command: Command) -> None:
    code, printed = command.run("trace", str(tmp_path / "none"))
    assert code == 2 and "LANEWAY_TRACE=" in printed
    (tmp_path / "t.0").write_text("{}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"t\.0, line 1: no trace"):
        trace.read(tmp_path / "t")
    (tmp_path / "t.0").write_text(_line(0, 1, [], [], schema=9), encoding="utf-8")
    with pytest.raises(UserError, match="schema 9"):
        trace.read(tmp_path / "t")


def test_other_programs_can_read_it(tmp_path: Path, command: Command) -> None:
    path, chrome, archive = _late_sender(tmp_path), tmp_path / "t.json", tmp_path / "otf2"
    picture = tmp_path / "t.svg"
    code, printed = command.run("trace", str(path), "--chrome", str(chrome), "--otf2", str(archive), "-o", str(picture))
    assert code == 0, printed
    events = json.loads(chrome.read_text(encoding="utf-8"))["traceEvents"]
    assert {event["name"] for event in events if event["ph"] == "X"} == {"exchange, tag 64", "network from 1, 1,000 B", "network to 0, 1,000 B", "move, gather, 40 B"}
    assert [event["ph"] for event in events if event["name"] == "message"] == ["s", "f"]
    otf2 = pytest.importorskip("otf2")
    with otf2.reader.open(str(archive / "traces.otf2")) as reader:
        assert sum(1 for _ in reader.events) == 6
    assert "critical path" in picture.read_text(encoding="utf-8")


@needs_bench
@pytest.mark.parametrize("strategy", ["direct", "three_step"])
def test_a_program_is_traced(tmp_path: Path, command: Command, strategy: str) -> None:
    path = tmp_path / "t"
    environment = {**os.environ, "LANEWAY_TRACE": str(path)}
    launch = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", "4"]
    program = [str(find_program("laneway-bench", "openmpi")), "neighbor", "--pattern", "moore:d=2,r=1", "--machine", "node:2 rank:2"]
    options = ["--bytes", "4096", "--strategy", strategy, "--baseline", "mpi", "--iterations", "2"]
    done = subprocess.run([*launch, *program, *options], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "verified" in done.stdout, done.stdout + done.stderr
    exchanges = trace.read(path)
    whole = [exchange for exchange in exchanges if len(exchange.parts) == 4]
    assert whole
    for exchange in whole:
        messages = [step for part in exchange.parts.values() for step in part.steps if step.sends or step.receives]
        assert all(step.other is not None and step.end >= step.begin > 0 for step in messages)
        critical = trace.critical_path(exchange)
        assert sum(segment.end - segment.begin for segment in critical) == exchange.end - exchange.begin
    assert any(step.carrier == "memory" for step in messages)
    code, printed = command.run("trace", str(path), "--exchange", "median")
    assert code == 0 and "% of the" in printed, printed
