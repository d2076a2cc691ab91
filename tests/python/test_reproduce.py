from pathlib import Path

import pytest

from laneway_tools.measure import results
from laneway_tools.measure.results import Record
from laneway_tools.papers import flows, measured, points, reproduce, rocm
from laneway_tools.papers.points import Point
from laneway_tools.papers.reproduce import Pair, order, pairs_of
from laneway_tools.papers.rocm import Case
from laneway_tools.places import machines
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_local_tool, root
from laneway_tools.places.places import Simulated
from laneway_tools.places.simulation import Platform


def test_unknown_figures_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected one of simulator, rocm, hypre, hypre-fixed, lassen, scale"):
        reproduce.run("tables", tmp_path)


def test_only_figures_with_pictures_are_drawn(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="it has no pictures; expected one of rocm, hypre, lassen, scale"):
        reproduce.run("simulator", tmp_path, table=tmp_path / "simulator.csv")
    with pytest.raises(UserError, match=r"rocm\.csv: No such file"):
        reproduce.run("rocm", tmp_path, table=tmp_path / "rocm.csv")


def test_a_table_that_lacks_a_column_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "rocm.csv"
    table.write_text("figure,cluster,gcds,pattern,bytes\n7,A,8,p,8\n", encoding="utf-8")
    with pytest.raises(UserError, match="missing: speedup"):
        reproduce.run("rocm", tmp_path, table=table)
    table.write_text("figure,cluster,gcds,pattern,bytes,speedup\n", encoding="utf-8")
    with pytest.raises(UserError, match="no rows"):
        reproduce.run("rocm", tmp_path, table=table)


def test_pairs_are_what_was_measured_and_simulated() -> None:
    records: list[Record] = [
        {"op": "allgather", "pattern": "p", "bytes": 8, "candidate": "direct", "median_s": 2.0},
        {"op": "allgather", "pattern": "p", "bytes": 16, "candidate": "direct", "median_s": 2.0},
    ]
    assert pairs_of({("allgather p, 8 B", "direct"): 4.0}, records) == [Pair("allgather p, 8 B", "direct", 4.0, 2.0)]


def test_order_counts_pairs_that_differ() -> None:
    times = {"a": (1.0, 1.0), "b": (2.0, 3.0), "c": (4.0, 2.0), "d": (1.05, 9.0)}
    pairs = [Pair("x", name, measured, simulated) for name, (measured, simulated) in times.items()]
    # a-b, a-c agree; b-c, b-d, c-d do not; a-d are as good as equal.
    assert order(pairs) == (2, 3)


def test_cases_compare_with_direct() -> None:
    times = {"mpi": 4.0, "three_step": 2.0, "auto": 1.0}
    case = Case("7", "A", 2, "p", [{"candidate": k, "median_s": v, "bytes": 8, "limit_s": 0.5} for k, v in times.items()])
    assert case.best == ("auto", 4.0)
    assert case.speedup("three_step") == 2.0
    assert case.bound == 8.0
    assert case.row()["gcds"] == 16


def test_setups_are_earned_back() -> None:
    direct: Record = {"candidate": "mpi", "median_s": 4.0, "bytes": 8, "setup_s": 0.5, "init_s": None}
    split: Record = {"candidate": "split", "median_s": 2.0, "bytes": 8, "setup_s": 5.0, "init_s": 4.0}
    slow: Record = {"candidate": "two_step", "median_s": 5.0, "bytes": 8, "setup_s": 5.0, "init_s": 4.0}
    case = Case("7", "A", 2, "p", [direct, split, slow])
    assert case.setup("split") == (1.0, 4.0)
    assert case.payback("split") == 2.5
    assert case.payback("two_step") is None
    assert case.best_with_setup(1) == 5.0 / 7.0  # creation on both sides
    assert case.best_with_setup(5) == 21.0 / 15.0


def test_registration_counts_with_creation(tmp_path: Path) -> None:
    registration = machines.read("frontier-like").registration
    assert registration is not None
    # UCX: 16 us for a buffer, 0.06 ns for a byte.
    assert registration.seconds(2**23) == pytest.approx(16e-6 + 2**23 * 0.06e-9, rel=1e-3)
    assert registration.seconds(1, 0, 1) == pytest.approx(2 * (16e-6 + 4096 * 0.06e-9))
    simulated = {"cluster": "B", "gcds": "128", "pattern": "δ = 0.2", "bytes": str(2**30), "direct_s": "0.512", "best": "split"}
    simulated |= {"speedup": "2.0", "creation_s": "0.001", "init_s": "0.004"}
    table = tmp_path / "rocm-creation.csv"
    results.write_csv(table, [rocm.Creation(simulated, 3, 10 * 2**20, machines.Registration(1e-3, 0.0, 4096)).row()])
    (part,) = rocm.creation_parts(table)
    assert part.rows == (("B, 128 GCDs, δ = 0.2, `split`", "5.0", "2.0 (32 MiB)", "1.0 (10 MiB)", "2.0", "2.50", "3.00"),)


def test_the_page_of_rocm_has_creation_with_registration() -> None:
    table = measured.committed("rocm-creation.csv")
    page = (root() / "docs/results/rocm.md").read_text(encoding="utf-8")
    assert measured.with_tables(page, table.name, rocm.creation_parts(table)) == page, "./dev reproduce rocm-creation --keep writes it"


def test_edges_are_those_that_explain_plans() -> None:
    try:
        find_local_tool("laneway-bench")
    except UserError as error:
        pytest.skip(str(error))
    ring = rocm._edges("moore:d=1,r=1,dims=4", 4)
    assert sorted(ring) == [(0, 1), (0, 3), (1, 0), (1, 2), (2, 1), (2, 3), (3, 0), (3, 2)]


def test_one_node_is_bound_by_any_ways_between_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rocm, "_edges", lambda pattern, ranks: ((0, 2),))
    record: Record = {"candidate": "mpi", "median_s": 1.0, "bytes": 10**9, "limit_s": None, "pattern": "p"}
    case = Case("7", "A", 1, "p", [record])
    rates = Platform(machines.read("mi250-ib"), 1, 8).device_rates()
    # From 0 to 2: over 4 (one link at the end), 6 (one at the beginning), and 1 and 3; 3 and 2 are one GPU.
    assert case.bound == pytest.approx((rates[4, 2] + rates[0, 6] + rates[1, 3] + rates[1, 5]) / 1e9, rel=1e-6)


@pytest.mark.parametrize(
    ("edges", "seconds"),
    [
        ([(0, 1)], 10 / 3),  # straight, and over 2
        ([(0, 1), (0, 2)], 10 / 2),  # 0's links: half goes to each, which hands it on
        ([(0, 1), (1, 0)], 10 / 3),
    ],
)
def test_least_seconds_of_three_devices(edges: list[tuple[int, int]], seconds: float) -> None:
    rates = {(0, 1): 2.0, (1, 0): 2.0, (0, 2): 1.0, (2, 0): 1.0, (1, 2): 1.0, (2, 1): 1.0}
    assert flows.least_seconds(edges, rates, 10) == pytest.approx(seconds)


def test_records_are_kept_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Point] = []

    def run(point: Point, kept: Path) -> list[Record]:
        runs.append(point)
        kept.write_text('{"bytes": 1}\n')
        return [{"bytes": 1}]

    monkeypatch.setattr(points, "root", lambda: tmp_path)
    monkeypatch.setattr(Point, "run", run)
    monkeypatch.setattr(Point, "key", lambda point: f"{point.place}{point.arguments}".replace("/", "_"))
    wanted = [Point(Simulated("lassen", nodes, 2), ("neighbor",)) for nodes in (2, 3)]
    assert points.run_all([*wanted, wanted[1]]) == [[{"bytes": 1}]] * 3
    assert points.run_all([*wanted, wanted[0]]) == [[{"bytes": 1}]] * 3
    assert len(runs) == 2


def test_what_is_missing_of_a_folder_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "folder", lambda: tmp_path)
    made: list[list[str]] = []

    def make(target: Path, missing: list[str]) -> None:
        made.append(missing)
        target.mkdir()
        for entry in missing:
            (target / entry).write_text(entry)

    def fail(target: Path, missing: list[str]) -> None:
        make(target, missing)
        raise UserError("no")

    assert points.made_once("halos", ["8", "16"], make) == tmp_path / "halos"
    with pytest.raises(UserError):
        points.made_once("halos", ["16", "32"], fail)
    points.made_once("halos", ["16", "32"], make)
    assert made == [["8", "16"], ["32"], ["32"]]
    assert sorted(path.name for path in (tmp_path / "halos").iterdir()) == ["16", "32", "8"]


def test_products_count_with_creation_and_init() -> None:
    """5 exchanges of 1 ms direct after 0.6 ms of creation, 0.5 ms otherwise after 0.4 ms of init more, each with 1 ms of something else."""
    direct = {"candidate": "mpi", "median_s": 1e-3, "bytes": 8}
    ours = {"candidate": "split", "median_s": 5e-4, "bytes": 8, "setup_s": 1e-3, "init_s": 4e-4}
    case = Case("11", "A", 4, "ccc_G_06", [direct, ours])
    assert case.best_with_setup(5) == pytest.approx(5.6 / 3.5)
    assert case.best_with_setup(5, 1e-3) == pytest.approx(10.6 / 8.5)
    # 36 elements read a row of 256 numbers each, and 12 rows of them are written, at 1.6 TB/s.
    matrix = rocm._MATRICES["ccc_G_06"]
    assert rocm.product_seconds(matrix) == pytest.approx(1e-5 + (36 * (12 + 2048) + 12 * 2048) / 1.6e12)
    assert case.product()["product_s"] and not Case("7", "A", 4, "δ = 0.4", [direct, ours]).product()["product_s"]


def test_the_page_of_rocm_compares_equal_densities() -> None:
    table = measured.committed("rocm.csv")
    parts = rocm.parts(table)
    page = (root() / "docs/results/rocm.md").read_text(encoding="utf-8")
    assert measured.with_tables(page, table.name, parts) == page, "./dev reproduce rocm --keep writes it"
    titles = ["Figure 7, cluster A", "Figure 8, cluster B", "Other figures", "Figure 11, creation and product included"]
    assert [part.title for part in parts] == titles
    rows = {row[0]: row[1:] for part in parts for row in part.rows}
    assert [row[1:5] for row in parts[0].rows if row[0] == "8 GCDs, δ = 0.4"] == [("2.16", "1.00", "1.86", "1.86, `multi_path`, 4 MiB")]
    assert rows["128 GCDs, δ = 0.8"][2] == "5.72"  # of the sizes that auto was simulated with
    assert rocm._largest([{"auto": ""}], "auto") == "-"
    assert rows["11: A, 32 GCDs, crack-like"][0] == "up to 2.29"


def test_figure_2_is_a_graph_of_one_source_and_two_destinations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        find_local_tool("laneway-bench")
    except UserError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(points, "folder", lambda: tmp_path)
    assert sorted(rocm._edges(f"matrix:{rocm._scattered()}", 8)) == [(6, 4), (6, 5)]
