"""What lint says: each check of its own finds the fault that it is for, and the tools are run with the project's settings."""

import shutil
import subprocess
from pathlib import Path

import pytest

from laneway_tools.dev import lint
from laneway_tools.places.paths import root


def _needs(*names: str) -> None:
    for name in names:
        if shutil.which(name) is None and shutil.which(lint._python_tool(name)) is None:
            pytest.skip(f"SKIP: {name} is not here")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    for name in (".clang-format", ".clang-tidy", "ruff.toml"):
        shutil.copy(root() / name, tmp_path)
    return tmp_path


def test_machine_paths_are_found(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("fine\nsee /" + "work/main\n")
    assert lint.check_text(tmp_path, [file]) == ["a.md:2: names the machine path /" + "work/"]


def test_sources_name_pages_that_exist(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/design.md").write_text("")
    source = tmp_path / "a.cpp"
    source.write_text("// docs/design.md\n// docs/designs.md has more\n")
    assert lint.check_text(tmp_path, [source]) == ["a.cpp:2: docs/designs.md is not there"]


def test_format_is_checked_and_repaired(tree: Path) -> None:
    _needs("clang-format", "ruff")
    (tree / "a.cpp").write_text("int   main( ){return 0 ;}\n")
    (tree / "b.py").write_text("x = {  'a':1 }\n")
    problems = lint.check_format(tree)
    assert any("a.cpp:1" in problem for problem in problems) and any("b.py" in problem for problem in problems)
    assert lint.format_all(tree) == 1
    assert lint.check_format(tree) == []


def test_faults_in_python_are_found(tree: Path) -> None:
    _needs("ruff", "mypy", "lint-imports")
    library, tools = tree / "python/laneway", tree / "tools/laneway_tools"
    for path in (library, tools, *(tools / name for name in ("__main__", "cli", "evaluate", "dev", "papers", "draw", "measure", "places"))):
        path.mkdir(parents=True)
        (path / "__init__.py").write_text('"""Nothing."""\n')
    for name in ("mypy.ini", "tools/pyproject.toml"):
        shutil.copy(root() / name, tree / name)
    assert lint.check_python(tree) == []
    (library / "halo.py").write_text("from laneway_tools import places\n\nprint(places)\n")
    (tools / "dev/a.py").write_text("import os\n")
    (tools / "measure/b.py").write_text("from laneway_tools import draw\n\nx: int = 'text'\nprint(draw)\n")
    said = "\n".join(lint.check_python(tree))
    for found in (
        "halo.py:1:1: TID251",
        "dev/a.py:1:8: F401",
        "laneway_tools/measure/b.py:3: error: Incompatible types",
    ):
        assert found in said, said
    assert "laneway_tools.measure is not allowed to import laneway_tools.draw" in said, said


def _function(name: str, lines: int) -> str:
    return f"int {name}(int x) {{\n" + "  x = x + 1;\n" * (lines - 2) + "}\n"


def test_long_functions_and_files_are_found(tmp_path: Path) -> None:
    source = tmp_path / "src/base/a.cpp"
    source.parent.mkdir(parents=True)
    source.write_text("namespace laneway {\n" + _function("short_one", 60) + _function("Long::one", 61) + "}\n" + "// more\n" * 478)
    one, file = lint.check_lengths(tmp_path)
    assert one.startswith("src/base/a.cpp:62: warning: laneway::Long::one has ") and " 61 length" in one
    assert file == "src/base/a.cpp: 601 lines, more than 600"


def test_the_executor_names_no_carrier_and_holds_little(tmp_path: Path) -> None:
    folder = tmp_path / "src/runtime/executor"
    row = tmp_path / "src/runtime/carriers/node/carrier.cpp"
    for place in (folder, row.parent):
        place.mkdir(parents=True)
    row.touch()
    members = "".join(f"  std::vector<int> member{i}_ = {{}};\n" for i in range(20))
    (folder / "executor.hpp").write_text(f"class Executor {{\n  int f() const {{ return last_; }}\n{members}}};\n")
    (folder / "a.cpp").write_text('#include "runtime/carriers/carrier.hpp"\n')
    assert lint.check_executor(tmp_path) == []
    (folder / "executor.hpp").write_text(f"class Executor {{\n{members}  Puts* puts_ = nullptr;  // or null\n}};\n")
    (folder / "a.cpp").write_text('#include "runtime/carriers/rma/puts.hpp"\nauto row = node_carrier();\n')
    assert lint.check_executor(tmp_path) == [
        "src/runtime/executor/a.cpp:1: the executor names a carrier: runtime/carriers/rma/puts.hpp",
        "src/runtime/executor/a.cpp:2: the executor names a carrier: node_carrier",
        "src/runtime/executor/executor.hpp: 21 data members, more than 20",
    ]


def test_clang_tidy_looks_at_the_lines_that_a_branch_changes(tree: Path) -> None:
    _needs("clang-tidy-19")

    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(tree), *words], check=True, capture_output=True
        )

    (tree / "src").mkdir()
    source = tree / "src/a.cpp"
    source.write_text("int OldOne() { return 0; }\n")
    git("add", ".")
    git("commit", "-m", "One")
    git("checkout", "-b", "more")
    assert lint.check_tidy_of_branch(tree) == []
    (tree / "build/openmpi").mkdir(parents=True)
    command = f'[{{"directory": "{tree}", "command": "c++ -std=c++20 -c src/a.cpp", "file": "{source}"}}]'
    (tree / "build/openmpi/compile_commands.json").write_text(command)
    source.write_text(source.read_text() + "int NewOne() { return 0; }\n")
    git("commit", "-am", "Two")
    (found,) = lint.check_tidy_of_branch(tree)
    assert found.startswith("src/a.cpp:2:") and "readability-identifier-naming" in found
    assert len(lint.check_tidy(tree)) == 2


def test_a_layer_that_includes_what_it_does_not_depend_on_does_not_compile(tmp_path: Path) -> None:
    _needs("cmake")
    layers = {"base": "", "plan": "DEPENDS base", "algorithms": "DEPENDS plan"}
    for name, depends in layers.items():
        folder = tmp_path / "src" / name
        folder.mkdir(parents=True)
        (folder / "CMakeLists.txt").write_text(f"laneway_layer({name} {depends})\nlaneway_part({name} .)\n")
        (folder / f"{name}.hpp").write_text("#pragma once\n")
        (folder / f"{name}.cpp").write_text(f'#include "{name}/{name}.hpp"\n')
    top = ["cmake_minimum_required(VERSION 3.20)", "project(layers LANGUAGES CXX)", f'include("{root()}/cmake/LanewayLayers.cmake")']
    top += ["add_library(laneway_flags INTERFACE)", *(f"add_subdirectory(src/{name})" for name in layers)]
    (tmp_path / "test.cpp").write_text('#include "base/base.hpp"\n#include "algorithms/algorithms.hpp"\n')
    top += ["add_library(test OBJECT test.cpp)", "target_link_libraries(test PRIVATE laneway.base)"]
    (tmp_path / "CMakeLists.txt").write_text("\n".join(top) + "\n")

    def builds() -> str:
        configure = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), "-DLANEWAY_STRICT_LAYERS=ON"]
        for argv in (configure, ["cmake", "--build", str(tmp_path / "build")]):
            done = subprocess.run(argv, capture_output=True, text=True)
            if done.returncode != 0:
                return done.stdout + done.stderr
        return ""

    assert builds() == ""
    (tmp_path / "src/algorithms/algorithms.cpp").write_text('#include "base/base.hpp"\n')  # by plan
    assert builds() == ""
    (tmp_path / "src/base/base.cpp").write_text('#include "plan/plan.hpp"\n')
    assert "plan/plan.hpp: No such file" in builds()
    (tmp_path / "src/base/CMakeLists.txt").write_text("laneway_layer(base DEPENDS plan)\nlaneway_part(base .)\n")
    assert "layer base must not depend on plan" in builds()
