"""The site is built, and a link that leads nowhere is an error; man pages are what their sources say, and can be read."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from laneway.tools.dev import manual, reference, site
from laneway.tools.places.errors import UserError
from laneway.tools.places.paths import MPIS, find_local_tool, root

_NEEDS_SITE = pytest.mark.skipif(bool(site.missing()), reason=f"SKIP: the site needs {', '.join(site.missing())} (python[docs])")
_PAGES = [path for path, text in manual.outputs(root()).items() if not text.startswith(".so ")]


@_NEEDS_SITE
def test_the_site_is_built(tmp_path: Path) -> None:
    site.build(root(), tmp_path / "site")
    page = (tmp_path / "site/reference/hints.html").read_text()
    assert "lnw_strategy" in page
    for source in (root() / "docs").rglob("*.md"):
        assert (tmp_path / "site" / source.relative_to(root() / "docs")).with_suffix(".html").is_file(), source
    assert (tmp_path / "site/search/search_index.json").stat().st_size > 100_000
    if shutil.which("doxygen"):
        assert "LNW_Start" in (tmp_path / "site/headers/requests_8h.html").read_text()


@_NEEDS_SITE
def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    for name in ("mkdocs.yml", "python/laneway/tools/dev/site_hooks.py", "Doxyfile"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root() / name, tmp_path / name)
    (tmp_path / "docs").mkdir()
    shutil.copytree(root() / "include", tmp_path / "include")
    (tmp_path / "more").mkdir()
    (tmp_path / "more/README.md").write_text("# More\n\n[Top](../docs/index.md), [another](../include/laneway/laneway.h).\n")
    page = tmp_path / "docs/index.md"
    page.write_text("# Top\n\nSee [a header](../include/laneway/base.h), [more](../more/README.md) and [here](#top).\n\n```sh run\ntrue\n```\n")
    site.build(tmp_path, tmp_path / "site")
    assert all((tmp_path / "site/tree" / name).is_file() for name in ("include/laneway/base.h", "include/laneway/laneway.h", "more/index.html"))
    assert "sh run" not in (tmp_path / "site/index.html").read_text()
    page.write_text("# Top\n\nSee [a](nowhere.md), [b](index.md#aside), [c](../include/nothing.h).\n")
    with pytest.raises(UserError) as error:
        site.build(tmp_path, tmp_path / "site")
    assert all(link in str(error.value) for link in ("nowhere.md", "#aside", "../include/nothing.h"))


def test_the_page_of_commands_has_what_laneway_has() -> None:
    assert reference.check_commands(root()) == []
    page = (root() / reference.PAGE).read_text()
    assert {"laneway run", "laneway cluster check", "laneway new strategy"} <= {c.name for c in reference.commands_in(page, reference.LANEWAY)}


def test_the_page_of_commands_has_what_laneway_bench_has() -> None:
    try:
        tool = find_local_tool("laneway-bench", MPIS)
    except UserError as error:
        pytest.skip(f"SKIP: {error}")
    page = (root() / reference.PAGE).read_text()
    found = {command.name: command for command in reference.of_bench(tool)}
    listed = {command.name: command for command in reference.commands_in(page, reference.BENCH)}
    assert len(found) > 10 and all(command.options for command in found.values())
    assert set(listed) - set(found) <= {"laneway-bench amg"}, "only what needs hypre may be missing"
    for name, command in found.items():
        assert listed.get(name) == command, "'./dev docs --update' brings it up to date"


def test_commands_survive_the_page() -> None:
    commands = [reference.Command("laneway-bench x", "Does a|b", (reference.Option("--to {a,b}", "either a | b; default: <a>"),))]
    page = reference.with_region((root() / reference.PAGE).read_text(), reference.BENCH, commands)
    assert reference.commands_in(page, reference.BENCH) == commands


def test_options_of_cli11_are_read() -> None:
    text = """Options:
  -h,--help                   Print this help message and exit
  --pattern TEXT ... REQUIRED Graphs
  --bytes INT:SIZE [b, kb(=1024b), ...]:INT in [16 - 1024]=1024 ...
                              Bytes that are copied
  --kind TEXT:{a,b}=a Needs: --heavy
                              Some
  --quick                     Fewer

Graphs of ranks:
  --none  of these
"""
    assert [(o.usage, o.meaning) for o in reference.options_in(text)] == [
        ("--pattern TEXT ...", "required: Graphs"),
        ("--bytes BYTES ...", "Bytes that are copied; default: 1024"),
        ("--kind {a,b}", "Some; with --heavy; default: a"),
        ("--quick", "Fewer"),
    ]


def test_every_function_has_a_man_page() -> None:
    assert manual.check_manual(root()) == []
    headers = "".join((root() / "include/laneway" / name).read_text() for name in manual.HEADERS)
    functions = set(re.findall(r"^LNW_PUBLIC int (LNW_\w+)\(", headers, re.MULTILINE))
    assert len(functions) > 80
    assert {path.stem for path in (root() / "man").glob("*.3")} == functions


def test_a_man_page_that_is_behind_is_found(tmp_path: Path) -> None:
    for name in ("docs/reference", "include", "man"):
        shutil.copytree(root() / name, tmp_path / name)
    shutil.copy(root() / "CMakeLists.txt", tmp_path / "CMakeLists.txt")
    assert manual.check_manual(tmp_path) == []
    header = tmp_path / "include/laneway/requests.h"
    header.write_text(header.read_text().replace("Frees an inactive request", "Frees a request"))
    (tmp_path / "man/LNW_Gone.3").write_text("")
    found = manual.check_manual(tmp_path)
    assert len(found) == 2 and found[0].startswith("man/LNW_Request_free.3: ") and found[1].startswith("man/LNW_Gone.3: ")
    assert len(manual.update(tmp_path)) == 2 and manual.check_manual(tmp_path) == []
    header.write_text(header.read_text().replace("#ifdef __cplusplus\n}", "/** New. */\nLNW_PUBLIC int LNW_New(int x);\n#ifdef __cplusplus\n}"))
    assert manual.check_manual(tmp_path)[0].startswith("LNW_New: has no line among the summaries")


@pytest.mark.parametrize("path", _PAGES, ids=lambda path: path.name)
def test_man_pages_can_be_read(path: Path) -> None:
    groff = shutil.which("groff") or pytest.skip("SKIP: groff is not here")
    done = subprocess.run([groff, "-ww", "-man", "-Tutf8", "-z", str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    if mandoc := shutil.which("mandoc"):
        done = subprocess.run([mandoc, "-Tlint", "-Wwarning", str(path)], capture_output=True, text=True)
        assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []
