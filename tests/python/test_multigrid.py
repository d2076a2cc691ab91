import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from laneway import multigrid, validate
from laneway.multigrid import LevelOf, Problem
from laneway.results import Record


def test_weak_grids_have_the_same_points_a_rank() -> None:
    found = multigrid.problems((64, 128, 256, 2048))
    assert found[:2] == [Problem("strong", 1024, 512, 64), Problem("strong", 1024, 512, 128)]
    assert {problem.nx * problem.ny // problem.ranks for problem in found if problem.scaling == "weak"} == {8192}
    assert found[-1] == Problem("weak", 4096, 4096, 2048)
    assert found[-1].nodes == 128


def _record(candidate: str, **values: float) -> Record:
    keys = ("node_messages_max", "net_messages_max", "net_messages_total", "net_bytes_max", "net_bytes_total")
    keys += ("setup_letters_max", "staging_bytes_max")
    return {"candidate": candidate, "chosen": "", **dict.fromkeys(keys, 1), **values}


def test_auto_is_compared_with_all_that_it_chooses_from() -> None:
    others = set(multigrid._EVERY_STRATEGY) - {"auto", "three_step_nodedup"}
    assert others == set(validate.CANDIDATES) - {"direct"}  # standard stands for it


def test_levels_have_predicted_and_simulated_times() -> None:
    planned = {name: _record(name, predicted_s=seconds) for name, seconds in (("direct", 4e-6), ("auto", 2e-6))}
    simulated = {name: _record(name, median_s=seconds) for name, seconds in (("mpi", 6e-6), ("direct", 9e-6), ("auto", 3e-6))}
    level = LevelOf(Problem("strong", 8, 8, 64), 3, planned, simulated)
    assert level.predicted("auto") == 2e-6
    assert level.seconds("direct") == 6e-6  # a loop of messages
    assert level.seconds("three_step") is None
    assert [row["simulated_s"] for row in level.rows()] == ["6e-06", "3e-06"]
    assert LevelOf(level.problem, 3, planned, {}).rows()[0]["simulated_s"] == ""


def test_setup_pays_back_where_exchanges_gain() -> None:
    planned = {
        name: _record(name, predicted_s=seconds, max_rate_s=2 * seconds, least_s=1e-6, least_max_rate_s=2e-6)
        for name, seconds in (("direct", 4e-6), ("three_step", 8e-6), ("auto", 2e-6))
    }
    simulated = {"mpi": _record("mpi", median_s=6e-6), "auto": _record("auto", median_s=3e-6, setup_s=5e-6, init_s=4e-6)}
    by_max_rate = _record("auto", max_rate_s=3e-6)
    levels = [LevelOf(Problem("strong", 8, 8, 64), level, planned, simulated, by_max_rate) for level in (0, 1)]
    assert levels[0].setup("auto") == (pytest.approx(1e-6), 4e-6)
    assert levels[0].setup("three_step") is None
    assert levels[0].max_rate("auto") == 3e-6  # of the one that goes by it
    assert levels[0].max_rate("three_step") == 16e-6
    assert multigrid.payback(8e-6, levels, "auto", "predicted") == pytest.approx(2)
    assert multigrid.payback(8e-6, levels, "three_step", "predicted") is None
    assert multigrid._least(levels, "auto", "predicted") == "0.50"
    assert multigrid._least(levels, "auto", "max-rate") == "0.67"


def test_levels_are_in_order(tmp_path: Path, monkeypatch: object) -> None:
    for number in (0, 2, 10, 1):
        (tmp_path / "64").mkdir(exist_ok=True)
        (tmp_path / "64" / f"level-{number}.halo").touch()
    monkeypatch.setattr(multigrid, "_halos", lambda problem, ranks: tmp_path)  # type: ignore[attr-defined]
    files = multigrid.levels(Problem("strong", 8, 8, 64), [64])
    assert [file.stem for file in files] == ["level-0", "level-1", "level-2", "level-10"]


def test_every_strategy_is_compared_on_all_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"mpi": 6e-6, **dict.fromkeys(multigrid._EVERY_STRATEGY, 4e-6), "auto": 3e-6, "split": 2e-6}
    records = [[{"candidate": name, "median_s": time * level} for name, time in seconds.items()] for level in (1, 2)]
    monkeypatch.setattr(multigrid, "levels", lambda problem, ranks: [Path("level-0.halo"), Path("level-1.halo")])
    monkeypatch.setattr(multigrid.points, "run_all", lambda points: records)
    output = io.StringIO()
    multigrid.fixed(tmp_path, Console(file=output, width=300), quick=True)
    strong = next(line for line in output.getvalue().splitlines() if "strong" in line)
    assert re.findall(r"[\d.]+", strong) == ["256", "2.00", "1.50", "1.50", "3.00", *["1.50"] * 4, "3.00"]
    rows = (tmp_path / "hypre-fixed.csv").read_text().splitlines()
    assert rows[0] == "scaling,ranks,level,strategy,simulated_s"
    assert "strong,256,1,split,4e-06" in rows
    assert len(rows) == 1 + 2 * 2 * len(seconds)
