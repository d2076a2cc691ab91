"""What ``laneway lint`` runs: known tools with their own settings, and checks of what only this project has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from laneway_tools.dev.generated import check_generated
from laneway_tools.places import processors
from laneway_tools.places.errors import UserError

SOURCE_SUFFIXES = {".hpp", ".cpp", ".h", ".c"}
FUNCTION_LINES = 60
FILE_LINES = 600
EXECUTOR_MEMBERS = 20
_MACHINE_PATHS = ("/" + "work/", "/tmp/" + "bash_jobs", "." + "library/")
_MENTION = re.compile(r"(?<![\w/.-])docs/[\w./-]+\.md\b")


def _git(top: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(top), *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"git {arguments[0]} failed: {done.stderr.strip()}", 1)
    return done.stdout


def _git_files(top: Path) -> list[Path]:
    names = _git(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return [top / name for name in names if name and (top / name).is_file()]


def _sources(top: Path) -> list[str]:
    return [str(path.relative_to(top)) for path in _git_files(top) if path.suffix in SOURCE_SUFFIXES]


def _run(top: Path, argv: Sequence[str]) -> list[str]:
    """What a tool writes if it fails: nothing if all is well."""
    if shutil.which(argv[0]) is None:
        return [f"{argv[0]} is not here: './dev setup' installs it"]
    done = subprocess.run(argv, cwd=top, capture_output=True, text=True)
    lines = [line.replace(f"{top}/", "") for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return [] if done.returncode == 0 else lines or [f"{argv[0]} ended with status {done.returncode}"]


def _python_tool(name: str) -> str:
    """A command of the environment that this runs in."""
    return str(Path(sys.executable).parent / name)


def check_format(top: Path) -> list[str]:
    """Compare sources with what clang-format and ruff would write."""
    sources = _sources(top)
    lines = _run(top, ["clang-format", "--dry-run", "-Werror", "--ferror-limit=1", *sources]) if sources else []
    found = [line for line in lines if ": error: " in line] or lines
    return found + _run(top, [_python_tool("ruff"), "format", "--check", "--quiet", "--output-format", "concise", "."])


def format_all(top: Path) -> int:
    """Rewrite every source as clang-format and ruff want it; how many of C and C++ there are."""
    sources = _sources(top)
    if sources:
        subprocess.run(["clang-format", "-i", *sources], cwd=top, check=True)
    subprocess.run([_python_tool("ruff"), "format", "--quiet", "."], cwd=top, check=True)
    return len(sources)


def check_python(top: Path) -> list[str]:
    """Lint and types of all Python, and which of the tools' folders import which."""
    return [
        *_run(top, [_python_tool("ruff"), "check", "--quiet", "--output-format", "concise", "."]),
        *_run(top, [_python_tool("mypy")]),
        *_run(top / "tools", [_python_tool("lint-imports"), "--no-cache"]),
    ]


def check_lengths(top: Path) -> list[str]:
    """Find functions and files of src/ that are too long."""
    limits = ["--length", str(FUNCTION_LINES), "--CCN", "9999", "--arguments", "9999"]
    problems = _run(top, [sys.executable, "-m", "lizard", "src", "--languages", "cpp", *limits, "--warnings_only"])
    for path in sorted(path for path in (top / "src").rglob("*") if path.suffix in SOURCE_SUFFIXES):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > FILE_LINES:
            problems.append(f"{path.relative_to(top)}: {lines} lines, more than {FILE_LINES}")
    return problems


def check_executor(top: Path) -> list[str]:
    """Find what the executor knows of one carrier, whose header it must not see, and how much it holds."""
    folder = top / "src/runtime/executor"
    carriers = "|".join(sorted(row.parent.name for row in (top / "src/runtime/carriers").glob("*/carrier.cpp")))
    named = re.compile(rf'#include "(runtime/carriers/[^/"]+/[^"]+)"|\b((?:{carriers})_carrier)\b')
    problems = []
    for path in sorted(path for path in folder.rglob("*") if path.suffix in SOURCE_SUFFIXES):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            where = f"{path.relative_to(top)}:{number}"
            problems += [f"{where}: the executor names a carrier: {header or row}" for header, row in named.findall(line)]
    header = (folder / "executor.hpp").read_text(encoding="utf-8")
    members = re.findall(r"^  (?!return\b)[\w:][^()]*? (\w+_)(?: = [^;]*|\{\})?;", header, re.MULTILINE)
    if len(members) > EXECUTOR_MEMBERS:
        problems.append(f"src/runtime/executor/executor.hpp: {len(members)} data members, more than {EXECUTOR_MEMBERS}")
    return problems


def check_text(top: Path, files: Iterable[Path] | None = None) -> list[str]:
    """Find paths of one machine, and names of pages that are not there. Links between pages are the site's to check."""
    problems = []
    for path in _git_files(top) if files is None else files:
        names_pages = path.suffix not in {".svg", ".png", ".csv"} and "test" not in path.stem and "changelog" not in path.name.lower()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
            where = f"{path.relative_to(top)}:{number}"
            problems += [f"{where}: names the machine path {text}" for text in _MACHINE_PATHS if text in line]
            if names_pages and "docs/" in line:
                problems += [f"{where}: {name} is not there" for name in _MENTION.findall(line) if not (top / name).is_file()]
    return problems


def _compiled(top: Path, preset: str) -> Path:
    directory = top / "build" / preset
    if not (directory / "compile_commands.json").is_file():
        raise UserError(f"{directory} is not configured; run './dev build --preset {preset}' first", 1)
    return directory


def _tidy_findings(top: Path, output: str) -> list[str]:
    plain = re.sub(r"\x1b\[[\d;]*m", "", output)
    found = re.compile(r"(^|\.[ch]pp:\d+:\d+: )(warning|error): ")
    return list(dict.fromkeys(line.replace(f"{top}/", "") for line in plain.splitlines() if found.search(line)))


def _tidy_tool(name: str) -> str:
    """The newest of a tool's versions that are here: older ones do not know C++20's ranges."""
    for version in range(29, 18, -1):
        for suffix in ("", ".py"):
            found = shutil.which(f"{name}-{version}{suffix}")
            if found:
                return found
    raise UserError(f"no {name}-19 or newer is here: './dev setup' installs it", 1)


def check_tidy(top: Path, preset: str = "openmpi") -> list[str]:
    """Run clang-tidy over all of src/, as a preset compiles it: whole units, so that a header is read once for many sources."""
    directory = _compiled(top, preset)
    folders = f"^({re.escape(str(top / 'src'))}|{re.escape(str(directory / 'src'))})/"
    argv = [_tidy_tool("run-clang-tidy"), "-p", str(directory), "-j", str(processors.usable()), "-quiet", folders]
    return _tidy_findings(top, subprocess.run(argv, cwd=top, capture_output=True, text=True).stdout)


def check_tidy_of_branch(top: Path, preset: str = "openmpi") -> list[str]:
    """Run clang-tidy over the sources that differ from where this branch began: what it says of the lines that do."""
    difference = _git(top, "diff", "-U0", "--diff-filter=d", _merge_base(top), "--", "src/*.cpp")
    if not difference:
        return []
    argv = [_tidy_tool("clang-tidy-diff"), "-clang-tidy-binary", _tidy_tool("clang-tidy"), "-p1"]
    argv += ["-path", str(_compiled(top, preset)), "-j", str(processors.usable()), "-quiet"]
    return _tidy_findings(top, subprocess.run(argv, cwd=top, input=difference, capture_output=True, text=True).stdout)


def _merge_base(top: Path) -> str:
    """The commit that this branch begins at: where it left the default branch, in a forge's run that of the request."""
    target = os.environ.get("GITHUB_BASE_REF", "")
    for name in ([f"origin/{target}"] if target else []) + ["origin/main", "main"]:
        done = subprocess.run(["git", "-C", str(top), "merge-base", "HEAD", name], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.strip()
    return "HEAD"


def check_all(top: Path) -> dict[str, list[str]]:
    """The checks that every change must pass: their names and what each found."""
    return {
        "format": check_format(top),
        "python": check_python(top),
        "lengths": check_lengths(top),
        "executor": check_executor(top),
        "generated": check_generated(top),
        "text": check_text(top),
    }
