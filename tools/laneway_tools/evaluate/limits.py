"""The least time that an operation can take, by what must cross the links of the nodes."""

from __future__ import annotations

from collections import Counter

from laneway_tools.evaluate.study import Case, Study


def _least_bytes(case: Case, by_node: list[int]) -> float | None:
    """Bytes that the busiest node must send or receive at least, by the definition of the operation.

    An allreduce over N nodes needs 2 (N-1)/N of its vector in and out of each, without switches that compute (P. Patarasuk and X. Yuan:
    Bandwidth optimal all-reduce algorithms for clusters of workstations, J. Parallel Distrib. Comput. 69, 2009,
    doi:10.1016/j.jpdc.2008.09.002).
    """
    ranks, nodes, size = sum(by_node), len(by_node), case.bytes
    if case.benchmark in ("alltoall", "alltoallv"):
        # alltoallv's blocks are of 0, 1 and 2 times the size: as many bytes all together, but for a rest.
        return max(own * (ranks - own) for own in by_node) * size if case.benchmark == "alltoall" else None
    if case.benchmark == "allgather":
        return (ranks - min(by_node)) * size
    if case.benchmark == "gather":
        return (ranks - by_node[0]) * size
    if case.benchmark == "bcast" or case.benchmark == "reduce":
        return size
    if case.benchmark == "allreduce":
        return 2 * (nodes - 1) / nodes * size
    if case.benchmark == "latency":
        return size
    return None


def least_seconds(study: Study, case: Case) -> float | None:
    """The time that the links alone need; nothing where they are not known, or nothing crosses them."""
    by_node = [count for _, count in sorted(Counter(study.nodes_of_ranks).items())]
    if not study.link or case.where != "between" or len(by_node) < 2 or case.bytes < 0:
        return None
    least = _least_bytes(case, by_node)
    return least / study.link if least else None
