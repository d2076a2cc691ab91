"""What ``laneway lint`` checks: layers, sizes, format, tracked text, and on request clang-tidy."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from laneway.errors import UserError

_SUFFIXES = {".hpp", ".cpp", ".h", ".c"}
_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
_CMAKE_COMMENT = re.compile(r"#.*")
_ORDER = re.compile(r"set\(\s*LANEWAY_ROOM_ORDER\s+([^)]*)\)")
_ROOM = re.compile(r"laneway_room\(\s*([^)]*)\)")
_KEYWORDS = {"SOURCES", "DEPENDS", "LINKS"}
_MAY_USE_MPI = {"carriers", "arguments", "comm", "choose", "operate", "c", "interpose"}
_GPU_HEADER = re.compile(r"(cuda|hip/|hip_|nvml|cupti|nccl|rccl|rocm|hsa/)")
_SCOPE = re.compile(r"(?:template .*> )?(namespace|class|struct|enum|union|extern)\b")
_MOST_LINES_OF_A_FUNCTION = 60
_MOST_LINES_OF_A_FILE = 600
_STILL_LONG = {
    "src/carriers/node/localizer.cpp",
    "src/choose/planning.cpp",
    "src/choose/quick_calibration.cpp",
    "src/exec/executor.cpp",
}
_MACHINE_PATHS = ("/" + "work/", "/tmp/" + "bash_jobs", "." + "library/")


@dataclass(frozen=True)
class Room:
    """One room of src/ and the rooms that it may include."""

    name: str
    depends: tuple[str, ...]


def room_order(top: Path) -> list[str]:
    """The rooms, left to right, as cmake/LanewayRooms.cmake lists them."""
    text = _CMAKE_COMMENT.sub("", (top / "cmake" / "LanewayRooms.cmake").read_text(encoding="utf-8"))
    match = _ORDER.search(text)
    if not match:
        raise UserError("cmake/LanewayRooms.cmake does not set LANEWAY_ROOM_ORDER")
    return match[1].split()


def parse_rooms(text: str) -> list[Room]:
    """The laneway_room(...) calls of a CMakeLists.txt."""
    rooms = []
    for match in _ROOM.finditer(_CMAKE_COMMENT.sub("", text)):
        name, *words = match[1].split()
        depends: list[str] = []
        keyword = ""
        for word in words:
            if word in _KEYWORDS:
                keyword = word
            elif keyword == "DEPENDS":
                depends.append(word)
        rooms.append(Room(name, tuple(depends)))
    return rooms


def _reachable(name: str, rooms: dict[str, Room]) -> set[str]:
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            waiting += rooms[current].depends if current in rooms else ()
    return seen


def _includes(path: Path) -> Iterator[tuple[int, str, str]]:
    text = path.read_text(encoding="utf-8", errors="replace")
    for match in _INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match[1], match[2]


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES)


def _check_file(path: Path, top: Path, room: str, order: list[str], allowed: set[str]) -> Iterator[str]:
    for line, quote, header in _includes(path):
        where = f"{path.relative_to(top)}:{line}"
        first = header.split("/")[0]
        if "/" in header and first in order and first not in allowed:
            yield f"{where}: room {room} includes {header}, but does not depend on {first}"
        elif quote == '"' and "/" not in header:
            yield f'{where}: "{header}" must be written with its room, as "{room}/{header}"'
        if header in ("mpi.h", "mpi-ext.h") and room not in _MAY_USE_MPI:
            yield f"{where}: room {room} must not include {header}"
        if _GPU_HEADER.match(header) and room != "device":
            yield f"{where}: vendor header {header} belongs in device/"


def check_layers(top: Path) -> list[str]:
    """Compare every #include in src/ with the rooms' DEPENDS and their order."""
    order = room_order(top)
    rooms: dict[str, Room] = {}
    problems = []
    for file in sorted((top / "src").glob("*/CMakeLists.txt")):
        for room in parse_rooms(file.read_text(encoding="utf-8")):
            rooms[room.name] = room
            if room.name not in order:
                problems.append(f"{file.relative_to(top)}: room {room.name} is not in LANEWAY_ROOM_ORDER")
                continue
            for other in room.depends:
                if other not in order or order.index(other) >= order.index(room.name):
                    problems.append(f"{file.relative_to(top)}: room {room.name} must not depend on {other}")
    for folder in sorted(path for path in (top / "src").iterdir() if path.is_dir()):
        sources = _sources(folder)
        if sources and folder.name not in rooms:
            problems.append(f"src/{folder.name}: has sources but no laneway_room({folder.name} …)")
            continue
        allowed = _reachable(folder.name, rooms)
        for path in sources:
            problems += _check_file(path, top, folder.name, order, allowed)
    return problems


def _functions(lines: list[str], indent: str = "") -> Iterator[tuple[int, int]]:
    """The first and last lines of functions, from 0, in C++ that clang-format has written; also of those in classes."""
    own = re.compile(rf"{indent}[^\s#/}}]")
    start = 0
    for number, line in enumerate(lines):
        if own.match(line):
            start = number
        elif line.startswith(indent + "}") and (scope := _SCOPE.match(lines[start].strip())):
            if scope[1] in ("class", "struct") and not indent:
                yield from ((start + 1 + a, start + 1 + b) for a, b in _functions(lines[start + 1 : number], "  "))
            start = number
        elif line == indent + "}":
            yield start, number


def check_sizes(top: Path) -> list[str]:
    """Find functions and files of src/ that are too long to be read at once."""
    problems = []
    for path in _sources(top / "src"):
        name = str(path.relative_to(top))
        if name in _STILL_LONG:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > _MOST_LINES_OF_A_FILE:
            problems.append(f"{name}: {len(lines)} lines, at most {_MOST_LINES_OF_A_FILE} are read at once")
        for first, last in _functions(lines):
            if last - first + 1 > _MOST_LINES_OF_A_FUNCTION:
                found = f"a function of {last - first + 1} lines, at most {_MOST_LINES_OF_A_FUNCTION} are read at once"
                problems.append(f"{name}:{first + 1}: {found}")
    return problems


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
    return [str(path) for path in _git_files(top) if path.suffix in _SUFFIXES]


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
    sources = [str(path) for path in _sources(top / "src") if path.suffix == ".cpp"]
    argv = ["clang-tidy", "-p", str(directory), "--quiet", *sources]
    done = subprocess.run(argv, cwd=top, capture_output=True, text=True)
    found = re.compile(r": (warning|error): ")
    return [line.replace(f"{top}/", "") for line in done.stdout.splitlines() if found.search(line)]


def check_all(top: Path) -> dict[str, list[str]]:
    """The checks that every change must pass: their names and what each found."""
    return {
        "layers": check_layers(top),
        "sizes": check_sizes(top),
        "text": check_text(top),
        "format": check_format(top),
    }
