"""The first commands that somebody types: help, versions, hints, mistakes in names."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer.main
from conftest import Command

from laneway_tools import __version__, cli
from laneway_tools.places import environment
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import MPIS, find_local_tool, root

Programs = Callable[[str], str]


def _fresh_tree(folder: Path) -> Path:
    """What `./dev` needs of a tree in which nothing has been prepared."""
    tree = folder / "tree"
    for name in ("python", "tools"):
        (tree / name).mkdir(parents=True)
    for name in ("dev", "CMakeLists.txt", "python/pyproject.toml", "tools/pyproject.toml"):
        shutil.copy(root() / name, tree / name)
    return tree


def _dev(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Whoever installs something calls one of these.
    tools = tree.parent / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("apt-get", "dpkg-query", "sudo", "python3", "pip", "cmake"):
        (tools / name).write_text(f"#!/bin/sh\necho {name} was called >&2\nexit 99\n")
        (tools / name).chmod(0o755)
    environ = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(tree.parent)}
    return subprocess.run([str(tree / "dev"), *arguments], capture_output=True, text=True, env=environ, timeout=60)


@pytest.mark.parametrize(
    "arguments", [(), ("--help",), ("-h",), ("help",), ("run", "--help"), ("setup", "--help"), ("cluster", "check", "--help")]
)
def test_help_prepares_nothing(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    tree = _fresh_tree(tmp_path)
    before = sorted(tree.rglob("*"))
    done = _dev(tree, *arguments)
    assert done.returncode == 0, done.stderr
    assert "usage: ./dev COMMAND" in done.stdout
    assert "was called" not in done.stderr
    assert sorted(tree.rglob("*")) == before


def test_versions(tmp_path: Path, command: Command) -> None:
    tree = _fresh_tree(tmp_path)
    done = _dev(tree, "--version")
    assert (done.returncode, done.stdout) == (0, f"laneway {__version__}\n"), done.stderr
    assert not (tree / ".venv").exists() and not (tree / "build").exists()
    assert command.run("--version") == (0, f"laneway {__version__}\n")


def test_the_help_of_dev_has_every_command() -> None:
    text = subprocess.run([str(root() / "dev"), "--help"], capture_output=True, text=True, check=True).stdout
    listed = set()
    for words in re.findall(r"^  ([a-z-]+(?:, [a-z-]+)*)", text, re.MULTILINE):
        listed |= set(words.split(", "))
    known = {name for name, command in typer.main.get_command(cli.app).commands.items() if not command.hidden}
    assert listed - {"setup", "doctor"} == known


@pytest.mark.parametrize("arguments", [("bench", "neighbor"), ("run", "--", "true"), ("install", "--prefix", "x"), ("lint",)])
def test_only_setup_demo_and_test_install(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    tree = _fresh_tree(tmp_path)
    before = sorted(tree.rglob("*"))
    done = _dev(tree, *arguments)
    assert done.returncode == 1 and "./dev setup makes it" in done.stderr
    assert "was called" not in done.stderr and sorted(tree.rglob("*")) == before
    for command in ("demo", "test", "setup"):
        assert "dev: installing" in _dev(tree, command).stderr


_DEMO = (
    "ca-certificates ccache cmake g++ hostname iproute2 libcli11-dev libeigen3-dev libhwloc-dev libopenmpi-dev libqhull-dev libscotch-dev "
    "libtomlplusplus-dev mount ninja-build nlohmann-json3-dev openmpi-bin pkg-config python3 python3-venv util-linux"
)


def _packages(tree: Path, *arguments: str) -> list[str]:
    """What apt-get is asked for, where nothing is installed."""
    said = _dev(tree, *arguments).stderr
    found = re.search(r"^dev: installing (\d+) Debian packages: (.*)$", said, re.MULTILINE)
    assert found and int(found[1]) == len(found[2].split()), said
    return found[2].split()


def test_each_command_installs_what_it_needs(tmp_path: Path) -> None:
    tree = _fresh_tree(tmp_path)
    demo = _packages(tree, "demo")
    assert " ".join(demo) == _DEMO
    everything = _packages(tree, "setup")
    assert set(demo) < set(everything) and {"gfortran", "libmpich-dev", "libgtest-dev"} <= set(everything)
    for option, package in (("--sim", "libsimgrid-dev"), ("--nightly", "slurm-wlm"), ("--hip", "hipcc")):
        assert package not in everything and {package, *everything} <= set(_packages(tree, "setup", option))
    assert _packages(tree, "test") == everything
    assert _packages(tree, "test", "--nightly") == _packages(tree, "setup", "--sim", "--nightly")
    refused = _dev(tree, "setup", "--tests")
    assert refused.returncode == 1 and "expected --sim, --cuda, --hip or --nightly" in refused.stderr


_APT = """#!/bin/bash
echo "apt-get $*" >&2
case $1 in install) ;; *) exit ;; esac
echo "0 upgraded, 2 newly installed, 0 to remove and 3 not upgraded."
for package in g++-12 cmake; do
  echo "Selecting previously unselected package $package."
  echo "Unpacking $package (1.0) ..."
  sleep ${APT_SECONDS:-0}
done
exit ${APT_STATUS:-0}
"""


@pytest.mark.parametrize("status", [0, 100])
def test_packages_are_never_installed_in_silence(tmp_path: Path, status: int) -> None:
    tree = _fresh_tree(tmp_path)
    tools = tmp_path / "given"
    tools.mkdir()
    for name, text in {"apt-get": _APT, "dpkg-query": "#!/bin/sh\n", "python3": "#!/bin/sh\nexit 1\n"}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    (tools / "sudo").write_text('#!/bin/sh\n[ "$1" = -v ] || exec "$@"\n')
    (tools / "sudo").chmod(0o755)
    # Without a Python that could make an environment, it ends after the packages.
    script = (tree / "dev").read_text().replace("for python in /usr/bin/python3 python3", "for python in python3")
    (tree / "dev").write_text(script)
    environ = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(tmp_path), "APT_STATUS": str(status), "APT_SECONDS": "0" if status else "3"}
    done = subprocess.run([str(tree / "dev"), "demo"], capture_output=True, text=True, env=environ, timeout=60)
    assert done.returncode == 1
    if status:
        assert "dev: apt-get could not install: ca-certificates" in done.stderr and "Unpacking cmake" in done.stderr
    else:
        assert re.search(r"^dev: packages, [5-8] s so far: 50 %, Unpacking cmake \(1.0\) ...$", done.stderr, re.MULTILINE), done.stderr
        assert re.search(r"^dev: packages: [6-9] s$", done.stderr, re.MULTILINE) and "Python 3.11 or newer" in done.stderr
    log = (tree / "build/setup.log").read_text()
    assert "apt-get install" in log and "--no-install-recommends" in log and "Unpacking g++-12 (1.0)" in log


_PYTHON = """#!/bin/bash
# Both the system's and that of an environment, which it makes of itself.
case "$*" in
  -c*) exit ;;
  *"-m venv"*) mkdir -p "${@: -1}/bin" && cp "$0" "${@: -1}/bin/python"; echo "made" >>"$HOME/calls" ;;
  *"-m pip install"*) printf '%s\\n' "$@" | grep -F "$HOME/tree/" >>"$HOME/calls"; printf '#!/bin/sh\\necho "laneway $*"\\n' >"$(dirname "$0")/laneway"; chmod +x "$(dirname "$0")/laneway" ;;
esac
"""


def test_the_python_environment_grows_by_need(tmp_path: Path) -> None:
    tree = _fresh_tree(tmp_path)
    script = (tree / "dev").read_text().replace("for python in /usr/bin/python3 python3", "for python in python3")
    (tree / "dev").write_text(script)
    (tmp_path / "given").mkdir()
    (tmp_path / "given/python3").write_text(_PYTHON)
    (tmp_path / "given/python3").chmod(0o755)
    environ = {"PATH": f"{tmp_path}/given:/usr/bin:/bin", "HOME": str(tmp_path), "LANEWAY_SKIP_PACKAGES": "1"}

    def calls(*arguments: str) -> list[str]:
        (tmp_path / "calls").write_text("")
        done = subprocess.run([str(tree / "dev"), *arguments], capture_output=True, text=True, env=environ, timeout=60)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ("" if arguments[0] == "setup" else f"laneway {' '.join(arguments)}\n")
        return (tmp_path / "calls").read_text().replace(f"{tree}/", "").split()

    assert calls("demo") == ["made", "tools[demo]"]
    assert calls("demo") == []
    everything = ["python[sparse]", "tools[demo,docs,lint,measure,test]"]
    assert calls("setup") == everything
    assert calls("demo") == [] == calls("test", "--list")
    for package in ("python", "tools"):
        with (tree / package / "pyproject.toml").open("a") as project:
            project.write("# needs something else\n")
        assert calls("demo") == ["made", *everything]


def test_the_doctor_says_what_is_missing_and_what_for(tmp_path: Path) -> None:
    tree = _fresh_tree(tmp_path)
    before = sorted(tree.rglob("*"))
    done = _dev(tree, "doctor")
    assert "was called" not in done.stderr and sorted(tree.rglob("*")) == before
    assert re.search(r"^  here +cmake +CMake 3.20 or newer$", done.stdout, re.MULTILINE), done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 79
    # Where nothing is.
    (tmp_path / "few").mkdir()
    for tool in ("bash", "sed", "env", "dirname", "cat"):
        (tmp_path / "few" / tool).symlink_to(shutil.which(tool) or f"/bin/{tool}")
    environ = {"PATH": str(tmp_path / "few"), "CXX": "/nowhere"}
    done = subprocess.run([str(tree / "dev"), "doctor"], capture_output=True, text=True, env=environ, timeout=60)
    assert done.returncode == 1 and "the library cannot be built here" in done.stderr
    assert re.search(r"^  MISSING +mpicc +an MPI library\n +Debian: libopenmpi-dev or libmpich-dev$", done.stdout, re.MULTILINE), (
        done.stdout
    )


def test_the_help_of_bench_has_every_subcommand(command: Command) -> None:
    try:
        tool = find_local_tool("laneway-bench", MPIS)
    except UserError as error:
        pytest.skip(str(error))
    text = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
    subcommands = set(re.findall(r"^  ([a-z]+) {2,}", text[text.index("Measure exchanges:") : text.index("Graphs of ranks")], re.MULTILINE))
    assert {"neighbor", "hints"} <= subcommands
    code, output = command.run("bench", "--help")
    assert code == 0
    assert subcommands - set(re.findall(r"[a-z]+", output)) == set()


def _hints() -> dict[str, list[dict[str, str]]]:
    try:
        tool = find_local_tool("laneway-bench", MPIS)
    except UserError as error:
        pytest.skip(str(error))
    return json.loads(subprocess.run([tool, "hints", "--json"], capture_output=True, text=True, check=True).stdout)


def test_the_page_of_hints_is_the_table_of_the_library() -> None:
    page = (root() / "docs/reference/hints.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(lnw_\w+)` \| (\S+) \| (\S+) \|", page, re.MULTILINE)
    shown = {key: (variable.strip("`"), default.strip("`")) for key, variable, default in rows}
    of_library = {row["key"]: (row["environment"] or "none", row["default"] or "empty") for row in _hints()["hints"]}
    assert shown == of_library
    assert [row[0] for row in rows] == list(dict.fromkeys(row[0] for row in rows))
    variables = (root() / "docs/reference/environment.md").read_text(encoding="utf-8")
    for row in _hints()["variables"]:
        assert f"`{row['name']}`" in variables


def test_what_laneway_hints_names_is_there(command: Command) -> None:
    code, output = command.run("machines")
    assert code == 0, output
    for name in ("default-node", "lassen"):
        assert name in output.split()


def test_unknown_variables_are_named_with_the_nearest(command: Command, programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.complaint(["PATH", "LANEWAY_STRATEGY", "LANEWAY_TEST_MARK"]) == ""
    sentence = "LANEWAY_STRATGY is not a variable of Laneway's and is ignored: is LANEWAY_STRATEGY meant?"
    assert environment.complaint(["LANEWAY_STRATGY"]) == sentence
    assert environment.complaint(["LANEWAY_SOMETHING_ELSE"]).endswith("is ignored")
    code, output = command.run("run", "-n", "2", "-x", "LANEWAY_STRATGY=direct", "--", programs("openmpi"))
    assert code == 0 and output.count(sentence) == 1, output
    monkeypatch.setenv("LANEWAY_STRATGY", "direct")
    code, output = command.run("run", "-n", "2", "--", programs("openmpi"))
    assert code == 0 and output.count(sentence) == 1, output


@pytest.mark.parametrize("mpi", MPIS)
def test_a_program_of_the_other_mpi_library_is_refused(command: Command, programs: Programs, mpi: str) -> None:
    other = next(name for name in MPIS if name != mpi)
    code, output = command.run("run", "-n", "2", "--mpi", mpi, "--", programs(other))
    assert code == 2, output
    assert f"start it with --mpi {other}" in output
    assert "rank" not in output


def test_scripts_have_no_mpi_library(command: Command) -> None:
    code, output = command.run("run", "-n", "2", "--mpi", "openmpi", "--", sys.executable, "-c", "print('here')")
    assert code == 0 and output.count("here") == 2, output
