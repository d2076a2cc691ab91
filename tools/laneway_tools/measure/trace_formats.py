"""Traces of exchanges for other programs: Chrome's JSON, which Perfetto reads, and OTF2."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from laneway_tools.measure.trace import Exchange, Part, Step
from laneway_tools.places.errors import UserError


def _rows(steps: Sequence[Step]) -> dict[int, int]:
    """A row for each step, so that no two in one row overlap."""
    free: list[int] = []
    rows = {}
    for step in sorted(steps, key=lambda each: (each.begin, each.end)):
        row = next((number for number, end in enumerate(free) if end <= step.begin), len(free))
        if row == len(free):
            free.append(0)
        free[row] = max(step.end, step.begin + 1)
        rows[step.number] = row
    return rows


def _lanes(part: Part) -> Iterator[tuple[Step, str]]:
    """Steps that have ended, each with the name of its row: its carrier and its lane, and a number where steps overlap."""
    for carrier, lane in sorted({(step.carrier, step.lane) for step in part.steps}):
        steps = [step for step in part.steps if (step.carrier, step.lane) == (carrier, lane) and step.end >= 0]
        for number, row in _rows(steps).items():
            yield part.steps[number], f"{carrier}: {lane}" if row == 0 else f"{carrier}: {lane} ({row + 1})"


def _arguments(step: Step, exchange: Exchange) -> dict[str, Any]:
    """What a viewer shows of a step; the peer's host where that rank was traced."""
    found: dict[str, Any] = {"step": step.number, "stage": step.stage, "channel": step.channel, "lane": step.lane}
    found |= {"carrier": step.carrier, "bytes": step.bytes, "after": list(step.after)}
    if step.peer is not None:
        found["peer"] = step.peer
        if step.peer in exchange.parts:
            found["peer host"] = exchange.parts[step.peer].host
    return found


def write_chrome(exchanges: Sequence[Exchange], path: Path) -> None:
    """A process for each rank, threads for each lane of each carrier, arrows from sends to receives. Times are in microseconds."""
    zero = min(exchange.begin for exchange in exchanges)
    events: list[dict[str, Any]] = []
    threads: dict[tuple[int, str], int] = {}

    def thread(rank: int, name: str) -> int:
        known = threads.get((rank, name))
        if known is None:
            known = threads[rank, name] = sum(1 for key in threads if key[0] == rank) + 1
            events.append({"ph": "M", "name": "thread_name", "pid": rank, "tid": known, "args": {"name": name}})
        return known

    named: set[int] = set()
    flow = 0
    for exchange in exchanges:
        rows: dict[tuple[int, int], int] = {}
        for part in exchange.parts.values():
            if part.rank not in named:
                named.add(part.rank)
                name = f"rank {part.rank} on {part.host}"
                events.append({"ph": "M", "name": "process_name", "pid": part.rank, "args": {"name": name}})
            whole = {"pid": part.rank, "tid": thread(part.rank, "exchange"), "cat": "exchange"}
            began = (part.started - zero) / 1e3
            events.append(
                {"ph": "X", "name": f"exchange, tag {exchange.tag}", "ts": began, "dur": (part.completed - part.started) / 1e3, **whole}
            )
            for step, row in _lanes(part):
                rows[step.rank, step.number] = thread(part.rank, row)
                where = {"pid": part.rank, "tid": rows[step.rank, step.number], "cat": step.carrier}
                begin, end = (step.begin - zero) / 1e3, (step.end - zero) / 1e3
                arguments = _arguments(step, exchange)
                events.append({"ph": "X", "name": step.label(), "ts": begin, "dur": end - begin, "args": arguments, **where})
        for part in exchange.parts.values():
            for step in part.steps:
                if not step.sends or step.other is None or step.end < 0 or step.other.end < 0:
                    continue
                flow += 1
                for side, kind in ((step, "s"), (step.other, "f")):
                    where = {"pid": side.rank, "tid": rows[side.rank, side.number]}
                    at = (side.begin if kind == "s" else side.end) - zero
                    events.append({"ph": kind, "bp": "e", "id": flow, "name": "message", "cat": "message", "ts": at / 1e3, **where})
    path.write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}), encoding="utf-8")


def write_otf2(exchanges: Sequence[Exchange], folder: Path) -> None:
    """An archive with a location group for each rank and locations for the lanes of its carriers; times are in nanoseconds."""
    try:
        import otf2
    except ImportError as error:
        raise UserError("OTF2 needs the Python package otf2 (pip install otf2)") from error
    if folder.exists():
        raise UserError(f"{folder}: exists; OTF2 writes a new folder")
    with otf2.writer.open(str(folder), timer_resolution=1_000_000_000) as trace:
        definitions = trace.definitions
        nodes: dict[str, Any] = {}
        groups: dict[int, Any] = {}
        regions: dict[str, Any] = {}
        rows: dict[tuple[int, str], list[Step]] = {}
        for exchange in exchanges:
            for part in exchange.parts.values():
                if part.host not in nodes:
                    nodes[part.host] = definitions.system_tree_node(part.host)
                if part.rank not in groups:
                    groups[part.rank] = definitions.location_group(f"rank {part.rank}", system_tree_parent=nodes[part.host])
                for step, row in _lanes(part):
                    rows.setdefault((part.rank, row), []).append(step)
        for (rank, row), steps in sorted(rows.items()):
            writer = trace.event_writer(row, group=groups[rank])
            for step in sorted(steps, key=lambda each: (each.begin, each.number)):
                what = f"{step.kind}, {step.stage}"
                if what not in regions:
                    regions[what] = definitions.region(what)
                writer.enter(step.begin, regions[what])
                writer.leave(max(step.end, step.begin), regions[what])
