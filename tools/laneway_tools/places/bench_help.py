"""What laneway-bench says of its commands: each of them is in one of its sources, and nowhere else."""

from __future__ import annotations

import re
import subprocess

_COMMAND = re.compile(r"^  (\w+) {2,}\S", re.MULTILINE)


def said(tool: str, *command: str) -> str:
    """Its help, or that of a command."""
    return subprocess.run([tool, *command, "--help"], capture_output=True, text=True, check=True).stdout.strip()


def commands(tool: str) -> str:
    """A line for each command, under headings that say what they are for."""
    return "\n\n".join(part for part in said(tool).split("\n\n") if _COMMAND.search(part))


def names(tool: str) -> list[str]:
    """Of all commands, in this order."""
    return _COMMAND.findall(commands(tool))
