"""Where things are in the working tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from laneway_tools.places.errors import UserError

MPIS = ("openmpi", "mpich")
ANY_BUILD = ("nompi", *MPIS)


def root() -> Path:
    """The top of the working tree: the folder that holds ``dev``."""
    given = os.environ.get("LANEWAY_ROOT")
    top = Path(given) if given else Path(__file__).resolve().parents[3]
    if not (top / "CMakePresets.json").is_file():
        raise UserError(f"{top} is not Laneway's working tree; set LANEWAY_ROOT to it")
    return top


def _builds() -> Path | None:
    """Where presets are built; nothing outside the working tree, where only what is installed is used."""
    try:
        return root() / "build"
    except UserError:
        return None


def find_program(name: str, mpi: str) -> str:
    """The path of a program: one with a slash as it is, a tool of this build, or one on the PATH."""
    if "/" in name:
        if not os.access(name, os.X_OK):
            raise UserError(f"{name} is not an executable file", 127)
        # Links stay: the Python of a virtual environment is one, and finds its packages by it.
        return os.path.abspath(name)
    is_ours, builds = name.startswith("laneway-"), _builds()
    if is_ours and builds and os.access(built := builds / mpi / "bench" / name, os.X_OK):
        return str(built)
    # Builds for several MPI libraries that share a prefix end in their names.
    found = shutil.which(name) or (shutil.which(f"{name}_{mpi}") if is_ours else None)
    if found:
        return found
    hint = f"; './dev build --mpi {mpi}' builds it" if is_ours and builds else ""
    hint = hint or ("; add the folder of an installed one to the PATH" if is_ours else "")
    raise UserError(f"{name} was not found{hint}", 127)


def _find_library(name: str, folder: str, mpi: str) -> str | None:
    """The path of a library: of this build, where it is in ``folder``, in a folder of LD_LIBRARY_PATH, or beside the
    laneway-bench of the PATH."""
    builds = _builds()
    built = [builds / preset / folder / name for preset in (mpi, f"install-{mpi}")] if builds else []
    folders = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    if bench := shutil.which("laneway-bench") or shutil.which(f"laneway-bench_{mpi}"):
        prefix = Path(bench).resolve().parents[1]
        folders += sorted([*prefix.glob("lib*"), *prefix.glob("lib/*-linux-gnu*")])  # the second: Debian's packages
    stem = name.removesuffix(".so")
    installed = [folder / file for folder in folders for file in (name, f"{stem}_{mpi}.so")]
    return next((str(path) for path in (*built, *installed) if path.is_file()), None)


def linked_libraries(program: str) -> str:
    """What ldd says of a program; nothing of a script, or where there is no ldd."""
    if shutil.which("ldd") is None:
        return ""
    return subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout


_LIBRARIES = {"openmpi": re.compile(r"\b(libopen-(?:rte|pal)\.so\.\d+|libmpi\.so\.[2-9]\d)"), "mpich": re.compile(r"\blibmpich\.so\.\d+")}
_NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}


@dataclass(frozen=True)
class LinkedMpi:
    """The MPI library that a program is linked with."""

    mpi: str
    name: str
    file: str


def linked_mpi(libraries: str) -> LinkedMpi | None:
    """That of a program of which ldd says this; None if there is none of those that we know."""
    for mpi, pattern in _LIBRARIES.items():
        if found := pattern.search(libraries):
            return LinkedMpi(mpi, _NAMES[mpi], found[0])
    return None


def require_own_mpi(program: str, mpi: str) -> None:
    """Refuse a program that is linked with the other MPI library: each of its processes would be a rank 0 of its own."""
    libraries = linked_libraries(program)
    other = None if _LIBRARIES[mpi].search(libraries) else linked_mpi(libraries)
    if other:
        raise UserError(f"{program} is linked with {other.name} ({other.file}), not {_NAMES[mpi]}: start it with --mpi {other.mpi}")


def _uses_hypre(program: str) -> bool:
    return "libHYPRE" in linked_libraries(program)


def find_preloads(program: str, mpi: str) -> list[str]:
    """The paths of the libraries that take over MPI's calls and, in a program that links a shared hypre, hypre's."""
    name = "liblaneway_mpi.so"
    library = _find_library(name, "src/preload", mpi)
    if library is None:
        raise UserError(f"{name} was not found; './dev build --mpi {mpi}' builds it", 127)
    hypre = _find_library("liblaneway_hypre.so", "integrations/hypre", mpi) if _uses_hypre(program) else None
    return [library] if hypre is None else [library, hypre]


def find_local_tool(name: str, presets: Sequence[str] = ANY_BUILD) -> str:
    """The path of a tool for work without MPI: the newest build of a preset, or one on the PATH."""
    builds = _builds()
    built = [path for preset in presets if builds and os.access(path := builds / preset / "bench" / name, os.X_OK)]
    if built:
        return str(max(built, key=lambda path: path.stat().st_mtime))
    found = shutil.which(name)
    if found:
        return found
    raise UserError(f"{name} was not found; './dev build --preset {presets[0]}' builds it", 127)
