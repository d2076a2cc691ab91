"""What the headers of the C API declare, and what they say of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Parameter:
    """One parameter: its type without the name, and the name. An array has `[]` after its type."""

    type: str
    name: str

    @property
    def declared(self) -> str:
        """As C writes it."""
        if "(*)" in self.type:
            return self.type.replace("(*)", f"(*{self.name})", 1)
        base = self.type.removesuffix("[]")
        return f"{base} {self.name}{'[]' if base != self.type else ''}"

    @property
    def is_output(self) -> bool:
        """Whether the call writes what a pointer to one value leads to."""
        pointer = re.fullmatch(r"(?P<to>.*[^* ])\s*(?P<stars>\*+)", self.type)
        if not pointer or self.type.endswith("_function*"):
            return False
        return len(pointer["stars"]) == 2 or (not pointer["to"].startswith("const ") and pointer["to"] != "void")


@dataclass(frozen=True)
class Declaration:
    """One function: what its comment and the comment of its group say."""

    name: str
    parameters: tuple[Parameter, ...]
    text: str
    group: str


def _plain(comment: str) -> str:
    """A comment without its marks; paragraphs are divided by empty lines."""
    body = comment.strip().removeprefix("/**").removesuffix("*/")
    lines = [re.sub(r"^\s*\* ?", "", line).strip() for line in body.splitlines()]
    return "\n\n".join(" ".join(part.split()) for part in "\n".join(lines).split("\n\n") if part.strip())


def split(text: str) -> list[str]:
    """The parts between commas that are in no parentheses."""
    parts, depth = [""], 0
    for letter in " ".join(text.split()):
        depth += (letter in "([<") - (letter in ")]>")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _parameter(text: str) -> Parameter:
    function = re.fullmatch(r"(.*)\(\*(\w+)\)(\(.*\))", text)
    if function:
        return Parameter(f"{function[1].strip()} (*){function[3]}", function[2])
    found = re.fullmatch(r"(.*?)(\w+)(\[\])?", text)
    assert found, text
    return Parameter(found[1].strip() + (found[3] or ""), found[2])


_PIECE = re.compile(r"(?P<comment>/\*\*.*?\*/)|^LNW_PUBLIC \w+\s+(?P<name>LNW_\w+)\((?P<parameters>[^;]*)\);", re.MULTILINE | re.DOTALL)


def declarations(header: str) -> Iterator[Declaration]:
    """All functions, in order. A comment is of the declarations that follow it up to the next one."""
    text, groups = "", [""]
    for piece in _PIECE.finditer(header):
        if piece["comment"]:
            text = _plain(piece["comment"])
            if text == "@}":
                groups.pop()
                text = ""
            elif text.startswith("@name"):
                groups.append(re.sub(r"^@name [^\n]*", "", _unnamed(piece["comment"])).removesuffix("@{").strip())
                text = ""
        else:
            yield Declaration(piece["name"], tuple(_parameter(p) for p in split(piece["parameters"])), text, groups[-1])


def _unnamed(comment: str) -> str:
    """The comment of a group without its first line, which has the name."""
    lines = comment.strip().removeprefix("/**").strip().splitlines()
    return _plain("\n".join(lines[1:]))


def read(folder: Path, name: str, texts: Mapping[Path, str] | None = None) -> list[Declaration]:
    """Those of laneway/NAME.h; of what is generated, as it should be."""
    path = folder / f"{name}.h"
    return list(declarations((texts or {}).get(path) or path.read_text(encoding="utf-8")))


def stem(name: str) -> str:
    """A name without the suffixes of forms."""
    return re.sub(r"(_sized|(_topology)?(_c)?)$", "", name)
