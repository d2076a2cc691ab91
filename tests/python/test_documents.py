"""Pages that list what programs and headers have are complete."""

import re
from pathlib import Path

import pytest

from laneway_tools.places.paths import root


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("bench/output/report.cpp", r'json\["(\w+)"\] =|^ +\{"(\w+)", '),
        ("src/plan/text.cpp", r'\bj?\["(\w+)"\] *=|\.(?:at|contains|value)\("(\w+)"|\\"(\w+)\\": |number_or\(j, "(\w+)"'),
    ],
)
def test_the_pages_of_json_have_every_key(source: str, key: str) -> None:
    text = (root() / source).read_text()
    written = {name for found in re.findall(key, text, re.MULTILINE) for name in found if name}
    assert len(written) > 15
    pages = (root() / "docs/reference" / name for name in ("json.md", "bench-records.md"))
    page = "".join(path.read_text() for path in pages if path.is_file())
    listed = {name for code in re.findall(r"`([\w, ]+)`", page) for name in code.split(", ")}
    assert written - listed - {"buffer", "table"} == set()  # a format of tables is no key


def test_the_page_of_layers_has_every_layer() -> None:
    text = (root() / "cmake/LanewayLayers.cmake").read_text()
    found = re.search(r"set\(LANEWAY_LAYERS\s+([^)]*)\)", text)
    assert found
    page = (root() / "docs/concepts/layers.md").read_text()
    table = page.split("| layer | content | needs MPI |\n")[1].split("\n\n")[0]
    assert [name for row in table.splitlines()[1:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])] == found[1].split()


_NAMED = re.compile(r"`((?:api|bench|cmake|examples|fortran|include|integrations|machines|plugins|python|simulator|src|tests)/[\w./-]+)`")


def test_sources_that_pages_name_are_there() -> None:
    """Links are checked where the site is built; this is text in backquotes. Names in capitals, such as NAME.cpp, are examples."""
    missing = []
    for page in (root() / "README.md", root() / "CONTRIBUTING.md", *(root() / "docs").rglob("*.md")):
        for name in _NAMED.findall(re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)):
            path: Path = root() / name
            if not re.search(r"[A-Z]{4}", path.stem) and not path.exists() and not any(path.parent.glob(f"{path.name}.*")):
                missing.append(f"{page.name}: {name}")
    assert missing == []


def _plain(text: str) -> str:
    """Without the marks of comments and lists, in one line."""
    return " ".join(re.sub(r"^ *(\*|///?|-)(?!\*) ?", "", text, flags=re.MULTILINE).split())


def _tests() -> set[str]:
    """All cases of GoogleTest, and the files that have tests."""
    sources = [path for path in (root() / "tests").rglob("*.c*") if path.suffix in {".c", ".cpp"}]
    cases = (re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", path.read_text(), re.MULTILINE) for path in sources)
    return {f"{suite}.{case}" for found in cases for suite, case in found}


def test_promises_are_made_and_tested() -> None:
    rows = re.findall(
        r"^\| (?!promise|---)(.+?) \| `([^`]+)` \| (.+) \|$", (root() / "docs/contributing/promises.md").read_text(), re.MULTILINE
    )
    known = _tests()
    assert len(rows) > 50 and len(known) > 500
    wrong = []
    for promise, page, tests in rows:
        if _plain(promise) not in _plain((root() / page).read_text()).replace("**", ""):
            wrong.append(f"{page} does not say: {promise}")
        named = re.findall(r"`([^`]+)`", tests)
        wrong += [f"no such test: {test}" for test in named if test not in known and not (root() / test).is_file()]
        assert named, promise
    assert wrong == []


def _pages() -> list[Path]:
    return [
        *(root() / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "packaging/README.md")),
        *(root() / "docs").rglob("*.md"),
    ]


def _without_code(text: str) -> str:
    text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def _anchors(page: Path) -> set[str]:
    """What links may name after #, as GitHub and the site make it of headings."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}


def test_links_lead_somewhere() -> None:
    """The same without the site, which is not built everywhere, and for pages that are not in it."""
    broken = []
    for page in _pages():
        for text, link in re.findall(r"\[([^]\[]*)\]\(([^)\s]+)\)", _without_code(page.read_text(encoding="utf-8"))):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (anchor and anchor not in _anchors(target)):
                broken.append(f"{page.relative_to(root())}: {link}")
            elif text.endswith(".md") and Path(text).name != target.name:
                broken.append(f"{page.relative_to(root())}: {link} is called {text}")
    assert broken == []


def test_rows_of_tables_have_a_heading_and_its_columns() -> None:
    wrong = []
    for page in _pages():
        text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for block in re.findall(r"(?:^ *\|.*\n)+", text + "\n", re.MULTILINE):
            rows = block.splitlines()
            cells = [len(re.findall(r"(?<!\\)\|", re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", row))) for row in rows]
            if len(rows) < 3 or not re.fullmatch(r" *\|(?: *:?-+:? *\|)+", rows[1]):
                wrong.append(f"{page.relative_to(root())}: no heading: {rows[0][:60]}")
            elif len(set(cells)) != 1:
                wrong.append(f"{page.relative_to(root())}: other columns: {rows[cells.index(min(cells))][:60]}")
    assert wrong == []


_NEEDS_TOOLS = re.compile(r"\./dev (?!setup|demo|doctor|test\b|check\b|install|build|docs|lint|new|bare|COMMAND)")


def test_pages_say_what_their_commands_need() -> None:
    """In a fresh clone ./dev has no Python environment, and laneway-bench is not built."""
    for page in (root() / "README.md", *(root() / "docs/start").glob("*.md"), *(root() / "docs/use").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^```sh[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        if any(_NEEDS_TOOLS.search(block) for block in blocks):
            assert "./dev setup" in text, page
    head = "\n".join((root() / "README.md").read_text(encoding="utf-8").splitlines()[:20])
    assert "./dev demo" in head and "./dev test" in head


def test_the_page_of_sparse_exchanges_has_every_finder() -> None:
    hints = (root() / "docs/reference/hints.md").read_text(encoding="utf-8")
    row = re.search(r"^\| `lnw_find` \| \S+ \| \S+ \| auto, ([a-z_, ]+) \|", hints, re.MULTILINE)
    assert row
    page = (root() / "docs/use/discovery.md").read_text(encoding="utf-8")
    assert [name for name in row[1].split(", ") if f"`{name}`" not in page] == []


def test_the_next_decision_has_the_number_that_is_said() -> None:
    numbers = {int(path.name[:3]) for path in (root() / "docs/decisions").glob("[0-9]*.md")}
    said = re.search(r"next free numbers are (\d+) and[^.]*?, (\d+)\.", " ".join((root() / "docs/decisions/index.md").read_text().split()))
    assert said and {int(said[1]), int(said[2])} == {max(n for n in numbers if n < 100) + 1, max(numbers) + 1}


def test_the_version_is_one() -> None:
    places = {
        "CMakeLists.txt": r"project\(laneway VERSION ([\d.]+)",
        "python/pyproject.toml": r'^version = "([\d.]+)"',
        "CITATION.cff": r"^version: ([\d.]+)",
        "packaging/spack/packages/laneway/package.py": r'version\("([\d.]+)"\)',
        "packaging/README.md": r"laneway@([\d.]+)",
        "debian/changelog": r"^laneway \(([\d.]+)\)",
        "docs/start/index.md": r"^laneway-bench ([\d.]+),",
    }
    found = {}
    for name, pattern in places.items():
        there = re.search(pattern, (root() / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert there, name
        found[name] = there[1]
    header = dict(re.findall(r"#define LNW_VERSION_(\w+) (\d+)", (root() / "include/laneway/base.h").read_text()))
    found["include/laneway/base.h"] = f"{header['MAJOR']}.{header['MINOR']}.{header['PATCH']}"
    assert len(set(found.values())) == 1, found
    changelog = (root() / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {found['CMakeLists.txt']}\n" in changelog
