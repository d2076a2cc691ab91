"""``laneway reproduce dense``: algorithms of all-to-all and allreduce by size, on simulated clusters as in the talks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from laneway_tools.draw import style
from laneway_tools.draw.lines import Value, draw_lines
from laneway_tools.measure import results
from laneway_tools.measure.results import Record, number, rounded
from laneway_tools.papers import measured, points
from laneway_tools.papers.measured import Part
from laneway_tools.papers.points import Point
from laneway_tools.places import machines
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_local_tool
from laneway_tools.places.places import Simulated
from laneway_tools.places.simulator import DATA

_ALLTOALL_SIZES = (4, 16, 64, 256, 1024, 4096)
_ALLREDUCE_SIZES = (8, 2048, 32768, 524_288)
_SHORT_ALLREDUCE_SIZES = (8, 2048)
# Of these, as many messages as there are pairs of ranks are sent, 262,144 on 512 ranks, some at once: the time to
# simulate them grows with the square of their number.
_OF_ALL_PAIRS = {"alltoall": ("mpi", "nonblocking", "pairwise"), "allreduce": ("ring",)}
# Exchanges inside are nonblocking, and with this at the end of the name pairwise.
_PAIRWISE = "_pairwise"
_RELAYED = ("hierarchical", "multi_leader", "node_aware", "locality_aware", "multi_leader_locality")
# Of no talk, but candidates of auto: blocks go to one rank for each place on a node, or in hops by the digits of a radix.
_BY_LANES = ("lanes", "lanes_bruck", "split", "multi_leader_bruck", "hierarchical_bruck")
# Without those that keep the order of operands, and windows, which are measured elsewhere.
_ALGORITHMS = {
    "alltoall": (
        *("mpi", "nonblocking", "pairwise", "bruck"),
        *(f"{name}{inside}" for name in _RELAYED for inside in ("", _PAIRWISE)),
        *_BY_LANES,
    ),
    "allreduce": ("mpi", "recursive_doubling", "ring", "rabenseifner", "node_aware", "multi_lane", "locality_peers", "locality_aware"),
}
_MANY_RANKS = 512
_FEW = 2  # sizes of a quick run
_COLUMNS = ("machine", "nodes", "ranks", "op", "bytes", "candidate", "chosen", "simulated_s")


@dataclass(frozen=True)
class Figure:
    """An operation on a machine, by size."""

    machine: str
    nodes: int
    ranks_of_node: int
    operation: str
    sizes: Sequence[int]
    has_all_pairs: bool = True

    def points(self) -> list[Point]:
        """One run for each size, and on many ranks for each candidate, some of which take minutes: they are simulated side by side."""
        goodput = f"{1 / machines.read(self.machine).injection_beta:g}"
        left_out = () if self.has_all_pairs else _OF_ALL_PAIRS[self.operation]
        algorithms = (*(name for name in _ALGORITHMS[self.operation] if name not in left_out), "auto")
        is_large = self.has_all_pairs and self.nodes * self.ranks_of_node >= _MANY_RANKS
        groups = algorithms if is_large else (",".join(algorithms),)
        place = Simulated(self.machine, self.nodes, self.ranks_of_node)
        rest = ("--goodput", goodput, "--iterations", "1", "--warmup", "0")
        return [
            Point(place, ("dense", "--op", self.operation, "--candidate", group, *rest, "--bytes", str(size)), ((DATA, "0"),))
            for size in self.sizes
            for group in groups
        ]


#: "Scaling Results (Dane, 32 Nodes)" and "Optimizing GPU-Aware Allreduce Operations" (DeltaAI) of the talks.
FIGURES = (
    Figure("dane-like", 32, 16, "alltoall", _ALLTOALL_SIZES),
    Figure("dane-like", 4, 16, "alltoall", _ALLTOALL_SIZES),
    Figure("dane-like", 32, 16, "allreduce", _SHORT_ALLREDUCE_SIZES, has_all_pairs=False),
    Figure("dane-like", 8, 16, "allreduce", _ALLREDUCE_SIZES),
    Figure("deltaai-like", 16, 4, "allreduce", _ALLREDUCE_SIZES),
)


def figures(*, quick: bool) -> list[Figure]:
    """All of them; ``quick``: on an eighth of the nodes, but two at least, two sizes of each."""
    if not quick:
        return list(FIGURES)
    return [replace(f, nodes=max(2, f.nodes // 8), sizes=f.sizes[:_FEW]) for f in FIGURES]


@dataclass(frozen=True)
class Found:
    """The virtual time of an algorithm at a size."""

    figure: Figure
    bytes: int
    candidate: str
    chosen: str
    seconds: float

    def row(self) -> dict[str, object]:
        return {
            "machine": self.figure.machine,
            "nodes": self.figure.nodes,
            "ranks": self.figure.nodes * self.figure.ranks_of_node,
            "op": self.figure.operation,
            "bytes": self.bytes,
            "candidate": self.candidate,
            "chosen": self.chosen,
            "simulated_s": rounded(self.seconds),
        }


def found_in(figure: Figure, records: Iterable[Record]) -> list[Found]:
    """The blocking candidates of the records; simulated, persistent ones take as long."""
    found = []
    for record in records:
        candidate, seconds = str(record["candidate"]), number(record, "median_s")
        if seconds is not None and not candidate.endswith(":persistent"):
            found.append(Found(figure, int(number(record, "bytes") or 0), candidate, str(record["chosen"] or ""), seconds))
    return found


def regret(found: Sequence[Found]) -> float:
    """Of one size: the time of ``auto`` over that of the fastest, whatever it is."""
    auto = next(one.seconds for one in found if one.candidate == "auto")
    return auto / min(one.seconds for one in found)


def parts(table: Path) -> list[Part]:
    """What the page of results says of a table: a table an operation and machine, microseconds by size."""
    rows = results.read_csv(table, _COLUMNS)
    made = []
    for key in dict.fromkeys((row["op"], row["machine"], row["nodes"], row["ranks"]) for row in rows):
        own = [row for row in rows if (row["op"], row["machine"], row["nodes"], row["ranks"]) == key]
        operation, machine, nodes, ranks = key
        title = f"{operation}, {machine}, {nodes} nodes, {ranks} ranks, µs"
        made.append(_part(title, own))
    return made


def _part(title: str, own: Sequence[dict[str, str]]) -> Part:
    sizes = list(dict.fromkeys(row["bytes"] for row in own))
    times = {(row["candidate"], row["bytes"]): float(row["simulated_s"]) for row in own}
    chosen = {row["bytes"]: row["chosen"] for row in own if row["candidate"] == "auto"}
    lines = []
    for candidate in dict.fromkeys(row["candidate"] for row in own):
        cells = [times.get((candidate, size)) for size in sizes]
        lines.append((candidate, *("-" if cell is None else f"{1e6 * cell:.1f}" for cell in cells)))
    fastest = {size: min(seconds for (_, where), seconds in times.items() if where == size) for size in sizes}
    lines.append(("`auto` chose", *(chosen.get(size, "-") for size in sizes)))
    lines.append(("`auto` ÷ fastest", *(f"{times['auto', size] / fastest[size]:.3f}" if size in chosen else "-" for size in sizes)))
    return Part(title, ("algorithm", *(f"{int(size):,} B" for size in sizes)), tuple(lines))


# Nodes of Dane as they are: too many ranks to simulate.

_MODELLED_RANKS = (16, 112)
_MODEL_COLUMNS = ("machine", "nodes", "ranks", "op", "bytes", "rule", "predicted_s", "limit_s")


def model_parts(table: Path) -> list[Part]:
    """What each algorithm is expected to take, microseconds by size, and what the port of a node takes for the bytes."""
    rows = results.read_csv(table, _MODEL_COLUMNS)
    made = []
    for machine, nodes, ranks, operation in dict.fromkeys((row["machine"], row["nodes"], row["ranks"], row["op"]) for row in rows):
        own = [row for row in rows if (row["machine"], row["nodes"], row["ranks"], row["op"]) == (machine, nodes, ranks, operation)]
        sizes = list(dict.fromkeys(row["bytes"] for row in own))
        times = {(row["rule"], row["bytes"]): float(row["predicted_s"]) for row in own}
        limits = {row["bytes"]: float(row["limit_s"]) for row in own}
        names = [name for name in _ALGORITHMS[operation] if (name, sizes[0]) in times]
        lines = [(name, *(f"{1e6 * times[name, size]:.1f}" for size in sizes)) for name in names]
        fastest = [min((times[name, size], name) for name in names)[1] for size in sizes]
        lines.append(("`auto` takes", *fastest))
        lines.append(("the port of a node", *(f"{1e6 * limits[size]:.1f}" for size in sizes)))
        title = f"{operation}, {machine}, {nodes} nodes, {int(ranks):,} ranks, predicted µs"
        made.append(Part(title, ("algorithm", *(f"{int(size):,} B" for size in sizes)), tuple(lines)))
    return made


def model(output: Path, console: Console, *, quick: bool = False) -> None:
    """Predicted times of all-to-all on as many ranks a node as Dane has cores, beside those of the ranks that are simulated."""
    machine, nodes = "dane-like", 32
    beta = machines.read(machine).injection_beta
    rows: list[dict[str, object]] = []
    for own in _MODELLED_RANKS[: 1 if quick else None]:
        command = [find_local_tool("laneway-bench"), "rules", "--op", "alltoall", "--bytes", ",".join(map(str, _ALLTOALL_SIZES))]
        command += ["--nodes", str(nodes), "--ranks", str(own), "--parameters", machine, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UserError(f"{' '.join(command)} failed: {done.stderr.strip()}", 1)
        for record in json.loads(done.stdout):
            rows.append(
                {
                    "machine": machine,
                    "nodes": nodes,
                    "ranks": nodes * own,
                    "op": "alltoall",
                    "bytes": record["bytes"],
                    "rule": record["rule"],
                    "predicted_s": rounded(record["predicted_s"]),
                    "limit_s": rounded(own * own * (nodes - 1) * record["bytes"] * beta),
                }
            )
    table = output / "dense-model.csv"
    results.write_csv(table, rows)
    measured.show(console, model_parts(table))
    console.print(str(table))


def draw(table: Path, output: Path) -> list[Path]:
    """The pictures of what ``dense`` has written, into a folder: an operation on a machine is a panel."""
    rows = results.read_csv(table, _COLUMNS)
    made = []
    for operation in dict.fromkeys(row["op"] for row in rows):
        values = [
            Value(
                f"{row['machine']}, {row['nodes']} nodes",
                row["candidate"].removesuffix(_PAIRWISE),
                float(row["bytes"]),
                float(row["simulated_s"]),
                dotted=row["candidate"].endswith(_PAIRWISE),
            )
            for row in rows
            if row["op"] == operation
        ]
        path = output / f"dense-{operation}.svg"
        made.append(
            draw_lines(
                values,
                "bytes",
                f"simulated time of {operation} (lower is better)",
                path,
                y_text=style.seconds_text,
                logarithmic=True,
                dotted_label="dotted: pairwise inside",
            )
        )
    return made


def dense(output: Path, console: Console, *, quick: bool = False) -> None:
    """Virtual times of all-to-all and allreduce by size and algorithm, and what ``auto`` chose."""
    wanted = figures(quick=quick)
    runs = [(figure, point) for figure in wanted for point in figure.points()]
    records = points.run_all([point for _, point in runs])
    found = [one for (figure, _), some in zip(runs, records, strict=True) for one in found_in(figure, some)]
    table = output / "dense.csv"
    results.write_csv(table, [one.row() for one in found])
    measured.show(console, parts(table))
    console.print(", ".join(map(str, [table, *draw(table, output)])))
