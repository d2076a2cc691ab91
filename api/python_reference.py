"""The reference of the Python package, one section a class, a method and a function: docs/reference/python, from docstrings; generate.py
writes it."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from pathlib import Path

from functions import ReferenceError

PARTS = {
    "_topology": ("Topologies", "../../use/python.md"),
    "_halo": ("Halos", "../../use/halos.md"),
    "_discovery": ("Sparse exchanges and distributors", "../../use/discovery.md"),
    "_channel": ("Channels", "../../use/channels.md"),
    "_bag": ("Bags", "../../use/discovery.md#bags"),
    "_partitioned": ("Partitioned communication", "../../use/partitioned.md"),
    "_queue": ("Queues", "../../use/queues.md"),
    "_dense": ("Collectives", "../../use/collectives.md"),
    "_request": ("Requests", "../../use/python.md"),
    "_library": ("Errors", "../python.md"),
    "sparse": ("Sparse matrices", "../../use/python.md"),
}
"""The modules: title, and the page that says how to use it."""

_FORMS = (
    "",
    "As `{}`, nonblocking: returns a Request that is under way.",
    "As `{}`, persistent: plans once, and returns a Request to start again and again. Collective. Hints are arguments by name.",
)


@dataclass
class Entity:
    """A class with its members, or a function."""

    name: str
    signature: str
    text: str
    members: list[Entity]


def _signature(node: ast.FunctionDef, name: str, in_class: bool) -> str:
    arguments = ast.unparse(node.args)
    arguments = re.sub(r"^self(, /)?(, )?", "", arguments) if in_class else arguments
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and ast.unparse(node.returns) not in ("Call", "None") else ""
    return f"{name}({arguments}){returns}"


def _text(node: ast.AST) -> str:
    """A docstring in Markdown."""
    doc = inspect.cleandoc(ast.get_docstring(node) or "")  # type: ignore[arg-type]
    out: list[str] = []
    for block in doc.replace("``", "`").split("\n\n"):
        out.append(f"```pycon\n{block}\n```" if block.startswith(">>>") else block)
    return "\n\n".join(out)


def _forms(statement: ast.Assign, described: dict[str, ast.FunctionDef], in_class: bool) -> list[Entity]:
    """What ``forms(_name, …)`` makes."""
    call = statement.value
    assert isinstance(call, ast.Call) and isinstance(call.args[0], ast.Name)
    node = described[call.args[0].id]
    targets = statement.targets[0]
    assert isinstance(targets, ast.Tuple)
    names = [target.id for target in targets.elts if isinstance(target, ast.Name)]
    returns = ("", " -> Request", " -> Request")
    found = []
    for name, said, returned in zip(names, _FORMS, returns, strict=True):
        signature = _signature(node, name, in_class) + returned
        if name.endswith("_init"):
            signature = signature.replace(") -> Request", ", **hints) -> Request")
        found.append(Entity(name, signature, said.format(names[0]) if said else _text(node), []))
    return found


def _members(body: list[ast.stmt], in_class: bool) -> list[Entity]:
    described = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    found = []
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "forms":
            found += _forms(node, described, in_class)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            is_property = any(ast.unparse(d) == "property" for d in node.decorator_list)
            signature = node.name if is_property else _signature(node, node.name, in_class)
            found.append(Entity(node.name, signature, _text(node), []))
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
            signature = _signature(made, node.name, True) if made else node.name
            found.append(Entity(node.name, signature, _text(node), _members(node.body, True)))
    return found


def exported(folder: Path) -> dict[str, str]:
    """Each public name, and its module."""
    tree = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    homes: dict[str, str] = {}
    dense: tuple[str, ...] = ()
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_DENSE":
            dense = ast.literal_eval(node.value)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            assert isinstance(node.value, ast.Dict)
            homes = {ast.literal_eval(k): ast.literal_eval(v) for k, v in zip(node.value.keys, node.value.values, strict=True) if k}
    return homes | {form: "_dense" for name in dense for form in (name, f"i{name}", f"{name}_init")}


def _section(entity: Entity, prefix: str, level: str, owner: str = "") -> str:
    out = f"{level} {owner or prefix}{entity.name}\n\n```python\n{entity.signature}\n```\n\n{entity.text}\n\n"
    return out + "".join(_section(member, prefix, level + "#", f"{entity.name}.") for member in entity.members)


def pages(top: Path) -> dict[str, str]:
    """Each page by its name, and `index`, the table of docs/reference/python.md."""
    folder = top / "python" / "laneway"
    public = exported(folder)
    out = {}
    rows = ["| part | classes and functions |", "| --- | --- |"]
    for part, (title, use) in PARTS.items():
        tree = ast.parse((folder / f"{part}.py").read_text(encoding="utf-8"))
        names = {n for n, home in public.items() if home == part}
        found = [e for e in _members(tree.body, False) if e.name in names or not part.startswith("_")]
        if {e.name for e in found} != names and part.startswith("_"):
            raise ReferenceError(f"python/laneway/{part}.py has no {', '.join(names - {e.name for e in found})}")
        silent = [f"{e.name}.{m.name}" for e in found for m in e.members if not m.text] + [e.name for e in found if not e.text]
        if silent:
            raise ReferenceError(f"python/laneway/{part}.py says nothing of {', '.join(silent)}")
        prefix = "laneway." if part.startswith("_") else f"laneway.{part}."
        name = part.removeprefix("_")
        name = {"dense": "collectives", "library": "errors", "sparse": "matrices"}.get(name, name)
        anchor = {e.name: re.sub(r"[^\w-]", "", f"{prefix}{e.name}".lower()) for e in found}
        links = ", ".join(f"[`{prefix}{e.name}`](#{anchor[e.name]})" for e in found)
        head = ast.get_docstring(tree) or ""
        out[name] = (
            f"# {title} in Python\n\n<!-- Written by api/generate.py from python/laneway/{part}.py. -->\n\n{_text(tree) if head else ''}\n\n"
            f"[How to use them]({use}). Arrays and rows: [Python package](../python.md#arrays). Every call raises `laneway.Error`, "
            f"with MPI's code, where the library returns an error. One thread at a time uses an object; with `MPI_THREAD_MULTIPLE` threads may use "
            f"different ones.\n\n{links}\n\n" + "".join(_section(e, prefix, "##") for e in found).rstrip() + "\n"
        )
        rows.append(
            f"| [{title}](python/{name}.md) | "
            + ", ".join(f"[`{prefix}{e.name}`](python/{name}.md#{anchor[e.name]})" for e in found)
            + " |"
        )
    return out | {"index": "\n".join(rows) + "\n"}
