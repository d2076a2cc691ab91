"""Configuring and building with the presets of CMakePresets.json."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from laneway_tools.dev.steps import Steps
from laneway_tools.dev.times import Spent
from laneway_tools.places import processors
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import MPIS, root

# Where Debian's names of several MPI libraries are missing, the presets for the mpicc of the PATH serve.
_PLAIN = {"openmpi": "mpi", "mpich": "mpi", "asan": "mpi-asan"}
PRESETS = ("openmpi", "mpich", "asan", "nompi", "sim")


def jobs() -> int:
    """How many compilers may run at once."""
    return processors.usable()


def build_dir(preset: str) -> Path:
    """Where a preset is built."""
    return root() / "build" / preset


def configure_command(preset: str, directory: Path | None = None, settings: Sequence[str] = ()) -> list[str]:
    """Configure a preset, in its own folder or in another one."""
    used = preset if any(shutil.which(f"mpicc.{mpi}") for mpi in MPIS) else _PLAIN.get(preset, preset)
    if used != preset:
        directory = directory or build_dir(preset)
    place = ["-B", str(directory)] if directory else []
    return ["cmake", "-S", str(root()), "--preset", used, *place, *(f"-D{setting}" for setting in settings)]


def compile_command(directory: Path, targets: Sequence[str] = ()) -> list[str]:
    """Build the targets, or everything, of a configured folder."""
    chosen = ["--target", *targets] if targets else []
    return ["cmake", "--build", str(directory), "--parallel", str(jobs()), *chosen]


def make(steps: Steps, preset: str, directory: Path | None = None, *, targets: Sequence[str] = (), settings: Sequence[str] = (),
         environment: Mapping[str, str] | None = None) -> Spent:  # fmt: skip
    """Configure a preset and build the targets, or everything; what this prints is in the log beside the folder of the build."""
    folder = directory or build_dir(preset)
    log = folder.with_name(f"{folder.name}.log")
    configuring = steps.command(f"{folder.name}: configuring", configure_command(preset, directory, settings), log, environment=environment)
    return configuring + steps.command(
        f"{folder.name}: building", compile_command(folder, targets), log, environment=environment, append=True
    )


def build(preset: str) -> Path:
    """Configure and build a preset with its tests; the folder it is built in."""
    if preset not in PRESETS:
        raise UserError(f"no preset {preset}: expected one of {', '.join(PRESETS)}")
    with Steps() as steps:
        make(steps, preset)
    return build_dir(preset)


def install(prefix: Path, mpi: str) -> None:
    """Build without tests for one MPI library and install under a prefix."""
    directory = build_dir(f"install-{mpi}")
    settings = ["BUILD_TESTING=OFF", "LANEWAY_WERROR=OFF", "LANEWAY_MAP_PREFIX=ON", f"CMAKE_INSTALL_PREFIX={prefix}"]
    with Steps() as steps:
        make(steps, mpi, directory, settings=settings)
        log = directory.with_name(f"{directory.name}.log")
        steps.command(f"installing in {prefix}", ["cmake", "--install", str(directory), "--prefix", str(prefix)], log, append=True)
