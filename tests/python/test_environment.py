"""The tables of environment variables, the sources that read them, and the pages for users say the same."""

import re

from laneway_tools.places.paths import root

_READ = re.compile(r'"(LANEWAY_[A-Z0-9_]+)"')
_FOLDERS = ("src", "bench", "plugins", "integrations", "simulator", "examples", "fortran", "python", "tools")
_READ_BY_TESTS = re.compile(r'getenv\("(LANEWAY_[A-Z0-9_]+)"\)')
_ENDINGS = {".c", ".cpp", ".hpp", ".h", ".py", ".F90"}
_TABLES = ("src/base/environment.cpp", "src/communicator/hints/hints.hpp")


def _listed() -> list[str]:
    return [name for table in _TABLES for name in _READ.findall((root() / table).read_text())]


def _read() -> set[str]:
    names = set(re.findall(r"\$\{(LANEWAY_[A-Z0-9_]+):-", (root() / "dev").read_text()))
    for folder, read in (*((folder, _READ) for folder in _FOLDERS), ("tests", _READ_BY_TESTS)):
        for file in (root() / folder).rglob("*"):
            if file.suffix in _ENDINGS and str(file.relative_to(root())) not in _TABLES:
                names |= set(read.findall(file.read_text(errors="replace")))
    options = re.findall(r"(LANEWAY_[A-Z0-9_]+)", (root() / "cmake/LanewayOptions.cmake").read_text())
    return names - set(options)


def test_each_variable_is_listed_once() -> None:
    assert len(_listed()) == len(set(_listed()))


def test_what_is_read_is_listed_and_what_is_listed_is_read() -> None:
    hints = set(_READ.findall((root() / "src/communicator/hints/hints.hpp").read_text()))
    listed = set(_listed())
    assert _read() - listed == set()
    assert listed - hints - _read() == set()


def test_the_pages_for_users_have_each_of_them() -> None:
    pages = [(root() / "docs/reference" / name).read_text() for name in ("hints.md", "environment.md")]
    named = {name for page in pages for name in re.findall(r"`(LANEWAY_[A-Z0-9_]+)`", page)}
    assert set(_listed()) - named == set()
    assert named - set(_listed()) == set()
