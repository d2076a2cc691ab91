"""What users import, and what the command needs: packages that do without each other."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from laneway_tools import __version__
from laneway_tools.places.paths import root

_HOW = "pip install './tools[measure]' in Laneway's sources, or ./dev setup there"
HEAVY = ("matplotlib", "scipy", "numpy", "typer", "rich", "tomli_w", "lizard")


def _python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd="/")


@pytest.mark.parametrize(
    ("module", "may"), [("laneway", ()), ("laneway_tools.places.supervisor", ()), ("laneway_tools.cli", ("typer", "rich"))]
)
def test_an_import_pulls_in_nothing_heavy(module: str, may: tuple[str, ...]) -> None:
    done = _python(f"import sys, {module}; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded & set(HEAVY) <= set(may)
    assert not {"laneway", "laneway_tools"} - {module.partition(".")[0]} & loaded


@pytest.mark.parametrize(
    ("module", "arguments"),
    [("typer", []), ("rich", []), ("tomli_w", ["calibrate", "--on", "local", "-o", "nothing"])],
)
def test_the_command_says_what_it_needs(module: str, arguments: list[str]) -> None:
    # As where the extra is not installed, or only that of the demo.
    argv = ["laneway", *arguments]
    done = _python(f"import sys; sys.argv = {argv}; sys.modules[{module!r}] = None; from laneway_tools.__main__ import main; main()")
    assert done.returncode == 2
    assert done.stderr == f"laneway: the command needs the Python package {module}: {_HOW}\n"


def test_the_library_says_where_the_command_is() -> None:
    hidden = "sys.modules['laneway_tools'] = None"
    done = _python(f"import runpy, sys; {hidden}; runpy.run_module('laneway', run_name='__main__', alter_sys=True)")
    assert done.returncode == 2
    assert done.stderr == f"laneway: the command is the package laneway-tools, which is not installed: {_HOW}\n"


def test_the_demo_needs_its_own_extra_alone() -> None:
    project = tomllib.loads((root() / "tools/pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert "laneway-tools[demo]" in extras["measure"]
    installed = {re.split("[<>=]", each)[0].replace("-", "_") for each in project["dependencies"] + extras["demo"]}
    hidden = sorted({"laneway", "tomli_w", "lizard", "scipy", "plotly", "otf2", "pytest", "mpi4py", "mkdocs"} - installed)
    done = _python(
        f"import sys; sys.modules.update(dict.fromkeys({hidden})); from laneway_tools import cli; from laneway_tools.dev import bare, demo"
    )
    assert done.returncode == 0, done.stderr


def test_measuring_does_not_draw() -> None:
    done = _python("import sys; from laneway_tools.measure import calibrate, hardware, linkcheck, validate; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    assert "matplotlib" not in done.stdout.split()


def test_the_command_is_the_installed_one() -> None:
    """`laneway` of this environment, `python -m laneway` and `python -m laneway_tools` are one."""
    ways = [[f"{sys.prefix}/bin/laneway"], [sys.executable, "-m", "laneway"], [sys.executable, "-m", "laneway_tools"]]
    for way in ways:
        done = subprocess.run([*way, "--version"], capture_output=True, text=True, cwd=root())
        assert (done.returncode, done.stdout) == (0, f"laneway {__version__}\n"), done.stderr
        done = subprocess.run([*way, "run", "--on", "nowhere", "--", "true"], capture_output=True, text=True, cwd=root())
        assert done.returncode == 2 and "--on nowhere" in done.stderr, done.stderr
