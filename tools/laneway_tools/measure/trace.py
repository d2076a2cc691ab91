"""What LANEWAY_TRACE wrote: exchanges of all ranks put together, the critical path of one, and what held it up.

Each rank writes one object a line for each plan that it ran, with the moments at which steps began and ended. Ranks are
put together by the group of their communicator, the tag and the number of the exchange, counted from the last one, because
ranks may have dropped a different number of old ones.
"""

from __future__ import annotations

import glob
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table

from laneway_tools.places import talk
from laneway_tools.places.errors import UserError

SCHEMA = 1
STARTED, COMPLETED, BEGAN, ENDED = range(4)


@dataclass
class Step:
    """One step of one rank in one exchange. Times are in nanoseconds."""

    rank: int
    number: int
    kind: str
    stage: str
    carrier: str
    peer: int | None
    bytes: int
    channel: int
    after: tuple[int, ...]
    sends: bool
    receives: bool
    begin: int = -1
    end: int = -1
    other: Step | None = None
    """The other side of its message."""

    @property
    def lane(self) -> str:
        """The row that it belongs to beside others of its carrier: its stage, and the channel where that is not the first."""
        return self.stage if self.channel == 0 else f"{self.stage}, channel {self.channel}"

    def label(self) -> str:
        """For tables and pictures."""
        if self.sends or self.receives:
            way = "to" if self.sends else "from"
            channel = f", channel {self.channel}" if self.channel else ""
            return f"{self.stage} {way} {self.peer}{channel}" + (f", {self.bytes:,} B" if self.bytes else "")
        if self.kind == "await":
            return f"waits until {self.peer} is there" if self.peer is not None else "waits for readers"
        return f"{self.kind}, {self.stage}" + (f", {self.bytes:,} B" if self.bytes else "")


@dataclass
class Part:
    """One rank's part in an exchange."""

    rank: int
    host: str
    started: int
    completed: int
    steps: list[Step]


@dataclass
class Exchange:
    """One exchange of all ranks that were traced."""

    group: int
    tag: int
    back: int
    """How many exchanges of these ranks came later."""
    parts: dict[int, Part] = field(default_factory=dict)

    @property
    def begin(self) -> int:
        return min(part.started for part in self.parts.values())

    @property
    def end(self) -> int:
        return max(part.completed for part in self.parts.values())

    @property
    def seconds(self) -> float:
        return (self.end - self.begin) * 1e-9

    @property
    def bytes(self) -> int:
        return sum(step.bytes for part in self.parts.values() for step in part.steps if step.sends)


def _carrier(step: dict[str, Any], device: bool) -> str:
    if step["kind"] in ("send", "receive"):
        return "messages"
    if "await" in step or "raise" in step:
        return "memory"
    return "device" if device and step["kind"] == "move" else "copies"


def _bytes(step: dict[str, Any]) -> int:
    if step["kind"] == "move":
        return sum(run[2] * run[5] for run in step.get("runs", ()))
    span = step.get("span")
    if not span:
        return 0
    ends = [span] if isinstance(span[0], str) else span
    total = 0
    for end in ends:
        if len(end) == 3 and all(isinstance(value, int) for value in end[1:]):
            total += end[2]
        else:
            total += sum(run[1] * run[3] for run in end[1] if isinstance(run, list))
    return total


def _steps(line: dict[str, Any]) -> list[Step]:
    world = {int(rank): known for rank, known in line["world"].items()}
    steps = []
    for number, each in enumerate(line["plan"]["steps"]):
        awaits, raises = each.get("await"), each.get("raise")
        is_flag = awaits is not None and awaits.get("word") == "flag"
        peer = each.get("peer")
        steps.append(
            Step(
                rank=line["rank"],
                number=number,
                kind=each["kind"],
                stage=each.get("stage", "direct"),
                carrier=_carrier(each, line["device"]),
                peer=world.get(peer, peer) if peer is not None and peer >= 0 else None,
                bytes=_bytes(each),
                channel=each.get("channel", 0),
                after=tuple(each.get("after", ())),
                sends=each["kind"] == "send" or raises is not None,
                receives=each["kind"] == "receive" or is_flag,
            )
        )
    return steps


def _parts(line: dict[str, Any]) -> Iterator[Part]:
    """Those exchanges of a line of which all moments were kept."""
    part: Part | None = None
    for _, what, step, time in line["moments"]:
        if what == STARTED:
            part = Part(line["rank"], line["host"], time, 0, _steps(line))
        elif part is None:
            continue  # of an exchange whose start was dropped
        elif what == COMPLETED:
            part.completed = time
            yield part
            part = None
        elif what == BEGAN:
            part.steps[step].begin = time
        else:
            part.steps[step].end = time
            if part.steps[step].begin < 0:
                part.steps[step].begin = time  # what was complete when it was looked at


def read(path: str | Path) -> list[Exchange]:
    """The exchanges in the files PATH.0, PATH.1 …, those that started first first."""
    files = sorted(glob.glob(glob.escape(str(path)) + ".*"))
    files = [name for name in files if name.rsplit(".", 1)[1].isdigit()]
    if not files:
        raise UserError(f"no files {path}.0, {path}.1 …: run a program with LANEWAY_TRACE={path} first")
    by_rank: dict[tuple[int, int], dict[int, list[Part]]] = defaultdict(lambda: defaultdict(list))
    for name in files:
        for number, text in enumerate(Path(name).read_text(encoding="utf-8").splitlines(), 1):
            try:
                line = json.loads(text)
                if line["schema"] != SCHEMA:
                    raise UserError(f"{name}, line {number}: schema {line['schema']}, expected {SCHEMA}")
                by_rank[line["group"], line["tag"]][line["rank"]] += _parts(line)
            except (KeyError, ValueError, TypeError, IndexError) as error:
                raise UserError(f"{name}, line {number}: no trace of an exchange: {error!r}") from error
    exchanges = []
    for (group, tag), ranks in by_rank.items():
        for parts in ranks.values():
            parts.sort(key=lambda part: part.started)
        for back in range(max(map(len, ranks.values()))):
            exchange = Exchange(group, tag, back)
            for rank, parts in ranks.items():
                if back < len(parts):
                    exchange.parts[rank] = parts[-1 - back]
            _match(exchange)
            exchanges.append(exchange)
    exchanges.sort(key=lambda exchange: exchange.begin)
    if not exchanges:
        raise UserError(f"{path}: no exchange was run from its start to its end")
    return exchanges


def _match(exchange: Exchange) -> None:
    """Messages of a pair on one channel match in the order in which both sides begin them."""
    sides: tuple[dict[Any, list[Step]], dict[Any, list[Step]]] = (defaultdict(list), defaultdict(list))
    for part in exchange.parts.values():
        for step in part.steps:
            if step.sends and step.peer is not None:
                sides[0][part.rank, step.peer, step.carrier, step.channel].append(step)
            elif step.receives and step.peer is not None:
                sides[1][step.peer, part.rank, step.carrier, step.channel].append(step)
    for key, sends in sides[0].items():
        for send, receive in zip(sends, sides[1].get(key, ()), strict=False):
            send.other, receive.other = receive, send


@dataclass(frozen=True)
class Segment:
    """A piece of the critical path, which ends where the next one begins."""

    rank: int
    what: str
    begin: int
    end: int
    cause: str
    """start, messages, memory, copies, device or progress."""

    @property
    def seconds(self) -> float:
        return (self.end - self.begin) * 1e-9


def critical_path(exchange: Exchange) -> list[Segment]:
    """What the end of the exchange waited for, from its begin to its end.

    From the step that ended last, backwards: a message leads to the side that began it later, any step to the one before
    it that ended last, and where there is none, to when the rank started.
    """
    last = max(exchange.parts.values(), key=lambda part: part.completed)
    segments: list[Segment] = []
    now = last.completed
    step = max(last.steps, key=lambda each: each.end, default=None)
    rank = last.rank
    if step is not None and step.end < now:
        segments.append(Segment(rank, "notices that all is done", step.end, now, "progress"))
        now = step.end
    seen = 0
    while step is not None and seen < 10_000:
        seen += 1
        other = step.other if step.receives or step.carrier == "messages" else None
        if other is not None and step.begin < other.begin < now:
            segments.append(Segment(rank, step.label(), other.begin, now, step.carrier))
            now, rank, step = other.begin, other.rank, other
        elif step.begin < now:
            segments.append(Segment(rank, step.label(), step.begin, now, step.carrier))
            now = step.begin
        part = exchange.parts[rank]
        before = max((part.steps[n] for n in step.after), key=lambda each: each.end, default=None)
        if before is not None and before.end < now:
            segments.append(Segment(rank, f"until it goes on with {step.label()}", before.end, now, "progress"))
            now = before.end
        step = before
    started = exchange.parts[rank].started
    if started < now:
        segments.append(Segment(rank, "until its first step", started, now, "progress"))
        now = started
    if exchange.begin < now:
        segments.append(Segment(rank, "has not started yet", exchange.begin, now, "start"))
    segments.reverse()
    return [segment for segment in segments if segment.end > segment.begin]


_WORDS = {
    "start": "a rank that started late",
    "messages": "messages",
    "memory": "the memory of a node",
    "copies": "copies in ranks",
    "device": "copies on devices",
    "progress": "ranks that did something else before they went on",
}


def in_words(exchange: Exchange, path: Sequence[Segment]) -> list[str]:
    """What held the exchange up: the largest shares first, and the longest piece."""
    whole = max(exchange.seconds, 1e-12)
    shares: dict[str, float] = defaultdict(float)
    for segment in path:
        shares[segment.cause] += segment.seconds
    sentences = [
        f"{seconds / whole:.0%} of the {_text(whole)} went to {_WORDS[cause]} ({_text(seconds)})."
        for cause, seconds in sorted(shares.items(), key=lambda item: -item[1])
        if seconds / whole >= 0.01
    ]
    longest = max(path, key=lambda segment: segment.seconds, default=None)
    if longest is not None:
        sentences.append(f"The longest piece: rank {longest.rank} {_said(longest)}, {_text(longest.seconds)}.")
    late = max(exchange.parts.values(), key=lambda part: part.started)
    if (late.started - exchange.begin) * 1e-9 > 0.1 * whole:
        sentences.append(f"Rank {late.rank} started last, {_text((late.started - exchange.begin) * 1e-9)} after the first.")
    return sentences


def _said(segment: Segment) -> str:
    return segment.what if segment.cause in ("start", "progress") else f"in “{segment.what}”"


def _text(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def show(exchange: Exchange, path: Sequence[Segment], count: int) -> None:
    """Print the critical path and what it says."""
    title = (
        f"{count} exchanges; tag {exchange.tag}, {len(exchange.parts)} ranks, {exchange.bytes:,} B in messages, {_text(exchange.seconds)}"
    )
    table = Table(title=title, title_justify="left")
    for column in ("from", "takes", "rank", "what", "by"):
        table.add_column(column, justify="right" if column in ("from", "takes", "rank") else "left")
    for segment in path:
        begin = _text((segment.begin - exchange.begin) * 1e-9)
        table.add_row(begin, _text(segment.seconds), str(segment.rank), segment.what, segment.cause)
    console = talk.console()
    console.print(table)
    for sentence in in_words(exchange, path):
        console.print(sentence, highlight=False, markup=False)


def choose(exchanges: Sequence[Exchange], which: str) -> Exchange:
    """`slowest`, `median`, `last`, or a number from 1."""
    ordered = sorted(exchanges, key=lambda exchange: exchange.seconds)
    if which == "slowest":
        return ordered[-1]
    if which == "median":
        return ordered[len(ordered) // 2]
    if which == "last":
        return exchanges[-1]
    if which.isdigit() and 1 <= int(which) <= len(exchanges):
        return exchanges[int(which) - 1]
    raise UserError(f"--exchange {which}: expected slowest, median, last, or a number from 1 to {len(exchanges)}")
