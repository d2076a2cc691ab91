"""Starting MPI programs, here, on an emulated cluster or in a simulated one."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from laneway_tools.places import cluster, launchers, petsc, processors, simulator, supervisor
from laneway_tools.places.errors import UserError
from laneway_tools.places.launchers import Allocation
from laneway_tools.places.paths import MPIS, find_preloads, find_program, require_own_mpi
from laneway_tools.places.places import Cluster, Local, Place, Simulated
from laneway_tools.places.processes import wait_bounded

_STOP_SECONDS = 6.0


@dataclass(frozen=True)
class Job:
    """An MPI program with its arguments, its number of ranks and where it runs."""

    command: Sequence[str]
    place: Place
    ranks: int | None = None
    mpi: str = "openmpi"
    variables: Mapping[str, str] = field(default_factory=dict)
    timeout_seconds: float | None = None
    preload: bool = False
    verbose: bool = False
    launcher: str = ""
    """Of another MPI library of that kind than the system's: its mpiexec."""
    keep_to_cores: bool = False
    """Each rank stays on a core of its own, where this machine has one for each."""
    preloads: Sequence[str] = ()
    """Libraries to preload, where they are known already."""

    def __post_init__(self) -> None:
        if self.mpi not in MPIS:
            raise UserError(f"--mpi {self.mpi}: expected one of {', '.join(MPIS)}")
        if not self.command:
            raise UserError("no program to run: put it after '--'")
        if self.ranks is not None and self.ranks < 1:
            raise UserError(f"-n {self.ranks}: at least one rank is needed")
        if isinstance(self.place, Cluster | Simulated) and self.ranks is not None and self.ranks > self.place.ranks:
            raise UserError(f"-n {self.ranks} does not fit: {self.place} has room for {self.place.ranks} ranks")
        if self.preload and isinstance(self.place, Simulated):
            raise UserError("--preload: a simulated program is linked statically; nothing can be preloaded")

    def rank_count(self) -> int:
        """The ranks asked for, or as many as the place holds."""
        if self.ranks is not None:
            return self.ranks
        if isinstance(self.place, Allocation):
            return launchers.rank_count(self.place)
        return self.place.ranks if isinstance(self.place, Cluster | Simulated) else processors.usable()


def _is_oversubscribed(job: Job) -> bool:
    return not isinstance(job.place, Allocation) and job.rank_count() > processors.usable()


def _is_bound(job: Job) -> bool:
    return job.keep_to_cores and isinstance(job.place, Local) and job.rank_count() <= processors.cores()


def _variables(job: Job) -> Mapping[str, str]:
    # A rank sees only those of its own emulated node.
    shares_cores = isinstance(job.place, Cluster) and _is_oversubscribed(job)
    return {**({"LANEWAY_OVERSUBSCRIBED": "1"} if shares_cores else {}), **job.variables}


def _preloaded(job: Job) -> list[tuple[str, str]]:
    """What only the ranks see. Tools that are preloaded, too, come first: they call what ours stands in front of."""
    if not job.preload and not job.preloads:
        return []
    given = job.variables.get("LD_PRELOAD", os.environ.get("LD_PRELOAD", ""))
    libraries = job.preloads or find_preloads(find_program(job.command[0], job.mpi), job.mpi)
    more = petsc.variables(job.command, job.variables)
    return [("LD_PRELOAD", ":".join(filter(None, [given, *libraries]))), *more.items()]


def _exported(job: Job) -> list[str]:
    inherited = [name for name in os.environ if name.startswith("LANEWAY_")]
    return sorted({*inherited, *_variables(job)} - {name for name, _ in _preloaded(job)})


def _launcher(job: Job) -> str:
    """By the name that Debian gives it, which has several, or by the MPI library's own."""
    if job.launcher:
        return job.launcher
    name = f"mpirun.{job.mpi}"
    return name if shutil.which(name) or not shutil.which("mpirun") else "mpirun"


def _allocated(job: Job, place: Allocation, program: Sequence[str]) -> list[str]:
    inherited = {name: os.environ[name] for name in os.environ if name.startswith("LANEWAY_")}
    variables = {**inherited, **_variables(job), **dict(_preloaded(job))}
    return launchers.command_line(place, job.rank_count(), program, variables)


def _openmpi(job: Job, program: Sequence[str]) -> list[str]:
    argv = [_launcher(job), "--allow-run-as-root", "--bind-to", "core:if-supported" if _is_bound(job) else "none"]
    parameters = {"mpi_yield_when_idle": str(int(_is_oversubscribed(job)))}
    if isinstance(job.place, Cluster):
        argv += ["--hostfile", supervisor.HOSTFILE, "--map-by", "slot"]
        # Its links are the kernel's TCP. Elsewhere the user's choice of a transport stands, and else the MPI library's.
        parameters |= {
            "pml": "ob1",
            "btl": "self,vader,tcp",
            "btl_tcp_if_include": supervisor.SUBNET,
            "oob_tcp_if_include": supervisor.SUBNET,
            "orte_tmpdir_base": "/dev/shm",
            "plm_rsh_agent": supervisor.AGENT,
            "plm_rsh_no_tree_spawn": "1",
            # The scheduler groups tasks by session, and ranks that yield do so to those of their group only.
            "orte_leave_session_attached": "1",
        }
    else:
        argv += ["--oversubscribe"]
    for name, value in parameters.items():
        argv += ["--mca", name, value]
    for name in _exported(job):
        argv += ["-x", name]
    for name, value in _preloaded(job):
        argv += ["-x", f"{name}={value}"]
    return [*argv, "-n", str(job.rank_count()), *program]


def _mpich(job: Job, program: Sequence[str]) -> list[str]:
    argv = [_launcher(job)]
    if isinstance(job.place, Cluster):
        hosts = ",".join(f"{supervisor.node_address(i)}:{n}" for i, n in enumerate(job.place.ranks_by_node))
        argv += ["-launcher", "ssh", "-launcher-exec", supervisor.AGENT, "-hosts", hosts]
        argv += ["-iface", supervisor.INTERFACE]
    for name, value in _preloaded(job):
        argv += ["-genv", name, value]
    return [*argv, "-n", str(job.rank_count()), *program]


def _environment(job: Job) -> dict[str, str]:
    environment = {**os.environ, **_variables(job)}
    if job.preload or job.preloads:
        environment.pop("LD_PRELOAD", None)  # the launcher needs none
    if job.mpi == "mpich" and _is_bound(job):
        environment.setdefault("HYDRA_BINDING", "core")  # by a variable, which Intel's, that binds by itself, does not read
    if job.mpi == "mpich" and isinstance(job.place, Cluster):
        environment |= {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": supervisor.INTERFACE}
    return environment


def command_line(job: Job) -> list[str]:
    """The launcher's command line for a job."""
    program = [find_program(job.command[0], job.mpi), *job.command[1:]]
    if isinstance(job.place, Allocation):
        return _allocated(job, job.place, program)
    require_own_mpi(program[0], job.mpi)
    return _openmpi(job, program) if job.mpi == "openmpi" else _mpich(job, program)


def run(job: Job, output: BinaryIO | None = None) -> int:
    """Run a job and return the program's exit status; its output goes to ours, or to a file."""
    if isinstance(job.place, Simulated):
        return simulator.run(job.place, job.rank_count(), job.command, {**os.environ, **job.variables}, job.timeout_seconds, output)
    argv, environment = command_line(job), _environment(job)
    if job.verbose:
        print(f"laneway: {shlex.join(argv)}", file=sys.stderr, flush=True)
    if isinstance(job.place, Local | Allocation):
        process = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", *argv], env=environment, stdout=output, stderr=output)
        return wait_bounded(process, process.terminate, job.timeout_seconds, _STOP_SECONDS)
    return cluster.run(job.place, argv, environment, job.timeout_seconds, output)
