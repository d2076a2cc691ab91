"""A stock PETSc solve whose exchanges are neighborhood collectives (-sf_type neighbor); prints the residuals, bit by bit."""

import sys

import petsc4py

petsc4py.init([*sys.argv, "-sf_type", "neighbor"])

from petsc4py import PETSc

n = 40
grid = PETSc.DMDA().create([n, n], stencil_width=1, stencil_type=PETSc.DMDA.StencilType.STAR)
matrix = grid.createMatrix()
row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
(x_begin, x_end), (y_begin, y_end) = grid.getRanges()
for y in range(y_begin, y_end):
    for x in range(x_begin, x_end):
        row.index = (x, y)
        for dx, dy, value in ((0, 0, 4.0), (1, 0, -1.0), (-1, 0, -1.0), (0, 1, -1.0), (0, -1, -1.0)):
            if 0 <= x + dx < n and 0 <= y + dy < n:
                column.index = (x + dx, y + dy)
                matrix.setValueStencil(row, column, value)
matrix.assemble()
solution, right_side = matrix.createVecs()
right_side.set(1.0)
solver = PETSc.KSP().create()
solver.setOperators(matrix)
solver.setType("cg")
solver.getPC().setType("jacobi")
solver.setTolerances(rtol=1e-8)
solver.setFromOptions()
solver.setConvergenceHistory()
solver.solve(right_side, solution)
if PETSc.COMM_WORLD.rank == 0:
    print("\n".join(float(norm).hex() for norm in solver.getConvergenceHistory()))
    print("solved in", solver.getIterationNumber(), "iterations")
