import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from laneway_tools.measure import validate
from laneway_tools.measure.results import Record
from laneway_tools.papers import multigrid, points, reproduce
from laneway_tools.papers.multigrid import LevelOf, Problem
from laneway_tools.places.paths import root


def test_weak_grids_have_the_same_points_a_rank() -> None:
    found = multigrid.problems((64, 128, 256, 2048))
    assert found[:2] == [Problem("strong", 1024, 512, 64), Problem("strong", 1024, 512, 128)]
    assert {problem.nx * problem.ny // problem.ranks for problem in found if problem.scaling == "weak"} == {8192}
    assert found[-1] == Problem("weak", 4096, 4096, 2048)
    assert found[-1].nodes == 128


def _record(candidate: str, **values: float | str) -> Record:
    keys = ("node_messages_max", "net_messages_max", "net_messages_total", "net_bytes_max", "net_bytes_total")
    keys += ("setup_letters_max", "staging_bytes_max")
    return {"candidate": candidate, "chosen": "", **dict.fromkeys(keys, 1), **values}


def test_auto_is_compared_with_all_that_it_chooses_from() -> None:
    others = {*multigrid.STRATEGIES, *multigrid._OTHERS} - {"auto", "three_step_nodedup"}
    assert others == set(validate.CANDIDATES)
    assert [name for run in multigrid._RUNS for name in run] == list(multigrid.STRATEGIES)


def _level(number: int) -> LevelOf:
    predicted = {"direct": 4e-6, "three_step_nodedup": 8e-6, "three_step": 8e-6, "auto": 2e-6}
    planned = {
        name: _record(name, predicted_s=seconds, max_rate_s=2 * seconds, least_s=1e-6, least_max_rate_s=2e-6)
        for name, seconds in predicted.items()
    }
    times = {"mpi": 6e-6, "direct": 9e-6, "three_step_nodedup": 8e-6, "three_step": 5e-6, "auto": 3e-6}
    init = {"mpi": 0.0, "direct": 1e-6, "three_step_nodedup": 2e-6, "three_step": 2e-6, "auto": 4e-6}
    simulated = {name: _record(name, median_s=seconds, setup_s=init[name] + 1e-6, init_s=init[name]) for name, seconds in times.items()}
    return LevelOf(Problem("strong", 8, 8, 64), number, planned, simulated, _record("auto", max_rate_s=3e-6))


def test_levels_have_predicted_and_simulated_times() -> None:
    level = _level(3)
    assert level.predicted("auto") == 2e-6
    assert level.seconds("direct") == 6e-6  # a loop of messages
    assert level.seconds("three_step") == 5e-6
    assert [row["simulated_s"] for row in level.rows()] == ["6e-06", "8e-06", "5e-06", "3e-06"]
    assert level.max_rate("auto") == 3e-6  # of the one that goes by it
    assert level.max_rate("three_step") == 16e-6


def test_setup_pays_back_where_exchanges_gain() -> None:
    levels = [_level(0), _level(1)]
    assert levels[0].setup("auto") == (pytest.approx(1e-6), 4e-6)
    assert multigrid.payback(levels, "auto", "predicted") == pytest.approx(1.5)
    assert multigrid.payback(levels, "three_step", "predicted") is None
    assert multigrid.payback(levels, "three_step", "simulated") == pytest.approx(1)
    assert multigrid._least(levels, "auto", "predicted") == "0.50"
    assert multigrid._least(levels, "auto", "max-rate") == "0.67"


def test_pictures_come_from_the_table_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _level(0).problem
    monkeypatch.setattr(multigrid, "problems", lambda ranks: [problem])
    monkeypatch.setattr(multigrid, "find", lambda wanted, console: [_level(0), _level(1)])
    (tmp_path / "measured").mkdir()
    multigrid.hypre(tmp_path / "measured", Console(file=io.StringIO()))
    monkeypatch.delattr(multigrid, "find")
    table = tmp_path / "measured" / "hypre.csv"
    values, x = multigrid._setup_values(multigrid._sums(table))
    panel = "strong scaling, 64 ranks: init and exchanges"
    assert [value.y for value in values if (value.panel, value.line, value.x) == (panel, "auto", 8)] == [pytest.approx(56e-6)]
    assert x[panel] == "exchanges"
    reproduce.run("hypre", tmp_path / "drawn", table=table)
    for name in ("hypre.svg", "hypre-setup.svg"):
        assert (tmp_path / "drawn" / name).read_bytes() == (tmp_path / "measured" / name).read_bytes()
    assert not (tmp_path / "drawn" / "hypre.csv").exists()


def test_runs_of_a_level_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_all(some: list[points.Point]) -> list[list[Record]]:
        files = [point.arguments[point.arguments.index("--pattern") + 1] for point in some]
        names = [point.arguments[point.arguments.index("--strategy") + 1].split(",") for point in some]
        return [[_record(name, pattern=file) for name in ("mpi", *own)] for file, own in zip(files, names, strict=True)]

    monkeypatch.setattr(multigrid.points, "run_all", run_all)
    problem = Problem("strong", 8, 8, 64)
    found = multigrid.simulate([(problem, Path("a")), (problem, Path("b"))], (("direct", "three_step"), ("auto",)))
    assert [set(records) for records in found] == [{"mpi", "direct", "three_step", "auto"}] * 2
    assert [records["auto"]["pattern"] for records in found] == ["halo:a", "halo:b"]


def test_levels_are_in_order(tmp_path: Path, monkeypatch: object) -> None:
    for number in (0, 2, 10, 1):
        (tmp_path / "64").mkdir(exist_ok=True)
        (tmp_path / "64" / f"level-{number}.halo").touch()
    monkeypatch.setattr(multigrid, "_halos", lambda problem, ranks: tmp_path)  # type: ignore[attr-defined]
    files = multigrid.levels(Problem("strong", 8, 8, 64), [64])
    assert [file.stem for file in files] == ["level-0", "level-1", "level-2", "level-10"]


def test_every_strategy_is_compared_on_all_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"mpi": 6e-6, **dict.fromkeys((*multigrid.STRATEGIES[1:], *multigrid._OTHERS), 4e-6), "auto": 3e-6, "split": 2e-6}
    monkeypatch.setattr(multigrid, "levels", lambda problem, ranks: [Path("level-0.halo"), Path("level-1.halo")])
    monkeypatch.setattr(
        multigrid,
        "simulate",
        lambda levels_of, runs: [
            {name: _record(name, median_s=time * (1 + multigrid._level_of(file))) for name, time in seconds.items()}
            for _, file in levels_of
        ],
    )
    output = io.StringIO()
    multigrid.fixed(tmp_path, Console(file=output, width=300), quick=True)
    strong = next(line for line in output.getvalue().splitlines() if "strong" in line)
    assert re.findall(r"[\d.]+", strong) == ["256", "1.50", "1.50", "2.00", "1.50", "1.50", "3.00", "1.50", "1.50", "3.00"]
    rows = (tmp_path / "hypre-fixed.csv").read_text().splitlines()
    assert rows[0] == "scaling,ranks,level,strategy,simulated_s"
    assert "strong,256,1,split,4e-06" in rows
    assert len(rows) == 1 + 2 * 2 * len(seconds)


def test_figures_12_and_13_take_the_cheaper_of_each_level() -> None:
    found = {(own.scaling, own.ranks): own for own in multigrid._sums(root() / "bench/results/programs/hypre.csv")}
    for scaling, plain, cheaper in (("strong", (1.42, 1.45, 1.60), (1.64, 1.68, 1.68)), ("weak", (1.64, 1.70, 2.33), (2.01, 2.08, 2.33))):
        own = found[scaling, 2048]
        standard = own.total("direct", "simulated_s")
        for strategy, as_sum, by_rule in zip(multigrid.STRATEGIES[1:], plain, cheaper, strict=True):
            assert standard / own.total(strategy, "simulated_s") == pytest.approx(as_sum, abs=0.005)
            assert standard / own.of_cheaper(strategy, "simulated_s") == pytest.approx(by_rule, abs=0.005)
    output = io.StringIO()
    multigrid.print_rule(Console(file=output, width=300), root() / "bench/results/programs/hypre.csv")
    row = next(line for line in output.getvalue().splitlines() if "weak" in line and "2048" in line)
    assert re.findall(r"[\d.]+", row) == ["2048", "1.64", "2.01", "1.70", "2.08", "2.33", "2.33", "1.96", "2.17"]
