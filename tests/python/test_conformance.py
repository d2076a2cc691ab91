"""The table of requirements of MPI: its tests exist, and rows that make no sense are refused."""

import re
import sys
from pathlib import Path

import pytest

from laneway_tools.places.paths import root

sys.path.insert(0, str(root() / "api"))
import conformance  # noqa: E402

# How a test is written in a file of that kind: `of` takes its name.
_PATTERNS = {
    ".py": r"^def {0}\(",
    ".F90": r"^ *subroutine {0}\(",
    ".txt": r"^ *add_test\(NAME {0} ",
    ".c": r"^(?:static )?(?:int|void) {0}\(",
    ".cpp": r"^(?:template <[^>]*>\n)?(?:int|void|bool|MPI_Request) {0}\(",
}


def _is_there(file: Path, case: str) -> bool:
    """Whether a file has the case, function, subroutine or CTest of that name."""
    suite, _, name = case.partition(".")
    if file.suffix == ".cpp" and name:
        pattern = rf"^TEST(?:_[FP])?\(\s*{suite},\s*{name}\)"
    else:
        pattern = _PATTERNS[file.suffix].format(re.escape(case))
    return re.search(pattern, file.read_text(), re.MULTILINE) is not None


def _is_built(file: Path) -> bool:
    """Whether a CMakeLists.txt names the file, which else nobody runs; pytest finds its own."""
    if file.suffix in (".py", ".txt"):
        return True
    text = (file.parent / "CMakeLists.txt").read_text()
    return re.search(rf"\b{file.stem.removesuffix('_test')}(?:_test)?\b", text) is not None


def test_every_test_of_a_requirement_is_there() -> None:
    rows, _ = conformance.read_table(root() / "api" / "conformance.toml")
    assert len(rows) > 150
    missing = []
    for row in rows:
        for test in row.tests:
            name, _, case = test.partition(" ")
            file = root() / "tests" / name
            if not file.is_file() or not _is_built(file) or (case and not _is_there(file, case)):
                missing.append(f"{row.section}: {row.asks}: no such test: {test}")
    assert missing == []


def test_the_page_is_what_the_table_says() -> None:
    page = (root() / "docs/reference/conformance.md").read_text()
    assert conformance.page(*conformance.read_table(root() / "api" / "conformance.toml")) in page


ROW = """
[chapters]
6 = "Collective communication"

[[row]]
section = "6.3"
asks = "No rank leaves a barrier before all have come."
tests = ["mpi/dense_test.cpp"]
"""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", None),
        ('differs = "here"\n', None),
        ('differs = "here"\nnot_shown = "a test"\n', "has both differs and not_shown"),
        ('different = "here"\n', "has different, which is no key of a row"),
        ('[[row]]\nsection = "6.4"\nasks = "Data."\n', "6.4: Data.: names no test"),
        ('[[row]]\nsection = "6.4"\nasks = "Data."\ndiffers = "here"\n', "6.4: Data.: names no test"),
        ('[[row]]\nsection = "6.4"\nasks = "Data."\nnot_offered = "there"\n', None),
        ('[[row]]\nsection = "6.2.1"\nasks = "Data."\ntests = ["c/c_api.c"]\n', "comes after a later section"),
        ('[[row]]\nsection = "7.2"\nasks = "Data."\ntests = ["c/c_api.c"]\n', "chapters 7 have either no title or no rows"),
    ],
)
def test_rows_that_make_no_sense_are_refused(more: str, said: str | None, tmp_path: Path) -> None:
    table = tmp_path / "conformance.toml"
    table.write_text(ROW + more)
    if said is None:
        rows, titles = conformance.read_table(table)
        assert f"## {titles['6']}" in conformance.page(rows, titles)
        return
    with pytest.raises(conformance.TableError, match=re.escape(said)):
        conformance.read_table(table)
