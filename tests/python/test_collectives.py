from pathlib import Path

import pytest

from laneway_tools.measure import results
from laneway_tools.measure.results import Record
from laneway_tools.papers import collectives, measured, reproduce
from laneway_tools.papers.collectives import FIGURES, Found, found_in, regret
from laneway_tools.places import machines
from laneway_tools.places.paths import root


def record(candidate: str, seconds: float | None, size: int = 8, chosen: str | None = None) -> Record:
    return {"candidate": candidate, "median_s": seconds, "bytes": size, "chosen": chosen}


def test_figures_are_those_of_the_talks() -> None:
    shapes = {(figure.machine, figure.nodes, figure.ranks_of_node, figure.operation) for figure in FIGURES}
    assert shapes == {
        ("dane-like", 32, 16, "alltoall"),
        ("dane-like", 4, 16, "alltoall"),
        ("dane-like", 32, 16, "allreduce"),
        ("dane-like", 8, 16, "allreduce"),
        ("deltaai-like", 16, 4, "allreduce"),
    }
    assert all("assumed" in machines.read(figure.machine).path.read_text() for figure in FIGURES)
    assert all(quick.nodes == max(2, full.nodes // 8) for quick, full in zip(collectives.figures(quick=True), FIGURES, strict=True))


def test_regret_is_over_the_fastest_of_all() -> None:
    records = [record("mpi", 4e-6), record("bruck", 2e-6), record("auto", 3e-6, chosen="ring"), record("ring:persistent", 1e-6)]
    found = found_in(FIGURES[0], [*records, record("wrong", None)])
    assert [one.candidate for one in found] == ["mpi", "bruck", "auto"], "blocking ones that were timed"
    assert regret(found) == pytest.approx(1.5)
    assert found[2].row()["chosen"] == "ring"


def test_pictures_come_from_the_table(tmp_path: Path) -> None:
    rows = [
        Found(figure, size, candidate, "", (1 + size) * 1e-6).row()
        for figure in FIGURES
        for size in figure.sizes
        for candidate in ("mpi", "bruck", "auto")
    ]
    table = tmp_path / "dense.csv"
    results.write_csv(table, rows)
    reproduce.run("dense", tmp_path / "drawn", table=table)
    assert {path.name for path in (tmp_path / "drawn").iterdir()} == {"dense-alltoall.svg", "dense-allreduce.svg"}


def test_candidates_of_many_ranks_are_simulated_apart() -> None:
    many, few = FIGURES[0].points(), FIGURES[1].points()
    (together,) = {point.arguments[point.arguments.index("--candidate") + 1] for point in few}
    assert len(few) == len(FIGURES[1].sizes) and len(many) == len(few) * len(together.split(","))
    # Every algorithm of the talk that relays is there with nonblocking and with pairwise exchanges inside.
    assert {f"{name}{inside}" for name in collectives._RELAYED for inside in ("", "_pairwise")} < set(together.split(","))


def test_the_page_says_what_rules_are_expected_to_take() -> None:
    table = measured.committed("dense-model.csv")
    page = (root() / "docs/results/collectives.md").read_text(encoding="utf-8")
    parts = collectives.model_parts(table)
    assert measured.with_tables(page, table.name, parts) == page, "./dev reproduce dense-model --keep writes it"
    assert ["3,584 ranks" in part.title for part in parts] == [False, True]
