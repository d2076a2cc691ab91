"""The site is built, and a link that leads nowhere is an error; man pages come from the headers."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from conftest import Command

from laneway_tools import cli
from laneway_tools.dev import site
from laneway_tools.places import bench_help
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import MPIS, find_local_tool, root

_NEEDS_SITE = pytest.mark.skipif(bool(site.missing()), reason=f"SKIP: the site needs {', '.join(site.missing())} (tools[docs])")
_NOT_OF_EVERYBODY = {"device", "hypre", "stream_triggering", "mpi_advance", "mpi_advance_names", "mpi_advance_setters"}
"""Headers of plugins and of programs written for another library."""


@_NEEDS_SITE
def test_the_site_is_built(tmp_path: Path) -> None:
    site.build(root(), tmp_path / "site")
    page = (tmp_path / "site/reference/hints.html").read_text()
    assert "lnw_strategy" in page
    assert "--launcher-args" in (tmp_path / "site/reference/commands.html").read_text()
    for source in (root() / "docs").rglob("*.md"):
        assert (tmp_path / "site" / source.relative_to(root() / "docs")).with_suffix(".html").is_file(), source
    assert (tmp_path / "site/search/search_index.json").stat().st_size > 100_000
    if shutil.which("doxygen"):
        assert "LNW_Start" in (tmp_path / "site/headers/requests_8h.html").read_text()


@_NEEDS_SITE
def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    for name in ("mkdocs.yml", "tools/laneway_tools/dev/site_hooks.py", "Doxyfile"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root() / name, tmp_path / name)
    (tmp_path / "docs").mkdir()
    shutil.copytree(root() / "include", tmp_path / "include")
    (tmp_path / "more").mkdir()
    (tmp_path / "more/README.md").write_text("# More\n\n[Top](../docs/index.md), [another](../include/laneway/laneway.h).\n")
    page = tmp_path / "docs/index.md"
    page.write_text(
        "# Top\n\nSee [a header](../include/laneway/base.h), [more](../more/README.md) and [here](#top).\n\n```sh run\ntrue\n```\n"
    )
    site.build(tmp_path, tmp_path / "site")
    assert all(
        (tmp_path / "site/tree" / name).is_file() for name in ("include/laneway/base.h", "include/laneway/laneway.h", "more/index.html")
    )
    assert "sh run" not in (tmp_path / "site/index.html").read_text()
    page.write_text("# Top\n\nSee [a](nowhere.md), [b](index.md#aside), [c](../include/nothing.h).\n")
    with pytest.raises(UserError) as error:
        site.build(tmp_path, tmp_path / "site")
    assert all(link in str(error.value) for link in ("nowhere.md", "#aside", "../include/nothing.h"))


def _listed(program: str) -> set[str]:
    page = (root() / "docs/reference/commands.md").read_text()
    part = page.split(f"\n## {program}\n")[1].split("\n<!-- site")[0]
    return {name for row in re.findall(r"^\| [a-z ]+ \| (.*) \|$", part, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)}


def _commands_of(group: Any, before: str = "") -> set[str]:
    found: set[str] = set()
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found |= _commands_of(command, f"{before}{name} ")
        elif not command.hidden:
            found.add(before + name)
    return found


def test_the_page_of_commands_has_what_laneway_has() -> None:
    assert _listed("laneway") == _commands_of(typer.main.get_command(cli.app))


def test_help_has_every_command_of_laneway_bench(command: Command) -> None:
    try:
        tool = find_local_tool("laneway-bench", MPIS)
    except UserError as error:
        pytest.skip(f"SKIP: {error}")
    sources = {path: path.read_text() for path in (root() / "bench/commands").glob("*/*.cpp")}
    rows = {path: re.findall(r'\{"(\w+)", Topic::\w+,', text) for path, text in sources.items()}
    assert len(rows) > 20 and all(rows.values()), rows
    found = bench_help.names(tool)
    assert len(found) == len(set(found)) and {name for names in rows.values() for name in names} - set(found) <= {"amg"}
    assert "Measure a machine:\n" in bench_help.commands(tool) and "--version" not in bench_help.commands(tool)
    code, said = command.run("bench", "--help")
    assert code == 0 and all(re.search(rf"^  {name} {{2,}}", said, re.MULTILINE) for name in found)


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The man pages of functions, as an installation has them."""
    folder = tmp_path_factory.mktemp("man") / "man3"
    subprocess.run([sys.executable, str(root() / "api/generate.py"), "--man", str(folder)], check=True)
    return folder


def test_every_function_has_a_man_page(manual: Path) -> None:
    headers = "".join(path.read_text() for path in (root() / "include/laneway").glob("*.h") if path.stem not in _NOT_OF_EVERYBODY)
    functions = set(re.findall(r"^LNW_PUBLIC int (LNW_\w+)\(", headers, re.MULTILINE))
    assert len(functions) > 80
    assert {path.stem for path in manual.iterdir()} ^ functions == {"LNW_Queue_get_statistics"}, "a macro alone"
    for path in manual.iterdir():
        text = path.read_text()
        page = manual / text.removeprefix(".so man3/").strip() if text.startswith(".so") else path
        assert f"{path.stem}(" in page.read_text(), "where it leads has the name"


def test_man_pages_are_the_same_on_every_day(manual: Path) -> None:
    pages = [path for path in manual.iterdir() if not path.read_text().startswith(".so")]
    assert len(pages) > 150 and all(path.read_text().startswith(f'.TH {path.stem} 3 "" ') for path in pages)


def test_man_pages_can_be_read(manual: Path) -> None:
    groff = shutil.which("groff") or pytest.skip("SKIP: groff is not here")
    pages = [*(path for path in sorted(manual.iterdir()) if not path.read_text().startswith(".so")), *(root() / "man").iterdir()]
    done = subprocess.run([groff, "-ww", "-man", "-Tutf8", "-z", *map(str, pages)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
