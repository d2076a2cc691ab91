"""How long functions and files of src/ may be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from laneway.tools.dev.layers import sources_of

FUNCTION_LINES = 60
FILE_LINES = 600

KNOWN: dict[str, int] = {}
"""What is longer still, with its present length. It may not grow, and once it is shorter its row changes or goes."""


def functions_of(path: Path) -> Iterator[tuple[str, int]]:
    """The functions that a file defines and their lines, from the name to the last brace."""
    import lizard

    for found in lizard.analyze_file(str(path)).function_list:
        yield found.name, found.end_line - found.start_line + 1


def lengths_of(top: Path) -> dict[str, tuple[int, int]]:
    """By file, and by file and function, the lines that each has in src/ and those that it may have."""
    found = {}
    for path in sources_of(top / "src"):
        name = str(path.relative_to(top))
        found[name] = (len(path.read_text(encoding="utf-8").splitlines()), FILE_LINES)
        for function, lines in functions_of(path):
            key = f"{name}: {function}"  # of several of that name, the longest
            found[key] = max((lines, FUNCTION_LINES), found.get(key, (0, FUNCTION_LINES)))
    return found


def check_lengths(top: Path, known: dict[str, int] = KNOWN) -> list[str]:
    """Compare every length with its limit, or with what is known of it."""
    found = lengths_of(top)
    problems = []
    for name, (lines, most) in found.items():
        if lines > known.get(name, most):
            problems.append(f"{name}: {lines} lines, more than {known.get(name, most)}")
    for name, lines in known.items():
        now, most = found.get(name, (0, 0))
        if now < lines:
            todo = f"has {now} lines, write that" if now > most else "is no longer too long, remove it"
            problems.append(f"{name}: {todo} in the list of python/laneway/tools/dev/lengths.py")
    return problems
