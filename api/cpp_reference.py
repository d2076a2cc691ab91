"""The reference of C++, one section a class and a function: docs/reference/cpp, from the headers; generate.py writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from functions import Family, ReferenceError, marked

PARTS = {
    "laneway": ("Halos, graphs and operations", "laneway.hpp", ("../../start/cpp.md",)),
    "sparse": ("Sparse exchanges, grids and bags", "laneway.hpp", ("../../use/discovery.md", "../../use/halos.md")),
    "queue": ("Queues", "laneway.hpp", ("../../use/queues.md",)),
    "strided": ("Strided arrays", "strided.hpp", ("../../use/kokkos.md",)),
    "aosoa": ("Arrays of structures of arrays", "aosoa.hpp", ("../../use/kokkos.md",)),
    "kokkos": ("Kokkos", "kokkos.hpp", ("../../use/kokkos.md",)),
}
"""The headers: title, what a program includes, and the pages that say how to use it."""


_USES = {"cpp": "a C++ program", "discovery": "sparse exchanges", "halos": "halos", "queues": "queues", "kokkos": "Kokkos"}


@dataclass
class Entity:
    """A class with its members, or a function."""

    name: str
    heads: list[str]
    text: str
    body: str
    members: list[Entity] = field(default_factory=list)


def _closing(text: str, at: int) -> int:
    """Behind the bracket that closes the one at `at`."""
    pairs = {"{": "}", "(": ")"}
    depth, close, opened = 0, pairs[text[at]], text[at]
    quote = ""
    i = at
    while i < len(text):
        c = text[i]
        if quote:
            if c == "\\":
                i += 1
            elif c == quote:
                quote = ""
        elif c == '"' or (c == "'" and not text[i - 1].isalnum()):
            quote = c
        elif text.startswith("//", i):
            i = text.find("\n", i)
        elif c == opened:
            depth += 1
        elif c == close:
            depth -= 1
            if depth == 0:
                return i + 1
        i += 1
    raise ReferenceError("a bracket is not closed")


def _behind_initializers(text: str, at: int) -> int:
    """The body of a constructor whose initializers begin at `at`."""
    while True:
        opened = re.compile(r"[({]").search(text, at)
        assert opened
        if text[at : opened.start()].strip() in ("", ","):
            return opened.start()
        at = _closing(text, opened.start())


def _pieces(text: str) -> Iterator[tuple[str, str, str]]:
    """Comment, head and body of all that stands one after the other; of labels the head alone."""
    doc: list[str] = []
    head, at = "", 0
    while at < len(text):
        if text.startswith("//", at):
            end = text.find("\n", at)
            line = text[at:end]
            if line.startswith("///") and not line.startswith("///<") and not head.strip():
                doc.append(line[3:].removeprefix(" "))
            at = end
            continue
        c = text[at]
        if c == "#" and not head.strip():
            at = text.find("\n", at)
        elif c == "(":
            end = _closing(text, at)
            head += text[at:end]
            at = end
        elif c == ":" and head.strip() in ("public", "private", "protected"):
            yield "", head.strip(), ""
            head, doc, at = "", [], at + 1
        elif c == ":" and text[at + 1] != ":" and text[at - 1] != ":" and ")" in head and not head.strip().startswith(("class", "struct")):
            at = _behind_initializers(text, at + 1)
        elif c == "{" or c == ";":
            is_value = c == "{" and ")" not in head and not re.search(r"\b(class|struct|namespace|enum)\b", head)
            end = _closing(text, at) if c == "{" else at + 1
            body = text[at + 1 : end - 1] if c == "{" else ""
            at = text.find(";", end) + 1 if is_value else end
            yield "\n".join(doc), " ".join(head.split()), body
            head, doc = "", []
        else:
            if c == "\n" and not head.strip() and text[at : at + 2] == "\n\n":
                doc = []
            head += c
            at += 1


_SKIPPED = re.compile(
    r"^(~|using |friend |static_assert|extern )|>::\w+\(|operator|= (delete|default)$|&& other\b|\bconst \w+& ?\)? ?= delete"
)


def _bare(head: str) -> str:
    """Without the parameters of a template."""
    while head.startswith("template"):
        depth = 0
        for i, letter in enumerate(head):
            depth += (letter == "<") - (letter == ">")
            if letter == ">" and depth == 0:
                head = head[i + 1 :].strip()
                break
    return re.sub(r"^requires .*?(?=\b(?:auto|void|class|struct|\w+ \w+\())", "", head)


def _is_class(head: str) -> re.Match[str] | None:
    return re.match(r"(class|struct) (\w+)", _bare(head))


def _name(head: str) -> str:
    kind = _is_class(head)
    if kind:
        return kind[2]
    plain = _bare(head)
    called = re.search(r"(\w+)\s*\(", plain)
    return called[1] if called else re.sub(r"\s*=.*", "", plain).split()[-1].removesuffix(";")


def entities(text: str, is_class: bool = False, is_public: bool = True) -> list[Entity]:
    """What a header, or the body of a class, has for programs. Overloads are one."""
    found: dict[str, Entity] = {}
    for doc, head, body in _pieces(text):
        if head in ("public", "private", "protected"):
            is_public = head == "public"
            continue
        if re.search(r"namespace (detail|impl)?\b", head) and "detail" in head:
            continue
        if head.startswith(("namespace", "inline namespace")):
            for inner in entities(body):
                found.setdefault(inner.name, inner)
            continue
        if not is_public or not head or _SKIPPED.search(head) or (_is_class(head) and not body):
            continue
        kind, name = _is_class(head), _name(head)
        entity = found.setdefault(name, Entity(name, [], "", ""))
        entity.heads.append(head)
        entity.text = "\n\n".join(part for part in (entity.text, doc) if part)
        entity.body += body
        if kind:
            entity.members = entities(body, True, kind[1] == "struct")
    return list(found.values())


def _text(doc: str) -> str:
    """A comment in Markdown: indented lines are code."""
    out: list[str] = []
    code: list[str] = []
    for line in [*doc.splitlines(), ""]:
        if line.startswith("@"):
            continue
        if line.startswith("    ") or (code and not line.strip() and code[-1].strip()):
            code.append(line[4:])
            continue
        if code:
            out += ["", "```cpp", *"\n".join(code).strip().splitlines(), "```", ""]
            code = []
        out.append(line)
    if code:
        out += ["", "```cpp", *"\n".join(code).strip().splitlines(), "```"]
    blocks = re.split(r"(```cpp.*?```)", "\n".join(out).strip(), flags=re.DOTALL)
    return "".join(b if b.startswith("```") else re.sub(r"(?<!\n)\n(?!\n)", " ", marked(b)) for b in blocks)


def _signature(head: str) -> str:
    head = re.sub(r"\[\[nodiscard\]\] |\binline |\bexplicit |\bconstexpr ", "", head)
    return head + ("" if _is_class(head) else ";")


def _calls(body: str, homes: Mapping[str, str]) -> str:
    names = dict.fromkeys(name for name in re.findall(r"\bLNW_\w+(?=\()", body) if name in homes)
    if not names:
        return ""
    return "Errors, thread level and completion are those of " + ", ".join(f"[`{n}`](../c/{homes[n]})" for n in names) + ".\n\n"


def _member(owner: str, member: Entity, homes: Mapping[str, str]) -> str:
    code = "\n".join(_signature(head) for head in member.heads)
    text = f"{_text(member.text)}\n\n" if member.text else ""
    return f"### {owner}::{member.name}\n\n```cpp\n{code}\n```\n\n{text}{_calls(member.body, homes)}"


def _title(entity: Entity, found: Sequence[Entity]) -> str:
    """Its name; that of a function is told from a class whose name differs in case alone, as in anchors nothing does."""
    is_like = not _is_class(entity.heads[0]) and any(e.name != entity.name and e.name.lower() == entity.name.lower() for e in found)
    return f"{entity.name}, function" if is_like else entity.name


def _entity(entity: Entity, title: str, homes: Mapping[str, str]) -> str:
    code = "\n".join(_signature(head) for head in entity.heads)
    text = f"{_text(entity.text)}\n\n" if entity.text else ""
    head = f"## {title}\n\n```cpp\n{code}\n```\n\n{text}"
    if not _is_class(entity.heads[0]):
        return head + _calls(entity.body, homes)
    return head + "".join(_member(entity.name, member, homes) for member in entity.members)


def missing(found: Sequence[Entity]) -> list[str]:
    """Of what the headers say nothing."""
    names = [e.name for e in found if not e.text]
    return names + [f"{e.name}::{m.name}" for e in found for m in e.members if not m.text and "(" in m.heads[0].partition("=")[0]]


def pages(top: Path, families: Sequence[Family]) -> dict[str, str]:
    """Each page by its name, and `index`, the table of docs/reference/cpp.md."""
    homes: dict[str, str] = {}
    for family in families:
        for function in family.functions:
            target = f"{family.file}.md#{function.name.lower()}"
            homes |= {form.name: target for form in function.forms} | {function.name: target}
    out = {}
    rows = ["| part | classes and functions |", "| --- | --- |"]
    for part, (title, include, used) in PARTS.items():
        text = (top / "include" / "laneway" / f"{part}.hpp").read_text(encoding="utf-8")
        found = entities(text)
        silent = missing(found)
        if silent:
            raise ReferenceError(f"{part}.hpp says nothing of {', '.join(silent)}")
        prefix = "laneway::kokkos::" if part == "kokkos" else "laneway::"
        titles = {e.name: prefix + _title(e, found) for e in found}
        anchors = {name: re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for name, title in titles.items()}
        links = ", ".join(f"[`{prefix}{e.name}`](#{anchors[e.name]})" for e in found)
        pages_of_use = ", ".join(f"[{_USES[Path(page).stem]}]({page})" for page in used)
        out[part] = (
            f"# {title} in C++\n\n<!-- Written by api/generate.py from include/laneway/{part}.hpp. -->\n\n"
            f"`#include <laneway/{include}>`. How to use them: {pages_of_use}. Element types and exceptions: [C++](../cpp.md).\n\n{links}\n\n"
            + "\n".join(_entity(e, titles[e.name], homes).rstrip() + "\n" for e in found)
        )
        rows.append(
            f"| [{title}](cpp/{part}.md) | " + ", ".join(f"[`{prefix}{e.name}`](cpp/{part}.md#{anchors[e.name]})" for e in found) + " |"
        )
    return out | {"index": "\n".join(rows) + "\n"}
