"""``--on job``: launchers of batch systems, found or given. Those here are stand-ins that say how they were called."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Command

from laneway_tools.places import launchers
from laneway_tools.places.errors import UserError
from laneway_tools.places.launch import Job, command_line
from laneway_tools.places.launchers import Allocation

_STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >&2
while [ "$1" ]; do
  case $1 in
    -n) shift 2 ;;
    run | -* ) shift ;;
    *) break ;;
  esac
done
exec "$@"
"""
_BATCH = ("SLURM_JOB_ID", "SLURM_NTASKS", "FLUX_URI", "LSB_JOBID", "LSB_DJOB_NUMPROC", "PBS_NP", "NSLOTS", "COBALT_PARTCORES")


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Launchers of these names are all that the PATH has beside the system's tools; no batch system is around."""
    for name in _BATCH:
        monkeypatch.delenv(name, raising=False)

    def make(*names: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        for tool in ("sh", "env", "basename", "true", "setpriv", "ldd", "bash"):
            if (found := shutil.which(tool)) and not (folder / tool).exists():
                (folder / tool).symlink_to(found)
        for name in names:
            (folder / name).write_text(_STAND_IN, encoding="utf-8")
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))

    return make


@pytest.mark.parametrize(
    ("variables", "there", "expected"),
    [
        ({"SLURM_JOB_ID": "7"}, ["srun", "mpirun"], "srun -n 3"),
        ({}, ["srun", "mpirun"], "mpirun -n 3"),
        ({"FLUX_URI": "local:///x"}, ["flux", "mpiexec"], "flux run -n 3"),
        ({"LSB_JOBID": "7"}, ["jsrun", "mpiexec"], "jsrun -n 3"),
        ({"SLURM_JOB_ID": "7"}, ["mpiexec", "mpirun"], "mpiexec -n 3"),
    ],
)
def test_the_launcher_of_the_batch_system_comes_first(
    stand_ins: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    there: list[str],
    expected: str,
) -> None:
    stand_ins(*there)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    argv = launchers.command_line(Allocation(), 3, ["prog", "x"], {})
    assert " ".join(argv) == f"{expected} prog x"


def test_a_given_launcher(stand_ins: Callable[..., None], tmp_path: Path) -> None:
    stand_ins("mine", "srun", "mpirun")
    line = lambda *given, **more: launchers.command_line(Allocation(*given), 4, ["prog"], more)
    assert line("mine --tasks={ranks} -q") == ["mine", "--tasks=4", "-q", "prog"]
    assert line("srun", "--mpi=pmix -c 2") == ["srun", "-n", "4", "--mpi=pmix", "-c", "2", "prog"]
    assert line("srun", A="1 2") == ["srun", "-n", "4", "env", "A=1 2", "prog"]
    hosts = tmp_path / "hosts"
    hosts.write_text("a slots=3\nb:2\n# none\nc\n", encoding="utf-8")
    assert line("mpirun", "", str(hosts)) == ["mpirun", "-n", "4", "-hostfile", str(hosts), "prog"]
    assert line("mine -n {ranks} -f {hostfile}", "", str(hosts)) == ["mine", "-n", "4", "-f", str(hosts), "prog"]
    assert launchers.rank_count(Allocation("", "", str(hosts)), {}) == 6
    with pytest.raises(UserError, match="mine -n {ranks}"):
        line("mine")
    with pytest.raises(UserError, match="no such program"):
        line("nowhere -n {ranks}")
    with pytest.raises(UserError, match="{hostfile}"):
        line("mine -n {ranks}", "", str(hosts))


def test_without_a_launcher_or_a_number_of_ranks(stand_ins: Callable[..., None]) -> None:
    stand_ins()
    with pytest.raises(UserError, match="--launcher 'srun -n {ranks}'"):
        launchers.command_line(Allocation(), 2, ["prog"], {})
    with pytest.raises(UserError, match="how many ranks with -n"):
        Job(["true"], Allocation()).rank_count()
    assert launchers.rank_count(Allocation(), {"SLURM_NTASKS": "12"}) == 12


def test_the_users_transports_stand(stand_ins: Callable[..., None], command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins("srun")
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_NTASKS", "5")
    monkeypatch.setenv("OMPI_MCA_pml", "cm")
    monkeypatch.setenv("UCX_TLS", "rc")
    monkeypatch.setenv("LANEWAY_STRATEGY", "direct")
    argv = [
        "run",
        "--on",
        "job",
        "-v",
        "-x",
        "OTHER=a b",
        "--",
        "sh",
        "-c",
        'echo "$OMPI_MCA_pml $UCX_TLS $OTHER $LANEWAY_STRATEGY"; exit 7',
    ]
    code, said = command.run(*argv)
    assert code == 7 and "cm rc a b direct\n" in said, said
    assert "laneway: srun -n 5 env " in said and " LANEWAY_STRATEGY=direct " in said and "'OTHER=a b'" in said
    assert "mca" not in " ".join(command_line(Job(["true"], Allocation(), 2)))


def test_launcher_options_are_for_jobs(command: Command) -> None:
    code, said = command.run("run", "--launcher", "srun", "--", "true")
    assert code == 2 and "--launcher is for --on job, not for --on local" in said


_SLURM = """
ClusterName=laneway
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={port_of_node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/node.pid
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:4
"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The start of a command in an allocation of two ranks: Debian's Slurm with this machine as its only node."""
    missing = [name for name in ("munged", "slurmctld", "slurmd", "srun", "salloc") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)}: not installed (Debian: slurm-wlm)")
    if os.geteuid() != 0:
        pytest.skip("slurmd runs as root")
    # Paths of sockets are short.
    with tempfile.TemporaryDirectory(prefix="laneway-slurm-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for part in ("munge", "state", "spool"):
            (folder / part).mkdir(mode=0o755)
        (folder / "munge" / "key").write_bytes(os.urandom(1024))
        (folder / "munge" / "key").chmod(0o400)
        names = {"host": socket.gethostname().split(".")[0], "port": _free_port(), "port_of_node": _free_port(), "folder": folder}
        (folder / "slurm.conf").write_text(_SLURM.format(**names), encoding="utf-8")
        monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
        own = [f"--{what}={folder}/munge/{what}" for what in ("socket", "pid-file", "log-file", "seed-file")]
        daemons = [
            ["munged", "--foreground", "--force", f"--key-file={folder}/munge/key", *own],
            ["slurmctld", "-D", "-c"],
            ["slurmd", "-D"],
        ]
        started = []
        try:
            for argv in daemons:
                started.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
                time.sleep(1)
            until = time.monotonic() + 30
            while "idle" not in subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True).stdout:
                if time.monotonic() > until:
                    pytest.skip("Slurm does not come up on this machine")
                time.sleep(0.2)
            yield "salloc -Q -n 2"
        finally:
            for process in reversed(started):
                process.terminate()
            for process in started:
                process.wait(20)


def test_in_an_allocation_of_slurm(slurm: str, programs: Callable[[str], str], command: Command) -> None:
    inside = [*slurm.split(), "timeout", "60", sys.executable, "-m", "laneway_tools", "run", "--on", "job", "-v"]
    argv = [*inside, "--launcher-args=--mpi=pmix", "--", programs("openmpi"), "regions"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=90)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "laneway: srun -n 2 --mpi=pmix" in said
    assert {"rank 0", "rank 1"} == {line[:6] for line in said.splitlines() if line.startswith("rank ")}, said
    assert said.count("node_size 2") == 2, said
