"""Waiting for a child process so that it never outlives us."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Callable
from types import FrameType

TIMED_OUT = 124


class Terminated(BaseException):
    """SIGTERM or SIGHUP arrived."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


def _raise_terminated(number: int, frame: FrameType | None) -> None:
    raise Terminated(number)


def install_signal_handlers() -> None:
    """Turn SIGTERM and SIGHUP into Terminated, so that everything that runs is ended on the way out."""
    signal.signal(signal.SIGTERM, _raise_terminated)
    signal.signal(signal.SIGHUP, _raise_terminated)


def wait_bounded(process: subprocess.Popen[bytes], stop: Callable[[], None], timeout_seconds: float | None, stop_seconds: float) -> int:
    """Wait for a process and return its exit status, or TIMED_OUT.

    However the wait ends (time is up, Ctrl-C, a signal), ``stop`` is called once, and the process is killed if it has
    not ended ``stop_seconds`` later. Ctrl-C reaches the process too, and a launcher that is told twice leaves files
    behind: so it first gets time to end by itself.
    """
    try:
        code = process.wait(timeout_seconds)
        return code if code >= 0 else 128 - code
    except subprocess.TimeoutExpired:
        return TIMED_OUT
    except KeyboardInterrupt:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(stop_seconds / 2)
        raise
    finally:
        stop()
        try:
            process.wait(stop_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
