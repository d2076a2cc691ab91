"""What the library knows of its hints, and what it says of them, come from the same rows."""

import shutil
import subprocess
from pathlib import Path

import pytest

from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import MPIS, find_local_tool, root

_PAGE = root() / "docs" / "reference" / "hints.md"


def _bench(*arguments: str) -> str:
    try:
        tool = find_local_tool("laneway-bench", MPIS)
    except UserError as error:
        pytest.skip(str(error))
    return subprocess.run([tool, "hints", *arguments], capture_output=True, text=True, check=True).stdout


def test_the_page_has_the_table_of_the_library(tmp_path: Path) -> None:
    page = tmp_path / "hints.md"
    shutil.copy(_PAGE, page)
    _bench("--page", str(page))
    assert page.read_text() == _PAGE.read_text(), "'./dev hints --page docs/reference/hints.md' brings it up to date"


def test_a_page_that_is_behind_is_brought_up_to_date(tmp_path: Path) -> None:
    page = tmp_path / "hints.md"
    lines = _PAGE.read_text().splitlines(keepends=True)
    page.write_text("".join(line for line in lines if "`lnw_grid`" not in line))
    _bench("--page", str(page))
    assert page.read_text() == _PAGE.read_text()


def test_the_help_has_no_links() -> None:
    text = _bench()
    assert "lnw_progress, LANEWAY_PROGRESS\n" in text
    assert "](" not in text
