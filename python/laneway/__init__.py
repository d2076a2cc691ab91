"""Laneway for Python programs: irregular exchanges between the ranks of an mpi4py communicator.

Needs mpi4py and NumPy, which are loaded when the first name is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from laneway._channel import Channel as Channel
    from laneway._channel import Received as Received
    from laneway._dense import *  # noqa: F403
    from laneway._discovery import Arrivals as Arrivals
    from laneway._discovery import Distributor as Distributor
    from laneway._discovery import sparse_alltoallv as sparse_alltoallv
    from laneway._halo import Halo as Halo
    from laneway._library import Error as Error
    from laneway._library import control_variables as control_variables
    from laneway._library import counters as counters
    from laneway._request import Explanation as Explanation
    from laneway._request import Request as Request
    from laneway._topology import Topology as Topology

__version__ = "0.2.0"

_DENSE = (
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "exscan", "gather", "gatherv", "reduce",
    "reduce_scatter", "reduce_scatter_block", "scan", "scatter", "scatterv",
)  # fmt: skip
_HOMES = {
    "Channel": "_channel",
    "Received": "_channel",
    "Arrivals": "_discovery",
    "Distributor": "_discovery",
    "sparse_alltoallv": "_discovery",
    "Halo": "_halo",
    "Error": "_library",
    "control_variables": "_library",
    "counters": "_library",
    "Explanation": "_request",
    "Request": "_request",
    "Topology": "_topology",
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
