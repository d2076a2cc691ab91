"""What ``laneway lint`` checks: layers, lengths, documents, format, tracked text, and on request clang-tidy."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from laneway.tools.dev import layers
from laneway.tools.dev.documents import check_documents
from laneway.tools.dev.generated import check_generated
from laneway.tools.dev.layers import SOURCE_SUFFIXES, sources_of
from laneway.tools.dev.lengths import check_lengths
from laneway.tools.dev.manual import check_manual
from laneway.tools.dev.reference import check_commands
from laneway.tools.places.errors import UserError

_MACHINE_PATHS = ("/" + "work/", "/tmp/" + "bash_jobs", "." + "library/")


def _git_files(top: Path) -> list[Path]:
    argv = ["git", "-C", str(top), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"git ls-files failed: {done.stderr.strip()}", 1)
    return [top / name for name in done.stdout.split("\0") if name and (top / name).is_file()]


def check_text(top: Path, files: Iterable[Path] | None = None) -> list[str]:
    """Find paths of one machine in the project's files."""
    problems = []
    for path in _git_files(top) if files is None else files:
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            for text in _MACHINE_PATHS:
                if text.encode() in line:
                    problems.append(f"{path.relative_to(top)}:{number}: names the machine path {text}")
    return problems


def _clang_sources(top: Path) -> list[str]:
    return [str(path) for path in _git_files(top) if path.suffix in SOURCE_SUFFIXES]


def check_format(top: Path) -> list[str]:
    """Compare every source with what clang-format would write."""
    sources = _clang_sources(top)
    if not sources:
        return []
    argv = ["clang-format", "--dry-run", "-Werror", "--ferror-limit=1", *sources]
    done = subprocess.run(argv, cwd=top, capture_output=True, text=True)
    lines = [line.replace(f"{top}/", "") for line in done.stderr.splitlines() if ": error: " in line]
    if done.returncode != 0 and not lines:
        lines = [done.stderr.strip() or f"clang-format ended with status {done.returncode}"]
    return lines


def format_all(top: Path) -> int:
    """Rewrite every source as clang-format wants it; how many were looked at."""
    sources = _clang_sources(top)
    if sources:
        subprocess.run(["clang-format", "-i", *sources], cwd=top, check=True)
    return len(sources)


def check_tidy(top: Path, preset: str = "openmpi") -> list[str]:
    """Run clang-tidy over src/ with the compile commands of a built preset."""
    directory = top / "build" / preset
    if not (directory / "compile_commands.json").is_file():
        raise UserError(f"{directory} is not configured; run './dev build --preset {preset}' first")
    sources = [str(path) for path in sources_of(top / "src") if path.suffix == ".cpp"]
    argv = ["clang-tidy", "-p", str(directory), "--quiet", *sources]
    done = subprocess.run(argv, cwd=top, capture_output=True, text=True)
    found = re.compile(r": (warning|error): ")
    return [line.replace(f"{top}/", "") for line in done.stdout.splitlines() if found.search(line)]


def check_all(top: Path) -> dict[str, list[str]]:
    """The checks that every change must pass: their names and what each found."""
    return {
        "layers": [*layers.check_layers(top), *layers.check_bench(top)],
        "rooms in documents": layers.check_lists(top),
        "tools": layers.check_tools(top),
        "lengths": check_lengths(top),
        "generated": [*check_generated(top), *check_commands(top), *check_manual(top)],
        "text": check_text(top),
        "documents": check_documents(top, _git_files(top)),
        "format": check_format(top),
    }
