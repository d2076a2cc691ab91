"""The reference of the C API, one section a function: docs/reference/c and man pages, from the headers, operations.toml and
functions.toml; generate.py writes them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import headers
from headers import Declaration, Parameter

WAYS = ("blocking", "nonblocking", "persistent")
_IN_OUT = re.compile(r"LNW_(Start|Test|Wait|Startall|Testall|Waitall|Testany|Waitany|Testsome|Waitsome|Enqueue_\w+|Match|\w+_free)$")
_RANKS = frozenset("peer dest source destination destinations sources exportranks importranks".split())
_COUNTS = re.compile(r"count|incount|sendcounts?|recvcounts?|indegree|outdegree|ndestinations|exports|imports|owned|ghosts|partitions")
_NEEDED = re.compile(r"call|report|statistics|major|minor|patch|text|\w*index|outcount|flag|length")
_LARGE = {"int": "MPI_Count", "displacement": "MPI_Aint"}


class ReferenceError(Exception):
    """Something has no entry, or an entry names nothing."""


@dataclass(frozen=True)
class Argument:
    """A row of a section: direction, type in C, and what it is."""

    name: str
    direction: str
    meaning: str


@dataclass
class Function:
    """A section: all forms of one function."""

    name: str
    forms: list[Declaration]
    text: str
    arguments: list[Argument]
    completion: str
    threads: str
    errors: list[str]
    example: str


@dataclass
class Family:
    """A page: its name, the header that it is of, and its functions."""

    file: str
    header: str
    title: str
    page: str
    text: str
    functions: list[Function] = field(default_factory=list)


# --- what operations say of their arguments

_SIDES = {"send": ("what is sent", "sendbuf", "each destination"), "receive": ("where it arrives", "recvbuf", "each source")}


def _meaning(role: str, side: str, blocks: str, everybody: bool) -> str:
    """Of an argument of an operation. `everybody`: blocks are for all ranks of a communicator."""
    data, buffer, who = _SIDES.get(side, ("the data", "buffer", "each rank"))
    who = "each rank" if everybody else who
    one = "of the one block, which all get" if blocks == "same" else f"of the block of {who}"
    return {
        "buffer": f"{data}, in memory of the host or of a device",
        "count": f"elements {one}" if side else "elements of the block",
        "counts": f"elements of the block of {who}, one entry a block",
        "displacements": f"where the block of {who} begins, in extents of the datatype from `{buffer}`",
        "bytes": f"where the block of {who} begins, in bytes from `{buffer}`",
        "size": f"elements that `{buffer}` has",
        "indices": f"place of each element in `{buffer}`, from 0, all blocks one after another",
        "type": "datatype of an element",
        "types": f"datatype of an element of the block of {who}",
        "op": "the operator: one of MPI's, or of `MPI_Op_create`",
        "root": "the rank that is not like the others, the same everywhere",
    }[role]


def _rows_of_neighborhood(operation: Any) -> dict[str, str]:
    rows = {}
    for side, name in ((operation.send, "send"), (operation.receive, "receive")):
        for argument in side.arguments:
            rows[argument.name] = _meaning(argument.role, name, side.blocks, False)
    if operation.reduces:
        rows["op"] = _meaning("op", "", "", False)
        rows[operation.receive.name_of("buffer")] = "what arrives is combined into it, `recv = recv op arrived`: it has values before"
    return rows


def _rows_of_dense(operation: Any) -> dict[str, str]:
    rows = {}
    has_types = any(a.role == "types" for a in operation.arguments)
    for argument in operation.arguments:
        role = "bytes" if argument.role == "displacements" and has_types else argument.role
        rows[argument.name] = _meaning(role, argument.side, "", True)
    place, _, at = operation.in_place.partition(" at ")
    if place:
        rows[place] += f"; `MPI_IN_PLACE`{' at the root' if at else ''}: the data is in the other buffer"
    return rows


def _text_of(operation: Any, way: str, is_dense: bool) -> str:
    what = operation.moves[0].upper() + operation.moves[1:] + "."
    names = operation.stem(way, "MPI")
    if getattr(operation, "variant", ""):
        return f"{what} {' '.join(operation.text.split())}"
    first = operation.stem("blocking", "LNW")
    again = "" if way == "blocking" else f" `{first}` in the {way} form."
    same = "" if operation.reduces and not is_dense else f" As `{names}`{' of MPI 4' if way == 'persistent' else ''}."
    return f"{what}{again}{same}"


# --- sections


class Reader:
    """Makes sections of one family after the other."""

    def __init__(self, table: dict[str, Any], operations: Iterable[Any], dense: Iterable[Any]) -> None:
        self.table = table
        self.unused = set(table["arguments"])
        self.operations = {o.stem(way, "LNW"): (o, way, False) for o in operations for way in o.ways}
        self.operations |= {o.stem(way, "LNW"): (o, way, True) for o in dense for way in WAYS}

    def families(self, row: dict[str, Any], declared: Sequence[Declaration]) -> list[Family]:
        """The pages of a header's functions."""
        forms: dict[str, list[Declaration]] = {}
        for declaration in declared:
            forms.setdefault(headers.stem(declaration.name), []).append(declaration)
        groups = dict.fromkeys(d.group for d in declared if d.group)
        is_generated = row["header"] in ("neighborhood", "collectives")
        known = dict.fromkeys(f"LNW_{name}" for name in row.get("functions", {}))
        if not is_generated and set(known) != set(forms):
            raise ReferenceError(f"functions.toml, {row['header']}: {', '.join(sorted(set(known) ^ set(forms)))}")
        made = [self._function(name, found, row) for name, found in forms.items()]
        if not is_generated:
            return [Family(row["header"], row["header"], row["title"], row["page"], "\n\n".join(groups), made)]
        return [
            Family(
                row["header"] + (f"-{way}" if way != "blocking" else ""),
                row["header"],
                f"{row['title']}, {way}",
                row["page"],
                "",
                [f for f in made if self.operations[f.name][1] == way],
            )
            for way in WAYS
        ]

    def _function(self, name: str, forms: list[Declaration], row: dict[str, Any]) -> Function:
        first = forms[0]
        if name in self.operations:
            operation, way, is_dense = self.operations[name]
            rows = (_rows_of_dense if is_dense else _rows_of_neighborhood)(operation)
            text = _text_of(operation, way, is_dense)
            word = {"blocking": "exchange"}.get(way, way)
        else:
            rows, text, word = {}, first.text, row["functions"][name.removeprefix("LNW_")]
        if not text:
            raise ReferenceError(f"{row['header']}.h says nothing of {name}")
        listed = {p.name: p for form in forms for p in form.parameters}
        arguments = [Argument(n, self._direction(name, p), rows.get(n) or self._said(name, n)) for n, p in listed.items()]
        completion = self.table["completion"][word]
        if name.endswith("arrier") and word == "exchange":
            completion = self.table["completion"]["collective"]
        errors = self._errors(name, listed.values(), row)
        return Function(name, forms, text, arguments, completion, row["threads"], errors, self._example(name, forms, word))

    def _example(self, name: str, forms: Sequence[Declaration], word: str) -> str:
        own = self.table["examples"].get(name.removeprefix("LNW_"))
        return str(own).strip() if own else example(name, forms, word)

    def _said(self, name: str, argument: str) -> str:
        for key in (f"{name.removeprefix('LNW_')}.{argument}", argument):
            if key in self.table["arguments"]:
                self.unused.discard(key)
                return str(self.table["arguments"][key])
        raise ReferenceError(f"functions.toml says nothing of {argument} of {name}")

    @staticmethod
    def _direction(name: str, parameter: Parameter) -> str:
        if parameter.type.startswith("const ") and not parameter.type.endswith("**"):
            return "in"
        if _IN_OUT.match(name) and (parameter.type.startswith("LNW_Request") or name.endswith("_free")):
            return "in, out" if parameter.type.endswith(("*", "[]")) else "in"
        if parameter.type in ("void*",) and parameter.name in ("stream", "argument", "extra_state"):
            return "in"
        if parameter.name in ("array", "arrays"):
            return "in, out"
        return "out" if parameter.is_output or (parameter.type.endswith(("*", "[]")) and "function" not in parameter.type) else "in"

    def _errors(self, name: str, parameters: Iterable[Parameter], row: dict[str, Any]) -> list[str]:
        said = self.table["errors"]
        by_text: dict[str, list[str]] = {}
        for p in parameters:
            is_input = self._direction(name, p) != "out"
            kind = p.type.removesuffix("[]").removesuffix("*").removeprefix("const ").strip()
            text = said.get(kind) if is_input and (kind != "LNW_Request" or not name.endswith(("all", "any", "some"))) else None
            text = said["rank"] if p.name in _RANKS and is_input else text
            text = said["count"] if _COUNTS.fullmatch(p.name) and is_input and "MPI_Info" not in p.type else text
            text = said["pointer"] if p.type.endswith("*") and not is_input and _NEEDED.fullmatch(p.name) else text
            if text:
                by_text.setdefault(text, []).append(p.name)
        also = row.get("also", {}).get(name.removeprefix("LNW_"))
        found = [text.replace("`{}`", " or ".join(f"`{n}`" for n in names)) for text, names in by_text.items()]
        return found + ([also] if also else [])


def example(name: str, forms: Sequence[Declaration], word: str) -> str:
    """A call of the first form, with what comes after it where it makes a request."""
    form = next((f for f in forms if not f.name.endswith("_sized")), forms[0])
    called = name
    lines, passed, has_request = [], [], False
    for p in form.parameters:
        if p.type == "MPI_Info":
            passed.append("MPI_INFO_NULL")
        elif p.name in ("status", "array_of_statuses"):
            passed.append("MPI_STATUS_IGNORE" if p.name == "status" else "MPI_STATUSES_IGNORE")
        elif p.name == "size" and p.type == "size_t":
            continue
        elif p.is_output and Reader._direction(name, p) == "out":
            kind = p.type.removesuffix("*").strip()
            null = (
                f" = {kind.upper()}_NULL"
                if re.fullmatch("LNW_(Bag|Channel|Distributor|Halo|Request|Arrivals|Topology|Queue)", kind)
                else ""
            )
            lines.append(f"{kind} {p.name}{null};")
            passed.append(f"&{p.name}")
            has_request |= kind == "LNW_Request"
        elif p.type.startswith("LNW_") and p.type.endswith("*") and not p.type.endswith("_function*"):
            passed.append(f"&{p.name}")
        else:
            passed.append(p.name)
    lines.append(f"{called}({', '.join(passed)});")
    if has_request and word == "nonblocking":
        lines += ["/* work that needs nothing of this exchange */", "LNW_Wait(&request, MPI_STATUS_IGNORE);"]
    elif has_request:
        lines += ["LNW_Start(&request); /* again and again */", "LNW_Wait(&request, MPI_STATUS_IGNORE);", "LNW_Request_free(&request);"]
    return "\n".join(lines)


def read(top: Path, operations: Sequence[Any], dense: Sequence[Any], texts: Mapping[Path, str]) -> list[Family]:
    """All pages. Throws ReferenceError where something has no entry."""
    table = tomllib.loads((top / "api" / "functions.toml").read_text(encoding="utf-8"))
    reader = Reader(table, operations, dense)
    folder = top / "include" / "laneway"
    families = [f for row in table["family"] for f in reader.families(row, headers.read(folder, row["header"], texts))]
    reader.unused |= {n for n in table["examples"] if f"LNW_{n}" not in {f.name for family in families for f in family.functions}}
    if reader.unused:
        raise ReferenceError(f"functions.toml says something of {', '.join(sorted(reader.unused))}, which no function has")
    return families


# --- Markdown

_WORDS = re.compile(r"`[^`]*`|\b(?:P?LNW|MPI)_\w+|\bdocs/[\w/]+\.md(?:, \w+)?|\blnw_\w+(?:=\w+)?")


_TITLES = {"reference/c": "C API", "use/discovery": "sparse exchanges"}


def marked(text: str) -> str:
    """Text of a header: names as code, pages as links from docs/reference/c/."""

    def one(found: re.Match[str]) -> str:
        word = found[0]
        page = re.match(r"docs/([\w/]+)\.md(?:, (\w+))?", word)
        if page:
            target = page[1].removeprefix("reference/") if page[1].startswith("reference/") else f"../{page[1]}"
            return f"[{_TITLES.get(page[1], page[1].rsplit('/', 1)[1])}](../{target}.md)" + (f", {page[2]}" if page[2] else "")
        return word if word.startswith("`") else f"`{word}`"

    return _WORDS.sub(one, text)


def declared(form: Declaration, width: int = 76) -> str:
    """A declaration in lines of code."""
    parts = [p.declared for p in form.parameters]
    line = f"int {form.name}("
    lines, indent = [], " " * len(line) if len(line) < 40 else "    "
    for i, part in enumerate(parts):
        piece = part + (", " if i + 1 < len(parts) else ");")
        if len(line) + len(piece) > width and line.strip():
            lines.append(line.rstrip())
            line = indent
        line += piece
    return "\n".join([*lines, line])


_FORM_NAMES = (
    ("_topology_c", "on a topology object, with large counts"),
    ("_topology", "on a topology object"),
    ("_c", "with large counts"),
)


def section(function: Function) -> str:
    """One function, in Markdown."""
    shown = [f for f in function.forms if not f.name.endswith("_sized")] or function.forms
    forms = "\n".join(declared(form) for form in shown)
    rows = "".join(
        f"| `{a.name}` | {a.direction} | {a.meaning} |\n" for a in function.arguments if a.name != "size" or len(function.forms) < 2
    )
    arguments = f"| argument | | meaning |\n| --- | --- | --- |\n{rows}\n" if rows else "It has no arguments.\n\n"
    errors = "".join(f"- `{kind}`: {text}\n" for kind, _, text in (e.partition(": ") for e in function.errors))
    return (
        f"## {function.name}\n\n```c\n{forms}\n```\n\n{marked(function.text)}\n\n{arguments}"
        f"- **Completion:** {function.completion}\n"
        f"- **Errors:** {'those of [all functions](../c.md#errors)' + ('; and' if errors else '.')}\n"
        + "".join(f"    {line}\n" for line in errors.splitlines())
        + f"\n```c\n{function.example}\n```\n"
    )


def in_language(family: Family, language: str) -> str:
    """The title of a page."""
    what, comma, way = family.title.partition(", ")
    return f"{what} in {language}{comma}{way}"


def page(family: Family) -> str:
    """All functions of a header, in Markdown."""
    title = f"# {in_language(family, 'C')}\n\n"
    by = "<!-- Written by api/generate.py from the header, api/operations.toml and api/functions.toml. -->\n\n"
    index = ", ".join(f"[`{f.name}`](#{f.name.lower()})" for f in family.functions)
    about = f"{marked(family.text)}\n\n" if family.text else ""
    return (
        f"{title}{by}`#include <laneway/{family.header}.h>`. [How to use them]({family.page}). What all functions have in common, such as "
        f"errors and progress: [C API](../c.md).\n\n{about}"
        f"**Threads:** {family.functions[0].threads}\n\n{index}\n\n" + "\n".join(section(f) for f in family.functions)
    )


def index(families: Sequence[Family]) -> str:
    """The table of docs/reference/c.md."""
    rows = [
        f"| [{f.title}](c/{f.file}.md) | " + ", ".join(f"[`{n.name}`](c/{f.file}.md#{n.name.lower()})" for n in f.functions) + " |"
        for f in families
    ]
    return "\n".join(["| family | functions |", "| --- | --- |", *rows]) + "\n"


# --- man pages


def _roff(text: str) -> str:
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text).replace("\\", "\\e").replace("`", "").replace("**", "").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in text.splitlines())


def man(function: Function, family: Family, version: str) -> str:
    """One function, as a page of section 3."""
    brief = _roff(marked(function.text)).split(". ")[0].rstrip(".").replace("\n", " ")
    out = [
        f'.TH {function.name} 3 "" "Laneway {version}" "Laneway"\n.SH NAME\n'
        f"{', '.join(f.name for f in function.forms)} \\- {brief}\n.SH SYNOPSIS\n.nf\n.B #include <laneway/{family.header}.h>\n.PP\n"
        + "\n".join(_roff(declared(form)) for form in function.forms)
        + "\n.fi\n.SH DESCRIPTION\n"
        + "\n.PP\n".join(_roff(part) for part in function.text.split("\n\n"))
        + "\n"
    ]
    if function.arguments:
        out.append(".SH ARGUMENTS\n")
        out += [f'.TP\n.IR {a.name} " ({a.direction})"\n{_roff(a.meaning)}\n' for a in function.arguments]
    out.append(f".SH COMPLETION\n{_roff(function.completion)}\n.SH THREADS\n{_roff(function.threads)}\n.SH RETURN VALUE\nMPI_SUCCESS or")
    out.append(" an MPI error code, after the error handler of the communicator has been called.\n")
    out += [f".TP\n.B {kind}\n{_roff(text)}\n" for kind, _, text in (e.partition(": ") for e in function.errors)]
    out.append(f".SH EXAMPLE\n.nf\n{_roff(function.example)}\n.fi\n.SH SEE ALSO\n.BR laneway (7)\n")
    return "".join(out)


def man_pages(families: Sequence[Family], version: str) -> dict[str, str]:
    """Each file of man3, with one that refers there for each further form."""
    pages: dict[str, str] = {}
    for family in families:
        for function in family.functions:
            pages[f"{function.name}.3"] = man(function, family, version)
            pages |= {f"{f.name}.3": f".so man3/{function.name}.3\n" for f in function.forms if f.name != function.name}
    return pages
