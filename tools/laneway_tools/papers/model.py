"""Closed forms of a paper, compared with what it says in words."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.table import Table

from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_local_tool

_THREE_STEP = "3-step, staged"
_THREE_STEP_DEVICE = "3-step, device-aware"
_TWO_STEP = "2-step all, staged"
_TWO_STEP_DEVICE = "2-step all, device-aware"
_STANDARD = "standard, staged"
_STANDARD_DEVICE = "standard, device-aware"
_SPLIT = "split + MD"
_BEST_CASE = "2-step 1"


@dataclass(frozen=True)
class Scenario:
    """Modelled seconds of every strategy, by message size: one part of Figure 4.3."""

    nodes: int
    messages: int
    sizes: Sequence[int]
    seconds: dict[str, Sequence[float]]

    def __str__(self) -> str:
        return f"{self.messages} messages to {self.nodes} nodes"

    def strategies(self, best_case: bool) -> list[str]:
        """Their names; 2-Step with all data for a node in one GPU is the best case, which the paper ranks apart."""
        return [name for name in self.seconds if best_case or not name.startswith(_BEST_CASE)]

    def winners(self, best_case: bool = False) -> list[str]:
        """The fastest strategy for each message size."""
        names = self.strategies(best_case)
        return [min(names, key=lambda name: self.seconds[name][i]) for i in range(len(self.sizes))]


@dataclass(frozen=True)
class Claim:
    """Which strategies section 4.6 calls the fastest for messages of more than `above` bytes, up to `up_to`."""

    nodes: int
    messages: int
    winners: tuple[str, ...]
    above: float = 0
    up_to: float = math.inf
    best_case: bool = False


CLAIMS = (
    Claim(4, 32, (_THREE_STEP, _STANDARD), up_to=1e4),
    Claim(4, 32, (_STANDARD_DEVICE,), above=1e4),
    Claim(4, 256, (_THREE_STEP, _TWO_STEP), up_to=1e4),
    Claim(4, 256, (_THREE_STEP_DEVICE, _TWO_STEP_DEVICE), above=1e4),
    Claim(4, 256, (f"{_BEST_CASE}, device-aware",), above=1e3, best_case=True),
    Claim(16, 32, (_SPLIT, _STANDARD), up_to=1e4),
    Claim(16, 32, (_STANDARD_DEVICE,), above=1e4),
    Claim(16, 256, (_SPLIT,), up_to=1e4),
    Claim(16, 256, (_THREE_STEP_DEVICE, _TWO_STEP_DEVICE), above=1e4),
    Claim(16, 256, (f"{_BEST_CASE}, device-aware",), above=1e3, best_case=True),
)


@dataclass(frozen=True)
class Stretch:
    """Neighbouring message sizes with the same fastest strategy."""

    winner: str
    first: int
    last: int
    count: int

    def __str__(self) -> str:
        last = "" if self.first == self.last else f" to {size_text(self.last)}"
        return f"{self.winner} ({size_text(self.first)}{last})"


@dataclass(frozen=True)
class Verdict:
    """A claim beside what the closed forms say."""

    claim: Claim
    scenario: Scenario
    stretches: Sequence[Stretch]

    @property
    def sizes(self) -> int:
        return sum(stretch.count for stretch in self.stretches)

    @property
    def agreeing(self) -> int:
        return sum(stretch.count for stretch in self.stretches if stretch.winner in self.claim.winners)


def size_text(count: int) -> str:
    """`1 B`, `64 KiB`, `1 GiB`."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:g} {unit}"
    return f"{count} B"


def parse(text: str) -> list[Scenario]:
    """The scenarios of `laneway-bench model --json`."""
    record = json.loads(text)
    return [Scenario(part["nodes"], part["messages"], record["bytes"], part["seconds"]) for part in record["scenarios"]]


def _stretches(sizes: Sequence[int], winners: Sequence[str], claim: Claim) -> Iterator[Stretch]:
    covered = [(size, name) for size, name in zip(sizes, winners, strict=True) if claim.above < size <= claim.up_to]
    for name, group in groupby(covered, key=lambda pair: pair[1]):
        own = [size for size, _ in group]
        yield Stretch(name, own[0], own[-1], len(own))


def compare(scenarios: Sequence[Scenario], claims: Sequence[Claim] = CLAIMS) -> list[Verdict]:
    """Each claim beside the fastest strategies that the scenario's closed forms give."""
    by_shape = {(scenario.nodes, scenario.messages): scenario for scenario in scenarios}
    verdicts = []
    for claim in claims:
        scenario = by_shape[claim.nodes, claim.messages]
        stretches = tuple(_stretches(scenario.sizes, scenario.winners(claim.best_case), claim))
        verdicts.append(Verdict(claim, scenario, stretches))
    return verdicts


def _range_text(claim: Claim) -> str:
    limit = f"up to {claim.up_to:,.0f} B" if claim.up_to < math.inf else f"above {claim.above:,.0f} B"
    return f"{limit}, with 2-step 1" if claim.best_case else limit


def print_verdicts(console: Console, verdicts: Sequence[Verdict], who: str = "the closed forms say") -> None:
    """A table of the statements beside what ``who`` found, and where they disagree."""
    headings = ("scenario", "message size", "the paper says", who, "sizes that agree")
    table = Table(*headings, title="Fastest")
    for verdict in verdicts:
        table.add_row(
            str(verdict.scenario),
            _range_text(verdict.claim),
            "\n".join(verdict.claim.winners),
            "\n".join(str(stretch) for stretch in verdict.stretches),
            f"{verdict.agreeing} of {verdict.sizes}",
        )
    console.print(table)
    disagreements = [verdict for verdict in verdicts if verdict.agreeing < verdict.sizes]
    console.print(f"{len(disagreements)} of {len(verdicts)} statements disagree somewhere")
    for verdict in disagreements:
        others = [str(stretch) for stretch in verdict.stretches if stretch.winner not in verdict.claim.winners]
        console.print(f"  {verdict.scenario}, {_range_text(verdict.claim)}: {', '.join(others)}", highlight=False)


def print_winners(console: Console, scenarios: Sequence[Scenario], machine: str) -> None:
    """A table of what the closed forms have fastest, by size: on machines of which the paper says nothing."""
    table = Table("scenario", "fastest", title=machine)
    for scenario in scenarios:
        everywhere = Claim(scenario.nodes, scenario.messages, ())
        table.add_row(str(scenario), "\n".join(map(str, _stretches(scenario.sizes, scenario.winners(), everywhere))))
    console.print(table)


def modelled(paper: str, duplicates: float, machine: str = "") -> list[Scenario]:
    """A paper's closed forms, as ``laneway-bench model`` computes them; its errors are UserErrors."""
    argv = [find_local_tool("laneway-bench"), "model", "--paper", paper, "--duplicates", str(duplicates), "--json"]
    argv += ["--machine", machine] if machine else []
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(done.stderr.strip() or done.stdout.strip(), done.returncode)
    return parse(done.stdout)
