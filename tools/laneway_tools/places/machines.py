"""Machine files: what moving data costs, and which ranks are where (docs/reference/machine-files.md)."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root

NETWORK = "network"
_INNER = ("core", "socket", "node")


@dataclass(frozen=True)
class Protocol:
    """Messages of up to so many bytes take ``alpha + beta * bytes`` seconds."""

    up_to: float
    alpha: float
    beta: float


@dataclass(frozen=True)
class Fabric:
    """How nodes are joined: one switch, a fat tree of two levels, or a dragonfly."""

    topology: str = "switch"
    switch_nodes: int = 16
    group_switches: int = 1
    taper: float = 1.0


@dataclass(frozen=True)
class Registration:
    """What it costs to register memory with the network: for a buffer, and for each of its pages."""

    buffer: float
    page: float
    page_bytes: int

    def seconds(self, *sizes: int) -> float:
        """Of buffers of so many bytes, one after another; empty ones are not registered."""
        return sum(self.buffer + self.page * -(-size // self.page_bytes) for size in sizes if size > 0)


@dataclass(frozen=True)
class Machine:
    """What a simulation needs of a machine file."""

    name: str
    path: Path
    levels: tuple[tuple[str, int], ...]
    links: Mapping[str, tuple[Protocol, ...]]
    injection_beta: float
    overheads: Mapping[str, float]
    wait: float
    flag: float
    shared_byte: float
    cores: int
    host_nodes: int
    copies: tuple[tuple[int, float], ...]
    pack: float
    device_links: tuple[tuple[int, ...], ...] | None
    fabric: Fabric = field(default=Fabric())
    registration: Registration | None = None

    def link(self, name: str) -> tuple[Protocol, ...]:
        """The protocols of a class of links, or of the next one outside or inside that is known."""
        order = [*_INNER, NETWORK]
        at = order.index(name)
        for other in [*order[at:], *reversed(order[:at])]:
            if other in self.links:
                return self.links[other]
        raise UserError(f"machine {self.name}: no links")

    def node_levels(self, ranks: int) -> tuple[tuple[str, int], ...]:
        """The levels inside a node over which so many ranks are spread evenly, outermost first."""
        kept: list[tuple[str, int]] = []
        for name, count in self.levels[:-1] if self.levels else ():
            if ranks % (math.prod(n for _, n in kept) * count):
                break
            kept.append((name, count))
        return tuple(kept)

    @property
    def node_ranks(self) -> int:
        """Ranks of a node as the file describes it; 1 where it does not."""
        return math.prod(count for _, count in self.levels)

    def is_whole_node(self, ranks: int) -> bool:
        """Whether the file's own description fits nodes of so many ranks."""
        return bool(self.levels) and self.node_ranks == ranks

    def description(self, nodes: int, ranks: int) -> str:
        """Which ranks are where, as the hint lnw_machine takes it."""
        if self.is_whole_node(ranks):
            return f"file:{self.path}"
        levels = self.node_levels(ranks)
        inner = ranks // math.prod(count for _, count in levels)
        return " ".join([f"node:{nodes}", *(f"{name}:{count}" for name, count in levels), f"rank:{inner}"])

    def copy_beta(self, active: int) -> float:
        """Seconds per byte of a copy while so many ranks of a node copy; 0 where devices do."""
        if self.device_links is not None or not self.copies:
            return 0.0
        below = [copy for copy in self.copies if copy[0] <= active] or [self.copies[0]]
        above = [copy for copy in self.copies if copy[0] >= active] or [self.copies[-1]]
        (first, low), (last, high) = below[-1], above[0]
        return low if first == last else low + (high - low) * (active - first) / (last - first)


def _protocols(table: Mapping[str, Any]) -> tuple[Protocol, ...]:
    return tuple(Protocol(row.get("up_to", math.inf), row["alpha"], row["beta"]) for row in table["protocols"])


def _levels(description: str) -> tuple[tuple[str, int], ...]:
    words = [word.split(":") for word in description.split()]
    return tuple((name, int(count)) for name, count in words[1:])


def shipped() -> list[str]:
    """Names of the machines that come with the project."""
    return sorted(path.stem for path in (root() / "machines").glob("*.toml"))


def provenances() -> dict[str, str]:
    """Where the numbers of each of them are from."""
    folder = root() / "machines"
    return {name: str(tomllib.loads((folder / f"{name}.toml").read_text())["provenance"]) for name in shipped()}


def read(name: str) -> Machine:
    """The machine of a file that comes with the project, or of a path that ends in ``.toml``."""
    path = Path(name).resolve() if name.endswith(".toml") else root() / "machines" / f"{name}.toml"
    if not path.is_file():
        if name.endswith(".toml"):
            raise UserError(f"machine file {name} cannot be read")
        raise UserError(f"there is no machine '{name}': give a path that ends in .toml, or one of {', '.join(shipped())}")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        devices = data.get("devices", {}).get("links")
        links = data.get("device_links" if devices else "links", {})
        overhead = data.get("overhead", {})
        fabric = Fabric(**data.get("network", {}))
        machine = Machine(
            name=data["name"],
            path=path,
            levels=_levels(data.get("description", "node:*")),
            links={key: _protocols(links[key]) for key in (*_INNER, NETWORK) if key in links},
            injection_beta=data.get("injection", {}).get("beta", 0.0),
            overheads={key: overhead.get(key, {}).get("message", 0.0) for key in ("node", "shared", NETWORK)},
            wait=overhead.get("shared", {}).get("wait", 0.0),
            flag=overhead.get("flag", 0.0),
            shared_byte=overhead.get("shared", {}).get("byte", 0.0),
            cores=data.get("host", {}).get("cores", 0),
            host_nodes=data.get("host", {}).get("nodes", 1),
            copies=tuple((row["active"], row["beta"]) for row in data.get("copies", [])),
            pack=0.0 if devices else overhead.get("pack", 0.0),
            device_links=tuple(map(tuple, devices)) if devices else None,
            fabric=fabric,
            registration=Registration(**data["registration"]) if "registration" in data else None,
        )
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"machine file {path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"machine file {path}: {type(error).__name__}: {error} (docs/reference/machine-files.md lists the keys)") from None
    if NETWORK not in machine.links:
        raise UserError(f"machine {machine.name}: a simulated cluster needs [links.network]")
    if fabric.topology not in ("switch", "fat-tree", "dragonfly"):
        raise UserError(f"machine {machine.name}: network.topology is '{fabric.topology}', expected switch, fat-tree or dragonfly")
    return machine
