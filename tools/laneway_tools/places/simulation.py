"""Clusters that SimGrid simulates: platform files, and what a run on them needs (docs/reference/simulation.md)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from laneway_tools.places.errors import UserError
from laneway_tools.places.machines import NETWORK, Machine, Protocol

MAX_RANKS = 65536
_HEADER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
"""


@dataclass(frozen=True)
class _Class:
    """A class of links between two ranks; ``protocols`` as for one message at a time."""

    name: str
    protocols: tuple[Protocol, ...]
    overhead: float

    @property
    def bytes_per_second(self) -> float:
        return 1 / min(protocol.beta for protocol in self.protocols if protocol.beta > 0)

    @property
    def latency(self) -> float:
        return next((protocol.alpha for protocol in self.protocols if protocol.alpha > 0), 1e-9)


def _number(value: float) -> str:
    return f"{value:.12g}"


class Platform:
    """A number of nodes of a machine, with so many ranks each. Hosts are ranks, named ``n<node>.r<rank>``."""

    def __init__(self, machine: Machine, nodes: int, ranks: int) -> None:
        if nodes < 1 or ranks < 1:
            raise UserError(f"{machine.name}: {nodes} nodes of {ranks} ranks: both must be positive")
        if nodes * ranks > MAX_RANKS:
            raise UserError(f"{machine.name}: {nodes * ranks} ranks are more than the {MAX_RANKS} that a simulation can have")
        self.machine = machine
        self.nodes = nodes
        self.ranks = ranks
        devices = machine.device_links
        if devices is not None and ranks > len(devices):
            raise UserError(f"{machine.name}: a node has {len(devices)} devices, so no room for {ranks} ranks")
        self._classes: dict[str, _Class] = {}
        self._pairs = [[self._class_of(a, b) for b in range(ranks)] for a in range(ranks)]
        self._network = _Class(NETWORK, machine.link(NETWORK), machine.overheads[NETWORK] / 2)

    def hosts(self) -> Iterator[str]:
        """The host of each rank of MPI_COMM_WORLD, in order."""
        return (f"n{node}.r{rank}" for node in range(self.nodes) for rank in range(self.ranks))

    @property
    def eager_bytes(self) -> int:
        """Messages from this size on wait for their receive."""
        below = [protocol.up_to for protocol in self._network.protocols if protocol.up_to < math.inf]
        return int(below[-1]) + 1 if below else 0

    @property
    def busy(self) -> float:
        """Times as long as alone that a rank works while all communicate: the ranks of a host share its cores."""
        if self.machine.cores == 0:
            return 1.0
        hosted = self.nodes if self.machine.host_nodes == 0 else min(self.nodes, self.machine.host_nodes)
        return max(1.0, self.ranks * hosted / self.machine.cores)

    def _class_name(self, a: int, b: int) -> tuple[str, int]:
        """The class of two ranks of a node, and how many bundles as the file knows join them directly."""
        machine = self.machine
        if machine.device_links is not None:
            width = machine.device_links[a][b]
            peers = self.ranks_inside(len(machine.levels) - 1)
            if a // peers == b // peers:
                return "core", 1
            return ("socket", width) if width else ("node", 1)
        levels = machine.node_levels(self.ranks)
        shared = 0
        size = self.ranks
        for _, count in levels:
            size //= count
            if a // size != b // size:
                break
            shared += 1
        return ("node", "socket", "core")[min(shared, 2)], 1

    def ranks_inside(self, levels: int) -> int:
        """Ranks of a region that is so many levels inside a node."""
        outer = math.prod(count for _, count in self.machine.levels[:levels])
        return max(1, math.prod(count for _, count in self.machine.levels) // outer)

    def _class_of(self, a: int, b: int) -> str:
        name, width = self._class_name(a, b)
        key = name if width == 1 else f"{name}{width}"
        if key not in self._classes:
            protocols = self.machine.link(name)
            wide = tuple(Protocol(p.up_to, p.alpha, p.beta / width) for p in protocols)
            self._classes[key] = _Class(key, wide, self.machine.overheads["node"] / 2)
        return key

    def xml(self, *, config: bool = True) -> str:
        """The platform file; the same arguments always give the same text. Without ``config`` it is for laneway-protocols."""
        return _HEADER + "\n".join(self._lines(config)) + "\n"

    def _lines(self, config: bool) -> Iterator[str]:
        yield '<platform version="4.1">'
        if config:
            yield from self._config()
        yield f'  <zone id={quoteattr(self.machine.name)} routing="DijkstraCache">'
        for key, value in self._properties():
            yield f'    <prop id="{key}" value="{value}"/>'
        for node in range(self.nodes):
            yield from self._node(node)
        yield from self._switches()
        yield "  </zone>"
        yield "</platform>"

    def _config(self) -> Iterator[str]:
        """SMPI's own model of the network's protocols, for use without laneway-protocols."""
        network, overhead = self._network, self._network.overhead
        starts = [0, *(int(protocol.up_to) + 1 for protocol in network.protocols[:-1])]
        latency = [f"{s}:{_number(p.alpha / network.latency)}" for s, p in zip(starts, network.protocols, strict=True)]
        rate = [
            f"{s}:{_number(min(1.0, 1 / p.beta / network.bytes_per_second) if p.beta else 1.0)}"
            for s, p in zip(starts, network.protocols, strict=True)
        ]
        yield '  <config id="Protocols">'
        for key, value in (
            ("network/model", "SMPI"),
            ("smpi/simulate-computation", "no"),
            ("smpi/lat-factor", ";".join(latency)),
            ("smpi/bw-factor", ";".join(rate)),
            *((f"smpi/{name}", f"0:{_number(overhead)}:0") for name in ("os", "ois", "or")),
            ("smpi/async-small-thresh", str(self.eager_bytes)),
            ("smpi/send-is-detached-thresh", str(self.eager_bytes)),
        ):
            yield f'    <prop id="{key}" value="{value}"/>'
        yield "  </config>"

    def _properties(self) -> Iterator[tuple[str, str]]:
        names = sorted(self._classes)
        yield "classes", " ".join([*names, NETWORK])
        yield "pairs", " ".join(str(names.index(name)) for row in self._pairs for name in row)
        yield "ranks", str(self.ranks)
        yield "eager", str(self.eager_bytes)
        yield "busy", _number(self.busy)
        for link in [*(self._classes[name] for name in names), self._network]:
            yield f"overhead.{link.name}", _number(link.overhead)
            rows = (f"{_number(p.up_to) if math.isfinite(p.up_to) else -1} {_number(p.alpha)} {_number(p.beta)}" for p in link.protocols)
            yield f"protocols.{link.name}", " ".join(rows)

    def _link(self, name: str, bytes_per_second: float, latency: float = 0.0, policy: str = "SPLITDUPLEX") -> str:
        return (
            f'      <link id="{name}" bandwidth="{_number(bytes_per_second)}Bps" latency="{_number(latency)}s" sharing_policy="{policy}"/>'
        )

    def _node(self, node: int) -> Iterator[str]:
        n = f"n{node}"
        network = self._network
        yield f'    <zone id="{n}" routing="Full">'
        for rank in range(self.ranks):
            yield f'      <host id="{n}.r{rank}" speed="1Gf">'
            yield f'        <prop id="node" value="{node}"/><prop id="rank" value="{rank}"/>'
            yield "      </host>"
        yield f'      <router id="{n}.router"/>'
        for rank in range(self.ranks):
            yield self._link(f"{n}.r{rank}.network", network.bytes_per_second, network.latency / 2)
        for name in sorted(self._classes):
            link = self._classes[name]
            yield self._link(f"{n}.{name}", link.bytes_per_second, link.latency, "FATPIPE")
        routes = self._device_routes(n) if self.machine.device_links is not None else self._memory_routes(n)
        yield from routes
        for rank in range(self.ranks):
            yield self._route(f"{n}.r{rank}", f"{n}.router", [(f"{n}.r{rank}.network", "UP")])
        yield "    </zone>"

    def _route(self, source: str, destination: str, links: Iterable[tuple[str, str]]) -> str:
        inner = "".join(f'<link_ctn id="{name}" direction="{way}"/>' if way else f'<link_ctn id="{name}"/>' for name, way in links)
        return f'      <route src="{source}" dst="{destination}">{inner}</route>'

    def _memory_routes(self, n: str) -> Iterator[str]:
        """A rank copies one message after another; all ranks share the memory of the node."""
        fastest = max(link.bytes_per_second for link in self._classes.values())
        for rank in range(self.ranks):
            yield self._link(f"{n}.r{rank}.copy", fastest)
        shared = max((active / beta for active, beta in self.machine.copies), default=0.0)
        if shared:
            yield self._link(f"{n}.memory", shared, policy="SHARED")
        for a in range(self.ranks):
            for b in range(a + 1, self.ranks):
                memory = [(f"{n}.memory", "")] if shared else []
                links = [(f"{n}.r{a}.copy", "UP"), (f"{n}.{self._pairs[a][b]}", ""), *memory, (f"{n}.r{b}.copy", "DOWN")]
                yield self._route(f"{n}.r{a}", f"{n}.r{b}", links)

    def _bundle(self, a: int, b: int) -> float:
        """Bytes per second, in each direction, of the links that join two devices."""
        assert self.machine.device_links is not None
        name, _ = self._class_name(a, b)
        one = 1 / min(p.beta for p in self.machine.link("core" if name == "core" else "socket") if p.beta > 0)
        return one if name == "core" else one * self.machine.device_links[a][b]

    def device_rates(self) -> dict[tuple[int, int], float]:
        """Bytes per second from each device to each that it is linked with."""
        devices = self.machine.device_links or ()
        return {(a, b): self._bundle(a, b) for a, row in enumerate(devices) for b, count in enumerate(row) if count}

    def _device_routes(self, n: str) -> Iterator[str]:
        """Bundles of links between devices are shared by whatever passes them; routes have the fewest hops."""
        devices = self.machine.device_links
        assert devices is not None
        for a in range(len(devices)):
            for b in range(a + 1, len(devices)):
                if devices[a][b]:
                    yield self._link(f"{n}.{a}-{b}", self._bundle(a, b))
        for a in range(self.ranks):
            for b in range(a + 1, self.ranks):
                path = fewest_hops(devices, a, b)
                bundles = [(f"{n}.{min(x, y)}-{max(x, y)}", "UP" if x < y else "DOWN") for x, y in zip(path, path[1:], strict=False)]
                yield self._route(f"{n}.r{a}", f"{n}.r{b}", [(f"{n}.{self._pairs[a][b]}", ""), *bundles])

    def _switches(self) -> Iterator[str]:
        """Only what can hold up nodes is a link: switches below an untapered tree, or of a group, are one."""
        fabric = self.machine.fabric
        nic = 1 / self.machine.injection_beta if self.machine.injection_beta else self._network.bytes_per_second
        together = self.nodes
        if fabric.topology == "fat-tree" and fabric.taper > 1:
            together = fabric.switch_nodes
        if fabric.topology == "dragonfly":
            together = fabric.switch_nodes * fabric.group_switches
        names = [f"s{switch}" for switch in range(math.ceil(self.nodes / together))]
        above = together * nic / fabric.taper
        joins = [(f"n{node}", f"s{node // together}", f"n{node}.nic", nic) for node in range(self.nodes)]
        if fabric.topology == "fat-tree" and len(names) > 1:
            joins += [(name, "spine", f"{name}.up", above) for name in names]
            names.append("spine")
        if fabric.topology == "dragonfly":
            others = max(1, len(names) - 1)
            joins += [(a, b, f"{a}.{b}", above / others) for i, a in enumerate(names) for b in names[i + 1 :]]
        for name in names:
            yield f'    <zone id="{name}" routing="Full"><router id="{name}.router"/></zone>'
        for _, _, link, rate in joins:
            yield self._link(link, rate)[2:]
        for a, b, link, _ in joins:
            yield self._zone_route(a, b, link)

    def _zone_route(self, a: str, b: str, link: str) -> str:
        return (
            f'    <zoneRoute src="{a}" gw_src="{a}.router" dst="{b}" gw_dst="{b}.router"><link_ctn id="{link}" direction="UP"/></zoneRoute>'
        )


def fewest_hops(links: tuple[tuple[int, ...], ...], source: int, destination: int) -> list[int]:
    """The devices on the way, by fewest hops; of several such ways the one with the widest narrowest bundle."""
    best: dict[int, tuple[int, list[int]]] = {source: (10**9, [source])}
    hops = {source: 0}
    queue = deque([source])
    while queue:
        at = queue.popleft()
        width, path = best[at]
        for to, count in enumerate(links[at]):
            if count == 0 or hops.get(to, hops[at] + 1) <= hops[at]:
                continue
            if to not in hops:
                hops[to] = hops[at] + 1
                queue.append(to)
            narrow = min(width, count)
            if to not in best or narrow > best[to][0]:
                best[to] = (narrow, [*path, to])
    return best[destination][1]
