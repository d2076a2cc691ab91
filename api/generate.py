#!/usr/bin/env python3
"""Writes from api/operations.toml everything that has a part for each operation, and from api/conformance.toml its page; see there.

``generate.py`` rewrites what differs; ``--check`` names it and fails; ``--names`` prints the functions of the C API;
``--man FOLDER`` writes their man pages.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import conformance
import cpp_reference
import dense
import fortran_reference
import functions as reference
import python_reference
import support

TOP = Path(__file__).resolve().parent.parent
BY = "Written by api/generate.py from api/operations.toml."
WAYS = ("blocking", "nonblocking", "persistent")
PLACES = ("comm", "topology")
COUNTS = ("int", "large")
BLOCKS = ("same", "equal", "counted", "typed", "indexed")
ROLES = ("buffer", "count", "counts", "displacements", "bytes", "size", "indices", "type", "types")
SCALARS = ("count", "size", "type")


TableError = dense.TableError


@dataclass(frozen=True)
class Argument:
    """One argument of an operation: its name and its role."""

    name: str
    role: str


@dataclass(frozen=True)
class Side:
    """The arguments of one side, and what they say of its blocks."""

    blocks: str
    arguments: tuple[Argument, ...]

    def name_of(self, role: str) -> str | None:
        """The name of the argument that has the role."""
        return next((a.name for a in self.arguments if a.role == role), None)


@dataclass(frozen=True)
class Operation:
    """A row of the table."""

    name: str
    number: int
    base: str
    variant: str
    moves: str
    send: Side
    receive: Side
    ways: tuple[str, ...]
    places: tuple[str, ...]
    counts: tuple[str, ...]
    interposed: bool
    reduces: bool
    text: str
    fortran_text: str

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Those of both sides, in the order of the call."""
        return self.send.arguments + self.receive.arguments

    @property
    def title(self) -> str:
        """Its name on pages."""
        return f"{self.base}, {self.variant}" if self.variant else self.base

    def stem(self, way: str, prefix: str) -> str:
        """PREFIX_[I|N]eighbor_BASE with what the way and the variant add; no suffix of a form."""
        first = "Ineighbor" if way == "nonblocking" else "Neighbor"
        variant = f"_{self.variant}" if self.variant else ""
        return f"{prefix}_{first}_{self.base}{'_init' if way == 'persistent' else ''}{variant}"

    def function(self, way: str, place: str, counts: str) -> str:
        """The name of a function of the C API."""
        suffix = ("_topology" if place == "topology" else "") + ("_c" if counts == "large" else "")
        return self.stem(way, "LNW") + suffix


@dataclass(frozen=True)
class Section:
    """A part of neighborhood.h."""

    name: str
    ways: tuple[str, ...]
    places: tuple[str, ...]
    counts: tuple[str, ...]
    text: str


def _choices(row: dict, key: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    chosen = row[key]
    for value in chosen:
        if value not in allowed:
            raise TableError(f"{row['name']}: {key} has {value!r}, not one of {', '.join(allowed)}")
    return tuple(value for value in allowed if value in chosen)


def _side(row: dict, key: str) -> Side:
    side = row[key]
    if side["blocks"] not in BLOCKS:
        raise TableError(f"{row['name']}: blocks {side['blocks']!r} is not one of {', '.join(BLOCKS)}")
    arguments = tuple(Argument(name, role) for name, role in side["arguments"])
    for argument in arguments:
        if argument.role not in ROLES:
            wrong = f"{argument.name} has role {argument.role!r}"
            raise TableError(f"{row['name']}: {wrong}, not one of {', '.join(ROLES)}")
    return Side(side["blocks"], arguments)


def _operation(row: dict) -> Operation:
    operation = Operation(
        name=row["name"],
        number=row["number"],
        base=row["base"],
        variant=row.get("variant", ""),
        moves=row["moves"],
        send=_side(row, "send"),
        receive=_side(row, "receive"),
        ways=_choices(row, "ways", WAYS),
        places=_choices(row, "places", PLACES),
        counts=_choices(row, "counts", COUNTS),
        interposed=row["interposed"],
        reduces=row.get("reduces", False),
        text=row.get("text", "").strip(),
        fortran_text=row.get("fortran_text", ""),
    )
    if operation.places != PLACES or operation.counts != COUNTS:
        raise TableError(f"{operation.name}: Fortran's generic names stand for all places and counts")
    return operation


def read_table(path: Path = TOP / "api" / "operations.toml") -> tuple[list[Operation], list[Section]]:
    """The rows. Throws TableError for one that makes no sense."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    operations = [_operation(row) for row in table["operation"]]
    for key in ("name", "number"):
        values = [getattr(operation, key) for operation in operations]
        if len(set(values)) != len(values):
            raise TableError(f"two operations have one {key}")
    sections = [
        Section(
            row["name"], _choices(row, "ways", WAYS), _choices(row, "places", PLACES), _choices(row, "counts", COUNTS), row["text"].strip()
        )
        for row in table["section"]
    ]
    return operations, sections


def functions(operations: list[Operation]) -> list[str]:
    """The names of all functions of the C API that the table has."""
    return [o.function(w, p, c) for o in operations for w in o.ways for p in o.places for c in o.counts]


# --- C and C++


def _c_types(counts: str, is_receive: bool) -> dict[str, str]:
    count = "MPI_Count" if counts == "large" else "int"
    displacement = "MPI_Aint" if counts == "large" else "int"
    return {
        "buffer": "void* {}" if is_receive else "const void* {}",
        "count": f"{count} {{}}",
        "counts": f"const {count} {{}}[]",
        "displacements": f"const {displacement} {{}}[]",
        "bytes": "const MPI_Aint {}[]",
        "size": "MPI_Count {}",
        "indices": "const MPI_Count {}[]",
        "type": "MPI_Datatype {}",
        "types": "const MPI_Datatype {}[]",
    }


def _parameters(operation: Operation, counts: str) -> list[str]:
    sides = ((operation.send, False), (operation.receive, True))
    parameters = [_c_types(counts, r)[a.role].format(a.name) for side, r in sides for a in side.arguments]
    return parameters + (["MPI_Op op"] if operation.reduces else [])


def _rest(way: str, place: str, request: str) -> list[str]:
    """The parameters after those that describe the operation."""
    where = "MPI_Comm comm" if place == "comm" else "LNW_Topology topology"
    return [where, *(["MPI_Info info"] if way == "persistent" else []), *([request] if way != "blocking" else [])]


def _names(parameters: list[str]) -> list[str]:
    return [re.split(r"[ *]+", parameter.removesuffix("[]"))[-1] for parameter in parameters]


def _comment(text: str) -> str:
    lines = text.strip().splitlines()
    return "\n".join(["/** " + lines[0], *(f" *  {line}".rstrip() for line in lines[1:])]) + "\n"


def _declare(operation: Operation, way: str, place: str, counts: str) -> str:
    parameters = _parameters(operation, counts) + _rest(way, place, "LNW_Request* request")
    return f"LNW_PUBLIC int {operation.function(way, place, counts)}({', '.join(parameters)});\n"


def header(operations: list[Operation], sections: list[Section]) -> str:
    """include/laneway/neighborhood.h."""
    out = [
        f"/** The neighborhood operations. {BY} */\n"
        "#ifndef LANEWAY_NEIGHBORHOOD_H\n#define LANEWAY_NEIGHBORHOOD_H\n\n"
        '#include <laneway/base.h>\n\n#ifdef __cplusplus\nextern "C" {\n#endif\n'
    ]
    told: set[str] = set()
    for section in sections:
        out.append("\n" + _comment(f"@name {section.name}\n{section.text}\n@{{").rstrip() + " */\n")
        for place in section.places:
            for counts in section.counts:
                for way in section.ways:
                    for operation in operations:
                        if way not in operation.ways:
                            continue
                        if operation.text and operation.name not in told:
                            told.add(operation.name)
                            out.append("\n" + _comment(operation.text).rstrip() + "\n */\n")
                        out.append(_declare(operation, way, place, counts))
        out.append("/** @} */\n")
    out.append("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
    return "".join(out)


def _call(operation: Operation) -> str:
    """A Call of the arguments, as an initializer."""
    fields = {
        "count": "count",
        "size": "count",
        "counts": "counts",
        "displacements": "displacements",
        "bytes": "displacements",
        "indices": "indices",
        "type": "type",
        "types": "types",
    }
    order = ("count", "counts", "displacements", "indices", "type", "types")

    def side(side: Side) -> str:
        named = {fields[a.role]: a.name for a in side.arguments if a.role != "buffer"}
        return "{" + ", ".join(f".{key} = {named[key]}" for key in order if key in named) + "}"

    return (
        f"{{Kind::{operation.name}, {operation.send.name_of('buffer')}, {operation.receive.name_of('buffer')}, "
        f"{side(operation.send)}, {side(operation.receive)}{', op' if operation.reduces else ''}}}"
    )


def c_functions(operations: list[Operation], way: str) -> str:
    """src/api/generated/WAY.cpp."""
    out = [f'// {BY}\n#include "api/operation.hpp"\n\nusing namespace laneway;\n']
    for operation in operations:
        if way not in operation.ways:
            continue
        for place in operation.places:
            for counts in operation.counts:
                parameters = _parameters(operation, counts) + _rest(way, place, "LNW_Request* request")
                rest = ", ".join(_names(_rest(way, place, "LNW_Request* request")))
                out.append(
                    f"\nint {operation.function(way, place, counts)}({', '.join(parameters)}) {{\n"
                    f"  return {way}(__func__, {rest}, {_call(operation)});\n}}\n"
                )
    return "".join(out)


def wrappers(operations: list[Operation]) -> str:
    """src/preload/calls/generated.cpp: MPI's functions, each where the MPI library has it."""
    out = [f'// {BY}\n#include "preload/calls/neighborhood.hpp"\n\nusing namespace laneway;\nusing namespace laneway::interpose;\n']
    groups = (
        ("", "MPI", "int", WAYS[:2]),
        ("LANEWAY_HAS_LARGE_COUNT", "MPI", "large", WAYS[:2]),
        ("LANEWAY_HAS_PERSISTENT", "MPI", "int", WAYS[2:]),
        ("LANEWAY_HAS_PERSISTENT_LARGE_COUNT", "MPI", "large", WAYS[2:]),
        ("LANEWAY_HAS_EXTENSION_PERSISTENT", "MPIX", "int", WAYS[2:]),
    )
    for condition, prefix, counts, ways in groups:
        out.append(f"\n#ifdef {condition}" if condition else "")
        for operation in operations:
            for way in ways:
                if operation.interposed and way in operation.ways:
                    out.append(_wrapper(operation, way, prefix, counts))
        out.append("#endif\n" if condition else "")
    return "".join(out)


def _wrapper(operation: Operation, way: str, prefix: str, counts: str) -> str:
    name = operation.stem(way, prefix) + ("_c" if counts == "large" else "")
    described = _parameters(operation, counts)
    rest = _rest(way, "comm", "MPI_Request* request")
    arguments = _names(described)
    passed = ", ".join([*arguments, "where", *_names(rest)[1:]])
    passes = f"[&](MPI_Comm where) {{ return laneway_pass_{name}({passed}); }}"
    return (
        f"\nINTERPOSE({name}, ({', '.join(described + rest)}), ({', '.join(arguments + _names(rest))})) {{\n"
        f"  const Call call{_call(operation)};\n"
        f'  return take_{way}("{name}", {", ".join(_names(rest))}, call, {passes});\n}}\n'
    )


def kinds(operations: list[Operation]) -> str:
    """src/base/kind.hpp."""
    varying = [o.name for o in operations if o.receive.blocks != "equal" or o.reduces]
    reducing = [o.name for o in operations if o.reduces]
    same = [o.name for o in operations if o.send.blocks == "same"]
    later = [o.name for o in operations if o.receive.blocks == "indexed"]

    def predicate(names: list[str]) -> str:
        return " || ".join(f"kind == Kind::{name}" for name in names) or "false"

    return (
        f"// {BY}\n#pragma once\n\n#include <cstdint>\n\nnamespace laneway {{\n\n"
        "/// Which operation. Numbers are those of LNW_Kind.\nenum class Kind : std::uint8_t {\n"
        + "".join(f"  {o.name} = {o.number},  ///< {o.moves}\n" for o in operations)
        + "};\n\n[[nodiscard]] constexpr const char* name(Kind kind) {\n  switch (kind) {\n"
        + "".join(f'    case Kind::{o.name}:\n      return "{o.name}";\n' for o in operations)
        + '  }\n  return "?";\n}\n\n'
        "/// Whether all edges carry equally many bytes, so that the way of the data follows from the graph alone.\n"
        f"[[nodiscard]] constexpr bool has_equal_edges(Kind kind) {{ return !({predicate(varying)}); }}\n\n"
        "/// Whether all edges of a source carry the same message.\n"
        f"[[nodiscard]] constexpr bool sends_same(Kind kind) {{ return {predicate(same)}; }}\n\n"
        "/// Whether its buffers may be given after it has been made.\n"
        f"[[nodiscard]] constexpr bool may_bind_later(Kind kind) {{ return {predicate(later)}; }}\n\n"
        "/// Whether what arrives is combined with what is there.\n"
        f"[[nodiscard]] constexpr bool reduces(Kind kind) {{ return {predicate(reducing)}; }}\n\n"
        "}  // namespace laneway\n"
    )


def kind_rows(operations: list[Operation]) -> str:
    """src/communicator/arguments/kind_rows.hpp."""
    fields = ("count", "size", "counts", "displacements", "bytes", "indices", "type", "types")

    def side(side: Side) -> str:
        names = [f'.{"displacements" if f == "bytes" else f} = "{side.name_of(f)}"' for f in fields if side.name_of(f)]
        return "{" + ", ".join([f".blocks = BlockForm::{side.blocks}", *names]) + "}"

    rows = ",\n".join(f"{{Kind::{o.name}, {side(o.send)}, {side(o.receive)}{', true' if o.reduces else ''}}}" for o in operations)
    return (
        f'// {BY}\n#pragma once\n\n#include "communicator/arguments/call.hpp"\n\nnamespace laneway {{\n\n'
        f"inline constexpr KindRow kind_rows[] = {{\n{rows},\n}};\n\n}}  // namespace laneway\n"
    )


def constants(operations: list[Operation]) -> str:
    """The body of LNW_Kind, in include/laneway/operation.h."""
    return "".join(f"  LNW_NEIGHBOR_{o.name.upper()} = {o.number},\n" for o in operations).removesuffix(",\n") + "\n"


# --- Fortran


def _wrap(words: list[str], indent: str, width: int = 108) -> str:
    """The words, joined; Fortran's continuation lines begin with `indent`."""
    lines, line = [], ""
    for word in words:
        if line.strip() and len(line) + len(word) > width:
            lines.append(line + "&")
            line = indent
        line += word
    return "\n".join([*lines, line])


def _fortran_spec(role: str, is_receive: bool, uses: bool) -> str:
    kind = {
        "count": "COUNT",
        "counts": "COUNT",
        "displacements": "DISPLACEMENT",
        "bytes": "MPI_ADDRESS_KIND",
        "size": "MPI_COUNT_KIND",
        "indices": "MPI_COUNT_KIND",
    }.get(role)
    later = ", asynchronous" if uses and role not in SCALARS else ""
    if role == "buffer":
        return f"type(*), dimension(..){'' if is_receive else ', intent(in)'}{later}"
    return f"{f'integer({kind})' if kind else 'HANDLE(MPI_Datatype)'}, intent(in){later}"


def _interface(operation: Operation, way: str) -> str:
    name = operation.stem(way, "lnw").lower()
    rest = ["WHERE", *(["info"] if way == "persistent" else []), *(["request"] if way != "blocking" else []), "ierror"]
    names = [a.name for a in operation.arguments] + (["op"] if operation.reduces else []) + rest
    declared: dict[str, list[str]] = {}
    for side, is_receive in ((operation.send, False), (operation.receive, True)):
        for argument in side.arguments:
            # Index lists are copied, so that Fortran may do so, too.
            uses = way != "blocking" and (side.blocks != "indexed" or argument.role == "buffer")
            spec = _fortran_spec(argument.role, is_receive, uses)
            array = "" if argument.role in (*SCALARS, "buffer") else "(*)"
            declared.setdefault(spec, []).append(argument.name + array)
    if operation.reduces:
        declared["HANDLE(MPI_Op), intent(in)"] = ["op"]
    declared["WHERE_TYPE, intent(in)"] = ["WHERE"]
    if way == "persistent":
        declared["HANDLE(MPI_Info), intent(in)"] = ["info"]
    if way != "blocking":
        declared["type(LNW_Request), intent(out)"] = ["request"]
    declared["integer(c_int), optional, intent(out)"] = ["ierror"]
    bind = f'bind(C, name="lnwf_{name.removeprefix("lnw_")}"//SUFFIX)'
    head = _wrap([f"    subroutine FORM({name})(", *(f"{n}, " for n in names[:-1]), f"{names[-1]}) ", bind], " " * 8)
    comment = f"  !> {operation.fortran_text}\n" if operation.fortran_text else ""
    body = "".join(f"      {spec} :: {', '.join(names)}\n" for spec, names in declared.items())
    return f"{comment}  interface {name}\n{head}\n      import\n{body}    end subroutine\n  end interface\n"


def _each(operations: list[Operation]) -> Iterator[tuple[Operation, str]]:
    for way in WAYS:
        for operation in operations:
            if way in operation.ways:
                yield operation, way


def fortran_interfaces(operations: list[Operation]) -> str:
    """fortran/operations.inc."""
    macros = ("FORM", "SUFFIX", "COUNT", "DISPLACEMENT", "WHERE", "WHERE_TYPE")
    return (
        f"! The neighborhood operations in one form. {BY}\n"
        "! laneway.F90 includes this for each form, and says by\n"
        "!   FORM(name)    how the form's procedures are called; the operation's name stands for all its forms\n"
        "!   SUFFIX        what the names of the form's functions in shim.c end with\n"
        "!   COUNT         the kind of counts\n"
        "!   DISPLACEMENT  the kind of displacements in elements\n"
        "!   WHERE         the argument, of type WHERE_TYPE, that the operation runs on\n\n"
        + "\n".join(_interface(operation, way) for operation, way in _each(operations))
        + "\n"
        + "".join(f"#undef {macro}\n" for macro in macros)
    )


def fortran_names(operations: list[Operation]) -> str:
    """fortran/names.inc."""
    out = f"! What the module has of the operations. {BY}\n"
    for way in WAYS:
        names = [o.stem(way, "lnw").lower() for o, w in _each(operations) if w == way]
        words = [f"  public :: {names[0]}", *(f", {name}" for name in names[1:])]
        out += _wrap(words, " " * 12).replace("&\n            , ", ", &\n            ") + "\n"
    return out


def _shim(operation: Operation, way: str) -> str:
    types = {
        "count": "const COUNT* {}",
        "counts": "const COUNT {}[]",
        "displacements": "const DISPLACEMENT {}[]",
        "bytes": "const MPI_Aint {}[]",
        "size": "const MPI_Count* {}",
        "indices": "const MPI_Count {}[]",
        "type": "const MPI_Fint* {}",
        "types": "const MPI_Fint {}[]",
        "buffer": "const CFI_cdesc_t* {}",
    }
    passed = {"count": "*{}", "size": "*{}"}
    parameters = [types[a.role].format(a.name) for a in operation.arguments]
    parameters += [
        *(["const MPI_Fint* op"] if operation.reduces else []),
        "const WHERE* where",
        *(["const MPI_Fint* info"] if way == "persistent" else []),
        *(["LNW_Request* request"] if way != "blocking" else []),
        "MPI_Fint* ierror",
    ]
    lists = [side.name_of("types") for side in (operation.send, operation.receive)]
    # Of elements that indices name, a section has the datatype of one.
    sides = {"send": (operation.send, "out"), "recv": (operation.receive, "in")}
    indexed = any(a.role == "indices" for a in operation.arguments)
    parts = {part: [(a.name, a.role, degree) for a in side.arguments] for part, (side, degree) in sides.items() if side.name_of("type")}
    scaled, of_types = ("", {}) if indexed else dense.in_units(parts, "DEGREES(TO_C(*where))")
    arguments = []
    for side, name in ((operation.send, "types.send"), (operation.receive, "types.recv")):
        for a in side.arguments:
            # With a datatype an element, a buffer may have gaps.
            part = name.removeprefix("types.")
            known = {"types": name, "type": f"{part}.type", "buffer": f"{part}.at" if side.name_of("type") else f"buffer({a.name})"}
            arguments.append(of_types.get(a.name) or known.get(a.role) or passed.get(a.role, "{}").format(a.name))
    arguments += [
        *(["MPI_Op_f2c(*op)"] if operation.reduces else []),
        "TO_C(*where)",
        *(["MPI_Info_f2c(*info)"] if way == "persistent" else []),
        *(["request"] if way != "blocking" else []),
    ]
    call = f"FORM({operation.stem(way, 'LNW')})({', '.join(arguments)})"
    name = operation.stem(way, "lnwf").lower()
    sections = [
        f"{part} = {'section_of_elements' if indexed else 'section'}({buf}, *{kind})"
        for part, buf, kind in (
            ("send", operation.send.name_of("buffer"), operation.send.name_of("type")),
            ("recv", operation.receive.name_of("buffer"), operation.receive.name_of("type")),
        )
        if kind
    ]
    ends = "".join(f"  end_section(&{one.partition(' ')[0]});\n" for one in sections)
    body = f"  Section {', '.join(sections)};\n{scaled}  const int code = {call};\n{ends}  finish(code, ierror);\n"
    if any(lists):
        made = ", ".join(["DEGREES(TO_C(*where))", *(name or "NULL" for name in lists)])
        body = f"  const Types types = make_types({made});\n  const int code = {call};\n  free_types(types);\n  finish(code, ierror);\n"
    return f"void FORM({name})({', '.join(parameters)}) {{\n{body}}}\n"


def fortran_shim(operations: list[Operation]) -> str:
    """fortran/operations.h."""
    macros = ("FORM", "COUNT", "DISPLACEMENT", "WHERE", "TO_C", "DEGREES")
    return (
        f"/* The neighborhood operations in one form. {BY}\n * shim.c includes this for each form, and says by\n"
        " *   FORM(name)     what the functions are called, here and in the C API\n"
        " *   COUNT          the type of counts\n"
        " *   DISPLACEMENT   the type of displacements in elements\n"
        " *   WHERE          the handle that the operation runs on, in Fortran\n"
        " *   TO_C(where)    and in C\n"
        " *   DEGREES        the function that finds its degrees */\n\n"
        + "\n".join(_shim(operation, way) for operation, way in _each(operations))
        + "\n"
        + "".join(f"#undef {macro}\n" for macro in macros)
    )


# --- profiling names


def declared(top: Path, headers: Mapping[Path, str] = MappingProxyType({})) -> list[str]:
    """The functions that laneway.h and what it includes declare, in order; of what is generated, as it should be."""
    parts = re.findall(r"#include <(laneway/\w+\.h)>", (top / "include/laneway/laneway.h").read_text(encoding="utf-8"))
    paths = [top / "include" / part for part in parts]
    texts = [headers.get(path) or path.read_text(encoding="utf-8") for path in paths]
    return re.findall(r"^LNW_PUBLIC \w+\s+(LNW_\w+)\(", "".join(texts), re.MULTILINE)


def profiling_header(names: list[str]) -> str:
    """include/laneway/profiling.h."""
    return (
        "/** A second name of each function, as MPI has PMPI_X: a tool that defines LNW_X itself calls PLNW_X.\n"
        " *  Written by api/generate.py from the other headers. */\n"
        "#ifndef LANEWAY_PROFILING_H\n#define LANEWAY_PROFILING_H\n\n"
        '#include <laneway/laneway.h>\n\n#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        + "".join(f"extern __typeof__({name}) P{name};\n" for name in names)
        + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    )


def profiling_symbols(names: list[str]) -> str:
    """src/api/generated/profiling.ld: for the linker."""
    return "/* Written by api/generate.py: the names of include/laneway/profiling.h. */\n" + "".join(
        f"P{name} = {name};\n" for name in names
    )


# --- documents


def c_table(operations: list[Operation]) -> str:
    """The operations, in docs/reference/c.md."""
    rows = ["| operation | blocking | nonblocking | persistent |", "| --- | --- | --- | --- |"]
    for o in operations:
        ways = " | ".join(f"`{o.stem(way, 'LNW')}`" if way in o.ways else "–" for way in WAYS)
        rows.append(f"| {o.title}: {o.moves} | {ways} |")
    return "\n".join(rows) + "\n"


def fortran_table(operations: list[Operation]) -> str:
    """The operations, in docs/reference/fortran.md."""
    rows = ["| operation | blocking | nonblocking | persistent |", "| --- | --- | --- | --- |"]
    for o in operations:
        ways = " | ".join(f"`{o.stem(way, 'lnw').lower()}`" if way in o.ways else "–" for way in WAYS)
        rows.append(f"| {o.title}: {o.moves} | {ways} |")
    return "\n".join(rows) + "\n"


# --- files


def _formatted(text: str, path: Path) -> str:
    argv = ["clang-format", f"--assume-filename={path}"]
    return subprocess.run(argv, input=text, cwd=TOP, capture_output=True, text=True, check=True).stdout


def _region(path: Path, text: str, by: str = "generate", now: str = "") -> str:
    """The file, or `now` in its place, with `text` between the lines that say so."""
    now = now or path.read_text(encoding="utf-8")
    first, last = rf"([^\n]*generated: api/{by}\.py[^\n]*\n)", r"([^\n]*end of what is generated[^\n]*\n)"
    marked = re.compile(f"(?<=\n){first}.*?{last}", re.DOTALL)
    changed, times = marked.subn(lambda found: found[1] + text + found[2], now)
    if times != 1:
        raise TableError(f"{path.name} has {times} places for what is generated, not one")
    return changed


def outputs(top: Path = TOP) -> dict[Path, str]:
    """Each file that is generated, or has a part that is: what it should contain."""
    operations, sections = read_table(top / "api" / "operations.toml")
    dense_operations, dense_sections = dense.read_table(top / "api" / "operations.toml")
    whole = {
        "include/laneway/neighborhood.h": header(operations, sections),
        "src/base/kind.hpp": kinds(operations),
        "src/communicator/arguments/kind_rows.hpp": kind_rows(operations),
        **{f"src/api/generated/{way}.cpp": c_functions(operations, way) for way in WAYS},
        "src/preload/calls/generated.cpp": wrappers(operations),
        "fortran/operations.h": fortran_shim(operations),
        "include/laneway/collectives.h": dense.header(dense_operations, dense_sections),
        "src/base/dense_kind.hpp": dense.kinds(dense_operations),
        "src/communicator/arguments/collective_rows.hpp": dense.rows(dense_operations),
        **{f"src/api/generated/dense_{way}.cpp": dense.c_functions(dense_operations, way) for way in dense.WAYS},
        "src/operations/collective/execution/generated/dense_mpi.cpp": dense.mpi_calls(dense_operations),
        "src/preload/calls/generated_collective.cpp": dense.wrappers(dense_operations),
        "fortran/collectives.h": dense.fortran_shim(dense_operations),
    }
    files = {top / name: _formatted(text, top / name) for name, text in whole.items()}
    names = declared(top, files)
    header_of_names = top / "include/laneway/profiling.h"
    files[header_of_names] = _formatted(profiling_header(names), header_of_names)
    files[top / "src/api/generated/profiling.ld"] = profiling_symbols(names)
    files[top / "fortran" / "operations.inc"] = fortran_interfaces(operations)
    files[top / "fortran" / "names.inc"] = fortran_names(operations)
    files[top / "fortran" / "collectives.inc"] = dense.fortran_interfaces(dense_operations)
    files[top / "fortran" / "collective_names.inc"] = dense.fortran_names(dense_operations)
    regions = (
        ("include/laneway/operation.h", constants(operations)),
        ("docs/reference/c.md", "\n" + c_table(operations) + "\n"),
        ("docs/reference/fortran.md", "\n" + fortran_table(operations) + "\n"),
    )
    for name, text in regions:
        files[top / name] = _region(top / name, text)
    for name, text in (
        ("docs/reference/c.md", dense.c_table(dense_operations)),
        ("docs/reference/fortran.md", dense.fortran_table(dense_operations)),
    ):
        files[top / name] = _region(top / name, "\n" + text + "\n", "dense", files[top / name])
    supported = support.page(support.read(top / "api" / "support.toml"), operations, dense_operations)
    files[top / "docs" / "reference" / "support.md"] = _region(top / "docs" / "reference" / "support.md", supported + "\n", "support")
    requirements = conformance.page(*conformance.read_table(top / "api" / "conformance.toml"))
    name = "docs/reference/conformance.md"
    files[top / name] = _region(top / name, "\n" + requirements + "\n", "conformance")
    return files | references(top, files, families(top, files))


def references(top: Path, files: Mapping[Path, str], families: list[reference.Family]) -> dict[Path, str]:
    """The pages of functions and classes, and the tables that lead to them."""
    languages = {
        "c": {**{f.file: reference.page(f) for f in families}, "index": reference.index(families)},
        "fortran": fortran_reference.pages(top, families, files),
        "cpp": cpp_reference.pages(top, families),
        "python": python_reference.pages(top),
    }
    pages = {}
    for language, texts in languages.items():
        page = top / "docs" / "reference" / f"{language}.md"
        pages[page] = _region(page, f"\n{texts.pop('index')}\n", "functions", files.get(page, ""))
        pages |= {top / "docs" / "reference" / language / f"{name}.md": text for name, text in texts.items()}
    return pages


def families(top: Path, files: Mapping[Path, str]) -> list[reference.Family]:
    """All functions of the C API, by page."""
    table = top / "api" / "operations.toml"
    return reference.read(top, read_table(table)[0], dense.read_table(table)[0], files)


def write_manual(folder: Path, top: Path = TOP) -> None:
    """Man pages of all functions, into an empty folder."""
    version = re.search(r"project\(laneway VERSION ([\d.]+)", (top / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert version
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in reference.man_pages(families(top, {}), version[1]).items():
        (folder / name).write_text(text, encoding="utf-8")


def differing(top: Path = TOP) -> dict[Path, str]:
    """Those of `outputs` that are missing or contain something else."""
    return {path: text for path, text in outputs(top).items() if not path.is_file() or path.read_text(encoding="utf-8") != text}


def main(arguments: list[str]) -> int:
    """The command."""
    if arguments == ["--names"]:
        print("\n".join(functions(read_table()[0]) + dense.functions(dense.read_table(TOP / "api" / "operations.toml")[0])))
        return 0
    if arguments[:1] == ["--man"] and len(arguments) == 2:
        write_manual(Path(arguments[1]))
        return 0
    if arguments not in ([], ["--check"]):
        print(textwrap.dedent(__doc__ or ""), file=sys.stderr)
        return 2
    found = differing()
    for path, text in found.items():
        print(path.relative_to(TOP))
        if not arguments:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if arguments and found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
