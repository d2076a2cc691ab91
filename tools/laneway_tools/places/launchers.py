"""Starting programs in a batch system's allocation, by whatever launcher is there."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from laneway_tools.places.errors import UserError


@dataclass(frozen=True)
class Allocation:
    """The nodes that a batch system has given us, or a machine with a launcher of its own."""

    launcher: str = ""
    arguments: str = ""
    hostfile: str = ""

    def __str__(self) -> str:
        return "job"


@dataclass(frozen=True)
class _Launcher:
    """How a launcher is told the number of ranks and the hosts; ``inside`` are variables that its batch system sets."""

    ranks: tuple[str, ...]
    hosts: str = ""
    inside: tuple[str, ...] = ()


_LAUNCHERS: Mapping[str, _Launcher] = {
    "srun": _Launcher(("srun", "-n", "{ranks}"), "--nodelist={hostfile}", ("SLURM_JOB_ID",)),
    "flux": _Launcher(("flux", "run", "-n", "{ranks}"), inside=("FLUX_URI",)),
    "jsrun": _Launcher(("jsrun", "-n", "{ranks}"), inside=("LSB_JOBID",)),
    "mpiexec": _Launcher(("mpiexec", "-n", "{ranks}"), "-hostfile {hostfile}"),
    "mpirun": _Launcher(("mpirun", "-n", "{ranks}"), "-hostfile {hostfile}"),
}
_RANKS = ("SLURM_NTASKS", "LSB_DJOB_NUMPROC", "PBS_NP", "NSLOTS", "COBALT_PARTCORES")


def _find(environment: Mapping[str, str]) -> str:
    """The batch system's own launcher inside its allocation, or else the MPI library's."""
    for name, launcher in _LAUNCHERS.items():
        outside = launcher.inside and not any(environment.get(variable) for variable in launcher.inside)
        if not outside and shutil.which(name):
            return name
    raise UserError(f"--on job: found none of {', '.join(_LAUNCHERS)}; give one: --launcher 'srun -n {{ranks}}'")


def batch_launcher(environment: Mapping[str, str] = os.environ) -> str:
    """The launcher of the batch system in whose allocation we are; nothing outside of one."""
    for name, launcher in _LAUNCHERS.items():
        if launcher.inside and any(environment.get(variable) for variable in launcher.inside) and shutil.which(name):
            return name
    return ""


def _template(place: Allocation, environment: Mapping[str, str]) -> tuple[list[str], str]:
    """Its words, in which the number of ranks and perhaps the host file are to be filled in, and how it takes a host file."""
    given = shlex.split(place.launcher) or [_find(environment)]
    known = _LAUNCHERS.get(Path(given[0]).name)
    if not shutil.which(given[0]):
        raise UserError(f"--launcher {given[0]}: no such program", 127)
    if any("{ranks}" in word for word in given):
        return given, known.hosts if known and "{hostfile}" not in place.launcher else ""
    if known is None or len(given) > 1:
        raise UserError(f"--launcher '{place.launcher}': say where the number of ranks goes: '{place.launcher} -n {{ranks}}'")
    return [given[0], *known.ranks[1:]], known.hosts


def rank_count(place: Allocation, environment: Mapping[str, str] = os.environ) -> int:
    """The ranks that the allocation is for: its batch system says so, or the host file."""
    for name in _RANKS:
        if environment.get(name, "").isdigit():
            return int(environment[name])
    if place.hostfile:
        return _slots(Path(place.hostfile))
    raise UserError(f"--on job: say how many ranks with -n; none of {', '.join(_RANKS)} is set")


def _slots(path: Path) -> int:
    """The ranks of a host file: lines as ``node1 slots=4`` or ``node1:4``, or one for each line."""
    total = 0
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UserError(f"--hostfile {path}: {error.strerror}") from error
    for line in lines:
        words = line.split("#")[0].split()
        if words:
            count = next((word[6:] for word in words[1:] if word.startswith("slots=")), words[0].partition(":")[2] or "1")
            total += int(count) if count.isdigit() else 1
    if total == 0:
        raise UserError(f"--hostfile {path}: names no host")
    return total


def command_line(place: Allocation, ranks: int, program: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """The launcher with its arguments, then the program. Variables go through ``env``, which every launcher can start."""
    words, hosts = _template(place, os.environ)
    hostfile = str(Path(place.hostfile).resolve()) if place.hostfile else ""
    if place.hostfile and not hosts and "{hostfile}" not in place.launcher:
        raise UserError(f"--hostfile: {words[0]} takes none that is known here; say where it goes: --launcher '… {{hostfile}} …'")

    def fill(word: str) -> str:
        return word.replace("{ranks}", str(ranks)).replace("{hostfile}", hostfile)

    argv = [fill(word) for word in words]
    if place.hostfile and hosts:
        argv += [fill(word) for word in hosts.split()]
    argv += shlex.split(place.arguments)
    settings = [f"{name}={value}" for name, value in variables.items()]
    return [*argv, *(["env", *settings] if settings else []), *program]
