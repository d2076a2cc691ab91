"""The table of operations and what is written from it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from laneway_tools.dev import generated
from laneway_tools.places.paths import root

sys.path.insert(0, str(root() / "api"))
import generate  # noqa: E402

ROW = """
[[operation]]
name = "allgatherw"
number = 11
base = "allgatherw"
moves = "a toy"
send = { blocks = "same", arguments = [["sendbuf", "buffer"], ["sendcount", "count"], ["sendtype", "type"]] }
receive = { blocks = "typed", arguments = [
  ["recvbuf", "buffer"], ["recvcounts", "counts"], ["rdispls", "bytes"], ["recvtypes", "types"],
] }
ways = ["blocking", "persistent"]
places = ["comm", "topology"]
counts = ["int", "large"]
interposed = false
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files that are generated, and what they are generated from."""
    folders = ("api", "include/laneway", "fortran", "python/laneway")
    sources = (*(path for folder in folders for path in (root() / folder).glob("*.*")), root() / ".clang-format")
    for name in (str(path.relative_to(root())) for path in sources):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root() / name, tmp_path / name)
    for path in generate.outputs():
        copy = tmp_path / path.relative_to(root())
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return tmp_path


def _add(tree: Path, old: str, new: str) -> None:
    table = tree / "api" / "operations.toml"
    text = table.read_text()
    assert text.count(old) >= 1
    table.write_text(text.replace(old, new, 1))


def _add_row(tree: Path, row: str = ROW) -> None:
    _add(tree, "# The parts of neighborhood.h", row + "\n# The parts of neighborhood.h")


def test_what_is_committed_is_what_the_table_says() -> None:
    assert generated.check_generated(root()) == []
    operations, _ = generate.read_table()
    names = generate.functions(operations)
    assert len(names) == len(set(names)) == 104
    assert "LNW_Neighbor_alltoallv_init_indexed_topology_c" in names
    header = " ".join((root() / "include" / "laneway" / "neighborhood.h").read_text().split())
    assert header.count("MPI_Op op, MPI_Comm comm") == header.count("MPI_Op op, LNW_Topology topology") == 20


def test_lint_finds_what_was_changed_by_hand(tree: Path) -> None:
    assert generated.check_generated(tree) == []
    for path in ("src/api/generated/persistent.cpp", "docs/reference/c.md"):
        file = tree / path
        before = file.read_text()
        file.write_text(before.replace("eighbor_allgather", "eighbor_allscatter", 1))
        assert generated.check_generated(tree) == [f"{path}: is not what api/generate.py writes; run it"]
        file.write_text(before)
    (tree / "fortran" / "names.inc").unlink()
    assert len(generated.check_generated(tree)) == 1


def test_a_row_is_an_operation_everywhere(tree: Path) -> None:
    _add_row(tree)
    assert len(generated.check_generated(tree)) == 18  # all but nonblocking.cpp and what the preload stands in front of
    subprocess.run([sys.executable, str(tree / "api" / "generate.py")], check=True, capture_output=True)
    assert generated.check_generated(tree) == []
    text = {
        name: (tree / name).read_text()
        for name in (
            "include/laneway/neighborhood.h",
            "include/laneway/operation.h",
            "src/base/kind.hpp",
            "src/api/generated/persistent.cpp",
            "fortran/operations.h",
            "fortran/operations.inc",
            "fortran/names.inc",
            "docs/reference/c.md",
        )
    }
    assert text["include/laneway/neighborhood.h"].count("LNW_Neighbor_allgatherw") == 8
    assert "LNW_NEIGHBOR_ALLGATHERW = 11" in text["include/laneway/operation.h"]
    assert "allgatherw = 11" in text["src/base/kind.hpp"]
    assert "LNW_Neighbor_allgatherw_init_topology_c" in text["src/api/generated/persistent.cpp"]
    assert "make_types(DEGREES(TO_C(*where)), NULL, recvtypes)" in text["fortran/operations.h"]
    assert "lnw_neighbor_allgatherw_init" in text["fortran/names.inc"]
    assert "ineighbor_allgatherw" not in "".join(text.values()).lower()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('blocks = "counted"', 'blocks = "striped"', "blocks 'striped' is not one of"),
        ('["sdispls", "displacements"]', '["sdispls", "places"]', "sdispls has role 'places'"),
        ('ways = ["blocking"', 'ways = ["sometimes"', "ways has 'sometimes'"),
        ("number = 2", "number = 1", "two operations have one number"),
        ('counts = ["int", "large"]', 'counts = ["int"]', "all places and counts"),
    ],
)
def test_rows_that_make_no_sense_are_refused(tree: Path, old: str, new: str, said: str) -> None:
    _add(tree, old, new)
    problems = generated.check_generated(tree)
    assert len(problems) == 1 and said in problems[0]
