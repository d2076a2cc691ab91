"""How soon messages between the devices of a node can be there, over whatever ways: a bound for all strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix


class _Rows:
    """Rows of a sparse matrix with right-hand sides, one after another."""

    def __init__(self) -> None:
        self.row: list[int] = []
        self.column: list[int] = []
        self.value: list[float] = []
        self.right: list[float] = []

    def add(self, entries: Sequence[tuple[int, float]], right: float) -> None:
        for column, value in entries:
            self.row.append(len(self.right))
            self.column.append(column)
            self.value.append(value)
        self.right.append(right)

    def matrix(self, columns: int) -> coo_matrix:
        return coo_matrix((self.value, (self.row, self.column)), shape=(len(self.right), columns))


def least_seconds(edges: Sequence[tuple[int, int]], bytes_per_second: Mapping[tuple[int, int], float], size: float) -> float:
    """Until every source's block of ``size`` bytes can be with all its destinations.

    Each edge ``(source, destination)`` of an allgather is a unit flow over the arcs ``(from, to)`` between devices, cut
    over any number of ways; of the flows of one source an arc carries what the largest of them needs, since devices can
    copy what they pass on. No arc carries more than its rate allows. The linear program finds the least time: no
    schedule can be faster, and latencies are not counted.
    """
    arcs = sorted(bytes_per_second)
    devices = {device for arc in arcs for device in arc}
    sources = sorted({source for source, _ in edges})
    flow = {key: i for i, key in enumerate((edge, arc) for edge in edges for arc in arcs)}
    used = {key: len(flow) + i for i, key in enumerate((source, arc) for source in sources for arc in arcs)}
    seconds = len(flow) + len(used)
    most, equal = _Rows(), _Rows()
    for (edge, arc), column in flow.items():
        most.add([(column, 1.0), (used[edge[0], arc], -1.0)], 0.0)
    unit = size / max(bytes_per_second.values())
    for arc in arcs:
        most.add([*((used[source, arc], 1.0) for source in sources), (seconds, -unit * bytes_per_second[arc] / size)], 0.0)
    for edge in edges:
        for device in devices:
            leaves = [(flow[edge, arc], 1.0) for arc in arcs if arc[0] == device]
            enters = [(flow[edge, arc], -1.0) for arc in arcs if arc[1] == device]
            equal.add(leaves + enters, float(device == edge[0]) - float(device == edge[1]))
    cost = np.zeros(seconds + 1)
    cost[seconds] = 1.0
    found = linprog(
        cost,
        A_ub=most.matrix(seconds + 1).tocsr(),
        b_ub=most.right,
        A_eq=equal.matrix(seconds + 1).tocsr(),
        b_eq=equal.right,
        bounds=(0, None),
    )
    if not found.success:
        raise RuntimeError(f"the bound of {len(edges)} edges was not found: {found.message}")
    return float(found.x[seconds]) * unit
