"""Tensors of PyTorch and JAX, taken where they are by DLPack, against what each rank knows; run by test_bindings.py."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI
from ranks import COMM, RANK, SIZE, everywhere

import laneway

TO, SOURCE = (RANK + 1) % SIZE, (RANK - 1) % SIZE


def _library(name: str) -> types.ModuleType:
    found: types.ModuleType = pytest.importorskip(name, reason=f"{name} is not installed: pip install {name}")
    return found


def _device(torch: types.ModuleType, name: str) -> str:
    if name == "cuda" and not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU here")
    return name


@pytest.fixture
def topology() -> Iterator[laneway.Topology]:
    with laneway.Topology(COMM, [SOURCE], [TO]) as ring:
        yield ring


def _values(shape: tuple[int, ...], rank: int) -> Any:
    return np.arange(np.prod(shape), dtype="f4").reshape(shape) + 100 * rank


KINDS = ("bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
LAYOUTS: tuple[Callable[[Any], Any], ...] = (
    lambda zeros: zeros(3, 4),
    lambda zeros: zeros(3, 8)[:, ::2],
    lambda zeros: zeros(6, 4)[::2],
    lambda zeros: zeros(4, 3).T,
    lambda zeros: zeros(5, 7)[1:4, 2:6],
)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_kind_and_layout_of_pytorch(topology: laneway.Topology, device: str) -> None:
    torch = _library("torch")
    where = _device(torch, device)
    for kind in KINDS:
        dtype = getattr(torch, kind)
        mine, expected = (torch.tensor(_values((3, 4), rank) % 7).to(where, dtype) for rank in (RANK, SOURCE))
        for make in LAYOUTS:
            sent = make(lambda *shape, dtype=dtype: torch.zeros(*shape, dtype=dtype, device=where))
            received = make(lambda *shape, dtype=dtype: torch.ones(*shape, dtype=dtype, device=where))
            whole = received._base if received._base is not None else received
            before = whole.clone()
            sent.copy_(mine)
            topology.allgather(sent, received)
            everywhere(torch.equal(received, expected), (kind, received))
            # What lies between the rows and columns is not touched.
            received.fill_(1)
            everywhere(torch.equal(whole, before), (kind, whole))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_pytorch_in_the_families(topology: laneway.Topology, device: str) -> None:
    torch = _library("torch")
    where = _device(torch, device)
    mine = torch.tensor(_values((3,), RANK), device=where)
    laneway.allreduce(COMM, mine, total := torch.zeros(3, device=where))
    everywhere(np.array_equal(total.cpu().numpy(), sum(_values((3,), rank) for rank in range(SIZE))), total)
    received = torch.zeros(3, device=where)
    request = topology.alltoallv_init(mine, [3], received, [3])
    for turn in range(3):
        mine.fill_(RANK + turn)
        request.start()
        request.wait()
        everywhere(bool((received.cpu() == SOURCE + turn).all()), received)
    other = torch.full((3,), RANK + 0.5, device=where), torch.zeros(3, device=where)
    request.set_buffers(*other)
    request.start()
    request.wait()
    request.free()
    everywhere(bool((other[1].cpu() == SOURCE + 0.5).all()), other)
    halo = laneway.Halo(COMM, np.arange(2 * RANK, 2 * RANK + 2), [(2 * RANK + 2) % (2 * SIZE)])
    field = torch.tensor([2.0 * RANK, 2 * RANK + 1, -1], device=where)
    halo.exchange(field)
    everywhere(float(field[2]) == (2 * RANK + 2) % (2 * SIZE), field)
    topology.allgather(torch.tensor(1.0 + RANK, device=where), one := torch.tensor(0.0, device=where))
    everywhere(float(one) == 1.0 + SOURCE, "without dimensions")


def test_pytorch_that_cannot_be_taken_is_named(topology: laneway.Topology) -> None:
    torch = _library("torch")
    into, ones = torch.zeros(3), torch.ones(3)
    leaf = torch.ones(3, requires_grad=True)
    for sent, received, said in (
        (leaf, into, "torch does not give the tensor away: .*detach"),
        (ones, torch.nn.Parameter(into.clone()), "torch does not give the tensor away: .*detach"),
        (torch.eye(3).to_sparse(), into, "torch does not give the tensor away"),
        (torch.ones(3, device="meta"), into, "torch does not give the tensor away"),
        (ones, torch.zeros(1).expand(3), "elements of the array are the same memory"),
    ):
        with pytest.raises(TypeError, match=said):
            topology.allgather(sent, received)
    topology.allgather(leaf.detach(), into)
    topology.allgather(torch.zeros(1).expand(3) + RANK, into)
    everywhere(bool((into == SOURCE).all()), into)


def test_arrays_of_jax_are_sent(topology: laneway.Topology) -> None:
    jax = _library("jax")
    for kind in ("bool", "uint8", "int32", "float16", "float32", "complex64"):
        mine, expected = ((_values((3, 2), rank) % 7).astype(kind) for rank in (RANK, SOURCE))
        received = np.zeros_like(expected)
        topology.allgather(jax.numpy.asarray(mine), received)
        everywhere(np.array_equal(received, expected), (kind, received))
        received[:] = 0
        topology.allgather(jax.numpy.asarray(mine).T.copy().T, received)
        everywhere(np.array_equal(received, expected), (kind, received))
    whole = np.full((2, 3), -1.0, "f4")
    laneway.allreduce(COMM, jax.numpy.ones((2, 3)), whole, MPI.SUM)
    everywhere((whole == SIZE).all(), whole)


def test_arrays_of_jax_are_not_written(topology: laneway.Topology) -> None:
    jax = _library("jax")
    never = jax.numpy.zeros(3)
    with pytest.raises(TypeError, match="read-only"):
        topology.allgather(np.ones(3, "f4"), never)
    with pytest.raises(TypeError, match="jax does not give the tensor away"):
        jax.jit(lambda traced: topology.allgather(traced, np.zeros(3, "f4")))(never)
    everywhere(not never.any(), never)
