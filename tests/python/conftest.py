"""Shared pieces: small MPI programs, the command, and a look at what a run leaves behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_local_tool, find_program

PROGRAM = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void regions(int rank) {
  MPI_Comm node;
  char host[256];
  int node_rank, node_size;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &node_rank);
  MPI_Comm_size(node, &node_size);
  gethostname(host, sizeof host);
  printf("rank %d host %s node_rank %d node_size %d\n", rank, host, node_rank, node_size);
  fflush(stdout);
  MPI_Comm_free(&node);
}

static void rate(int rank, int ranks, int bytes, int repeats) {
  char* data = calloc(1, bytes);
  double best = 1e9;
  for (int i = 0; i < repeats; i++) {
    usleep(rank ? 0 : 2000);
    double start = MPI_Wtime();
    if (rank == 0) {
      MPI_Send(data, bytes, MPI_CHAR, ranks - 1, 0, MPI_COMM_WORLD);
      MPI_Recv(data, 1, MPI_CHAR, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == ranks - 1) {
      MPI_Recv(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(data, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    double taken = MPI_Wtime() - start;
    if (i > 0 && taken < best) best = taken;
  }
  if (rank == 0) printf("bytes %d seconds %.9f\n", bytes, best);
  free(data);
}

int main(int argc, char** argv) {
  int rank, ranks;
  const char* what = argc > 1 ? argv[1] : "regions";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 20; i++) MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(what, "regions")) regions(rank);
  if (!strcmp(what, "rate")) {
    rate(rank, ranks, 16384, 40);
    rate(rank, ranks, 1 << 20, 6);
  }
  if (!strcmp(what, "variable") && rank == ranks - 1) printf("%s=%s\n", argv[2], getenv(argv[2]));
  if (!strcmp(what, "crash") && rank == ranks - 1) raise(SIGSEGV);
  if (!strcmp(what, "killed") && rank == ranks - 1) raise(SIGKILL);
  if (!strcmp(what, "sleep")) {
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", argv[2], rank);
    fclose(fopen(name, "w"));
    sleep(300);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return !strcmp(what, "seven") ? 7 : 0;
}
"""


def _needs(find: Callable[[], object]) -> pytest.MarkDecorator:
    try:
        find()
    except UserError as error:
        return pytest.mark.skipif(True, reason=str(error))
    return pytest.mark.skipif(False, reason="")


needs_long = pytest.mark.skipif(not os.environ.get("LANEWAY_TEST_LONG"), reason="a nightly test (./dev test --nightly)")
needs_bench = _needs(lambda: find_program("laneway-bench", "openmpi"))
needs_local_bench = _needs(lambda: find_local_tool("laneway-bench"))


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The path of the small test program, compiled for an MPI library."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "program.c").write_text(PROGRAM, encoding="utf-8")

    def compiled(mpi: str) -> str:
        target = folder / f"program.{mpi}"
        if shutil.which(f"mpicc.{mpi}") is None:
            pytest.skip(f"mpicc.{mpi} is not installed")
        if not target.exists():
            subprocess.run([f"mpicc.{mpi}", "-O1", str(folder / "program.c"), "-o", str(target)], check=True)
        return str(target)

    return compiled


class Command:
    """The command ``laneway`` in a session of its own, with a marked environment and a private temporary folder."""

    def __init__(self, temporary: Path) -> None:
        self.mark = f"LANEWAY_TEST_MARK={uuid.uuid4()}"
        self.temporary = temporary
        self.interfaces = self._interfaces()

    def start(self, *arguments: str, **options: object) -> subprocess.Popen[str]:
        name, value = self.mark.split("=")
        environment = {**os.environ, name: value, "TMPDIR": str(self.temporary)}
        # The tests themselves may have been started where interrupts are ignored, as in the background of a script.
        argv = ["env", "--default-signal=INT", sys.executable, "-m", "laneway_tools", *arguments]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(argv, env=environment, text=True, start_new_session=True, **{**pipes, **options})

    def run(self, *arguments: str, timeout: float = 120) -> tuple[int, str]:
        process = self.start(*arguments)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return process.returncode, output

    def living(self) -> list[str]:
        """The command lines of processes that carry this command's mark."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != os.getpid():
                try:
                    if self.mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                        found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
                except OSError:
                    continue
        return found

    @staticmethod
    def _interfaces() -> set[str]:
        return set(os.listdir("/sys/class/net"))

    def assert_nothing_left(self, seconds: float = 15) -> None:
        until = time.monotonic() + seconds
        while (left := self.living()) and time.monotonic() < until:
            time.sleep(0.05)
        assert not left
        assert self._interfaces() <= self.interfaces
        assert not list(self.temporary.iterdir())


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    made = Command(temporary)
    yield made
    made.assert_nothing_left()
