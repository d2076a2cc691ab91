from pathlib import Path

import pytest

from laneway_tools.measure import results
from laneway_tools.papers import discovery, reproduce
from laneway_tools.papers.discovery import Found, advantage, finders_parts, finders_rows, finders_runs, found_in, growth, parts, runs


def test_runs_have_the_ranks_of_the_figure() -> None:
    assert len(runs(quick=False)) == 8
    assert len(runs(quick=True)) == 2, "256 ranks"
    # All finders on 256 ranks, on more only what has to be beaten and `auto`.
    named = [point.arguments[-1] for point in runs(quick=False) if "--candidates" in point.arguments]
    assert named == ["laneway auto,nbx,reduce_scatter"] * 6


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


def _simulated() -> list[Found]:
    return [
        Found(ranks, 8, 64, candidate, seconds * (1 + ranks / 256))
        for ranks in (256, 2048)
        for candidate, seconds in (("laneway auto", 1e-5), ("nbx", 4e-5), ("reduce_scatter", 3e-5))
    ]


def test_page_says_times_advantage_and_growth(tmp_path: Path) -> None:
    table = tmp_path / "discovery.csv"
    results.write_csv(table, [one.row() for one in _simulated()])
    times, growths = parts(table)
    assert times.columns == ("way", "256", "2,048")
    assert times.rows[0] == ("laneway auto", "20.0", "90.0")
    assert times.rows[-1] == ("best of MPI ÷ `laneway auto`", "3.00", "3.00")
    assert growth(_simulated()) == pytest.approx(4.5)
    assert growths.rows == (("degree 8, 64 bytes", "8", "4.50"),)


def test_measured_ratios_are_those_of_pairs(tmp_path: Path) -> None:
    def record(size: int, candidate: str, seconds: float, ratio: float) -> dict[str, object]:
        return {
            "degree": 2,
            "bytes": size,
            "candidate": candidate,
            "median_s": seconds,
            "ratio_to_auto": ratio,
            "ratio_low": ratio,
            "ratio_high": ratio,
        }

    found = [
        record(size, *rest)
        for size, ratio in ((8, 2.0), (64, 8.0), (1024, 0.5))
        for rest in (("laneway auto", 1e-3, 1.0), ("laneway nbx", 2e-3, 1.5), ("nbx", 3e-3, ratio), ("reduce_scatter", 4e-3, 9.0))
    ]
    table = tmp_path / "finders.csv"
    results.write_csv(table, finders_rows("cluster:4x4@200mbit", found))
    summary, cases = finders_parts(table)
    assert summary.columns == ("where", "up to 64 B", "1,024 B")
    assert summary.rows == (("cluster:4x4@200mbit", "4.00 (2.00)", "0.50 (0.50)"),)
    assert cases.rows[0] == ("2, 8 B", "1000", "3000", "nbx", "2.00", "nbx", "1.50")
    assert [path.name for path in discovery.draw_finders(table, tmp_path)] == ["finders.svg"]


def test_finders_are_measured_on_both_clusters() -> None:
    assert [run.place for run in finders_runs()] == ["cluster:4x4@200mbit", "cluster:2x8@1gbit"]
    assert [run.parameters for run in finders_runs(quick=True)] == ["cluster-4x4-200mbit"]
