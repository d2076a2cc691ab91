"""``laneway reproduce lassen``: data of GPUs that is staged through their hosts, on simulated nodes of Lassen.

S. Lockhart, A. Bienz, W. D. Gropp, L. N. Olson: Characterizing the performance of node-aware strategies for irregular
point-to-point communication on heterogeneous architectures, Figures 2.5, 2.6, 3.1, 4.2, 4.3 and 5.1.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from laneway_tools.draw import style
from laneway_tools.draw.lines import Value, draw_lines
from laneway_tools.measure import results
from laneway_tools.measure.results import Record, number, rounded
from laneway_tools.papers import model, points
from laneway_tools.papers.points import Point
from laneway_tools.places import machines
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_local_tool
from laneway_tools.places.places import Simulated

Row = Mapping[str, str]  #: of the table

MACHINE = "lassen"
GPUS = 4  # of a node
CORES = 40


@dataclass(frozen=True)
class Way:
    """A row of Table 5, staged through the host: how it is run."""

    name: str  #: as the closed forms call it
    candidate: str
    ranks: int  #: of a node
    processes: int = 1  #: host processes of a GPU
    single: bool = False  #: all messages for a node are from one GPU

    @property
    def label(self) -> str:
        """Its name without what a table says of all its columns."""
        return self.name.split(",")[0]

    @property
    def run(self) -> tuple[int, int, bool]:
        """Equal for ways that one run can have together."""
        return (self.ranks, self.processes, self.single)


WAYS = (
    Way("standard, staged", "mpi", GPUS),
    Way("3-step, staged", "three_step", GPUS),
    Way("2-step all, staged", "two_step", GPUS),
    Way("2-step 1, staged", "two_step", GPUS, single=True),
    Way("split + MD", "split", CORES),
    Way("split + DD", "split", CORES, processes=4),
)
STANDARD = WAYS[0].name
SPMV_WAYS = tuple(way for way in WAYS if not way.single)

# Figure 4.3: nodes that a node sends to, messages of a node, bytes of a message.
SCENARIOS = tuple((nodes, messages) for nodes in (4, 16) for messages in (32, 256))
SIZES = {4: (16, 256, 1024, 4096, 16384, 65536), 16: (16, 1024, 4096, 16384)}

# Figure 2.5: where a process is that gets one message of another, and its rank.
PLACES = {"on the same socket": 1, "on the other socket": CORES // 2, "on another node": CORES}
MESSAGES = tuple(4**k for k in range(12))

# Figure 3.1: processes that share what is copied between a GPU and its host.
COPIERS = (1, 4, 8, 10)
COPIED = tuple(2560 * 4**k for k in range(8))  # which each of them divides

# Figure 2.6: processes that share the bytes from one node to another.
SENDERS = (1, 2, 4, 8, 20, 40)
VOLUMES = tuple(2**k for k in range(10, 23, 2))

# Figure 5.1: what stands in for the paper's matrices, and numbers of GPUs.
MATRICES = {
    "cube, 27 points": "27pt:nx=96,ny=96,nz=96",
    "plate, 27 points": "27pt:nx=300,ny=300,nz=10",
    "2-D mesh": "delaunay:n=1000000,seed=1,curve=1",
    "unordered 2-D mesh": "delaunay:n=131072,seed=1,curve=0",
}
VALIDATED = "plate, 27 points"
COUNTS = (8, 16, 40, 80)


def _point(nodes: int, way: Way, candidates: Iterable[str], pattern: str, sizes: Sequence[int], file: Path | None = None) -> Point:
    # The cap of Split is where rendezvous begins (section 4.6).
    cap = int(machines.read(MACHINE).link("network")[-2].up_to)
    arguments = ("neighbor", "--op", "alltoallv", "--pattern", pattern, "--bytes", ",".join(map(str, sizes)))
    arguments += ("--devices", str(GPUS), "--host-processes", str(way.processes), "--staged")
    arguments += ("--strategy", ",".join(candidates), *points.once(MACHINE))
    variables = (("LANEWAY_MESSAGE_CAP", str(cap)),)
    return Point(Simulated(MACHINE, nodes, way.ranks), arguments, variables, () if file is None else (file,))


def _closed_forms(pattern: str, gpus: int, size: int) -> Record:
    """Table 6, applied to what the GPUs exchange; and what that is (Table 7)."""
    argv = [find_local_tool("laneway-bench"), "model", "--paper", MACHINE, "--pattern", pattern]
    argv += ["--gpus", str(gpus), "--bytes", str(size), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"{' '.join(argv)} failed: {done.stderr.strip()}", 1)
    record: Record = json.loads(done.stdout)
    return record


@dataclass(frozen=True)
class Case:
    """What one way takes for one exchange: simulated, where it was, and by the closed forms."""

    figure: str
    what: str
    gpus: int
    nodes: int  #: that a node sends to
    messages: int  #: of a node (4.3) or of a process (5.1), one by one
    size: int  #: of a message (4.3), or sent by a node, one by one (5.1)
    way: str
    simulated: float | None
    modelled: float | None

    def row(self) -> dict[str, object]:
        return {
            "figure": self.figure,
            "what": self.what,
            "gpus": self.gpus,
            "nodes": self.nodes,
            "messages": self.messages,
            "bytes": self.size,
            "strategy": self.way,
            "simulated_s": "" if self.simulated is None else rounded(self.simulated),
            "modelled_s": "" if self.modelled is None else rounded(self.modelled),
        }


def _seconds(records: Iterable[Record], candidate: str, size: int) -> float | None:
    for record in records:
        if record["candidate"] == candidate and number(record, "bytes") == size:
            return number(record, "median_s")
    return None


def _as_seconds(value: object) -> dict[str, float]:
    assert isinstance(value, dict)
    return {str(name): float(seconds) for name, seconds in value.items()}


# Figure 4.3


def _grouped(ways: Sequence[Way]) -> list[tuple[Way, list[str]]]:
    """Ways that one run can have together, each as one of them with the strategies of all."""
    groups: dict[tuple[int, int, bool], tuple[Way, list[str]]] = {}
    for way in ways:
        _, names = groups.setdefault(way.run, (way, []))
        if way.candidate != "mpi":
            names.append(way.candidate)
    return list(groups.values())


def _scenario_pattern(nodes: int, messages: int, way: Way) -> str:
    return f"nodes:size={GPUS},to={nodes},messages={messages},single={int(way.single)}"


def scenarios(shapes: Sequence[tuple[int, int]], sizes: Mapping[int, Sequence[int]], ways: Sequence[Way] = WAYS) -> list[Case]:
    """Every node sends so many messages to so many others, which are all that there are; sizes by number of nodes."""
    wanted = [(shape, way, names) for shape in shapes for way, names in _grouped(ways)]
    found = points.run_all(
        [_point(shape[0] + 1, way, names, _scenario_pattern(*shape, way), sizes[shape[0]]) for shape, way, names in wanted]
    )
    runs = {(shape, way.run): records for (shape, way, _), records in zip(wanted, found, strict=True)}
    cases = []
    for shape in shapes:
        nodes, messages = shape
        gpus = (nodes + 1) * GPUS
        for size in sizes[nodes]:
            modelled = _as_seconds(_closed_forms(_scenario_pattern(nodes, messages, WAYS[0]), gpus, size)["seconds"])
            by_way = {way.name: way for way in ways}
            for name, seconds in modelled.items():
                way = by_way.get(name)
                records = runs.get((shape, way.run), []) if way else []
                simulated = _seconds(records, way.candidate, size) if way else None
                cases.append(Case("4.3", "", gpus, nodes, messages, size, name, simulated, seconds))
    return cases


def as_scenarios(cases: Iterable[Case], *, simulated: bool) -> list[model.Scenario]:
    """For the statements of section 4.6. What was not simulated is as modelled in both."""
    shapes: dict[tuple[int, int], list[Case]] = {}
    for case in cases:
        shapes.setdefault((case.nodes, case.messages), []).append(case)
    made = []
    for (nodes, messages), own in shapes.items():
        seconds: dict[str, list[float]] = {}
        for case in own:
            value = case.simulated if simulated and case.simulated is not None else case.modelled
            assert value is not None
            seconds.setdefault(case.way, []).append(value)
        made.append(model.Scenario(nodes, messages, sorted({case.size for case in own}), dict(seconds)))
    return made


# Figure 5.1


def _halos(matrix: str, counts: Sequence[int]) -> Path:
    """The folder with what so many GPUs exchange, ``GPUS.halo``."""
    program = Path(find_local_tool("laneway-bench"))
    name = f"halos-{points.digest(program.read_bytes(), matrix.encode())}"

    def make(target: Path, missing: list[str]) -> None:
        ranks = ",".join(file.removesuffix(".halo") for file in missing)
        argv = [str(program), "halos", "--matrix", matrix, "--for-ranks", ranks, "--output", str(target)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UserError(f"{' '.join(argv)} failed: {done.stderr.strip()}", 1)

    return points.made_once(name, [f"{count}.halo" for count in counts], make)


def products(matrices: dict[str, str], counts: Sequence[int], ways: Sequence[Way] = SPMV_WAYS) -> list[Case]:
    """What matrix-vector products exchange, with rows in contiguous blocks on so many GPUs."""
    size = 8
    wanted: list[tuple[str, int, Path, Way, list[str]]] = []
    for name, matrix in matrices.items():
        folder = _halos(matrix, counts)
        for count in counts:
            wanted += [(name, count, folder / f"{count}.halo", way, names) for way, names in _grouped(ways)]
    found = points.run_all([_point(count // GPUS, way, names, f"halo:{file}", (size,), file) for _, count, file, way, names in wanted])
    runs = {(name, count, way.run): records for (name, count, _, way, _), records in zip(wanted, found, strict=True)}
    cases = []
    for name, count, file in dict.fromkeys((name, count, file) for name, count, file, *_ in wanted):
        table = _closed_forms(f"halo:{file}", count, size)
        nodes, messages = int(number(table, "nodes") or 0), int(number(table, "messages") or 0)
        volume = int(_as_seconds(table["standard"])["node"])
        modelled = _as_seconds(table["seconds"])
        for form, seconds in modelled.items():
            way = next((way for way in ways if way.name == form), None)
            records = runs.get((name, count, way.run), []) if way else []
            simulated = _seconds(records, way.candidate, size) if way else None
            if form.startswith("2-step 1"):  # is of no matrix
                continue
            cases.append(Case("5.1", name, count, nodes, messages, volume, form, simulated, seconds))
    return cases


# Figures 2.5 and 3.1


def _one_message(processes: int, to: int) -> Path:
    """A graph of so many processes in which the first one sends to another one, as a matrix."""
    path = points.folder() / f"message-{processes}-{to}.mtx"
    entries = ("%%MatrixMarket matrix coordinate pattern general", f"{processes} {processes} 1", f"{to + 1} 1", "")
    path.write_text("\n".join(entries), encoding="utf-8")
    return path


def places(wanted: Mapping[str, int], sizes: Sequence[int]) -> list[Case]:
    """A message by itself, by place; the model is Table 2."""
    machine = machines.read(MACHINE)
    files = [_one_message(2 * CORES, to) for to in wanted.values()]
    runs = []
    for file in files:
        arguments = ("neighbor", "--op", "allgather", "--pattern", f"matrix:{file}", "--bytes", ",".join(map(str, sizes)))
        runs.append(Point(Simulated(MACHINE, 2, CORES), (*arguments, "--strategy", "direct", *points.once(MACHINE)), (), (file,)))
    cases = []
    for (what, to), link, records in zip(wanted.items(), ("socket", "node", "network"), points.run_all(runs), strict=True):
        for size in sizes:
            protocol = next(p for p in machine.link(link) if size <= p.up_to)
            modelled = protocol.alpha + protocol.beta * size
            cases.append(Case("2.5", what, 2, to // CORES, 1, size, "standard", _seconds(records, "mpi", size), modelled))
    return cases


def copies(counts: Sequence[int], volumes: Sequence[int]) -> list[Case]:
    """Both copies of a message from one node's GPU to another's, by so many processes each: what staging adds to it; the model is Table 3."""
    costs = {row["processes"]: row for row in tomllib.loads(machines.read(MACHINE).path.read_text(encoding="utf-8"))["device_copies"]}
    runs = []
    for count in counts:
        arguments = (
            "neighbor",
            "--op",
            "alltoallv",
            "--pattern",
            f"nodes:size={GPUS},to=1,messages=1",
            "--bytes",
            ",".join(map(str, volumes)),
        )
        arguments += ("--devices", str(GPUS), "--host-processes", str(count), "--strategy", "direct", *points.once(MACHINE))
        runs += [Point(Simulated(MACHINE, 2, CORES), (*arguments, *staged)) for staged in ((), ("--staged",))]
    found = points.run_all(runs)
    cases = []
    for count, alone, staged in zip(counts, found[::2], found[1::2], strict=True):
        for volume in volumes:
            with_copies, without = _seconds(staged, "mpi", volume), _seconds(alone, "mpi", volume)
            simulated = with_copies - without if with_copies is not None and without is not None else None
            ways = (costs[count]["to_host"], costs[count]["to_device"])
            modelled = sum(way["alpha"] + way["beta"] * volume / count for way in ways)
            cases.append(Case("3.1", _processes(count), 2, 1, count, volume, "standard", simulated, modelled))
    return cases


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


# Figure 2.6


def senders(counts: Sequence[int], volumes: Sequence[int]) -> list[Case]:
    """So many bytes from one node to another, by so many processes; the model is max-rate (equation 2.2)."""
    machine = machines.read(MACHINE)
    wanted = []
    for count in counts:
        sizes = [max(1, volume // count) for volume in volumes]
        arguments = ("neighbor", "--op", "alltoallv", "--pattern", f"nodes:size={count},to=1,messages={count}")
        arguments += ("--bytes", ",".join(map(str, sizes)), "--devices", str(count), "--strategy", "direct")
        arguments += points.once(MACHINE)
        wanted.append(Point(Simulated(MACHINE, 2, CORES), arguments))
    cases = []
    for count, records in zip(counts, points.run_all(wanted), strict=True):
        for volume in volumes:
            size = max(1, volume // count)
            protocol = next(p for p in machine.link("network") if size <= p.up_to)
            modelled = protocol.alpha + max(size * protocol.beta, count * size * machine.injection_beta)
            cases.append(
                Case(
                    "2.6",
                    _processes(count),
                    2 * count,
                    1,
                    count,
                    volume,
                    "standard",
                    _seconds(records, "mpi", size),
                    modelled,
                )
            )
    return cases


# Tables and pictures


def ranked(cases: Iterable[Case]) -> list[Case]:
    """What was simulated, without 2-Step 1, which the paper ranks apart as the best case."""
    return [case for case in cases if case.simulated is not None and not case.way.startswith("2-step 1")]


def fastest(cases: Iterable[Case]) -> Case:
    """Of what was simulated."""
    return min(ranked(cases), key=lambda case: case.simulated or 0)


def expected(cases: Iterable[Case]) -> Case:
    """The same, by the closed forms."""
    return min(ranked(cases), key=lambda case: case.modelled or 0)


def _by(cases: Iterable[Case], *keys: str) -> dict[tuple[object, ...], list[Case]]:
    groups: dict[tuple[object, ...], list[Case]] = {}
    for case in cases:
        groups.setdefault(tuple(getattr(case, key) for key in keys), []).append(case)
    return groups


def _microseconds(case: Case | None) -> str:
    if case is None or case.simulated is None:
        return "-"
    return f"{1e6 * case.simulated:.1f}"


def _find(cases: Iterable[Case], way: str) -> Case | None:
    return next((case for case in cases if case.way == way), None)


def _print_senders(console: Console, cases: Sequence[Case]) -> None:
    counts = list(dict.fromkeys(case.what for case in cases))
    table = Table("bytes", *counts, title="Figure 2.6: µs from node to node, simulated; in brackets max-rate ÷ simulated")
    for (volume,), own in _by(cases, "size").items():
        table.add_row(
            model.size_text(int(str(volume))),
            *(f"{_microseconds(case)} ({(case.modelled or 0) / (case.simulated or 1):.2f})" for case in own),
        )
    console.print(table)


def _print_singles(console: Console, title: str, cases: Sequence[Case]) -> None:
    table = Table("bytes", *dict.fromkeys(case.what for case in cases), title=f"{title}: µs, simulated; in brackets modelled ÷ simulated")
    for (size,), own in _by(cases, "size").items():
        cells = (f"{_microseconds(case)} ({_ratio(case.modelled, case.simulated)})" for case in own)
        table.add_row(model.size_text(int(str(size))), *cells)
    console.print(table)


def _print_scenarios(console: Console, cases: Sequence[Case]) -> None:
    labels = (way.label for way in WAYS)
    table = Table("nodes", "messages", "bytes", *labels, "fastest", "by the closed forms", title="Figure 4.3, staged: µs, simulated")
    for (nodes, messages, size), own in _by(cases, "nodes", "messages", "size").items():
        times = (_microseconds(_find(own, way.name)) for way in WAYS)
        table.add_row(str(nodes), str(messages), model.size_text(int(str(size))), *times, fastest(own).way, expected(own).way)
    console.print(table)


def _ratio(above: float | None, below: float | None) -> str:
    return f"{above / below:.2f}" if above and below else "-"


def _print_products(console: Console, cases: Sequence[Case]) -> None:
    ways = [way for way in SPMV_WAYS if way.name != STANDARD]
    table = Table(
        "matrix", "GPUs", "Recv Nodes", "messages", "node sends", "standard, µs", *(way.label for way in ways),
        title="Figure 5.1, staged: speedup over standard, simulated",
    )  # fmt: skip
    for (what, gpus), own in _by(cases, "what", "gpus").items():
        standard = _find(own, STANDARD)
        assert standard is not None
        found = [_find(own, way.name) for way in ways]
        ratios = [_ratio(standard.simulated, case.simulated if case else None) for case in found]
        counts = (str(own[0].nodes), str(own[0].messages), model.size_text(own[0].size))
        table.add_row(str(what), str(gpus), *counts, _microseconds(standard), *ratios)
    console.print(table)


def _print_validation(console: Console, cases: Sequence[Case]) -> None:
    labels = (way.label for way in SPMV_WAYS)
    table = Table("matrix", "GPUs", *labels, "fastest", "by the closed forms", title="Figure 4.2: closed forms ÷ simulated")
    for (what, gpus), own in _by(cases, "what", "gpus").items():
        found = [_find(own, way.name) for way in SPMV_WAYS]
        ratios = [_ratio(case.modelled, case.simulated) if case else "-" for case in found]
        table.add_row(str(what), str(gpus), *ratios, fastest(own).way, expected(own).way)
    console.print(table)


def _values(panel: str, rows: Iterable[Row], x: str, line: str = "strategy", *, modelled: bool = False) -> list[Value]:
    """Simulated times; of what was simulated also the modelled ones, where wanted."""
    drawn = []
    for row in rows:
        if row["simulated_s"]:
            drawn.append(Value(panel, row[line], float(row[x]), float(row["simulated_s"])))
            if modelled and row["modelled_s"]:
                drawn.append(Value(panel, row[line], float(row[x]), float(row["modelled_s"]), dotted=True))
    return drawn


def draw(table: Path, output: Path) -> list[Path]:
    """The pictures of what ``lassen`` has written, into a folder: one for each figure of the paper."""
    rows = results.read_csv(table, ("figure", "what", "gpus", "nodes", "messages", "bytes", "strategy", "simulated_s", "modelled_s"))
    of: dict[str, list[Row]] = {figure: [row for row in rows if row["figure"] == figure] for figure in ("2.5", "2.6", "3.1", "4.3", "5.1")}
    shapes = dict.fromkeys((row["messages"], row["nodes"]) for row in of["4.3"])
    scenarios = {f"{m} messages to {n} nodes": [r for r in of["4.3"] if (r["messages"], r["nodes"]) == (m, n)] for m, n in shapes}
    matrices = {what: [row for row in of["5.1"] if row["what"] == what] for what in dict.fromkeys(row["what"] for row in of["5.1"])}
    drawn = (
        ("lassen", "bytes of a message", [v for panel, own in scenarios.items() for v in _values(panel, own, "bytes")]),
        ("lassen-places", "bytes of a message", _values("a message by itself", of["2.5"], "bytes", "what", modelled=True)),
        ("lassen-copies", "bytes", _values("from a GPU to its host, and to another GPU", of["3.1"], "bytes", "what", modelled=True)),
        ("lassen-two-nodes", "bytes from node to node", _values("from one node to another", of["2.6"], "bytes", "what")),
        ("lassen-matrices", "GPUs", [v for panel, own in matrices.items() for v in _values(panel, own, "gpus")]),
        ("lassen-closed-forms", "GPUs", _values(VALIDATED, matrices.get(VALIDATED, ()), "gpus", modelled=True)),
    )
    return [
        draw_lines(values, x, "time (lower is better)", output / f"{name}.svg", y_text=style.seconds_text, logarithmic=True)
        for name, x, values in drawn
        if values
    ]


def lassen(output: Path, console: Console, *, quick: bool = False) -> None:
    """Splitting over processes, the scenarios of section 4.6, and matrix-vector products."""
    shapes = [shape for shape in SCENARIOS if not quick or shape[0] == SCENARIOS[0][0]]
    counts = [count for count in COUNTS if not quick or count <= COUNTS[1]]
    placed, copied = places(PLACES, MESSAGES), copies(COPIERS, COPIED)
    _print_singles(console, "Figure 2.5, a message by place", placed)
    _print_singles(console, "Figure 3.1, copies between a GPU and its host", copied)
    split = senders(SENDERS, VOLUMES)
    _print_senders(console, split)
    modelled = scenarios(shapes, SIZES)
    _print_scenarios(console, modelled)
    claims = [claim for claim in model.CLAIMS if (claim.nodes, claim.messages) in shapes]
    model.print_verdicts(console, model.compare(as_scenarios(modelled, simulated=True), claims), "staged simulated, device-aware modelled")
    spmv = products(MATRICES, counts)
    _print_products(console, spmv)
    _print_validation(console, spmv)
    table = output / "lassen.csv"
    results.write_csv(table, [case.row() for case in (*placed, *copied, *split, *modelled, *spmv)])
    console.print(", ".join(map(str, [table, *draw(table, output)])))
