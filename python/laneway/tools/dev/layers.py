"""Who may use whom: rooms of src/, folders of the tools, and documents that list the rooms."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from laneway.tools.places.errors import UserError

SOURCE_SUFFIXES = {".hpp", ".cpp", ".h", ".c"}
_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
_CMAKE_COMMENT = re.compile(r"#.*")
_ORDER = re.compile(r"set\(\s*LANEWAY_ROOM_ORDER\s+([^)]*)\)")
_ROOM = re.compile(r"laneway_room\(\s*([^)]*)\)")
_KEYWORDS = {"SOURCES", "DEPENDS", "LINKS"}
_MAY_USE_MPI = {"carriers", "arguments", "comm", "choose", "operate", "channel", "queue", "c", "interpose"}
_GPU_HEADER = re.compile(r"(cuda|hip/|hip_|nvml|cupti|nccl|rccl|rocm|hsa/)")
TOOLS = ("places", "measure", "draw", "papers", "dev", "evaluate", "cli")
"""Folders of laneway.tools, and the module of the command: each may use those before it."""
_LISTS = {"docs/concepts/rooms.md": ("| room | content | needs MPI |", "→")}
"""Documents that list the rooms: the head of their table, and the arrow of a line of them, the last first, where there is one."""


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


def sources_of(folder: Path) -> list[Path]:
    """The C and C++ files of a folder and those in it."""
    return sorted(path for path in folder.rglob("*") if path.suffix in SOURCE_SUFFIXES)


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
        sources = sources_of(folder)
        if sources and folder.name not in rooms:
            problems.append(f"src/{folder.name}: has sources but no laneway_room({folder.name} …)")
            continue
        allowed = _reachable(folder.name, rooms)
        for path in sources:
            problems += _check_file(path, top, folder.name, order, allowed)
    return problems


def check_bench(top: Path) -> list[str]:
    """Folders of bench/ are included by their names, as rooms are: they must differ, and look one way."""
    rooms, bench = room_order(top), top / "bench"
    problems = [f"bench/{path.name}: a room has that name" for path in sorted(bench.glob("*/")) if path.name in rooms]
    if not (bench / "CMakeLists.txt").is_file():
        return problems
    found = re.search(r"set\(LANEWAY_BENCH_ORDER ([^)]*)\)", (bench / "CMakeLists.txt").read_text(encoding="utf-8"))
    order = found[1].split() if found else []
    for path in (path for folder in sorted(bench.glob("*/")) for path in sources_of(folder)):
        own = path.relative_to(bench).parts[0]
        if own not in order:
            problems.append(f"{path.relative_to(top)}: its folder is not in LANEWAY_BENCH_ORDER of bench/CMakeLists.txt")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            include = re.match(r'#include "(\w+)/', line)
            if include and include[1] in order[order.index(own) + 1 :]:
                problems.append(f"{path.relative_to(top)}:{number}: bench/{own} must not include bench/{include[1]}")
    return problems


def _imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The modules that a file imports, wherever in it, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def _check_module(path: Path, package: Path, where: str) -> Iterator[str]:
    parts = path.relative_to(package).with_suffix("").parts
    own = parts[1] if parts[0] == "tools" and len(parts) > 1 and parts[1] in TOOLS else ""
    for line, name in _imported(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        first, *rest = name.split(".")
        if not first:
            yield f"{where}:{line}: imports are written in full, from laneway"
        if first != "laneway" or rest[:1] != ["tools"] or len(rest) < 2:
            continue
        used = rest[1]
        if not own and (parts != ("__main__",) or used != "cli"):
            yield f"{where}:{line}: only __main__ may use the tools, and of these the command"
        elif own and used not in TOOLS:
            yield f"{where}:{line}: laneway.tools has no folder {used}"
        elif own and TOOLS.index(used) > TOOLS.index(own):
            yield f"{where}:{line}: {own} imports {used}, which comes after it"


def check_tools(top: Path) -> list[str]:
    """Compare every import in python/laneway with the order of the tools' folders, also imports inside functions."""
    package = top / "python" / "laneway"
    problems = []
    for path in sorted(package.rglob("*.py")):
        problems += _check_module(path, package, str(path.relative_to(top)))
        folder = path.relative_to(package).parts[1:-1]
        if folder and folder[0] not in TOOLS:
            problems.append(f"{path.relative_to(top)}: {folder[0]} is not in the order of the tools' folders")
    return problems


def _first_cells(text: str, head: str) -> list[str]:
    """What is in backquotes in the first column of a table."""
    rows = text[text.index(head) :].split("\n\n")[0].splitlines()[2:]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def _in_a_line(text: str, arrow: str) -> list[str]:
    """The longest row of words with an arrow from each to the next, the last of them first."""
    found = re.findall(rf"\w+(?:\s*{arrow}\s*\w+)+", text)
    return re.findall(r"\w+", max(found, key=len, default=""))[::-1]


def check_lists(top: Path) -> list[str]:
    """Compare the documents' lists of rooms with the one in CMake: the same rooms in the same order."""
    order = room_order(top)
    problems = []
    for document, (head, arrow) in _LISTS.items():
        text = (top / document).read_text(encoding="utf-8")
        if head not in text:
            problems.append(f"{document}: has no table {head}")
            continue
        lists = {"table": _first_cells(text, head)} | ({"line": _in_a_line(text, arrow)} if arrow else {})
        for what, names in lists.items():
            if names == order:
                continue
            missing = [name for name in order if name not in names]
            other = [name for name in names if name not in order]
            said = [f"without {', '.join(missing)}"] * bool(missing) + [f"with {', '.join(other)}"] * bool(other)
            problems.append(f"{document}: its {what} of rooms is not LANEWAY_ROOM_ORDER: {'; '.join(said) or 'in another order'}")
    return problems
