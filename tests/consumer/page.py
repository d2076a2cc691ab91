"""Does what pages say: page.py FOLDER PAGE... runs the blocks of each page that say so, in order, in FOLDER/NAME.

    ```c ring.c      is written to ring.c
    ```sh run        is run by bash
    ```sh root       is what root sets first: of the page --root, before each block of all pages
    ```c run         is compiled against the library in ~/laneway, and run at 2 ranks; so are cpp and fortran
    ```python run    is run by python3

Pages without a block to run are left out. Blocks in a language, or that name a program, which this build is --without are said to be
left out. Nothing is set but what a reader has: HOME, PATH, TMPDIR and LANG. Where root runs this, the pages are done once more by a
user who is not root and sets nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

_BLOCK = re.compile(r"^( *)```(\w+) (\S+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_READER = ("HOME", "PATH", "TMPDIR", "LANG")
_NOBODY = 65534
_COMPILED = {"c": ("mpicc", "c", "laneway"), "cpp": ("mpicxx", "cpp", "laneway_cxx"), "fortran": ("mpifort", "f90", "laneway_fortran")}


def blocks_of(page: Path) -> list[tuple[str, str, str]]:
    """Language, name of a file or `run`, and text of the blocks that have both."""
    found = _BLOCK.findall(page.read_text(encoding="utf-8"))
    return [(language, name, re.sub(f"^{indent}", "", text, flags=re.MULTILINE)) for indent, language, name, text in found]


def _commands(folder: Path, language: str, text: str, number: int) -> str:
    """What bash has to do for a block. Throws KeyError for a language that cannot be run."""
    if language == "sh":
        return text
    if language == "python":
        (folder / f"block{number}.py").write_text(text, encoding="utf-8")
        return f"python3 block{number}.py"
    compiler, suffix, package = _COMPILED[language]
    (folder / f"block{number}.{suffix}").write_text(text, encoding="utf-8")
    return f"{compiler} block{number}.{suffix} -o block{number} $(pkg-config --cflags --libs {package})\nmpirun -n 2 ./block{number}"


def root_sets(page: Path | None) -> str:
    """What root sets, as the page has it; nothing for others, and without a page. Throws ValueError where the page has no such block."""
    if page is None or os.geteuid() != 0:
        return ""
    found = [text for language, name, text in blocks_of(page) if (language, name) == ("sh", "root")]
    if len(found) != 1:
        raise ValueError(f"{page}: {len(found)} blocks for root, not one")
    return found[0]


def run_page(page: Path, folder: Path, without: list[str], first: str = "") -> bool:
    """Do what one page says, after `first`; whether all of it works."""
    folder.mkdir(parents=True)
    for number, (language, name, text) in enumerate(blocks_of(page), 1):
        if name == "root":
            continue
        if name != "run":
            (folder / name).write_text(text, encoding="utf-8")
            continue
        absent = [word for word in without if language == word or (language == "sh" and re.search(rf"\b{word}\b", text))]
        if absent:
            print(f"SKIP: {page}: block {number} needs {', '.join(absent)}, which this build is without")
            continue
        try:
            commands = _commands(folder, language, text, number)
        except KeyError:
            print(f"{page}: a block in {language} cannot be run", file=sys.stderr)
            return False
        environ = {name: os.environ[name] for name in _READER if name in os.environ}
        if language != "sh":
            places = [str(path) for path in (Path.home() / "laneway").glob("lib*/**/pkgconfig")]
            environ["PKG_CONFIG_PATH"] = ":".join([*places, environ.get("PKG_CONFIG_PATH", "")])
        print(f"--- {page}, block {number}\n{commands}", flush=True)
        status = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", first + commands], cwd=folder, env=environ).returncode
        if status != 0:
            print(f"{page}: ended with status {status}:\n{text}", file=sys.stderr)
            return False
    return True


def as_nobody(arguments: list[str], folder: Path) -> int:
    """Do the same without being root; 0 where that cannot be tried, which is said."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.chown(folder, _NOBODY, _NOBODY)
    drop = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
    if subprocess.run([*drop, "test", "-r", __file__, "-a", "-x", str(Path.home()), "-a", "-w", str(folder)]).returncode != 0:
        print(f"SKIP: another user cannot read {Path.home()} or write {folder}, so only root tries the pages")
        return 0
    return subprocess.run([*drop, sys.executable, "-B", __file__, *arguments]).returncode


def main(arguments: list[str]) -> int:
    """Do what all pages say. Fails where no page has anything to run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--root", type=Path, help="the page that says what root sets")
    parser.add_argument("--once", action="store_true", help="not again as another user")
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", type=Path, nargs="+")
    given = parser.parse_args(arguments)
    pages = [page for page in given.pages if any(name == "run" for _, name, _ in blocks_of(page))]
    if not pages:
        print("no page has a block to run", file=sys.stderr)
        return 1
    first = root_sets(given.root)
    failed = [str(page) for i, page in enumerate(pages) if not run_page(page, given.folder / f"{i}_{page.stem}", given.without, first)]
    print(f"{len(pages)} pages, {len(failed)} fail: {' '.join(failed)}")
    if os.geteuid() == 0 and not given.once:
        folder = given.folder.with_name(f"{given.folder.name}-of-a-user")
        without = [word for name in given.without for word in ("--without", name)]
        again = ["--once", *without, str(folder / "pages"), *map(str, pages)]
        failed += ["as a user"] if as_nobody(again, folder) != 0 else []
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
