"""What long commands say where there is no terminal: a plain line for each step begun and ended."""

from __future__ import annotations

import sys

_state = {"quiet": False}


def be_quiet() -> None:
    """Say nothing of steps from now on; results are printed all the same."""
    _state["quiet"] = True


def is_quiet() -> bool:
    """Whether ``--quiet`` was given."""
    return _state["quiet"]


def line(text: str) -> None:
    """A line on stderr, unless it is a terminal, where bars show the steps."""
    if not _state["quiet"] and not sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)
