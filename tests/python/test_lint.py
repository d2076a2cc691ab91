import shutil
import subprocess
from pathlib import Path

import pytest

from laneway.tools.dev import layers, lengths, lint
from laneway.tools.places.paths import root

ORDER = "set(LANEWAY_ROOM_ORDER core pattern lanes plan carriers exec operate c) # left may use right\n"


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
    assert layers.check_layers(tree) == []


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
    problems = layers.check_layers(tree)
    assert len(problems) == 1
    assert found in problems[0]


def test_a_room_must_not_depend_on_a_later_one(tree: Path) -> None:
    _room(tree, "core", "exec", {})
    assert any("core must not depend on exec" in problem for problem in layers.check_layers(tree))


def test_a_room_must_be_in_the_order_and_be_declared(tree: Path) -> None:
    _room(tree, "cellar", "", {})
    assert any("cellar is not in LANEWAY_ROOM_ORDER" in problem for problem in layers.check_layers(tree))
    (tree / "src" / "cellar" / "CMakeLists.txt").unlink()
    (tree / "src" / "cellar" / "a.cpp").write_text("")
    assert layers.check_layers(tree) == ["src/cellar: has sources but no laneway_room(cellar …)"]


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
    assert layers.check_layers(root()) == []
    assert layers.check_bench(root()) == []
    assert layers.check_lists(root()) == []
    assert layers.check_tools(root()) == []


def test_folders_of_the_benchmark_are_no_rooms(tree: Path) -> None:
    (tree / "bench" / "commands").mkdir(parents=True)
    assert layers.check_bench(tree) == []
    (tree / "bench" / "plan").mkdir()
    assert layers.check_bench(tree) == ["bench/plan: a room has that name"]


def test_folders_of_the_benchmark_look_one_way(tree: Path) -> None:
    for folder in ("data", "commands", "new"):
        (tree / "bench" / folder).mkdir(parents=True)
        (tree / "bench" / folder / "one.cpp").write_text('#include "core/error.hpp"\n#include "commands/link.hpp"\n')
    (tree / "bench" / "CMakeLists.txt").write_text("set(LANEWAY_BENCH_ORDER data commands)\n")
    assert layers.check_bench(tree) == [
        "bench/data/one.cpp:2: bench/data must not include bench/commands",
        "bench/new/one.cpp: its folder is not in LANEWAY_BENCH_ORDER of bench/CMakeLists.txt",
    ]


ROOMS = """
a → b

```
c → operate → exec → carriers
  → plan → lanes → pattern → core
```

| room | content | needs MPI |
| --- | --- | --- |
| `core`, `pattern` | a `word` | |
| `lanes`, `plan`, `carriers`, `exec` | | |
| `operate` | | |
| `c` | | |

| other | |
| --- | --- |
| `x` | |
"""


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", []),
        ("operate → ", "", ["its line of rooms is not LANEWAY_ROOM_ORDER: without operate"]),
        ("c → operate", "operate → c", ["its line of rooms is not LANEWAY_ROOM_ORDER: in another order"]),
        ("`exec`", "`run`", ["its table of rooms is not LANEWAY_ROOM_ORDER: without exec; with run"]),
        ("| `c` | | |\n", "", ["its table of rooms is not LANEWAY_ROOM_ORDER: without c"]),
        ("| room |", "| name |", ["has no table | room | content | needs MPI |"]),
    ],
)
def test_lists_of_rooms_are_that_of_cmake(tree: Path, old: str, new: str, found: list[str]) -> None:
    page = tree / "docs" / "concepts" / "rooms.md"
    page.parent.mkdir(parents=True)
    assert old in ROOMS
    page.write_text(ROOMS.replace(old, new))
    assert layers.check_lists(tree) == [f"docs/concepts/rooms.md: {text}" for text in found]


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("tools/dev/a.py", "import os\nfrom laneway.tools.places import paths\nfrom laneway.tools.dev import b", None),
        ("tools/places/a.py", "def f():\n    from laneway.tools.measure import fits", "a.py:2: places imports measure, which comes after it"),
        ("tools/measure/a.py", "import laneway.tools.draw.lines", "a.py:1: measure imports draw, which comes after it"),
        ("tools/draw/a.py", "from laneway.tools import papers", "a.py:1: draw imports papers, which comes after it"),
        ("tools/dev/a.py", "from laneway.tools import cli", "a.py:1: dev imports cli, which comes after it"),
        ("tools/cli.py", "from laneway.tools.dev import lint", None),
        ("tools/dev/a.py", "from . import b", "a.py:1: imports are written in full"),
        ("tools/dev/a.py", "from laneway.tools import drawing", "a.py:1: laneway.tools has no folder drawing"),
        ("tools/drawing/a.py", "", "a.py: drawing is not in the order"),
        ("halo.py", "from laneway.tools.draw import lines", "halo.py:1: only __main__ may use the tools"),
        ("__main__.py", "from laneway.tools import cli", None),
        ("__main__.py", "from laneway.tools.dev import lint", "__main__.py:1: only __main__ may use the tools"),
    ],
)
def test_the_tools_import_one_way(tmp_path: Path, file: str, text: str, found: str | None) -> None:
    path = tmp_path / "python" / "laneway" / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    problems = layers.check_tools(tmp_path)
    assert len(problems) == (found is not None)
    assert found is None or found in problems[0]


def _function(name: str, lines: int) -> str:
    return f"int {name}(int x) {{\n" + "  x = x + 1;\n" * (lines - 2) + "}\n"


def test_long_functions_and_files_are_found(tmp_path: Path) -> None:
    source = tmp_path / "src" / "core" / "a.cpp"
    source.parent.mkdir(parents=True)
    source.write_text("namespace laneway {\n" + _function("short_one", 60) + _function("Long::one", 61) + "}\n" + "// more\n" * 478)
    one = "src/core/a.cpp: laneway::Long::one"
    assert lengths.check_lengths(tmp_path, {}) == [
        "src/core/a.cpp: 601 lines, more than 600",
        f"{one}: 61 lines, more than 60",
    ]
    known = {"src/core/a.cpp": 601, one: 61}
    assert lengths.check_lengths(tmp_path, known) == []
    # What is known may not grow, and the list says what is.
    assert lengths.check_lengths(tmp_path, known | {"src/core/a.cpp": 600}) == ["src/core/a.cpp: 601 lines, more than 600"]
    (longer,) = lengths.check_lengths(tmp_path, known | {one: 70})
    assert longer.startswith(f"{one}: has 61 lines, write that")
    (gone,) = lengths.check_lengths(tmp_path, known | {"src/core/b.cpp": 700})
    assert gone.startswith("src/core/b.cpp: is no longer too long, remove it")


def test_this_tree_keeps_its_lengths() -> None:
    assert lengths.check_lengths(root()) == []
