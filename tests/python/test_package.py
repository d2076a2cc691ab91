"""What users import, and what the command needs beside it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from laneway.tools.places.paths import root

HEAVY = ("matplotlib", "scipy", "numpy", "typer", "rich", "tomli_w", "lizard")


def _python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd="/")


@pytest.mark.parametrize(
    ("module", "may"), [("laneway", ()), ("laneway.tools.places.supervisor", ()), ("laneway.tools.cli", ("typer", "rich"))]
)
def test_an_import_pulls_in_nothing_heavy(module: str, may: tuple[str, ...]) -> None:
    done = _python(f"import sys, {module}; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded & set(HEAVY) <= set(may)
    if module == "laneway":
        assert "laneway.tools" not in done.stdout.split()


@pytest.mark.parametrize(
    ("module", "arguments"),
    [("typer", []), ("rich", []), ("tomli_w", ["calibrate", "--on", "local", "-o", "nothing"])],
)
def test_the_command_says_what_it_needs(module: str, arguments: list[str]) -> None:
    # As where the extra is not installed, or only that of the demo.
    argv = ["laneway", *arguments]
    done = _python(f"import sys; sys.argv = {argv}; sys.modules[{module!r}] = None; from laneway.__main__ import main; main()")
    assert done.returncode == 2
    how = "pip install 'laneway[tools]', or ./dev setup in the working tree"
    assert done.stderr == f"laneway: the command needs {module}, a package of the extra 'tools': {how}\n"


def test_the_demo_needs_its_own_extra_alone() -> None:
    extras = tomllib.loads((root() / "python/pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert "laneway[demo]" in extras["tools"]
    installed = {re.split("[<>=]", each)[0].replace("-", "_") for each in extras["demo"]}
    hidden = sorted({"tomli_w", "lizard", "scipy", "plotly", "otf2", "pytest", "mpi4py", "mkdocs"} - installed)
    done = _python(
        f"import sys; sys.modules.update(dict.fromkeys({hidden})); from laneway.tools import cli; from laneway.tools.dev import bare, demo"
    )
    assert done.returncode == 0, done.stderr


def test_measuring_does_not_draw() -> None:
    done = _python("import sys; from laneway.tools.measure import calibrate, hardware, linkcheck, validate; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    assert "matplotlib" not in done.stdout.split()


def test_the_command_is_the_installed_one() -> None:
    """`laneway` of this environment and `python -m laneway` are one."""
    installed = subprocess.run([f"{sys.prefix}/bin/laneway", "--version"], capture_output=True, text=True)
    module = subprocess.run([sys.executable, "-m", "laneway", "--version"], capture_output=True, text=True, cwd=root())
    assert (installed.returncode, installed.stdout) == (0, module.stdout), installed.stderr
