"""Sparse matrices whose rows are distributed over ranks. Needs SciPy beside mpi4py and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI
from scipy.sparse import csr_matrix

from laneway._halo import Halo, agree


class DistributedMatrix:
    """A matrix of which each rank has some rows, one after the other in the order of ranks. Collective over `comm`.

    `rows` are this rank's rows as a CSR matrix with global column indices. Vectors that are multiplied are distributed as
    the columns: `columns` of them on this rank, as many as it has rows if that is None. ``A @ x`` and ``A.T @ y`` take and
    give what this rank has of a vector, or of several as the columns of an array.

    >>> from mpi4py import MPI
    >>> from scipy.sparse import eye
    >>> import numpy as np
    >>> from laneway.sparse import DistributedMatrix
    >>> size, rank = MPI.COMM_WORLD.size, MPI.COMM_WORLD.rank
    >>> A = DistributedMatrix(MPI.COMM_WORLD, 2 * eye(3 * size, format="csr")[3 * rank : 3 * rank + 3])
    >>> A @ np.ones(3)
    array([2., 2., 2.])
    >>> A.T @ np.arange(3.0)
    array([0., 2., 4.])
    """

    def __init__(self, comm: MPI.Comm, rows: Any, columns: int | None = None, **hints: object) -> None:
        matrix = csr_matrix(rows)
        here = matrix.shape[0] if columns is None else int(columns)
        counts = comm.allgather(here)
        begin = sum(counts[: comm.rank])
        if comm.allreduce(int(matrix.shape[1] != sum(counts))):
            raise ValueError(
                f"DistributedMatrix: rank {comm.rank}: rows have {matrix.shape[1]} columns, and the vectors have {sum(counts)} entries"
            )
        used = np.unique(matrix.indices)
        ghosts = used[(used < begin) | (used >= begin + here)]
        local = np.where(
            (matrix.indices >= begin) & (matrix.indices < begin + here),
            matrix.indices - begin,
            here + np.searchsorted(ghosts, matrix.indices),
        )
        self.comm, self.columns = comm, here
        self.shape = (comm.allreduce(matrix.shape[0]), matrix.shape[1])
        self.local = csr_matrix((matrix.data, local, matrix.indptr), shape=(matrix.shape[0], here + len(ghosts)))
        """This rank's rows; columns are those of its part of a vector, then those of its ghosts."""
        self.dtype = np.result_type(*(np.dtype(text) for text in comm.allgather(matrix.dtype.str)))
        """That of the elements of all ranks."""
        self.halo = Halo(comm, np.arange(begin, begin + here), ghosts, **hints)
        self._vectors: dict[Any, Any] = {}

    def _extended(self, shape: tuple[int, ...], dtype: Any) -> Any:
        # One array a shape, so that its exchange stays bound.
        key = (shape, np.dtype(dtype))
        if key not in self._vectors:
            self._vectors[key] = np.zeros((self.local.shape[1], *shape), dtype=dtype)
        return self._vectors[key]

    def _check(self, x: Any, rows: int) -> Any:
        x = np.asarray(x)
        if x.ndim not in (1, 2) or x.shape[0] != rows:
            raise ValueError(f"DistributedMatrix: rank {self.comm.rank}: the vector has shape {x.shape}, expected {rows} rows")
        return x

    def __matmul__(self, x: Any) -> Any:
        x = self._check(x, self.columns)
        # Of whole numbers the exchange is in the matrix's dtype, which all ranks know.
        extended = self._extended(x.shape[1:], x.dtype if x.dtype.kind in "fc" else np.result_type(self.dtype, x.dtype))
        extended[: self.columns] = x
        self.halo.exchange(extended)
        return self.local @ extended

    def _transposed(self, y: Any) -> Any:
        y = self._check(y, self.local.shape[0])
        found = self.local.T @ y
        extended = self._extended(found.shape[1:], np.result_type(self.dtype, found.dtype))
        extended[:] = found
        self.halo.accumulate(extended)
        return extended[: self.columns].copy()

    @property
    def T(self) -> Transposed:  # noqa: N802
        """The transposed matrix."""
        return Transposed(self)


class Transposed:
    """The transpose of a DistributedMatrix, to multiply with."""

    def __init__(self, matrix: DistributedMatrix) -> None:
        self._matrix = matrix
        self.shape = matrix.shape[::-1]

    @property
    def T(self) -> DistributedMatrix:  # noqa: N802
        """The matrix itself."""
        return self._matrix

    def __matmul__(self, y: Any) -> Any:
        return self._matrix._transposed(y)


class NotConvergedError(RuntimeError):
    """``cg`` has not reached its tolerance: ``x`` is this rank's part of what was reached after ``iterations``, ``residual`` the
    norm of its residual over that of x = 0. All ranks raise it."""

    def __init__(self, reason: str, x: Any, iterations: int, residual: float) -> None:
        super().__init__(f"cg: {reason}: the residual is {residual:.2g} of that of x = 0 after {iterations} iterations")
        self.x, self.iterations, self.residual = x, iterations, residual


def cg(matrix: DistributedMatrix, b: Any, tolerance: float = 1e-8, iterations: int = 1000) -> tuple[Any, int]:
    """Solve ``matrix @ x = b`` for a symmetric, or Hermitian, positive definite matrix by conjugate gradients.

    `b` is what this rank has of the right side. Returns this rank's part of x, and how many iterations it took until the
    residual was `tolerance` of that of x = 0. NotConvergedError on all ranks where `iterations` were not enough, or the matrix
    is not positive definite. ValueError on all ranks where one has another number of rows than `b`.

    >>> from scipy.sparse import diags
    >>> n = 4 * comm.size
    >>> whole = diags([-1, 2.5, -1], [-1, 0, 1], shape=(n, n), format="csr")
    >>> A = DistributedMatrix(comm, whole[4 * comm.rank : 4 * comm.rank + 4])
    >>> x, iterations = cg(A, np.ones(4))
    >>> bool(np.allclose(A @ x, 1)) and iterations <= n
    True
    """
    b = np.asarray(b)
    agree(matrix.comm, "cg", "" if b.shape == (matrix.columns,) else f"b has shape {b.shape}, expected ({matrix.columns},)")
    # One dtype on all ranks: a rank whose part is real may have neighbours with complex ones.
    texts = {text for pair in matrix.comm.allgather((b.dtype.str, matrix.dtype.str)) for text in pair}
    dtype = np.result_type(*sorted(texts), *([] if any(np.dtype(text).kind in "fc" for text in texts) else [np.float64]))

    def sum_of(left: Any, right: Any) -> float:
        return float(matrix.comm.allreduce(float(np.vdot(left, right).real)))

    x, residual = np.zeros(b.shape, dtype), b.astype(dtype)
    direction = residual.copy()
    square = first = sum_of(residual, residual)
    for iteration in range(iterations + 1):
        if square <= tolerance**2 * first:
            return x, iteration
        product = matrix @ direction
        curvature = sum_of(direction, product)
        if iteration == iterations or not curvature > 0:
            break
        step = square / curvature
        x += step * direction
        residual -= step * product
        last, square = square, sum_of(residual, residual)
        direction = residual + (square / last) * direction
    reason = "no convergence" if iteration == iterations else "the matrix is not positive definite, or has no numbers"
    raise NotConvergedError(reason, x, iteration, float(np.sqrt(square / first)))
