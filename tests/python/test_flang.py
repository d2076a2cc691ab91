"""The Fortran module by flang: laneway_mpi with MPICH's mpif.h, which is what this compiler can read of Debian's MPI libraries."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from conftest import needs_long

from laneway_tools.dev import build
from laneway_tools.dev.steps import Steps


@needs_long
def test_programs_with_mpif_h() -> None:
    flang = next(filter(None, map(shutil.which, ("flang", "flang-22", "flang-new-19"))), None)
    if flang is None:
        pytest.skip("flang is not installed (Debian: flang-22, flang-19)")
    directory = build.build_dir("flang")
    settings = [f"CMAKE_Fortran_COMPILER={flang}", "LANEWAY_FORTRAN=ON"]
    with Steps() as steps:
        build.make(steps, "mpich", directory, targets=["laneway_fortran_include_tests", "laneway_test_yield"], settings=settings)
    argv = ["ctest", "--test-dir", str(directory), "-R", "^mpi.fortran_include", "--no-tests=error", "--output-on-failure"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
