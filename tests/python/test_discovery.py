from pathlib import Path

import pytest

from laneway.tools.measure import results
from laneway.tools.papers import discovery, reproduce
from laneway.tools.papers.discovery import Found, advantage, found_in, runs


def test_runs_have_the_ranks_of_the_figure() -> None:
    assert len(runs(quick=False)) == 8
    assert len(runs(quick=True)) == 2, "256 ranks"


def test_advantage_is_over_the_best_that_programs_write() -> None:
    records = [
        {"candidate": candidate, "median_s": seconds, "ranks": 256, "degree": 8, "bytes": 8}
        for candidate, seconds in [("laneway auto", 2e-6), ("laneway nbx", 1e-6), ("nbx", 5e-6), ("reduce_scatter", 4e-6)]
    ]
    found = found_in([*records, {"candidate": "wrong", "median_s": None}])
    assert advantage(found) == pytest.approx(2.0)
    assert found[0].row()["ranks"] == 256


def test_picture_comes_from_the_table(tmp_path: Path) -> None:
    rows = [
        Found(ranks, degree, 8, candidate, ranks * 1e-6).row()
        for ranks in (256, 512)
        for degree in (8, 26)
        for candidate in ("laneway auto", "nbx")
    ]
    table = tmp_path / "discovery.csv"
    results.write_csv(table, rows)
    assert discovery.draw(table, tmp_path) == [tmp_path / "discovery.svg"]
    reproduce.run("discovery", tmp_path / "drawn", table=table)
    assert {path.name for path in (tmp_path / "drawn").iterdir()} == {"discovery.svg"}
