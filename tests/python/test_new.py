"""`./dev new strategy NAME`: what it writes compiles, is formatted, and says what the skeleton's test expects."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from laneway_tools.dev import skeleton
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The folders that the rules of strategies need."""
    for folder in ("src/base", "src/machine", "src/algorithms/neighborhood"):
        shutil.copytree(root() / folder, tmp_path / folder)
    (tmp_path / "tests/unit").mkdir(parents=True)
    shutil.copy(root() / ".clang-format", tmp_path / ".clang-format")
    return tmp_path


def test_a_new_strategy_compiles(tree: Path) -> None:
    said = skeleton.new_strategy(tree, "first_member")
    rule, test = tree / "src/algorithms/neighborhood/rules/first_member.cpp", tree / "tests/unit/strategy_first_member_test.cpp"
    assert all(str(path.relative_to(tree)) in said for path in (rule, test))
    compiler = shutil.which("c++") or pytest.skip("SKIP: no C++ compiler")
    for path in (rule, test):
        done = subprocess.run(
            [compiler, "-std=c++20", "-Wall", "-Werror", "-fsyntax-only", f"-I{tree / 'src'}", str(path)], capture_output=True, text=True
        )
        if path == test and "gtest/gtest.h: No such file" in done.stderr:
            continue
        assert done.returncode == 0, done.stderr
    formatter = shutil.which("clang-format") or pytest.skip("SKIP: no clang-format")
    before = [path.read_text() for path in (rule, test)]
    subprocess.run([formatter, "-i", str(rule), str(test)], check=True)
    assert [path.read_text() for path in (rule, test)] == before


def test_the_test_of_a_new_strategy_passes(tree: Path) -> None:
    if not os.environ.get("LANEWAY_TEST_LONG"):
        pytest.skip("SKIP: a nightly test (./dev test --nightly)")
    libraries = [root() / f"build/nompi/src/{layer}/liblaneway.{layer}.a" for layer in ("machine", "base")]
    if not all(library.is_file() for library in libraries):
        pytest.skip("SKIP: the preset nompi is not built")
    skeleton.new_strategy(tree, "first_member")
    sources = [*(tree / "src/algorithms/neighborhood").rglob("*.cpp"), *(tree / "tests/unit").glob("*.cpp")]
    names = [path.stem for path in (tree / "src/algorithms/neighborhood/rules").glob("*.cpp")]
    # As laneway_table writes it.
    table = "namespace laneway {\nstd::vector<StrategyRow> strategy_rows() {\n  return {NAMES};\n}\n}\n"
    rows = ", ".join(f"lanes::{name}::rules().front()" for name in names)
    (tree / "all.cpp").write_text("".join(f'#include "{path}"\n' for path in sources) + table.replace("NAMES", rows))
    argv = ["c++", "-std=c++20", "-O0", f"-I{tree / 'src'}", str(tree / "all.cpp"), "-o", str(tree / "tests/all"), *map(str, libraries)]
    subprocess.run([*argv, "-lgtest", "-lgtest_main", "-lhwloc"], check=True)
    done = subprocess.run([str(tree / "tests/all")], capture_output=True, text=True)
    assert done.returncode == 0 and "Strategy_FirstMember.ChoosesTheseLanes" in done.stdout, done.stdout


@pytest.mark.parametrize("name", ["", "Three", "three-step", "2step", "auto", "three_step_nodedup", "three__step", "../x"])
def test_names_that_no_strategy_can_have_are_refused(tree: Path, name: str) -> None:
    with pytest.raises(UserError, match="expected a name such as three_step"):
        skeleton.new_strategy(tree, name)


def test_what_is_there_stays(tree: Path) -> None:
    before = {path: path.read_text() for path in tree.rglob("*pp")}
    with pytest.raises(UserError, match="three_step.cpp is there already"):
        skeleton.new_strategy(tree, "three_step")
    assert {path: path.read_text() for path in tree.rglob("*pp")} == before
