"""What pip builds the package with: scikit-build-core; its source distribution has the library's sources, too."""

from __future__ import annotations

import gzip
import io
import os
import shlex
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scikit_build_core.build import *  # noqa: F403
from scikit_build_core.build import build_sdist as _build_sdist
from scikit_build_core.build import build_wheel as _build_wheel

_HERE = Path(__file__).resolve().parent
_PARTS = ("CMakeLists.txt", "LICENSE", "cmake", "include", "machines", "plugins", "src")
"""Of the folder above: what the library is built from. In a source distribution they are in the folder ``library``."""


def _sources(top: Path) -> Iterator[Path]:
    for part in _PARTS:
        path = top / part
        yield from (
            [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file() and "__pycache__" not in each.parts)
        )


def _say(text: str) -> None:
    """To the terminal, where there is one: pip keeps to itself what a build prints."""
    try:
        with open("/dev/tty", "w", encoding="utf-8") as terminal:
            terminal.write(f"\nlaneway: {text}\n")
    except OSError:
        print(f"laneway: {text}", flush=True)


def _mpi() -> str:
    """The MPI library that the library is built for: the compiler's path, and what that says of itself."""
    named = next((word.partition("=")[2] for word in shlex.split(os.environ.get("CMAKE_ARGS", "")) if "MPI_C_COMPILER=" in word), "mpicc")
    compiler = shutil.which(named)
    if compiler is None:
        return f"{named}, which is not in the PATH"
    for option in ("--showme:version", "-v"):
        done = subprocess.run([compiler, option], capture_output=True, text=True, check=False)
        said = next((line for line in (done.stdout + done.stderr).splitlines() if "MPI" in line), "")
        if done.returncode == 0 and said:
            return f"{compiler} ({said.partition(' (')[0].removeprefix('mpicc for ').rpartition(': ')[2].strip()})"
    return compiler


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """The wheel of scikit-build-core, and a word of what is built, which takes minutes."""
    begin = time.monotonic()
    _say(f"liblaneway and its device plugins are compiled for the MPI library of {_mpi()}, which takes minutes")
    _say("CMAKE_BUILD_PARALLEL_LEVEL sets how many compilers run, pip install -v shows them; a wheel of ./dev wheel needs no compiler")
    name: str = _build_wheel(wheel_directory, config_settings, metadata_directory)
    _say(f"the library was compiled in {time.monotonic() - begin:.0f} s")
    return name


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """The source distribution of scikit-build-core, and beside its files those of the library."""
    name = _build_sdist(sdist_directory, config_settings)
    top, made = _HERE.parent, Path(sdist_directory) / name
    if (_HERE / "library").is_dir():  # of a source distribution: its files are there already
        return name
    text = io.BytesIO()
    with tarfile.open(made) as old, tarfile.open(fileobj=text, mode="w", format=tarfile.PAX_FORMAT) as new:
        members = old.getmembers()
        for member in members:
            new.addfile(member, old.extractfile(member))
        for path in _sources(top):
            # Names, contents and the right to run alone, so that equal sources give equal files.
            entry = tarfile.TarInfo(f"{name.removesuffix('.tar.gz')}/library/{path.relative_to(top)}")
            entry.size, entry.mtime = path.stat().st_size, members[0].mtime
            entry.mode = 0o755 if os.access(path, os.X_OK) else 0o644
            with path.open("rb") as contents:
                new.addfile(entry, contents)
    made.write_bytes(gzip.compress(text.getvalue(), mtime=0))
    return name
