"""Which suites and tests a change since a revision can affect."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from laneway_tools.dev import build
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root


@dataclass(frozen=True)
class Test:
    """A test of CTest: its name, its labels, and the words of its command."""

    name: str
    labels: tuple[str, ...]
    command: tuple[str, ...]


@dataclass
class Graph:
    """What a build folder knows: the files that each output is made of, all outputs in between included."""

    inputs: dict[str, set[str]] = field(default_factory=dict)

    def changed(self, files: Iterable[str]) -> set[str]:
        """The outputs that are made of any of these files, as absolute paths."""
        found = set(files)
        more = True
        while more:
            new = {output for output, inputs in self.inputs.items() if output not in found and inputs & found}
            found |= new
            more = bool(new)
        return found


def _output(argv: list[str]) -> str:
    done = subprocess.run(argv, cwd=root(), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise UserError(f"{' '.join(argv[:4])} …: {done.stderr.strip() or done.stdout.strip()}", 1)
    return done.stdout


def base_revision() -> str:
    """Where this branch left the main one; HEAD, if there is none."""
    for branch in ("origin/main", "main"):
        done = subprocess.run(["git", "merge-base", "HEAD", branch], cwd=root(), capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.strip()
    return "HEAD"


def changed_files(revision: str) -> list[str]:
    """What differs from a revision, with what Git does not know yet; paths from the top."""
    differ = _output(["git", "diff", "--name-only", "-z", revision, "--"])
    new = _output(["git", "ls-files", "-z", "--others", "--exclude-standard"])
    return sorted({name for name in (differ + new).split("\0") if name})


def tests_of(preset: str) -> list[Test]:
    """The tests that a configured preset has; before it is built, programs stand for their cases."""
    directory = build.build_dir(preset)
    if not (directory / "CTestTestfile.cmake").is_file():
        return []
    listed = json.loads(_output(["ctest", "--test-dir", str(directory), "--show-only=json-v1"]))
    return [_test(entry) for entry in listed["tests"]]


def _test(entry: Mapping[str, object]) -> Test:
    properties = entry.get("properties")
    labels: list[str] = []
    for item in properties if isinstance(properties, list) else []:
        if item.get("name") == "LABELS":
            labels = list(item["value"])
    command = entry.get("command")
    return Test(str(entry["name"]), tuple(labels), tuple(command) if isinstance(command, list) else ())


def parse_deps(text: str, directory: Path) -> dict[str, set[str]]:
    """What `ninja -t deps` prints: for each object the headers that it was compiled with."""
    inputs: dict[str, set[str]] = {}
    output = ""
    for line in text.splitlines():
        if line.startswith(" "):
            inputs[output].add(os.path.normpath(directory / line.strip()))
        elif ": #deps" in line:
            output = str(directory / line.split(": #deps")[0])
            inputs[output] = set()
    return inputs


def parse_dot(text: str, directory: Path) -> dict[str, set[str]]:
    """What `ninja -t graph` prints: what each file and each rule is made of, without what only comes before."""
    names: dict[str, str] = {}
    edges: list[tuple[str, str]] = []
    for line in text.splitlines():
        words = line.split('"')
        if "->" in line:
            if "style=dotted" not in line:
                edges.append((words[1], words[3]))
        elif "[label=" in line and "shape=ellipse" not in line:
            names[words[1]] = str(directory / words[3])
    inputs: dict[str, set[str]] = {}
    for begin, end in edges:
        inputs.setdefault(names.get(end, end), set()).add(names.get(begin, begin))
    return inputs


def graph_of(preset: str) -> Graph:
    """The graph of a preset that was built."""
    directory = build.build_dir(preset)
    graph = Graph(parse_deps(_output(["ninja", "-C", str(directory), "-t", "deps"]), directory))
    for output, inputs in parse_dot(_output(["ninja", "-C", str(directory), "-t", "graph"]), directory).items():
        graph.inputs.setdefault(output, set()).update(inputs)
    return graph


def configured_from(preset: str) -> set[str]:
    """The files that CMake reads: they say how everything is built, or are written into it as machine files are."""
    lines = _output(["ninja", "-C", str(build.build_dir(preset)), "-t", "query", "build.ninja"]).splitlines()
    return {line.strip(" |") for line in lines}


def tests_affected(preset: str, files: Iterable[str]) -> list[str]:
    """The tests of a built preset whose programs or scripts are made of these files, or lie beside one of them."""
    paths = [str(root() / name) for name in files]
    if configured_from(preset).intersection(paths):
        return [test.name for test in tests_of(preset)]
    changed = graph_of(preset).changed(paths)
    folders = {str(Path(name).parent) for name in changed if not name.startswith(str(root() / "build"))}
    found = []
    for test in tests_of(preset):
        words = [part for word in test.command for part in word.replace("=", " ").split()]
        if any(word in changed or (word.startswith("/") and str(Path(word).parent) in folders) for word in words):
            found.append(test.name)
    return found


def suites_affected(files: Iterable[str], presets: Iterable[str]) -> list[str]:
    """The suites that a change can affect at all: documents and Python tools are in no program."""
    files = list(files)
    if not files:
        return []
    folders = ("python/", "tools/", "tests/python/", "docs/", "man/", ".github/")
    outside = (*folders, "mkdocs.yml", "Doxyfile", "ruff.toml", "mypy.ini", "pytest.ini")
    compiled = [name for name in files if not name.startswith(outside) and not name.endswith(".md")]
    return ["lint", *(presets if compiled else []), "python"]
