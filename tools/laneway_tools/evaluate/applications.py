"""Programs of others as applications of an evaluation: which are known, and what each says of its run."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from laneway_tools.evaluate.libraries import Library
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import require_own_mpi

GROUP = "program"
#: What is preloaded takes over dense operations and messages that repeat; neither changes a result.
VARIABLES = {"LANEWAY_DENSE": "1", "LANEWAY_P2P": "1"}


@dataclass(frozen=True)
class Figure:
    """One of the times that a program prints, of one of its repetitions."""

    benchmark: str
    seconds: float
    flops: float = 0.0


@dataclass(frozen=True)
class Said:
    """What a run says: its figures, and its result, which must be the same whatever it runs on."""

    figures: tuple[Figure, ...]
    result: str


@dataclass(frozen=True)
class Application:
    """A program that is known: how it is started, what it reads and writes in its folder, and how its figures are found."""

    name: str
    program: str
    arguments: tuple[str, ...]
    quick: tuple[str, ...]  #: in place of ``arguments``
    read: Callable[[str, str], Said]  #: of this name and what it says; a ValueError where a figure is missing
    beside: tuple[str, ...] = ()  #: files beside the program that it reads
    writes: str = ""  #: a pattern of files that it writes its figures to


def _one(pattern: str, text: str) -> str:
    """The last match's group. A ValueError where there is none."""
    found = re.findall(pattern, text, re.MULTILINE)
    if not found:
        raise ValueError(f"it printed no line '{pattern}'")
    return str(found[-1])


def _hpcg(name: str, text: str) -> Said:
    """By phase, for one iteration of conjugate gradients: how many there are depends on how fast they are."""
    if "HPCG result is VALID" not in text:
        raise ValueError("its result is not valid")
    iterations = float(_one(r"^Iteration Count Information::Total number of optimized iterations=(\S+)", text))

    def figure(benchmark: str, time: str, operations: str) -> Figure:
        seconds = float(_one(rf"^Benchmark Time Summary::{time}=(\S+)", text))
        flops = float(_one(rf"^Floating Point Operations Summary::{operations}=(\S+)", text))
        return Figure(benchmark, seconds / iterations, flops / iterations)

    phases = (figure(f"{name}_{phase.lower()}", phase, f"Raw {phase}") for phase in ("DDOT", "WAXPBY", "SpMV", "MG"))
    residual = _one(r"^Reproducibility Information::Scaled residual mean=(\S+)", text)
    return Said((figure(name, "Total", "Total"), *phases), f"scaled residual {residual}")


def _heffte(name: str, text: str) -> Said:
    seconds = float(_one(r"^Time per run: +(\S+) \(s\)", text))
    rate = float(_one(r"^Performance: +(\S+) GFlops/s", text))
    return Said((Figure(name, seconds, rate * 1e9 * seconds),), f"error {_one(r'^Max error: +(.+)', text)}")


def _nekbone(name: str, text: str) -> Said:
    """Of the last size: its solver, which does as many iterations each time."""
    seconds, rate = float(_one(r"^ *Solve Time = +(\S+)", text)), float(_one(r"Tot MFlops = +([^\s,]+)", text))
    return Said((Figure(name, seconds, rate * 1e6 * seconds),), " ".join(_one(r"^ *(cg: *[1-9]\d* .+)", text).split()))


def _speed3d(program: str, exchange: str) -> Application:
    """heFFTe's benchmark with one of its ways to reshape."""
    full, quick = (("fftw", "double", *([side] * 3), f"-{exchange}", "-n50") for side in ("128", "32"))
    return Application(f"{program}_{exchange}", program, full, quick, _heffte)


_HPCG = tuple(f"--n{side}=32" for side in "xyz")
KNOWN = (
    Application("xhpcg", "xhpcg", (*_HPCG, "--rt=20"), (*_HPCG, "--rt=5"), _hpcg, ("hpcg.dat",), "HPCG-Benchmark*.txt"),
    *(_speed3d("speed3d_c2c", exchange) for exchange in ("a2av", "p2p_pl")),
    _speed3d("speed3d_r2c", "a2av"),
    Application("nekbone", "nekbone", ("ex1",), ("ex1",), _nekbone, ("data.rea",)),
)


@dataclass(frozen=True)
class Installed:
    """A known application, and where it is for one MPI library."""

    application: Application
    path: Path

    def prepare(self, folder: Path) -> None:
        """A folder to run in, with what it reads. What an earlier run has written there is gone."""
        folder.mkdir(parents=True, exist_ok=True)
        for written in folder.glob(self.application.writes) if self.application.writes else ():
            written.unlink()
        for name in self.application.beside:
            if (file := self.path.parent / name).is_file():
                (folder / name).write_bytes(file.read_bytes())

    def said(self, log: str, folder: Path) -> Said:
        """Of a run in ``folder`` that has printed ``log``."""
        written = sorted(folder.glob(self.application.writes)) if self.application.writes else []
        return self.application.read(self.application.name, "\n".join([log, *(file.read_text(errors="replace") for file in written)]))


def _folders(path: Path, library: Library) -> list[Path]:
    """Where a library's are looked for: in a folder with its name, or in the folder itself."""
    return [folder for folder in (path / library.name / "bin", path / library.name, path / "bin", path) if folder.is_dir()]


def find(path: Path | None, library: Library) -> tuple[list[Installed], list[tuple[str, str]]]:
    """What is installed for a library, and what is not: names with why."""
    found: list[Installed] = []
    missing: list[tuple[str, str]] = []
    for application in KNOWN if path else ():
        assert path is not None
        programs = [folder / application.program for folder in _folders(path, library)]
        program = next((one for one in programs if os.access(one, os.X_OK)), None)
        if program is None:
            continue
        try:
            require_own_mpi(str(program), library.kind)
        except UserError:
            missing.append((application.name, f"{program} is linked with another MPI library"))
            continue
        found.append(Installed(application, program.absolute()))
    return found, missing


def require(path: Path | None) -> None:
    """Refuse a folder that holds nothing that is known."""
    if path is None:
        return
    programs = dict.fromkeys(application.program for application in KNOWN)
    if not any(
        os.access(file, os.X_OK) for name in programs for file in [path / name, *path.glob(f"*/{name}"), *path.glob(f"*/bin/{name}")]
    ):
        raise UserError(f"--applications {path}: there is none of {', '.join(programs)} in it, in its bin, or in a folder of a library")


def arguments(application: Application, *, quick: bool) -> Sequence[str]:
    """As an evaluation starts it."""
    return application.quick if quick else application.arguments
