"""What a study shows, as sentences and rows. No sentence is written that the numbers do not carry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from laneway_tools.evaluate.study import OWN, Case, Contestant, Ratio, Study, over_sum

SMALL, LARGE = 1024, 65536
CLASSES = ("small", "medium", "large")
_FAR_BEHIND, _SURELY_BEHIND = 1.5, 1.25
_GROUPS = {
    "point-to-point": "messages between two ranks",
    "collective": "collectives",
    "neighborhood": "neighborhood collectives",
    "discovery": "discovery of senders",
    "device": "memory of devices",
    "application": "applications",
}


@dataclass(frozen=True)
class Row:
    """Who leads in a benchmark, over the sizes of a class; ``runner_up`` takes ``ratio`` times as long."""

    group: str
    benchmark: str
    where: str
    size: str
    leader: Contestant
    runner_up: Contestant | None
    ratio: Ratio | None
    is_shown: bool


def size_class(bytes_: int) -> str:
    """Small: up to 1 KiB; large: from 64 KiB; nothing where a case has no size."""
    return "" if bytes_ < 0 else "small" if bytes_ <= SMALL else "large" if bytes_ >= LARGE else "medium"


def humanised_bytes(size: int) -> str:
    """4 B, 16 KiB, 1 MiB."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size} B"


def place_in_words(where: str) -> str:
    """As a sentence has it."""
    return {"between": "between nodes", "inside": "inside a node", "inside, other socket": "between sockets"}.get(where, where)


def _by_class(cases: Sequence[Case]) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in cases:
        # An application's bytes are those of its data: every size says something of its own.
        found.setdefault("" if case.group == "application" else size_class(case.bytes), []).append(case)
    return found


def ranking(study: Study, cases: Sequence[Case], contestants: Sequence[Contestant]) -> list[tuple[Contestant, Ratio | None]]:
    """Those that have all cases, fastest first, with the time of each as a multiple of the first one's."""
    complete = [c for c in contestants if all(c in study.cases[case] for case in cases)]
    if not complete:
        return []
    mean = {c: sum(math.log(study.cases[case][c].median) for case in cases) for c in complete}
    order = sorted(complete, key=mean.__getitem__)
    return [(c, study.ratio(cases, c, order[0]) if c != order[0] else None) for c in order]


def leads(study: Study, ranked: Sequence[tuple[Contestant, Ratio | None]]) -> bool:
    """Whether the first is shown to be faster than each of the others."""
    if len(ranked) < 2:
        return False
    first = ranked[0][0]
    return all(ratio is not None and ratio.low > 1 and ratio.shows(study.noise_of(first, other)) for other, ratio in ranked[1:])


def _row(study: Study, key: tuple[str, str, str, str], size: str, cases: Sequence[Case]) -> Row | None:
    group, benchmark, pattern, where = key
    ranked = ranking(study, cases, study.contestants(cases))
    if not ranked:
        return None
    name = f"{benchmark}, {pattern}" if pattern and group != "application" else benchmark
    if len(ranked) == 1:
        return Row(group, name, where, size, ranked[0][0], None, None, False)
    return Row(group, name, where, size, ranked[0][0], *ranked[1], leads(study, ranked))


def winners(study: Study) -> list[Row]:
    """A row for each benchmark, place and class of sizes."""
    found = []
    for key, cases in study.series().items():
        for size, some in _by_class(cases).items():
            if (row := _row(study, key, size, some)) is not None:
                found.append(row)
    return found


def _sizes(cases: Sequence[Case]) -> str:
    sizes = sorted(case.bytes for case in cases if case.bytes >= 0)
    if not sizes:
        return ""
    return (
        f"at {humanised_bytes(sizes[0])}" if sizes[0] == sizes[-1] else f"from {humanised_bytes(sizes[0])} to {humanised_bytes(sizes[-1])}"
    )


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _of_classes(found: Sequence[tuple[str, Ratio]]) -> str:
    """Ratios of several classes of sizes, as one sentence has them."""
    return _listed([f"{ratio}{f' for {size} sizes' if size else ''}" for size, ratio in found])


def _libraries_apart(study: Study) -> list[str]:
    """By group and place: which library's own leads the others' own, in which classes of sizes."""
    found: dict[tuple[str, str, str], list[Case]] = {}
    for case in study.cases:
        if case.group in _GROUPS:
            size = "" if case.group == "application" else size_class(case.bytes)
            found.setdefault((case.group, case.where, size), []).append(case)
    shown: dict[tuple[str, str, Contestant, Contestant], list[tuple[str, Ratio]]] = {}
    for (group, where, size), cases in found.items():
        own = [c for c in study.contestants(cases) if c.candidate == OWN]
        common = [case for case in cases if all(c in study.cases[case] for c in own)]
        # Of operations without a size there is one, which has a row of its own in the table.
        if len(own) < 2 or not common or (not size and group != "application"):
            continue
        ranked = ranking(study, common, own)
        (leader, _), (second, ratio), *_ = ranked
        if ratio is not None and leads(study, ranked):
            shown.setdefault((group, where, leader, second), []).append((size, ratio))
    said = []
    for (group, where, leader, second), classes in shown.items():
        what = f"{_GROUPS[group]}, {place_in_words(where)}"
        said.append(
            f"{what[0].upper()}{what[1:]}: {study.name(leader)} leads. {study.name(second)}'s time as a multiple: {_of_classes(classes)}."
        )
    return said


def _ours(study: Study) -> list[str]:
    """By benchmark: ours as a multiple of the same library's own."""
    shown: dict[tuple[Contestant, str, str, Contestant], list[tuple[str, Ratio]]] = {}
    for (group, benchmark, pattern, where), cases in study.series().items():
        name = f"{benchmark} ({pattern})" if pattern and group != "application" else benchmark
        for size, some in _by_class(cases).items():
            for contestant in study.contestants(some):
                own, loop = Contestant(contestant.mpi, OWN), Contestant(contestant.mpi, "loop")
                # Where the library has no such operation, a plain loop is what programs have.
                base = own if any(own in study.cases[case] for case in some) else loop
                ratio = study.ratio(some, contestant, base) if contestant.is_laneway and contestant.mpi else None
                if ratio is not None and ratio.shows(study.noise_of(contestant)):
                    shown.setdefault((contestant, name, where, base), []).append((size, ratio))
    whose = {OWN: "the library's own", "loop": "a plain loop's"}
    return [
        f"{study.name(contestant)}, {name}, {place_in_words(where)}. Its time as a multiple of {whose[base.candidate]}: {_of_classes(classes)}."
        for (contestant, name, where, base), classes in shown.items()
    ]


def falls(study: Study) -> list[str]:
    """Ranges of sizes in which a library's own is far behind another's own."""
    said = []
    for (_, benchmark, pattern, where), cases in study.series().items():
        own = [c for c in study.contestants(cases) if c.candidate == OWN]
        for contestant in own:
            behind: list[tuple[Case, Ratio, Contestant]] = []
            for case in [*cases, None]:
                entry = _behind(study, case, contestant, own) if case is not None else None
                if entry is not None:
                    behind.append(entry)
                    continue
                if behind:
                    said.append(_fall(study, contestant, benchmark, pattern, where, behind))
                behind = []
    return said


def _behind(study: Study, case: Case, contestant: Contestant, own: Sequence[Contestant]) -> tuple[Case, Ratio, Contestant] | None:
    here = [c for c in own if c in study.cases[case]]
    if contestant not in here or len(here) < 2:
        return None
    best = min(here, key=lambda c: study.cases[case][c].median)
    ratio = study.ratio([case], contestant, best) if best != contestant else None
    if ratio is None or ratio.value < _FAR_BEHIND or ratio.low < _SURELY_BEHIND or not ratio.shows(study.noise_of(contestant, best)):
        return None
    return case, ratio, best


def _fall(
    study: Study, contestant: Contestant, benchmark: str, pattern: str, where: str, behind: Sequence[tuple[Case, Ratio, Contestant]]
) -> str:
    values = [ratio.value for _, ratio, _ in behind]
    best = " or ".join(dict.fromkeys(study.name(c) for _, _, c in behind))
    times = f"{values[0]:.1f}" if len(values) == 1 else f"{min(values):.1f} to {max(values):.1f}"
    sizes = _sizes([case for case, _, _ in behind])
    what = f"{benchmark} ({pattern})" if pattern else benchmark
    return f"{study.name(contestant)} falls behind in {what} {place_in_words(where)}{f' {sizes}' if sizes else ''}: {times} times the time of {best}."


@dataclass(frozen=True)
class _Guideline:
    """An operation takes no longer than `factor` times others that do the same together: each with its bytes as a multiple of this
    one's, where it has `ranks` ranks. `messages` are those of a chain from rank to rank, of which each takes the latency.

    J. L. Traeff, W. D. Gropp, R. Thakur: Self-consistent MPI performance guidelines, IEEE Trans. Parallel Distrib. Syst. 21, 2010,
    doi:10.1109/TPDS.2009.120.
    """

    operation: str
    others: tuple[str, ...]
    text: str
    factor: float = 1.0
    of_ranks: tuple[str, ...] = ()
    """Those of `others` whose bytes are those of all ranks."""
    messages: int = 0

    def times(self, ranks: int) -> float:
        """How many times the others' time it may take."""
        return self.factor * (self.messages * (ranks - 1) if self.messages else 1)


_GUIDELINES = (
    _Guideline("allreduce", ("reduce", "bcast"), "reduce and bcast"),
    _Guideline("allgather", ("gather", "bcast"), "gather and bcast", of_ranks=("bcast",)),
    _Guideline("bcast", ("allreduce",), "allreduce"),
    _Guideline("reduce", ("allreduce",), "allreduce"),
    _Guideline("gather", ("allgather",), "allgather"),
    _Guideline("allgather", ("alltoall",), "alltoall"),
    _Guideline("alltoallv", ("alltoall",), "1.1 times alltoall", 1.1),
    # Of the neighborhood's v-forms the largest block is one and a half times the size.
    _Guideline("neighbor_allgatherv", ("neighbor_allgather",), "1.1 times neighbor_allgather of its largest block", 1.65),
    _Guideline("neighbor_alltoallv", ("neighbor_alltoall",), "1.1 times neighbor_alltoall of its largest block", 1.65),
    _Guideline("neighbor_alltoallw", ("neighbor_alltoallv",), "1.1 times neighbor_alltoallv", 1.1),
    # Twice, since ranks that wait for others on a processor cost more than the messages.
    _Guideline("bcast", ("latency",), "a chain of messages through all ranks, twice", 2, messages=1),
    _Guideline("reduce", ("latency",), "a chain of messages through all ranks, twice", 2, messages=1),
    _Guideline("barrier", ("latency",), "a chain of messages through all ranks and back, twice", 2, messages=2),
    _Guideline("allreduce", ("latency",), "a chain of messages through all ranks and back, twice", 2, messages=2),
)


def _cases_for(study: Study, rule: _Guideline, case: Case, contestant: Contestant) -> list[Case] | None:
    """The cases of the others, of the next size that was measured; None where one is missing."""
    found = []
    for name in rule.others:
        size = max(case.bytes, 0) * (study.ranks if name in rule.of_ranks else 1)
        fit = [
            other
            for other in study.cases
            if other.benchmark == name
            and other.bytes >= size
            and other.pattern == case.pattern
            and other.where == case.where
            # Messages are the library's own, whoever's the operation is.
            and (Contestant(contestant.mpi, OWN) if rule.messages else contestant) in study.cases[other]
        ]
        if not fit:
            return None
        found.append(min(fit, key=lambda other: other.bytes))
    return found


def guidelines(study: Study) -> list[str]:
    """Operations that take longer than others that do the same: what one library's times show without another's. A rank that is
    late in all samples is named."""
    shown: dict[tuple[Contestant, _Guideline, str, str], list[tuple[Case, Ratio]]] = {}
    for rule in _GUIDELINES:
        for case in sorted(case for case in study.cases if case.benchmark == rule.operation):
            for contestant in study.contestants([case]):
                has_ranks = study.ranks > 1 or not (rule.messages or rule.of_ranks)
                others = _cases_for(study, rule, case, contestant) if contestant.mpi and has_ranks else None
                if others is None:
                    continue
                own = Contestant(contestant.mpi, OWN) if rule.messages else contestant
                ratio = over_sum(study.cases[case][contestant], [study.cases[o][own] for o in others], rule.times(study.ranks))
                if ratio.low > 1 and ratio.shows(study.noise_of(contestant)):
                    shown.setdefault((contestant, rule, case.where, case.pattern), []).append((case, ratio))
    return [_breach(study, *key, cases) for key, cases in shown.items()]


def _breach(study: Study, contestant: Contestant, rule: _Guideline, where: str, pattern: str, found: Sequence[tuple[Case, Ratio]]) -> str:
    case, worst = max(found, key=lambda each: each[1].value)
    sizes = _sizes([case for case, _ in found])
    what = f"{rule.operation}{f' ({pattern})' if pattern else ''}, {place_in_words(where)}{f', {sizes}' if sizes else ''}"
    late = {study.cases[each][contestant].late_rank for each, _ in found}
    rank = f" Rank {late.pop()} is the slowest in nearly all samples." if len(late) == 1 and None not in late else ""
    at = f" (at {humanised_bytes(case.bytes)})" if len(found) > 1 and case.bytes >= 0 else ""
    return f"{study.name(contestant)}, {what}: takes {worst} times as long as {rule.text}{at}.{rank}"


def failures(study: Study) -> list[str]:
    """What did not come to an end, or came out wrong."""
    said = []
    for record in study.failures:
        library = study.names.get(str(record.get("library")), str(record.get("library")))
        what = str(record.get("benchmark"))
        size = f" at {humanised_bytes(int(str(record['bytes'])))}" if record.get("bytes") is not None else ""
        candidate = str(record.get("candidate") or "")
        whose = f" in {candidate}" if candidate and candidate != OWN else ""
        verb = "gave a wrong result" if record.get("record") == "wrong" else "hung" if record.get("hung") else "failed"
        said.append(f"{library}: {what}{size}{whose} {verb}: {record.get('message')}.")
    return list(dict.fromkeys(said))


def left_out(study: Study) -> list[tuple[str, str, str, str]]:
    """What did not run: the benchmark, whose candidate where others ran, the libraries, and why."""
    libraries: dict[tuple[str, str, str], list[str]] = {}
    for record in study.skips:
        library = study.names.get(str(record.get("library")), str(record.get("library")))
        key = (str(record.get("benchmark")), str(record.get("candidate") or "all"), str(record.get("message")))
        libraries.setdefault(key, []).append(library)
    return [(benchmark, candidate, ", ".join(dict.fromkeys(found)), why) for (benchmark, candidate, why), found in libraries.items()]


def limits(study: Study) -> list[str]:
    """How near the best bandwidth comes to what the link carries."""
    if not study.link:
        return []
    said = []
    for (_, benchmark, _, where), cases in study.series().items():
        if benchmark not in ("bandwidth", "bidirectional") or where != "between":
            continue
        limit = study.link * (2 if benchmark == "bidirectional" else 1)
        best, contestant = max((m.moved / m.median, c) for case in cases for c, m in study.cases[case].items() if c.candidate == OWN)
        said.append(
            f"The largest {benchmark if benchmark == 'bandwidth' else 'bidirectional bandwidth'} between nodes, {best / 1e6:.4g} MB/s of {study.name(contestant)}, is {best / limit:.0%} of what the link carries."
        )
    return said


_HINTS = {"neighborhood": "lnw_strategy", "collective": "lnw_collective", "discovery": "lnw_find"}


def _chosen(study: Study, row: Row) -> str:
    """What it chose by itself, as the hint that names it."""
    benchmark, where, leader = row.benchmark, row.where, row.leader
    name, _, pattern = benchmark.partition(", ")
    found = [
        measured[leader].note
        for case, measured in study.cases.items()
        if (case.benchmark, case.pattern, case.where) == (name, pattern, where) and leader in measured
    ]
    chosen = [note for note in dict.fromkeys(found) if note]
    return f", by {_HINTS[row.group]}={' and '.join(chosen)}" if chosen else ""


def _call(row: Row) -> str:
    """The function to call where the leader is not what programs call anyway; empty where it is."""
    library, _, form = row.leader.candidate.partition("_")
    name = row.benchmark.split(",")[0]
    if library not in ("mpi", "laneway") or (library == "mpi" and not form):
        return ""
    if row.group == "discovery":
        return "LNW_Sparse_alltoallv"
    return f"{'LNW' if library == 'laneway' else 'MPI'}_{name.capitalize()}{'_init' if form == 'persistent' else ''}"


def advice(study: Study) -> list[str]:
    """What to set on this machine: the library, and where ours helps."""
    said = []
    if study.preloaded:
        return [f"Nothing: {study.preloaded} was preloaded, and the times are those of the libraries with it."]
    own = [c for c in study.contestants() if c.candidate == OWN]
    common = [case for case in study.cases if all(c in study.cases[case] for c in own)]
    if len(own) > 1 and common:
        ranked = ranking(study, common, own)
        if leads(study, ranked):
            said.append(
                f"Use {study.name(ranked[0][0])}: over {len(common)} cases {study.name(ranked[1][0])} takes {ranked[1][1]} times as long."
            )
        else:
            said.append(f"No library leads over all {len(common)} cases; choose by the table.")
    calls: dict[tuple[str, str, str, Contestant], list[Row]] = {}
    for row in winners(study):
        if row.is_shown and row.leader.mpi and row.group in _HINTS and (call := _call(row)):
            calls.setdefault((call, row.benchmark, row.where, row.leader), []).append(row)
    for (call, benchmark, where, leader), rows in calls.items():
        sizes = [row.size for row in rows if row.size]
        at = f" for {_listed(sizes)} sizes" if sizes else ""
        used = _chosen(study, rows[0]) if leader.is_laneway else ""
        said.append(
            f"Call {call} over {study.names.get(leader.mpi, leader.mpi)} for {benchmark}, {place_in_words(where)}{at}: it leads all others{used}."
        )
    return said


def summary(study: Study) -> dict[str, list[str]]:
    """Sentences under their headings, without the headings that have none."""
    found = {
        "What to use here": advice(study),
        "Libraries compared": _libraries_apart(study),
        "Laneway beside the libraries": _ours(study),
        "Who falls where": falls(study),
        "Operations that others could replace": guidelines(study),
        "The links": limits(study),
        "What did not work": failures(study),
    }
    return {heading: said for heading, said in found.items() if said}
