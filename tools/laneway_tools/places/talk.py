"""What long commands say where there is no terminal: a plain line for each step begun and ended."""

from __future__ import annotations

import shutil
import sys

from rich.console import Console

_COLUMNS, _WIDE_COLUMNS = 79, 200
_state = {"quiet": False, "wide": False}


def be_quiet() -> None:
    """Say nothing of steps from now on; results are printed all the same."""
    _state["quiet"] = True


def is_quiet() -> bool:
    """Whether ``--quiet`` was given."""
    return _state["quiet"]


def be_wide() -> None:
    """Let tables be as wide as they are from now on."""
    _state["wide"] = True


def console() -> Console:
    """Where tables are printed: 79 columns, or fewer on a narrower terminal. Heeds NO_COLOR."""
    if _state["wide"]:
        return Console(width=max(_WIDE_COLUMNS, shutil.get_terminal_size().columns))
    return Console(width=min(_COLUMNS, shutil.get_terminal_size((_COLUMNS, 24)).columns))


def line(text: str) -> None:
    """A line on stderr, unless it is a terminal, where bars show the steps."""
    if not _state["quiet"] and not sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)
