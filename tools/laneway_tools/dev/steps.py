"""What long commands do, step by step: bars on a terminal; elsewhere lines, which are never more than some seconds apart."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from laneway_tools.dev.times import Spent
from laneway_tools.places import talk
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root

SILENT_SECONDS = 7.0
"""Without a terminal, a step that runs longer says after so many seconds what it is at."""

_COMPILED = re.compile(r"^\[(\d+)/(\d+)\]")
_TAIL_LINES = 60


class Step:
    """One that runs: since when, and how much of it is done, where that is counted."""

    def __init__(self, text: str, task: TaskID) -> None:
        self.text = text
        self.task = task
        self.begin = time.monotonic()
        self.done = self.total = 0

    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.begin

    def count(self) -> str:
        """How much is done of how much, and how long the rest takes, if it takes as long as what is done."""
        if not self.total:
            return ""
        left = self.seconds() / self.done * (self.total - self.done) if self.done else None
        return f"{self.done}/{self.total}" + (f", about {left:.0f} s left" if left is not None else "")

    def __str__(self) -> str:
        return ", ".join(filter(None, [self.text, f"{self.seconds():.0f} s so far", self.count()]))


class Steps:
    """The list of steps: what is done, what runs, how long it takes, how much is left. Nothing if ``--quiet`` was given."""

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console()
        self._lines = not console.is_terminal and not talk.is_quiet()
        columns = (
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[count]}"),
        )
        self._progress = Progress(*columns, console=console, disable=talk.is_quiet() or not console.is_terminal)
        self._running: Step | None = None
        self._said = time.monotonic()
        self._printing = threading.Lock()
        self._ended = threading.Event()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Steps:
        self._progress.start()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._ticker.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        self._ticker.join()
        self._progress.stop()

    def _say(self, text: str) -> None:
        if self._lines:
            with self._printing:
                print(text, flush=True)
                self._said = time.monotonic()

    def _tick(self) -> None:
        while not self._ended.wait(0.5):
            step = self._running
            if step is None:
                continue
            self._show(step)
            if time.monotonic() - self._said > SILENT_SECONDS:
                self._say(str(step))

    def _show(self, step: Step) -> None:
        self._progress.update(step.task, completed=step.done, total=step.total or None, count=step.count())

    @contextmanager
    def step(self, text: str) -> Iterator[Step]:
        """One step. The line that ends it is read by ``laneway bare``: what it was, and its seconds."""
        step = self._running = Step(text, self._progress.add_task(text, total=None, count=""))
        self._say(f"{text} …")
        try:
            yield step
        finally:
            self._running = None
        self._progress.update(step.task, total=1, completed=1, count="")
        self._progress.stop_task(step.task)
        self._say(f"{text}: {step.seconds():.0f} s")

    def command(
        self, text: str, argv: Sequence[str], log: Path, *, environment: Mapping[str, str] | None = None, append: bool = False
    ) -> Spent:
        """Run a command at the top of the tree, with its output in a log; Ninja's own count moves the bar."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with self.step(text) as step, log.open("a" if append else "w", encoding="utf-8") as file:
            status, cpu_seconds = self._follow(argv, step, file.write, environment)
        if status != 0:
            tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:])
            raise UserError(f"{argv[0]} ended with status {status}; the end of {log}:\n{tail}", status if status > 0 else 1)
        return Spent(step.seconds(), cpu_seconds)

    def _follow(
        self, argv: Sequence[str], step: Step, write: Callable[[str], object], environment: Mapping[str, str] | None
    ) -> tuple[int, float]:
        """The exit status and the seconds of processors of a command; each line of its output is written."""
        with subprocess.Popen(
            argv, cwd=root(), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace",
        ) as process:  # fmt: skip
            assert process.stdout is not None
            self._process = process
            try:
                for line in process.stdout:
                    write(line)
                    count = _COMPILED.match(line)
                    if count:
                        step.done, step.total = int(count[1]), int(count[2])
                        self._show(step)
                _, status, usage = os.wait4(process.pid, 0)
            except BaseException:
                process.terminate()
                raise
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime

    def terminate(self) -> None:
        """Ask the command that runs to end."""
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
