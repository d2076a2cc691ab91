"""Names of environment variables that start with LANEWAY_ but mean nothing."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import cache

from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root

_PREFIX = "LANEWAY" + "_"
_TABLES = ("src/base/environment.cpp", "src/communicator/hints/hints.hpp")


@cache
def known() -> tuple[str, ...]:
    """All variables that mean something, as the library's tables have them; none outside the working tree."""
    try:
        texts = [(root() / table).read_text(encoding="utf-8") for table in _TABLES]
    except (UserError, OSError):
        return ()
    return tuple(name for text in texts for name in re.findall(rf'"({_PREFIX}[A-Z0-9_]+)"', text))


def complaint(names: Iterable[str]) -> str:
    """What is wrong with these names, in one line; empty if nothing is."""
    parts = []
    for name in sorted(set(names)):
        if not known() or not name.startswith(_PREFIX) or name.startswith(f"{_PREFIX}TEST_") or name in known():
            continue
        nearest = difflib.get_close_matches(name, known(), n=1, cutoff=0.75)
        meant = f": is {nearest[0]} meant?" if nearest else ""
        parts.append(f"{name} is not a variable of Laneway's and is ignored{meant}")
    return "; ".join(parts)
