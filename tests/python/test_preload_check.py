"""What ``laneway preload-check`` says of programs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Command

from laneway_tools.places import preload_check
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_preloads, root

Programs = Callable[[str], str]
MPIS = ["openmpi", "mpich"]
OTHER = {"openmpi": "mpich", "mpich": "openmpi"}
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}


def _reported(mpi: str) -> str:
    """A program that calls neighborhood operations, of this build."""
    program = root() / "build" / mpi / "tests" / "interpose" / "laneway_preload_reported"
    try:
        find_preloads(str(program), mpi)
    except UserError as error:
        pytest.skip(str(error))
    if not program.exists():
        pytest.skip(f"{program.name} is not built")
    return str(program)


@pytest.mark.parametrize("mpi", MPIS)
def test_a_dry_run_counts_and_takes_nothing_over(command: Command, mpi: str) -> None:
    program = _reported(mpi)
    status, said = command.run("preload-check", "--mpi", mpi, "-n", "2", "--", program, "varying", "7")
    assert status == preload_check.SOMETHING, said
    assert f"it is linked with {NAMES[mpi]}" in said
    assert "MPI_Neighbor_alltoallv is called by laneway_preload_reported" in said
    assert "MPI_Neighbor_alltoallv: 7 calls: would be tried under the promise of" in said
    status, said = command.run("preload-check", "--mpi", mpi, "-n", "2", "--", program, "grid", "7")
    assert status == preload_check.NOTHING and "MPI_Neighbor_allgather: 7 calls: the communicator was not made by" in said


@pytest.mark.parametrize("mpi", MPIS)
def test_a_program_without_neighborhoods(command: Command, programs: Programs, mpi: str) -> None:
    _reported(mpi)
    status, said = command.run("preload-check", "--mpi", mpi, "-n", "2", "--", programs(mpi))
    assert status == preload_check.NOTHING, said
    assert "no symbol of a neighborhood operation" in said and "no neighborhood operation was called" in said
    status, said = command.run("preload-check", "--mpi", mpi, "-n", "2", "--", programs(mpi), "seven")
    assert status == preload_check.FAILED, said


@pytest.mark.parametrize("mpi", MPIS)
def test_the_other_mpi_library_is_named(command: Command, programs: Programs, mpi: str) -> None:
    status, said = command.run("preload-check", "--mpi", OTHER[mpi], "--", programs(mpi))
    assert status == preload_check.IMPOSSIBLE
    assert f"cannot be preloaded: it is linked with {NAMES[mpi]}" in said and f"--mpi {mpi}" in said


def test_what_cannot_be_preloaded(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text("int main(void) { return 0; }\n")
    static = tmp_path / "static"
    compiler = shutil.which("cc")
    if (
        compiler is None
        or subprocess.run([compiler, "-static", str(source), "-o", str(static)], check=False, capture_output=True).returncode
    ):
        pytest.skip("no compiler that links statically")
    assert any("linked statically" in why for why in preload_check.look_at(str(static), "openmpi").obstacles)
    dynamic = tmp_path / "dynamic"
    subprocess.run([compiler, str(source), "-o", str(dynamic)], check=True)
    assert not preload_check.look_at(str(dynamic), "openmpi").obstacles
    dynamic.chmod(0o4755)
    assert any("setuid" in why for why in preload_check.look_at(str(dynamic), "openmpi").obstacles)
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert any("script" in note for note in preload_check.look_at(str(script), "openmpi").notes)


def test_lines_fit_79_columns() -> None:
    found = preload_check.Found("program", notes=["a " * 100], operations={"MPI_Neighbor_allgather": ["/x/" + "a" * 40, "/x/" + "b" * 40]})
    assert all(len(line) <= 79 for line in preload_check.describe(found).splitlines())
