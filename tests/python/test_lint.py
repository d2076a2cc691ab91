import shutil
import subprocess
from pathlib import Path

import pytest

from laneway import lint
from laneway.paths import root

ORDER = "set(LANEWAY_ROOM_ORDER core pattern lanes plan carriers exec comm c) # left may use right\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "cmake").mkdir()
    (tmp_path / "cmake" / "LanewayRooms.cmake").write_text(ORDER)
    _room(tmp_path, "core", "", {"core/error.hpp": "#include <vector>\n"})
    _room(tmp_path, "pattern", "core", {"pattern/a.hpp": '#include "core/error.hpp"\n#include "pattern/b.hpp"\n'})
    _room(tmp_path, "lanes", "pattern", {"lanes/a.cpp": '#include "core/error.hpp"\n'})
    _room(tmp_path, "carriers", "core", {"carriers/p2p.cpp": "#include <mpi.h>\n"})
    return tmp_path


def _room(top: Path, name: str, depends: str, files: dict[str, str]) -> None:
    folder = top / "src" / name
    folder.mkdir(parents=True, exist_ok=True)
    listed = f"DEPENDS {depends}" if depends else ""
    (folder / "CMakeLists.txt").write_text(f"laneway_room({name}\n  SOURCES a.cpp # x\n  {listed} LINKS foo)\n")
    for path, text in files.items():
        (top / "src" / path).write_text(text)


def test_a_clean_tree_passes_and_dependencies_are_transitive(tree: Path) -> None:
    assert lint.check_layers(tree) == []


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("core/x.cpp", '#include "pattern/a.hpp"', "core/x.cpp:1: room core includes pattern/a.hpp"),
        ("lanes/x.hpp", '\n#include  "carriers/p2p.hpp"', "lanes/x.hpp:2: room lanes includes carriers/p2p.hpp"),
        ("lanes/x.cpp", "#include <carriers/p2p.hpp>", "does not depend on carriers"),
        ("pattern/x.cpp", "# include <mpi.h>", "room pattern must not include mpi.h"),
        ("lanes/x.cpp", '#include "view.hpp"', "must be written with its room"),
        ("carriers/x.cpp", "#include <cuda_runtime.h>", "belongs in device/"),
        ("carriers/x.cpp", "#include <hip/hip_runtime.h>", "belongs in device/"),
    ],
)
def test_a_bad_include_is_found(tree: Path, file: str, text: str, found: str) -> None:
    (tree / "src" / file).write_text(text)
    problems = lint.check_layers(tree)
    assert len(problems) == 1
    assert found in problems[0]


def test_a_room_must_not_depend_on_a_later_one(tree: Path) -> None:
    _room(tree, "core", "exec", {})
    assert any("core must not depend on exec" in problem for problem in lint.check_layers(tree))


def test_a_room_must_be_in_the_order_and_be_declared(tree: Path) -> None:
    _room(tree, "cellar", "", {})
    assert any("cellar is not in LANEWAY_ROOM_ORDER" in problem for problem in lint.check_layers(tree))
    (tree / "src" / "cellar" / "CMakeLists.txt").unlink()
    (tree / "src" / "cellar" / "a.cpp").write_text("")
    assert lint.check_layers(tree) == ["src/cellar: has sources but no laneway_room(cellar …)"]


def test_machine_paths_are_found(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("fine\nsee /" + "work/main\n")
    assert lint.check_text(tmp_path, [file]) == ["a.md:2: names the machine path /" + "work/"]


def test_format_is_checked_and_repaired(tmp_path: Path) -> None:
    if shutil.which("clang-format") is None:
        pytest.skip("clang-format is not installed")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    shutil.copy(root() / ".clang-format", tmp_path)
    source = tmp_path / "a.cpp"
    source.write_text("int   main( ){return 0 ;}\n")
    assert any("a.cpp:1" in problem for problem in lint.check_format(tmp_path))
    assert lint.format_all(tmp_path) == 1
    assert lint.check_format(tmp_path) == []


def test_this_tree_keeps_its_layers() -> None:
    assert lint.check_layers(root()) == []


@pytest.mark.parametrize("indent", ["", "  "])
@pytest.mark.parametrize(("lines", "found"), [(60, 0), (61, 1)])
def test_long_functions_are_found_also_in_classes(tree: Path, indent: str, lines: int, found: int) -> None:
    body = [f"{indent}int f(int a,", f"{indent}      int b) {{", *[f"{indent}  a += b;"] * (lines - 3), f"{indent}}}"]
    head, tail = (["class C {"], ["};"]) if indent else ([], [])
    text = ["namespace laneway {", "", *head, f"{indent}int g() {{ return 1; }}", "", *body, *tail, "", "}  // namespace"]
    (tree / "src" / "core" / "x.cpp").write_text("\n".join(text) + "\n")
    problems = lint.check_sizes(tree)
    assert len(problems) == found
    assert all("core/x.cpp:" in problem and "a function of 61 lines" in problem for problem in problems)


def test_long_files_are_found(tree: Path) -> None:
    (tree / "src" / "core" / "x.cpp").write_text("int a;\n" * 601)
    assert ["src/core/x.cpp: 601 lines, at most 600 are read at once"] == lint.check_sizes(tree)
