"""`pip install ./python` says what it builds: for which MPI library, by the compiler that builds it."""

import sys
import types
from pathlib import Path

import pytest

from laneway_tools.places.paths import root


@pytest.fixture(autouse=True)
def _without_scikit_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the backend asks of scikit-build-core is not what is tested, and pip alone installs that."""
    stub = types.ModuleType("scikit_build_core.build")
    stub.build_sdist = stub.build_wheel = None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "scikit_build_core", types.ModuleType("scikit_build_core"))
    monkeypatch.setitem(sys.modules, "scikit_build_core.build", stub)
    monkeypatch.delitem(sys.modules, "backend", raising=False)


def _says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> str:
    compiler = tmp_path / "mpicc-of-mine"
    compiler.write_text(f"#!/bin/sh\n{script}\n")
    compiler.chmod(0o755)
    monkeypatch.syspath_prepend(str(root() / "python"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("CMAKE_ARGS", "-DMPI_C_COMPILER=mpicc-of-mine -DOTHER=1")
    import backend

    text: str = backend._mpi()
    return text.removeprefix(f"{tmp_path}/")


def test_pip_names_the_mpi_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    open_mpi = 'test "$1" = --showme:version && echo "$0: Open MPI 4.1.4 (Language: C)"'
    assert _says(monkeypatch, tmp_path, open_mpi) == "mpicc-of-mine (Open MPI 4.1.4)"
    assert _says(monkeypatch, tmp_path, 'test "$1" = -v && echo "mpicc for MPICH version 4.0.2"') == "mpicc-of-mine (MPICH version 4.0.2)"
    assert _says(monkeypatch, tmp_path, "exit 1") == "mpicc-of-mine"
    monkeypatch.setenv("CMAKE_ARGS", "-DMPI_C_COMPILER=none-such")
    import backend

    assert backend._mpi() == "none-such, which is not in the PATH"
