"""The site of all documents."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import MPIS, find_local_tool

PACKAGES = ("mkdocs", "material", "mkdocs_awesome_nav")


def missing() -> list[str]:
    """The Python packages that the site needs and that are not here."""
    return [name for name in PACKAGES if importlib.util.find_spec(name) is None]


def build(top: Path, output: Path) -> None:
    """Build the site. Throws UserError where packages are missing, or something in the documents is wrong."""
    absent = missing()
    if absent:
        raise UserError(
            f"the site needs the Python packages {', '.join(absent)}: pip install -e 'tools[docs]' in the tools' environment", 1
        )
    environ = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # a page about the theme's future
    try:
        environ["LANEWAY_BENCH"] = find_local_tool("laneway-bench", MPIS)
    except UserError as error:
        print(f"the site is without the options of laneway-bench: {error}", file=sys.stderr)
    argv = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(top / "mkdocs.yml"), "--site-dir", str(output)]
    done = subprocess.run(argv, cwd=top, env=environ, capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"the site cannot be built:\n{(done.stdout + done.stderr).strip()}", 1)
    doxygen = shutil.which("doxygen")
    if doxygen is None:
        print("the site is without the pages of the headers: doxygen is not here", file=sys.stderr)
        return
    settings = (top / "Doxyfile").read_text(encoding="utf-8") + f"\nOUTPUT_DIRECTORY = {output}\n"
    done = subprocess.run([doxygen, "-"], input=settings, cwd=top, capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"doxygen cannot read the headers:\n{(done.stdout + done.stderr).strip()}", 1)
