"""Where a program runs: the value of ``--on``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from laneway_tools.places import machines
from laneway_tools.places.errors import UserError
from laneway_tools.places.launchers import Allocation
from laneway_tools.places.simulation import Platform

_RATE_UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_CLUSTER = re.compile(r"cluster:(?P<shape>\d+x\d+|\d+(?:,\d+)*)@(?P<rate>\d+(?:\.\d+)?)(?P<unit>kbit|mbit|gbit)")
_MAX_NODES = 200
_SIMULATED = re.compile(r"sim:(?P<machine>[^:]+):(?P<nodes>\d+)x(?P<ranks>\d+)")


@dataclass(frozen=True)
class Local:
    """This machine as it is."""

    def __str__(self) -> str:
        return "local"


@dataclass(frozen=True)
class Cluster:
    """An emulated cluster: how many ranks each node holds, and the rate of each node's link."""

    ranks_by_node: tuple[int, ...]
    bits_per_second: float

    @property
    def nodes(self) -> int:
        return len(self.ranks_by_node)

    @property
    def ranks(self) -> int:
        return sum(self.ranks_by_node)

    @property
    def bytes_per_second(self) -> float:
        return self.bits_per_second / 8

    def __str__(self) -> str:
        uniform = len(set(self.ranks_by_node)) == 1
        shape = f"{self.nodes}x{self.ranks_by_node[0]}" if uniform else ",".join(map(str, self.ranks_by_node))
        unit = next(u for u in ("gbit", "mbit", "kbit") if self.bits_per_second >= _RATE_UNITS[u] or u == "kbit")
        return f"cluster:{shape}@{self.bits_per_second / _RATE_UNITS[unit]:g}{unit}"


@dataclass(frozen=True)
class Simulated:
    """A cluster of a described machine in SimGrid: virtual time, no cluster."""

    machine: str
    nodes: int
    ranks_of_node: int

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_of_node

    def __str__(self) -> str:
        return f"sim:{self.machine}:{self.nodes}x{self.ranks_of_node}"


Place = Local | Allocation | Cluster | Simulated


def _simulated(text: str) -> Simulated:
    match = _SIMULATED.fullmatch(text)
    if not match:
        raise UserError(f"--on {text}: expected 'sim:lassen:128x16' (machine : nodes x ranks a node)")
    place = Simulated(match["machine"], int(match["nodes"]), int(match["ranks"]))
    try:
        Platform(machines.read(place.machine), place.nodes, place.ranks_of_node)
    except UserError as error:
        raise UserError(f"--on {text}: {error}") from None
    return place


def parse_place(text: str) -> Place:
    """Read ``local``, ``job``, ``cluster:NODESxRANKS@RATE``, ``cluster:RANKS,RANKS,…@RATE`` or ``sim:MACHINE:NODESxRANKS``."""
    if text == "local":
        return Local()
    if text == "job":
        return Allocation()
    if text.startswith("sim:"):
        return _simulated(text)
    match = _CLUSTER.fullmatch(text)
    if not match:
        raise UserError(
            f"--on {text}: expected 'local', 'job' (the allocation that we are in), "
            "'cluster:4x4@200mbit' (nodes x ranks a node @ link rate), "
            "'cluster:5,3,8@200mbit' (ranks of each node; rates end in kbit, mbit or gbit) "
            "or 'sim:lassen:128x16' (simulated: machine : nodes x ranks a node)"
        )
    shape = match["shape"]
    if "x" in shape:
        nodes, ranks = map(int, shape.split("x"))
        ranks_by_node = (ranks,) * min(nodes, _MAX_NODES + 1)
    else:
        ranks_by_node = tuple(map(int, shape.split(",")))
    bits_per_second = float(match["rate"]) * _RATE_UNITS[match["unit"]]
    if not ranks_by_node or min(ranks_by_node) < 1:
        raise UserError(f"--on {text}: every node needs at least one rank, and there is at least one node")
    if len(ranks_by_node) > _MAX_NODES:
        raise UserError(f"--on {text}: at most {_MAX_NODES} nodes")
    if bits_per_second < 1e5:
        raise UserError(f"--on {text}: the link rate is below 100kbit")
    return Cluster(ranks_by_node, bits_per_second)
