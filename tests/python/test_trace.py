"""Traces of exchanges: the critical path of traces that are written by hand, and of programs that run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Command, needs_bench

from laneway_tools.measure import trace
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_program, root


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
    assert {event["name"] for event in events if event["ph"] == "X"} == {
        "exchange, tag 64",
        "network from 1, 1,000 B",
        "network to 0, 1,000 B",
        "move, gather, 40 B",
    }
    assert [event["ph"] for event in events if event["name"] == "message"] == ["s", "f"]
    sent = next(event for event in events if event["name"] == "network to 0, 1,000 B")
    assert sent["args"] == {
        **{"step": 1, "stage": "network", "channel": 0, "lane": "network", "carrier": "messages", "bytes": 1000},
        **{"after": [0], "peer": 0, "peer host": "here"},
    }
    otf2 = pytest.importorskip("otf2")
    with otf2.reader.open(str(archive / "traces.otf2")) as reader:
        assert sum(1 for _ in reader.events) == 6
    assert "critical path" in picture.read_text(encoding="utf-8")


def test_each_lane_has_a_row(tmp_path: Path, command: Command) -> None:
    """Stages and channels are rows of their own; a row more where steps of a lane overlap; arrows end in the rows of their messages."""
    steps = [_message("send", 1), _message("send", 1, channel=2), _message("send", 1, channel=2), {**COPY, "stage": "scatter"}]
    sending = [[1, 0, -1, 0], *([1, what, step, 10 * what] for step in range(4) for what in (2, 3)), [1, 1, -1, 40]]
    (tmp_path / "t.0").write_text(_line(0, 1, steps, sending), encoding="utf-8")
    others = [_message("receive", 0), _message("receive", 0, channel=2), _message("receive", 0, channel=2)]
    receiving = [[1, 0, -1, 0], *([1, what, step, 10 * what + 5] for step in range(3) for what in (2, 3)), [1, 1, -1, 50]]
    (tmp_path / "t.1").write_text(_line(1, 0, others, receiving), encoding="utf-8")
    code, printed = command.run("trace", str(tmp_path / "t"), "--chrome", str(tmp_path / "t.json"))
    assert code == 0, printed
    events = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["traceEvents"]
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert len(names) == 9
    assert {name for (rank, _), name in names.items() if rank == 0} == {
        *("exchange", "messages: network", "messages: network, channel 2", "messages: network, channel 2 (2)", "copies: scatter"),
    }
    for event in events:
        if event["ph"] == "X" and event.get("args"):
            assert names[event["pid"], event["tid"]].startswith(f"{event['args']['carrier']}: {event['args']['lane']}")
    assert {event["name"] for event in events if event["ph"] == "X"} >= {"network to 1, channel 2, 1,000 B", "network from 0, 1,000 B"}
    arrows = [names[event["pid"], event["tid"]] for event in events if event["name"] == "message"]
    assert sorted(arrows) == sorted(name for name in names.values() if name.startswith("messages"))


@needs_bench
@pytest.mark.parametrize("strategy", ["direct", "three_step"])
def test_a_program_is_traced(tmp_path: Path, command: Command, strategy: str) -> None:
    path = tmp_path / "t"
    environment = {**os.environ, "LANEWAY_TRACE": str(path)}
    launch = [
        "mpirun.openmpi",
        "--allow-run-as-root",
        "--oversubscribe",
        "--bind-to",
        "none",
        "--mca",
        "mpi_yield_when_idle",
        "1",
        "-n",
        "4",
    ]
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


_LOOP = r"""
#include <laneway/laneway.h>

__attribute__((noinline)) void exchanges(LNW_Request* request, int count) {
  for (int i = 0; i < count; i++) {
    LNW_Start(request);
    LNW_Wait(request, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  const int self = 0, counts = 4, displacements = 0;
  int sent[4] = {1, 2, 3, 4}, received[4] = {0};
  MPI_Comm comm;
  LNW_Request request;
  MPI_Init(&argc, &argv);
  LNW_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, &self, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  LNW_Neighbor_alltoallv_init(sent, &counts, &displacements, MPI_INT, received, &counts, &displacements, MPI_INT, comm,
                              MPI_INFO_NULL, &request);
  exchanges(&request, 100);
  LNW_Request_free(&request);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return received[3] != 4;
}
"""


def _instructions_of_loop(program: Path, counted: Path, around: dict[str, str]) -> tuple[int, set[str]]:
    """Of the function `exchanges` with all that it calls, and the functions that are called."""
    argv = [
        "valgrind",
        "--tool=callgrind",
        f"--callgrind-out-file={counted}",
        "--toggle-collect=exchanges",
        "--error-exitcode=9",
        str(program),
    ]
    done = subprocess.run(argv, env=around, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    text = counted.read_text(encoding="utf-8")
    total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
    assert total is not None, text[-2000:]
    return int(total[1]), set(re.findall(r"^c?fn=\(\d+\) (\S.*)$", text, re.MULTILINE))


def test_without_the_variable_nothing_of_a_trace_runs(tmp_path: Path) -> None:
    """Counted over 100 exchanges: what traces is compiled beside what does not, and runs only where it is asked for."""
    library = root() / "build" / "openmpi" / "src" / "liblaneway.so"
    if shutil.which("valgrind") is None or not library.is_file():
        pytest.skip("SKIP: valgrind is not installed (Debian: valgrind), or the preset openmpi is not built")
    source, program = tmp_path / "loop.c", tmp_path / "loop"
    source.write_text(_LOOP, encoding="utf-8")
    where = [f"-I{root() / 'include'}", f"-I{root() / 'build/openmpi/include'}", str(library), f"-Wl,-rpath,{library.parent}"]
    subprocess.run(["mpicc.openmpi", "-O2", "-g1", str(source), "-o", str(program), *where], check=True)
    around = {
        **os.environ,
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "self",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    around.pop("LANEWAY_TRACE", None)
    off, called = _instructions_of_loop(program, tmp_path / "off", around)
    assert any("Executor::begin<false>" in name for name in called), called
    assert not [name for name in called if "<true>" in name or "Trace" in name or "clock" in name]
    on, traced = _instructions_of_loop(program, tmp_path / "on", around | {"LANEWAY_TRACE": str(tmp_path / "t")})
    assert any("Executor::begin<true>" in name for name in traced) and on > off
