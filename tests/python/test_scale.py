from pathlib import Path

import pytest

from laneway_tools.measure.results import Record
from laneway_tools.papers import points, scale
from laneway_tools.papers.points import Plans
from laneway_tools.papers.scale import PATTERNS, Case, Found
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_local_tool


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of this test are kept here."""
    try:
        find_local_tool("laneway-bench")
    except UserError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(points, "root", lambda: tmp_path)
    return tmp_path / "build" / "reproduce"


def test_only_large_machines_are_sampled() -> None:
    assert "--sample" not in Case("lassen", PATTERNS[0], 1024, 16).plans().arguments
    assert "--sample" in Case("lassen", PATTERNS[0], 62500, 16).plans().arguments
    assert {case.ranks for case in scale.cases(scale.RANKS)} == {1024, 16384, 100_000, 1_000_000}


def test_rows_have_predicted_and_simulated_times() -> None:
    keys = ("net_messages_max", "net_bytes_max", "node_messages_max", "setup_letters_max", "setup_letter_bytes_max")
    keys += ("setup_gather_bytes_max", "planned_nodes")
    planned: Record = {"candidate": "auto", "chosen": "split", "predicted_s": 2e-6, "rank_planning_s": 1e-4, **dict.fromkeys(keys, 3)}
    planned |= {"staging_bytes_max": 1024, "metadata_bytes_max": 512}
    found = Found(Case("lassen", PATTERNS[1], 64, 2), planned, 3e-6)
    row = found.row()
    assert scale._needs({key: str(value) for key, value in row.items()}) == {"setup messages": 3, "memory of a request": 1536}
    assert (row["ranks"], row["chosen"], row["predicted_s"], row["simulated_s"]) == (128, "split", "2e-06", "3e-06")
    assert Found(found.case, planned).row()["simulated_s"] == ""


def test_plans_of_all_and_of_some_nodes_agree(kept: Path) -> None:
    """All nodes of a torus are alike."""
    case = Case("lassen", scale.Pattern("torus", "moore:d=2,r=1,dims=16x8", "allgather", 64), 8, 16)
    strategies = ("direct", "three_step", "auto")
    every = case.plans(strategies)
    some = Plans(every.machine, (*every.arguments, "--sample", "1"))
    all_planned, sampled = points.run_all([every, some])
    assert [record["candidate"] for record in sampled] == list(strategies)
    assert {record["planned_nodes"] for record in sampled} == {1}
    keys = ("chosen", "net_messages_max", "net_bytes_max", "setup_letters_max", "setup_gather_bytes_max", "staging_bytes_max")
    for one, other in zip(all_planned, sampled, strict=True):
        assert {key: one[key] for key in keys} == {key: other[key] for key in keys}
        assert one["setup_letter_bytes_max"] == pytest.approx(other["setup_letter_bytes_max"], rel=0.01)  # small ranks are shorter numbers
        assert one["predicted_s"] == pytest.approx(other["predicted_s"])  # sums in another order
    assert len(list(kept.glob("*.jsonl"))) == 2
    assert points.run_all([every, some]) == [all_planned, sampled]


def test_what_predict_says_of_bad_input_is_passed_on(kept: Path) -> None:
    case = Case("lassen", scale.Pattern("none", "ring", "allgather", 64), 2, 2)
    with pytest.raises(UserError, match="unknown graph 'ring'; valid are rsg, local, moore, stencil"):
        points.run_all([case.plans(("direct",))])
