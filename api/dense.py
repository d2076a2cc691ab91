"""The dense operations of api/operations.toml: their rows, and what is written from them; generate.py does so."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

BY = "Written by api/generate.py from api/operations.toml."
WAYS = ("blocking", "nonblocking", "persistent")
COUNTS = ("int", "large")
SIDES = ("send", "receive")
ROLES = ("buffer", "count", "counts", "displacements", "type", "types")


class TableError(Exception):
    """A row of operations.toml that makes no sense."""


@dataclass(frozen=True)
class Argument:
    """One argument: its name, the side that it describes ("": both, or none), and its role."""

    name: str
    side: str
    role: str


@dataclass(frozen=True)
class Dense:
    """A row of the table."""

    name: str
    number: int
    moves: str
    arguments: tuple[Argument, ...]
    in_place: str
    counts: tuple[str, ...]
    interposed: bool

    def name_of(self, role: str, side: str = "") -> str | None:
        """The name of the argument that has the role, on that side."""
        return next((a.name for a in self.arguments if a.role == role and a.side in ("", side)), None)

    @property
    def reduces(self) -> bool:
        """Whether it has an operator."""
        return self.name_of("op") is not None

    def stem(self, way: str, prefix: str) -> str:
        """PREFIX_NAME as the way writes it, without the suffix of a form."""
        name = f"i{self.name}" if way == "nonblocking" else self.name
        return f"{prefix}_{name.capitalize()}{'_init' if way == 'persistent' else ''}"

    def function(self, way: str, counts: str) -> str:
        """The name of a function of the C API."""
        return self.stem(way, "LNW") + ("_c" if counts == "large" else "")


@dataclass(frozen=True)
class Section:
    """A part of collectives.h."""

    name: str
    ways: tuple[str, ...]
    counts: tuple[str, ...]
    text: str


def _argument(row: dict, name: str, role: str) -> Argument:
    side, _, rest = role.rpartition(".")
    if role not in ("root", "op") and (rest not in ROLES or side not in ("", *SIDES)):
        raise TableError(f"{row['name']}: {name} has role {role!r}")
    return Argument(name, side, rest)


def read_table(path: Path) -> tuple[list[Dense], list[Section]]:
    """The rows. Throws TableError for one that makes no sense."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    operations = []
    for row in table["dense"]:
        arguments = tuple(_argument(row, *pair) for pair in row["arguments"])
        in_place = row.get("in_place", "")
        if in_place and in_place.removesuffix(" at root") not in [a.name for a in arguments]:
            raise TableError(f"{row['name']}: in_place names {in_place!r}, which is no argument")
        operations.append(
            Dense(
                row["name"],
                row["number"],
                row["moves"],
                arguments,
                in_place,
                tuple(row.get("counts", COUNTS)),
                row.get("interposed", False),
            )
        )
    for key in ("name", "number"):
        values = [getattr(operation, key) for operation in operations]
        if len(set(values)) != len(values):
            raise TableError(f"two dense operations have one {key}")
    sections = [Section(r["name"], tuple(r["ways"]), tuple(r["counts"]), r["text"].strip()) for r in table["dense_section"]]
    return operations, sections


def functions(operations: list[Dense]) -> list[str]:
    """The names of all functions of the C API that the table has."""
    return [o.function(w, c) for o in operations for w in WAYS for c in o.counts]


# --- C and C++


def _parameters(operation: Dense, counts: str) -> list[str]:
    count = "MPI_Count" if counts == "large" else "int"
    displacement = "MPI_Aint" if counts == "large" else "int"
    types = {
        "count": f"{count} {{}}",
        "counts": f"const {count} {{}}[]",
        "displacements": f"const {displacement} {{}}[]",
        "type": "MPI_Datatype {}",
        "types": "const MPI_Datatype {}[]",
        "root": "int {}",
        "op": "MPI_Op {}",
    }

    def one(argument: Argument) -> str:
        if argument.role == "buffer":
            return f"{'const ' if argument.side == 'send' else ''}void* {argument.name}"
        return types[argument.role].format(argument.name)

    return [one(argument) for argument in operation.arguments]


def _rest(way: str, request: str) -> list[str]:
    return ["MPI_Comm comm", *(["MPI_Info info"] if way == "persistent" else []), *([request] if way != "blocking" else [])]


def _comment(text: str) -> str:
    lines = text.strip().splitlines()
    return "\n".join(["/** " + lines[0], *(f" *  {line}".rstrip() for line in lines[1:])]) + "\n"


def header(operations: list[Dense], sections: list[Section]) -> str:
    """include/laneway/collectives.h."""
    out = [
        f"/** The dense operations. {BY} */\n"
        "#ifndef LANEWAY_COLLECTIVES_H\n#define LANEWAY_COLLECTIVES_H\n\n"
        '#include <laneway/base.h>\n\n#ifdef __cplusplus\nextern "C" {\n#endif\n'
    ]
    for section in sections:
        out.append("\n" + _comment(f"@name {section.name}\n{section.text}\n@{{").rstrip() + " */\n")
        for counts in section.counts:
            for way in section.ways:
                for operation in operations:
                    if counts not in operation.counts:
                        continue
                    parameters = _parameters(operation, counts) + _rest(way, "LNW_Request* request")
                    out.append(f"LNW_PUBLIC int {operation.function(way, counts)}({', '.join(parameters)});\n")
        out.append("/** @} */\n")
    out.append("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
    return "".join(out)


def kinds(operations: list[Dense]) -> str:
    """src/base/dense_kind.hpp."""

    def predicate(chosen: list[Dense]) -> str:
        return " || ".join(f"kind == DenseKind::{o.name}" for o in chosen)

    return (
        f"// {BY}\n#pragma once\n\n#include <cstdint>\n\nnamespace laneway {{\n\n"
        "/// Which dense operation.\nenum class DenseKind : std::uint8_t {\n"
        + "".join(f"  {o.name} = {o.number},  ///< {o.moves}\n" for o in operations)
        + "};\n\n[[nodiscard]] constexpr const char* name(DenseKind kind) {\n  switch (kind) {\n"
        + "".join(f'    case DenseKind::{o.name}:\n      return "{o.name}";\n' for o in operations)
        + '  }\n  return "?";\n}\n\n'
        "/// Whether blocks are combined.\n"
        f"[[nodiscard]] constexpr bool reduces(DenseKind kind) {{ return {predicate([o for o in operations if o.reduces])}; }}\n\n"
        "/// Whether one rank is not like the others.\n"
        f"[[nodiscard]] constexpr bool has_root(DenseKind kind) {{ return {predicate([o for o in operations if o.name_of('root')])}; }}\n\n"
        "}  // namespace laneway\n"
    )


def rows(operations: list[Dense]) -> str:
    """src/communicator/arguments/collective_rows.hpp."""

    def side(operation: Dense, which: str) -> str:
        named = [(role, operation.name_of(role, which)) for role in ("count", "counts", "displacements", "type", "types")]
        blocks = "typed" if operation.name_of("types", which) else "counted" if operation.name_of("counts", which) else "equal"
        return "{" + ", ".join([f".blocks = BlockForm::{blocks}", *(f'.{role} = "{name}"' for role, name in named if name)]) + "}"

    def place(operation: Dense) -> str:
        if not operation.in_place:
            return "InPlace::never"
        argument, _, at_root = operation.in_place.partition(" at ")
        at = "at_root" if at_root else "everywhere"
        return f"InPlace::{'send' if argument == operation.name_of('buffer', 'send') else 'receive'}_{at}"

    body = ",\n".join(f"{{DenseKind::{o.name}, {side(o, 'send')}, {side(o, 'receive')}, {place(o)}}}" for o in operations)
    return (
        f'// {BY}\n#pragma once\n\n#include "communicator/arguments/collective.hpp"\n\nnamespace laneway {{\n\n'
        f"inline constexpr DenseRow dense_rows[] = {{\n{body},\n}};\n\n}}  // namespace laneway\n"
    )


def _call(operation: Dense, counts: str) -> str:
    def side(which: str) -> str:
        named = {a.role: a.name for a in operation.arguments if a.side in ("", which)}
        order = ("count", "counts", "displacements", "type", "types")
        return "{" + ", ".join(f".{role} = {named[role]}" for role in order if role in named) + "}"

    buffers = [operation.name_of("buffer", which) or "nullptr" for which in SIDES]
    more = "".join(f", .{role} = {role}" for role in ("op", "root") if operation.name_of(role))
    more += ", .is_large = true" if counts == "large" else ""
    return (
        f"CollectiveCall{{.kind = DenseKind::{operation.name}, .sendbuf = {buffers[0]}, .recvbuf = {buffers[1]}, "
        f".send = {side('send')}, .receive = {side('receive')}{more}}}"
    )


def c_functions(operations: list[Dense], way: str) -> str:
    """src/api/generated/dense_WAY.cpp."""
    out = [f'// {BY}\n#include "api/dense.hpp"\n\nusing namespace laneway;\n']
    for operation in operations:
        for counts in operation.counts:
            rest = _rest(way, "LNW_Request* request")
            names = ", ".join(parameter.split()[-1].lstrip("*") for parameter in rest)
            parameters = ", ".join(_parameters(operation, counts) + rest)
            out.append(
                f"\nint {operation.function(way, counts)}({parameters}) {{\n"
                f"  return dense_{way}(__func__, {names}, {_call(operation, counts)});\n}}\n"
            )
    return "".join(out)


def _passed(argument: Argument) -> str:
    if argument.role == "buffer":
        return {"send": "a.sendbuf", "receive": "a.recvbuf", "": "a.recvbuf"}[argument.side]
    if argument.role in ("op", "root"):
        return f"a.{argument.role}"
    return f"a.{argument.side or 'receive'}.{argument.role}"


def mpi_calls(operations: list[Dense]) -> str:
    """src/operations/collective/execution/generated/dense_mpi.cpp: MPI's own operations."""
    out = [f'// {BY}\n#include "operations/collective/execution/mpi.hpp"\n\nnamespace laneway {{\n']
    for counts, condition in (("int", ""), ("large", "LANEWAY_HAS_LARGE_COUNT_COLLECTIVES")):
        form, suffix = ("MpiArguments", "") if counts == "int" else ("LargeMpiArguments", "_c")
        if condition:
            out.append(f"\n#ifdef {condition}")
        for way in WAYS[:2]:
            rest = ["comm"] + (["request"] if way == "nonblocking" else [])
            request = ", MPI_Request* request" if way == "nonblocking" else ""
            cases = []
            for o in operations:
                end = suffix if counts in o.counts else ""
                arguments = ", ".join([*(_passed(a) for a in o.arguments), *rest])
                cases.append(f"    case DenseKind::{o.name}:\n      return {o.stem(way, 'MPI')}{end}({arguments});\n")
            name = "call_mpi" if way == "blocking" else "start_mpi"
            out.append(
                f"\nint {name}(DenseKind kind, const {form}& a, MPI_Comm comm{request}) {{\n  switch (kind) {{\n"
                + "".join(cases)
                + "  }\n  return MPI_ERR_INTERN;\n}\n"
            )
        if condition:
            out.append("\n#endif\n")
    out.append("\n}  // namespace laneway\n")
    return "".join(out)


def wrappers(operations: list[Dense]) -> str:
    """src/preload/calls/generated_collective.cpp: MPI's blocking functions, each where the MPI library has it."""
    out = [f'// {BY}\n#include "preload/calls/collective.hpp"\n\nusing namespace laneway;\nusing namespace laneway::interpose;\n']
    for condition, counts in (("", "int"), ("LANEWAY_HAS_LARGE_COUNT_COLLECTIVES", "large")):
        out.append(f"\n#ifdef {condition}" if condition else "")
        for o in operations:
            if not o.interposed or counts not in o.counts:
                continue
            name = o.stem("blocking", "MPI") + ("_c" if counts == "large" else "")
            parameters = ", ".join([*_parameters(o, counts), "MPI_Comm comm"])
            arguments = ", ".join([*(a.name for a in o.arguments), "comm"])
            out.append(
                f"\nINTERPOSE({name}, ({parameters}), ({arguments})) {{\n"
                f'  return take_dense("{name}", comm, [&] {{ return {_call(o, counts)}; }}, '
                f"[&] {{ return laneway_pass_{name}({arguments}); }});\n}}\n"
            )
        out.append("#endif\n" if condition else "")
    return "".join(out)


# --- Fortran


def _wrap(words: list[str], indent: str, width: int = 108) -> str:
    lines, line = [], ""
    for word in words:
        if line.strip() and len(line) + len(word) > width:
            lines.append(line + "&")
            line = indent
        line += word
    return "\n".join([*lines, line])


def _each(operations: list[Dense]) -> Iterator[tuple[Dense, str]]:
    for way in WAYS:
        for operation in operations:
            yield operation, way


def _guarded(operation: Dense, text: str) -> str:
    """Without a form for large counts, there is one for int only."""
    return text if "large" in operation.counts else f"#ifdef INT_COUNTS\n{text}#endif\n"


def _spec(argument: Argument, uses: bool) -> str:
    later = ", asynchronous" if uses and argument.role in ("buffer", "counts", "displacements", "types") else ""
    if argument.role == "buffer":
        return f"type(*), dimension(..){', intent(in)' if argument.side == 'send' else ''}{later}"
    kinds = {
        "count": "integer(COUNT)",
        "counts": "integer(COUNT)",
        "displacements": "integer(DISPLACEMENT)",
        "root": "integer(c_int)",
        "op": "HANDLE(MPI_Op)",
    }
    return f"{kinds.get(argument.role, 'HANDLE(MPI_Datatype)')}, intent(in){later}"


def _interface(operation: Dense, way: str) -> str:
    name = operation.stem(way, "lnw").lower()
    rest = ["comm", *(["info"] if way == "persistent" else []), *(["request"] if way != "blocking" else []), "ierror"]
    names = [a.name for a in operation.arguments] + rest
    declared: dict[str, list[str]] = {}
    for argument in operation.arguments:
        array = "(*)" if argument.role in ("counts", "displacements", "types") else ""
        declared.setdefault(_spec(argument, way != "blocking"), []).append(argument.name + array)
    declared["HANDLE(MPI_Comm), intent(in)"] = ["comm"]
    if way == "persistent":
        declared["HANDLE(MPI_Info), intent(in)"] = ["info"]
    if way != "blocking":
        declared["type(LNW_Request), intent(out)"] = ["request"]
    declared["integer(c_int), optional, intent(out)"] = ["ierror"]
    bind = f'bind(C, name="lnwf_{name.removeprefix("lnw_")}"//SUFFIX)'
    head = _wrap([f"    subroutine FORM({name})(", *(f"{n}, " for n in names[:-1]), f"{names[-1]}) ", bind], " " * 8)
    body = "".join(f"      {spec} :: {', '.join(names)}\n" for spec, names in declared.items())
    return _guarded(operation, f"  interface {name}\n{head}\n      import\n{body}    end subroutine\n  end interface\n")


def fortran_interfaces(operations: list[Dense]) -> str:
    """fortran/collectives.inc."""
    return (
        f"! The dense operations in one form. {BY}\n"
        "! laneway.F90 includes this for each form, with FORM, SUFFIX, COUNT and DISPLACEMENT as for operations.inc, and\n"
        "! INT_COUNTS in that of default integers.\n\n"
        + "\n".join(_interface(operation, way) for operation, way in _each(operations))
        + "\n"
        + "".join(f"#undef {macro}\n" for macro in ("FORM", "SUFFIX", "COUNT", "DISPLACEMENT"))
    )


def fortran_names(operations: list[Dense]) -> str:
    """fortran/collective_names.inc."""
    out = f"! What the module has of the dense operations. {BY}\n"
    for way in WAYS:
        names = [o.stem(way, "lnw").lower() for o in operations]
        words = [f"  public :: {names[0]}", *(f", {name}" for name in names[1:])]
        out += _wrap(words, " " * 12).replace("&\n            , ", ", &\n            ") + "\n"
    return out


_COUNTS = {"count": "COUNT", "counts": "COUNT", "displacements": "DISPLACEMENT"}


def in_units(parts: Mapping[str, Iterable[tuple[str, str, str]]], degrees: str) -> tuple[str, dict[str, str]]:
    """Statements that make counts of elements those of the datatypes of sections, and what each argument is called then. Of a part:
    the name and the role of each of its arguments, and which of the degrees is the length of its lists."""
    rows = [(part, *row) for part, arguments in parts.items() for row in arguments if row[1] in _COUNTS]
    text = ""
    if any(role != "count" for _, _, role, _ in rows):
        one, other = list(parts) * (2 if len(parts) == 1 else 1)
        text += f"  const Degrees number = COUNTED({one}, {other}, {degrees});\n"
    names = {}
    for part, name, role, side in rows:
        made, length = f"{name}_of_types", "1" if role == "count" else f"number.{side}"
        text += f"  const {_COUNTS[role]}* const {made} = in_units(&{part}, {length}, {name}, sizeof *{name});\n"
        names[name] = f"*{made}" if role == "count" else made
    return text, names


def _shim(operation: Dense, way: str) -> str:
    types = {
        "count": "const COUNT* {}",
        "counts": "const COUNT {}[]",
        "displacements": "const DISPLACEMENT {}[]",
        "type": "const MPI_Fint* {}",
        "types": "const MPI_Fint {}[]",
        "buffer": "const CFI_cdesc_t* {}",
        "root": "const MPI_Fint* {}",
        "op": "const MPI_Fint* {}",
    }
    passed = {"count": "*{}", "type": "MPI_Type_f2c(*{})", "buffer": "buffer({})", "root": "*{}", "op": "MPI_Op_f2c(*{})"}
    # The function that finds what a descriptor means is called buffer.
    names = {a: "data" if a.name == "buffer" else a.name for a in operation.arguments}
    parameters = [types[a.role].format(names[a]) for a in operation.arguments]
    parameters += [
        "const MPI_Fint* comm",
        *(["const MPI_Fint* info"] if way == "persistent" else []),
        *(["LNW_Request* request"] if way != "blocking" else []),
        "MPI_Fint* ierror",
    ]
    # A buffer with a datatype of its own may have gaps; operators are for predefined datatypes.
    sections = {
        f"of_{side or 'buffer'}": (names[buffer], names[kind])
        for side in ("send", "receive", "")
        for buffer in operation.arguments
        for kind in operation.arguments
        if buffer.role == "buffer" and kind.role == "type" and buffer.side == kind.side == side and not operation.reduces
    }
    in_section = {name: text for part, (buf, kind) in sections.items() for name, text in ((buf, f"{part}.at"), (kind, f"{part}.type"))}
    # Where one rank alone has blocks of all, the others give lists of nothing.
    rooted = bool(operation.name_of("root", ""))
    degrees = "ranks_at(MPI_Comm_f2c(*comm), *root)" if rooted else "ranks_of(MPI_Comm_f2c(*comm))"
    parts = {
        part: [(names[a], a.role, "out" if a.side == "send" else "in") for a in operation.arguments if f"of_{a.side or 'buffer'}" == part]
        for part in sections
    }
    scaled, of_types = in_units(parts, degrees)
    in_section |= of_types
    arguments = [
        "types.send"
        if a.role == "types" and a.side == "send"
        else "types.recv"
        if a.role == "types"
        else in_section[names[a]]
        if names[a] in in_section
        else passed.get(a.role, "{}").format(names[a])
        for a in operation.arguments
    ]
    arguments += [
        "MPI_Comm_f2c(*comm)",
        *(["MPI_Info_f2c(*info)"] if way == "persistent" else []),
        *(["request"] if way != "blocking" else []),
    ]
    call = f"FORM({operation.stem(way, 'LNW')})({', '.join(arguments)})"
    body = f"  finish({call}, ierror);\n"
    if sections:
        ends = "".join(f"  end_section(&{part});\n" for part in sections)
        made = ", ".join(f"{part} = section({buf}, *{kind})" for part, (buf, kind) in sections.items())
        body = f"  Section {made};\n{scaled}  const int code = {call};\n{ends}  finish(code, ierror);\n"
    if operation.name_of("types", "send"):
        sent = f"buffer({operation.name_of('buffer', 'send')}) == MPI_IN_PLACE ? NULL : {operation.name_of('types', 'send')}"
        body = (
            f"  const Types types = make_types(ranks_of(MPI_Comm_f2c(*comm)), {sent}, "
            f"{operation.name_of('types', 'receive')});\n"
            f"  const int code = {call};\n  free_types(types);\n  finish(code, ierror);\n"
        )
    return _guarded(operation, f"void FORM({operation.stem(way, 'lnwf').lower()})({', '.join(parameters)}) {{\n{body}}}\n")


def fortran_shim(operations: list[Dense]) -> str:
    """fortran/collectives.h."""
    return (
        f"/* The dense operations in one form. {BY}\n"
        " * shim.c includes this for each form, with FORM, COUNT and DISPLACEMENT as for operations.h, and INT_COUNTS in\n"
        " * that of int. */\n\n"
        + "\n".join(_shim(operation, way) for operation, way in _each(operations))
        + "\n"
        + "".join(f"#undef {macro}\n" for macro in ("FORM", "COUNT", "DISPLACEMENT"))
    )


# --- documents


def c_table(operations: list[Dense]) -> str:
    """The dense operations, in docs/reference/c.md."""
    out = ["| operation | blocking | nonblocking | persistent |", "| --- | --- | --- | --- |"]
    for o in operations:
        out.append(f"| {o.name}: {o.moves} | " + " | ".join(f"`{o.stem(way, 'LNW')}`" for way in WAYS) + " |")
    return "\n".join(out) + "\n"


def fortran_table(operations: list[Dense]) -> str:
    """The dense operations, in docs/reference/fortran.md."""
    out = ["| operation | blocking | nonblocking | persistent |", "| --- | --- | --- | --- |"]
    for o in operations:
        out.append(f"| {o.name}: {o.moves} | " + " | ".join(f"`{o.stem(way, 'lnw').lower()}`" for way in WAYS) + " |")
    return "\n".join(out) + "\n"
