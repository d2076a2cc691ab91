"""What lint says of documents: each check finds the fault that it is for, and nothing else."""

import re
from pathlib import Path

import pytest

from laneway.tools.dev import documents
from laneway.tools.places.paths import root

SHORT = "One rank sends. Another receives. Both wait. Nobody else does. That is all.\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    for name, text in {
        "README.md": f"# Top\n\n{SHORT}",
        "docs/start/c.md": f"# C\n\n## What `LNW_Start` does, and why\n\n{SHORT}",
        "docs/design.md": f"# Design\n\n{SHORT}",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def _found(top: Path, page: str, added: str) -> list[str]:
    path = top / page
    path.write_text(path.read_text() + "\n" + added)
    return documents.check_documents(top, [], {})


def test_clean_pages_pass(top: Path) -> None:
    assert documents.check_documents(top, [], {}) == []


def test_pages_for_use_are_short_but_for_their_code(top: Path) -> None:
    sentence = "Five words are in this. "
    code = "```c\n" + "int x;\n" * 1000 + "```\n"
    assert _found(top, "docs/start/c.md", code) == []
    assert _found(top, "docs/design.md", sentence * 200) == [f"docs/design.md: line 5 has {24 * 200} characters, more than 160"]
    found = _found(top, "docs/start/c.md", (sentence + "\n") * 200)
    assert len(found) == 2 and found[1].startswith("docs/start/c.md: ") and "words, more than 900" in found[1]


@pytest.mark.parametrize(
    ("added", "said"),
    [
        (" ".join(["word"] * 20) + "\n" + " ".join(["word"] * 21) + ".\n", "line 5: a sentence of 41 words: word"),
        ("- " + " ".join(["word"] * 20) + "\n  " + " ".join(["word"] * 21) + "\n", "line 5: a sentence of 41 words: word"),
        (("Word" + " word" * 28 + ".\n") * 20, "on average, more than 20"),
        ("x" * 161 + "\n", "line 5 has 161 characters, more than 160"),
        ("It runs for\nwhoever asks.\n", "line 6: 'whoever': readers know 'who', or name them"),
        ("See [here](start/cpp.md).\n", "line 5: start/cpp.md is not there"),
        ("See [here](../../README.md).\n", "line 5: ../../README.md is not there"),
        ("See ![picture](pictures/no.svg).\n", "line 5: pictures/no.svg is not there"),
        ("See [here](start/c.md#what-it-does).\n", "line 5: start/c.md has no heading #what-it-does"),
        ("It is in `src/nowhere.cpp`.\n", "line 5: `src/nowhere.cpp` is not there"),
        ("See [here](#designs).\n", "line 5: this page has no heading #designs"),
    ],
)
def test_what_is_wrong_is_found(top: Path, added: str, said: str) -> None:
    found = _found(top, "docs/design.md", added)
    assert len(found) == 1 and found[0].startswith("docs/design.md: ") and said in found[0], found


@pytest.mark.parametrize(
    "added",
    [
        " ".join(["word"] * 15) + ".\n" + " ".join(["Word"] * 25) + ".\n",
        "| " + "word " * 60 + "|\n",
        "A call returns, e.g. `" + ("word " * 25 + "\n") * 2 + "`, at once.\n",
        "```sh\n" + "whoever " * 50 + "\n```\n",
        "Whatever `whoever` is.\n",
        "- " + " ".join(["word"] * 25) + "\n",
        "See [here](start/c.md#what-lnw_start-does-and-why), [there](#design) and [them](https://example.org/x#y).\n",
        "What `[n](i)` means.\n",
        "Write `src/NAME.cpp`, in `docs/start`.\n",
        "<!-- [n](nowhere.md) -->\n",
    ],
)
def test_what_is_right_is_left_alone(top: Path, added: str) -> None:
    assert _found(top, "docs/design.md", added) == []


def test_what_is_known_may_stay_and_what_is_mended_leaves_the_list(top: Path) -> None:
    known = {"docs/design.md": ("links",)}
    remove = "docs/design.md: passes 'links': remove it from the list of python/laneway/tools/dev/documents.py"
    assert documents.check_documents(top, [], known) == [remove]
    (top / "docs/design.md").write_text("# Design\n\nSee [here](nowhere.md).\n")
    assert documents.check_documents(top, [], known) == []
    assert documents.check_documents(top, [], {"docs/design.md": ("lines",)}) == [
        "docs/design.md: line 3: nowhere.md is not there",
        remove.replace("links", "lines"),
    ]


def test_sources_name_pages_that_exist(top: Path) -> None:
    source = top / "a.cpp"
    source.write_text("// docs/design.md\n// docs/designs.md has more\n")
    assert documents.check_documents(top, [source], {}) == ["a.cpp:2: docs/designs.md is not there"]


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
    functions = {path.stem for path in (root() / "man").glob("LNW_*.3")}
    page = (root() / "docs/reference/c.md").read_text()
    stems = {re.sub(r"(_topology)?(_c)?$", "", name) for name in functions}
    assert {name for name in stems if not re.search(rf"`{name}`", page)} == set()
