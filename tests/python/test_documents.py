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


def test_the_page_of_cpp_has_every_type_and_function() -> None:
    header = (root() / "include/laneway/laneway.hpp").read_text()
    public = re.sub(r"^namespace detail \{.*?^\}  // namespace detail$", "", header, flags=re.MULTILINE | re.DOTALL)
    names = set(re.findall(r"^(?:class|struct) (\w+)", public, re.MULTILINE)) | set(re.findall(r"Persistent (\w+)\(MPI_Comm", public))
    assert {"Halo", "Blocks", "neighbor_alltoallv_init"} <= names and "Degrees" not in names
    page = (root() / "docs/reference/cpp.md").read_text()
    assert {name for name in names if f"laneway::{name}" not in page} == set()


def test_the_page_of_c_has_every_function() -> None:
    headers = (path for path in (root() / "include/laneway").glob("*.h") if path.stem not in {"device", "hypre"})
    functions = set(re.findall(r"^LNW_PUBLIC int (LNW_(?!MA_)\w+)\(", "".join(path.read_text() for path in headers), re.MULTILINE))
    page = (root() / "docs/reference/c.md").read_text()
    stems = {re.sub(r"(_topology)?(_c)?$", "", name) for name in functions}
    assert {name for name in stems if not re.search(rf"`{name}`", page)} == set()


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
