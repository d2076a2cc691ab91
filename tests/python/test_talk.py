"""Where tables are printed."""

import io

import pytest
from rich.table import Table

from laneway_tools.places import talk


def _table() -> Table:
    table = Table(*(f"column {i}" for i in range(12)))
    table.add_row(*("1234567890" for _ in range(12)))
    return table


@pytest.mark.parametrize(("wide", "columns"), [(False, 79), (True, 200)])
def test_tables_fit_79_columns_unless_wide(wide: bool, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(talk._state, "wide", wide)
    monkeypatch.setenv("COLUMNS", "150")
    console = talk.console()
    console.file = io.StringIO()
    console.print(_table())
    longest = max(len(line) for line in console.file.getvalue().splitlines())
    assert longest <= columns and (longest > 79) == wide


def test_no_color_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert talk.console().no_color
