import json
from dataclasses import replace
from pathlib import Path

import pytest

from laneway_tools.papers import heterogeneous, model, points
from laneway_tools.papers.heterogeneous import Case
from laneway_tools.places import simulator
from laneway_tools.places.launch import Job, run
from laneway_tools.places.paths import root
from laneway_tools.places.places import parse_place

needs_build = pytest.mark.skipif(
    not (root() / "build" / simulator.PRESET / "bench" / "laneway-bench").is_file(),
    reason="not built for simulations: './dev setup --sim' and './dev build --preset sim'",
)
needs_tool = pytest.mark.skipif(
    not any((root() / "build" / preset / "bench" / "laneway-bench").is_file() for preset in ("nompi", "openmpi", "mpich")),
    reason="laneway-bench is built for simulations only",
)
# Lassen's copies once more, by processes of a GPU: alpha and beta to the host, and to the device.
COPIES = {1: (1.27e-05, 1.96e-11, 1.30e-05, 1.85e-11), 4: (1.47e-05, 1.50e-10, 1.52e-05, 5.52e-10)}
FEW = tuple(replace(way, ranks=8 if way.ranks > 4 else 4) for way in heterogeneous.WAYS if way.processes == 1)


def _case(way: str, simulated: float | None, modelled: float, size: int = 8) -> Case:
    return Case("4.3", "", 20, 4, 32, size, way, simulated, modelled)


def test_ways_of_one_run_are_together() -> None:
    groups = heterogeneous._grouped(heterogeneous.WAYS)
    assert [(way.ranks, way.processes, way.single, names) for way, names in groups] == [
        (4, 1, False, ["three_step", "two_step"]),
        (4, 1, True, ["two_step"]),
        (40, 1, False, ["split"]),
        (40, 4, False, ["split"]),
    ]


def test_statements_are_compared_with_what_was_simulated() -> None:
    cases = [
        _case("standard, staged", 2.0, 1.0),
        _case("3-step, staged", 3.0, 0.5),
        _case("3-step, device-aware", None, 0.7),
        _case("2-step 1, staged", 0.1, 0.1),
    ]
    assert heterogeneous.fastest(cases) == cases[0]
    claim = model.Claim(4, 32, ("standard, staged",))
    (simulated,) = model.compare(heterogeneous.as_scenarios(cases, simulated=True), [claim])
    assert [stretch.winner for stretch in simulated.stretches] == ["3-step, device-aware"]
    (modelled,) = model.compare(heterogeneous.as_scenarios(cases, simulated=False), [claim])
    assert [stretch.winner for stretch in modelled.stretches] == ["3-step, staged"]
    assert cases[2].row()["simulated_s"] == ""


def _median(tmp_path: Path, processes: int, *options: str) -> float:
    records = tmp_path / "records.jsonl"
    records.unlink(missing_ok=True)
    command = ["laneway-bench", "neighbor", "--op", "alltoallv", "--pattern", "nodes:size=2,to=1,messages=4", "--bytes", "4000"]
    command += ["--devices", "2", "--host-processes", str(processes), "--strategy", "direct", "--iterations", "1"]
    command += ["--goodput", "1e10", "--json", str(records), *options]
    with (tmp_path / "log").open("wb") as log:
        assert run(Job(command, parse_place("sim:lassen:2x8"), timeout_seconds=60), log) == 0
    found = [json.loads(line) for line in records.read_text().splitlines()]
    assert all(record["verified"] for record in found)
    assert [record["staged"] for record in found] == ["--staged" in options] * 2
    return next(float(record["median_s"]) for record in found if record["candidate"] == "mpi")


@needs_build
def test_messages_by_place_and_copies_are_as_the_tables_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "folder", lambda: tmp_path)
    cases = heterogeneous.places(heterogeneous.PLACES, (16, 4096, 1048576)) + heterogeneous.copies((1, 10), (2560, 655360))
    assert [case.what for case in cases[::3][:3]] == list(heterogeneous.PLACES)
    for case in cases:
        assert case.simulated == pytest.approx(case.modelled, rel=0.02), case


@needs_build
@pytest.mark.parametrize("processes", [1, 4])
def test_copies_take_the_time_of_the_machine_file(processes: int, tmp_path: Path) -> None:
    to_host, host_byte, to_device, device_byte = COPIES[processes]
    each = 2 * 4000 / processes
    expected = to_host + host_byte * each + to_device + device_byte * each
    assert _median(tmp_path, processes, "--staged") - _median(tmp_path, processes) == pytest.approx(expected, rel=1e-4)


@needs_build
@needs_tool
def test_a_small_case_of_every_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "folder", lambda: tmp_path)
    cases = heterogeneous.scenarios([(2, 8)], {2: (64,)}, FEW)
    assert {case.way for case in cases if case.simulated} == {way.name for way in FEW}
    assert all(case.modelled for case in cases)
    (one,) = heterogeneous.senders([2], [1 << 20])
    assert one.simulated == pytest.approx(one.modelled, rel=0.01)
    products = heterogeneous.products({"grid": "5pt:nx=40,ny=20"}, (8,), tuple(way for way in FEW if not way.single))
    assert {(case.nodes, case.messages, case.size) for case in products} == {(1, 1, 8 * 40)}
    assert {case.way for case in products if case.simulated} == {way.name for way in FEW if not way.single}
