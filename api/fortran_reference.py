"""The reference of the Fortran module, one section a procedure: docs/reference/fortran, from the module's sources; generate.py writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from functions import Family, ReferenceError, in_language

_PARTS = ("operations.inc", "collectives.inc", "edges.inc", "pairs.inc", "movers.inc", "laneway.F90")
_NAMES = ("laneway.F90", "names.inc", "collective_names.inc")
_KINDS = {
    "WHERE_TYPE": "type(MPI_Comm)",
    "WHERE": "comm",
    "integer(c_int)": "integer",
    "HANDLE(": "type(",
    "STATUSES :: array_of_statuses": "type(MPI_Status) :: array_of_statuses(*)",
    "STATUS ::": "type(MPI_Status) ::",
}


@dataclass(frozen=True)
class Procedure:
    """One procedure: its arguments in order, their declarations, and the comment before it."""

    name: str
    arguments: str
    declared: tuple[str, ...]
    text: str


def _joined(source: str) -> str:
    """Continuation lines, joined."""
    return re.sub(r"&\s*\n\s*&?", " ", source)


def procedures(source: str) -> dict[str, Procedure]:
    """Those of one file, by name."""
    found = {}
    text = ""
    lines = iter(_joined(source).splitlines())
    for line in lines:
        comment = re.match(r"\s*!> (.*)", line)
        head = re.match(r"\s*subroutine (?:FORM\()?(lnw_\w+)\)?\(([^)]*)\)", line)
        if comment:
            text = f"{text} {comment[1]}".strip()
        elif head:
            names = [name.strip() for name in head[2].split(",")]
            declared = []
            for inner in lines:
                if inner.strip().startswith("end subroutine"):
                    break
                one = re.match(r"\s*((?:type|HANDLE|WHERE_TYPE|STATUS|integer|logical|character).*?) :: (.*)", inner)
                if one and any(re.search(rf"\b{re.escape(n)}\b", one[2]) for n in names):
                    declared.append(f"{one[1]} :: {one[2]}")
            found[head[1]] = Procedure(head[1], ", ".join(names), tuple(declared), text)
            text = ""
        elif not re.match(r"\s*interface", line):
            text = ""
    return found


def public_names(folder: Path, texts: Mapping[Path, str]) -> list[str]:
    """What programs may call."""
    names = []
    for name in _NAMES:
        source = _joined(texts.get(folder / name) or (folder / name).read_text(encoding="utf-8"))
        for listed in re.findall(r"^\s*public :: (.*)$", source, re.MULTILINE):
            names += re.findall(r"\blnw_\w+", listed)
    return names


def _written(text: str) -> str:
    for old, new in _KINDS.items():
        text = text.replace(old, new)
    return text


def _section(procedure: Procedure, family: Family, function: str) -> str:
    call = _written(f"call {procedure.name}({procedure.arguments})")
    declared = "\n".join(_written(line) for line in procedure.declared)
    own = f"{procedure.text} " if procedure.text else ""
    return (
        f"## {procedure.name}\n\n```fortran\n{call}\n\n{declared}\n```\n\n{own}What it does, its arguments, errors, thread level and "
        f"completion: [`{function}`](../c/{family.file}.md#{function.lower()}).\n"
    )


def pages(top: Path, families: Sequence[Family], texts: Mapping[Path, str]) -> dict[str, str]:
    """Each page by its name, and `index`, the table of docs/reference/fortran.md."""
    folder = top / "fortran"
    known: dict[str, Procedure] = {}
    for part in _PARTS:
        known |= procedures(texts.get(folder / part) or (folder / part).read_text(encoding="utf-8"))
    homes = {function.name.lower(): (family, function.name) for family in families for function in family.functions}
    sections: dict[str, list[tuple[str, str]]] = {}
    for name in public_names(folder, texts):
        home = homes.get(name) or homes.get(name.removesuffix("_c"))
        if name not in known or home is None:
            raise ReferenceError(f"fortran: {name} has no interface, or no function in C")
        sections.setdefault(home[0].file, []).append((name, _section(known[name], *home)))
    out = {}
    rows = ["| family | procedures |", "| --- | --- |"]
    for family in families:
        parts = sections.get(family.file, [])
        if not parts:
            continue
        links = ", ".join(f"[`{name}`](#{name})" for name, _ in parts)
        out[family.file] = (
            f"# {in_language(family, 'Fortran')}\n\n<!-- Written by api/generate.py from the sources of the module. -->\n\n"
            f"`use laneway`, or `use laneway_mpi` with integers for handles of MPI. Rules for buffers, indices and handles: [Fortran](../fortran.md). `COUNT` and `DISPLACEMENT` stand for the "
            f"[kinds of counts](../fortran.md#counts) that a call may have.\n\n{links}\n\n" + "\n".join(text for _, text in parts)
        )
        rows.append(
            f"| [{family.title}](fortran/{family.file}.md) | "
            + ", ".join(f"[`{name}`](fortran/{family.file}.md#{name})" for name, _ in parts)
            + " |"
        )
    return out | {"index": "\n".join(rows) + "\n"}
