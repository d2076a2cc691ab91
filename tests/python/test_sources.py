"""The table of what the sources describe: its rows, and the page that is written from it."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest
import typer
from rich.console import Console

from laneway_tools import cli
from laneway_tools.evaluate.evaluation import BENCHMARKS, GROUPS
from laneway_tools.papers import reproduce, sources
from laneway_tools.places import machines
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root


def _commands() -> set[str]:
    """Of ``./dev``."""
    group = typer.main.get_command(cli.app)
    return set(group.commands)  # type: ignore[attr-defined]


def _benchmarks() -> set[str]:
    """Of ``laneway-bench``."""
    files = (root() / "bench/commands").rglob("*.cpp")
    return {name for path in files for name in re.findall(r'\{"(\w+)",\s*Topic::', path.read_text())}


def _tests() -> set[str]:
    """All cases of GoogleTest."""
    files = (root() / "tests").rglob("*.cpp")
    return {
        f"{suite}.{case}"
        for path in files
        for suite, case in re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", path.read_text(), re.MULTILINE)
    }


def _problem(how: str, commands: set[str], benchmarks: set[str], tests: set[str]) -> str:
    words = shlex.split(how)
    if words[0] not in ("./dev", "laneway-bench"):
        return "" if how in tests or (root() / how).is_file() else "no such test"
    if words[0] == "laneway-bench":
        return "" if words[1] in benchmarks else f"no benchmark {words[1]}"
    if words[1] not in commands:
        return f"no command {words[1]}"
    if words[1] == "bench" and words[-1] not in benchmarks:
        return f"no benchmark {words[-1]}"
    if words[1] == "reproduce" and words[2] not in reproduce.FIGURES:
        return f"no figure {words[2]}"
    options = dict(zip(words, words[1:], strict=False))
    known = {*BENCHMARKS, *GROUPS}
    if not known.issuperset(options.get("--benchmarks", BENCHMARKS[0]).split(",")):
        return "no such benchmarks"
    place = options.get("--on", "").split(":")
    return f"no machine {place[1]}" if place[0] == "sim" and place[1] not in machines.shipped() else ""


def test_rows_name_commands_tests_and_files_that_are_there() -> None:
    known = _commands(), _benchmarks(), _tests()
    assert {"reproduce", "evaluate"} <= known[0] and {"queue", "model"} <= known[1] and len(known[2]) > 500
    found = sources.read(root() / sources.TABLE)
    items = [item for source in found for item in source.items]
    assert len(found) == 5 and len(items) == 115
    wrong = [f"{item.at}, {item.what}: {problem}" for item in items if item.how and (problem := _problem(item.how, *known))]
    wrong += [f"{item.at}: no {file}" for item in items for file in item.files if not (root() / file.partition("#")[0]).is_file()]
    assert wrong == []


def test_what_runs_says_how_and_what_does_not_says_what_differs() -> None:
    for source in sources.read(root() / sources.TABLE):
        for item in source.items:
            assert (item.how == "") == (item.status == "missing"), item
            assert item.differs or item.status in ("works", "missing"), item


def test_commands_that_are_not_there_are_seen() -> None:
    known = _commands(), _benchmarks(), _tests()
    for how in ("./dev dream", "./dev reproduce nothing", "laneway-bench none", "./dev bench -n 2 none", "NoSuite.NoCase", "tests/none.cpp",
                "./dev evaluate --benchmarks none", "./dev evaluate --on sim:none:4x4"):  # fmt: skip
        assert _problem(how, *known), how


def test_the_page_is_what_the_table_says(tmp_path: Path) -> None:
    found = sources.read(root() / sources.TABLE)
    assert (root() / sources.PAGE).read_text(encoding="utf-8") == sources.page(found), "./dev reproduce sources --keep writes it"
    sources.run(tmp_path, Console(file=io.StringIO()))
    assert (tmp_path / "sources.md").read_text(encoding="utf-8") == sources.page(found)


def test_other_statuses_and_keys_are_refused(tmp_path: Path) -> None:
    table = tmp_path / "sources.toml"
    head = '[[source]]\nname = "A"\ntitle = "B"\nauthors = "C"\n[[source.item]]\nat = "1"\nwhat = "2"\n'
    for row, said in (
        ('status = "perhaps"', "not one of works, narrower"),
        ('status = "works"\nhow_much = "3"', "how_much"),
        ("", "status"),
    ):
        table.write_text(f"{head}{row}\n")
        with pytest.raises(UserError, match=said):
            sources.read(table)
