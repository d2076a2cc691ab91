"""Laneway for Python programs: irregular exchanges between the ranks of an mpi4py communicator.

Needs mpi4py and NumPy, which are loaded when the first name is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from laneway._bag import Bag as Bag
    from laneway._channel import Channel as Channel
    from laneway._channel import Received as Received
    from laneway._dense import *  # noqa: F403
    from laneway._discovery import Arrivals as Arrivals
    from laneway._discovery import Distributor as Distributor
    from laneway._discovery import SparseRequest as SparseRequest
    from laneway._discovery import isparse_alltoallv as isparse_alltoallv
    from laneway._discovery import sparse_alltoallv as sparse_alltoallv
    from laneway._discovery import sparse_alltoallv_sets as sparse_alltoallv_sets
    from laneway._discovery import sparse_query as sparse_query
    from laneway._halo import CartesianHalo as CartesianHalo
    from laneway._halo import Fields as Fields
    from laneway._halo import Halo as Halo
    from laneway._library import Error as Error
    from laneway._library import control_variables as control_variables
    from laneway._library import counters as counters
    from laneway._library import version as version
    from laneway._partitioned import Partitioned as Partitioned
    from laneway._partitioned import precv_init as precv_init
    from laneway._partitioned import psend_init as psend_init
    from laneway._queue import Queue as Queue
    from laneway._request import Explanation as Explanation
    from laneway._request import Request as Request
    from laneway._request import startall as startall
    from laneway._request import testall as testall
    from laneway._request import testany as testany
    from laneway._request import testsome as testsome
    from laneway._request import waitall as waitall
    from laneway._request import waitany as waitany
    from laneway._request import waitsome as waitsome
    from laneway._topology import Topology as Topology
    from laneway._topology import dist_graph_create as dist_graph_create
    from laneway._topology import dist_graph_create_adjacent as dist_graph_create_adjacent
    from laneway._topology import reordering as reordering

__version__ = "0.2.0"

_DENSE = (
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "exscan", "gather", "gatherv", "reduce",
    "reduce_scatter", "reduce_scatter_block", "scan", "scatter", "scatterv",
)  # fmt: skip
_HOMES = {
    "Bag": "_bag",
    "Channel": "_channel",
    "Received": "_channel",
    "Arrivals": "_discovery",
    "Distributor": "_discovery",
    "SparseRequest": "_discovery",
    "isparse_alltoallv": "_discovery",
    "sparse_alltoallv": "_discovery",
    "sparse_alltoallv_sets": "_discovery",
    "sparse_query": "_discovery",
    "CartesianHalo": "_halo",
    "Fields": "_halo",
    "Halo": "_halo",
    "Error": "_library",
    "control_variables": "_library",
    "counters": "_library",
    "version": "_library",
    "Partitioned": "_partitioned",
    "precv_init": "_partitioned",
    "psend_init": "_partitioned",
    "Queue": "_queue",
    "Explanation": "_request",
    "Request": "_request",
    "startall": "_request",
    "testall": "_request",
    "testany": "_request",
    "testsome": "_request",
    "waitall": "_request",
    "waitany": "_request",
    "waitsome": "_request",
    "Topology": "_topology",
    "dist_graph_create": "_topology",
    "dist_graph_create_adjacent": "_topology",
    "reordering": "_topology",
    "alltoallv_counted_init": "_dense",
    **{form: "_dense" for name in _DENSE for form in (name, f"i{name}", f"{name}_init")},
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    # `python -m laneway` imports this package where neither mpi4py nor NumPy is installed.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
