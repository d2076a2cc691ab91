"""What users import, and what the command needs beside it."""

from __future__ import annotations

import subprocess
import sys

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


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_the_command_says_what_it_needs(module: str) -> None:
    # As where the extra is not installed.
    done = _python(f"import sys; sys.modules[{module!r}] = None; from laneway.__main__ import main; main()")
    assert done.returncode == 2
    assert done.stderr == f"laneway: the command needs {module}, a package of the extra 'tools': pip install 'laneway[tools]'\n"


def test_measuring_does_not_draw() -> None:
    done = _python("import sys; from laneway.tools.measure import calibrate, hardware, linkcheck, validate; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    assert "matplotlib" not in done.stdout.split()


def test_the_command_is_the_installed_one() -> None:
    """`laneway` of this environment and `python -m laneway` are one."""
    installed = subprocess.run([f"{sys.prefix}/bin/laneway", "--version"], capture_output=True, text=True)
    module = subprocess.run([sys.executable, "-m", "laneway", "--version"], capture_output=True, text=True, cwd=root())
    assert (installed.returncode, installed.stdout) == (0, module.stdout), installed.stderr
