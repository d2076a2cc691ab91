"""Fits to times whose law is known, and short calibrations."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import Command, needs_bench, needs_long
from rich.console import Console

from laneway_tools.draw.calibration import draw_calibration
from laneway_tools.measure import calibrate
from laneway_tools.measure.fits import fit_protocols, fit_terms
from laneway_tools.places.errors import UserError

SIZES = np.array([0, *(1 << k for k in range(22)), *(3 << k for k in range(7, 20))])
Law = Callable[[float], float]


def _noisy(law: Law, xs: np.ndarray, seed: int, noise: float = 0.03, outliers: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    seconds = np.array([law(x) for x in xs]) * random.lognormal(0, noise, len(xs))
    seconds[random.choice(len(xs), outliers, replace=False)] *= random.uniform(2, 5, outliers)
    return seconds


def _lassen(size: float) -> float:
    if size <= 512:
        return 1.89e-6 + 6.88e-10 * size
    return 3.5e-6 + 3.2e-10 * size if size <= 8192 else 9e-6 + 1.3e-10 * size


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("outliers", [0, 2])
def test_three_protocols_are_found(seed: int, outliers: int) -> None:
    fit = fit_protocols(SIZES, _noisy(_lassen, SIZES, seed, outliers=outliers))
    assert [piece.name for piece in fit.pieces] == ["short", "eager", "rendezvous"]
    # A disturbed sample next to a switch point may move it by one size.
    assert [piece.up_to for piece in fit.pieces[:2]] == [pytest.approx(512, rel=0.5), pytest.approx(8192, rel=0.5)]
    short, eager, rendezvous = fit.pieces
    assert short.alpha == pytest.approx(1.89e-6, rel=0.05)
    assert eager.beta == pytest.approx(3.2e-10, rel=0.3)
    assert rendezvous.beta == pytest.approx(1.3e-10, rel=0.1)
    assert rendezvous.alpha == pytest.approx(9e-6, rel=0.15)
    assert fit.residual < 0.05
    for size in (0, 256, 1024, 3000, 16384, 1 << 20):
        assert fit.seconds(size) == pytest.approx(_lassen(size), rel=0.1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("noise", "outliers"), [(0.0, 0), (0.03, 0), (0.1, 0), (0.05, 3)])
def test_one_protocol_stays_one(seed: int, noise: float, outliers: int) -> None:
    fit = fit_protocols(SIZES, _noisy(lambda size: 2e-5 + 4e-8 * size, SIZES, seed, noise, outliers))
    assert [piece.up_to for piece in fit.pieces] == [None]
    assert fit.pieces[0].alpha == pytest.approx(2e-5, rel=0.1)
    assert fit.pieces[0].beta == pytest.approx(4e-8, rel=0.1)


def test_two_protocols_are_found() -> None:
    law = lambda size: 1e-5 + 1e-9 * size if size <= 65536 else 5e-4 + 1e-9 * size  # noqa: E731
    fit = fit_protocols(SIZES, _noisy(law, SIZES, 1))
    assert [(piece.name, piece.up_to) for piece in fit.pieces] == [("eager", 65536), ("rendezvous", None)]


def test_few_sizes_are_one_piece() -> None:
    assert len(fit_protocols([0, 8], [1e-6, 1e-6]).pieces) == 1


def test_coefficients_are_not_negative_and_outliers_count_little() -> None:
    messages = np.array([1.0, 2, 4, 8, 16, 32] * 3)
    sizes = np.repeat([8.0, 1024, 4096], 6)
    seconds = 2e-5 + messages * (1.5e-6 + 2e-10 * sizes)
    seconds[4] *= 4
    fit = fit_terms((1.0, messages, messages * sizes), seconds)
    assert fit.coefficients == pytest.approx((2e-5, 1.5e-6, 2e-10), rel=1e-2)
    assert fit.residual < 1e-3
    assert min(fit_terms((1.0, messages), 1 / messages).coefficients) >= 0


def _records(noise: float = 0.02, link_beta: float = 4e-8) -> list[dict[str, object]]:
    """What a run of 16 ranks as 4 nodes on 2 cores might write."""
    random = np.random.default_rng(1)

    def record(measure: str, seconds: float, **what: object) -> dict[str, object]:
        samples = (seconds * random.lognormal(0, noise, 9)).tolist()
        return {"measure": measure, **what, "seconds": samples}

    made = [{"measure": "run", "ranks": 16, "nodes": 4, "mpi": "MPI 1.0", "machine": None, "host_nodes": 4,
             "host_ranks": 16, "host_cores": 2, "bound": False}]  # fmt: skip
    for size in map(int, SIZES):
        made.append(record("pingpong", 2e-5 + link_beta * size, link="network", bytes=size))
        made.append(record("pingpong", _lassen(size), link="node", bytes=size))
    for directions in (1, 2):
        for active in (1, 2, 4):
            for size in (1 << 15, 1 << 17):
                seconds = 1e-5 + max(link_beta * 1.0, active * link_beta) * size
                made.append(record("injection", seconds, active=active, directions=directions, bytes=size))
    for messages in (4, 8, 16):
        for size in (1024, 2048, 4096):
            made.append(record("gap", 1e-5 + messages * (0.95 * link_beta * size + 5e-6), messages=messages, bytes=size))
    for path, message, byte in (("network", 8e-6, 4e-10), ("node", 1e-6, 2e-10), ("shared", 5e-7, 1e-10)):
        for size in (8, 512, 1024, 4096):
            for messages in (1.0, 2.0, 4.0, 8.0):
                processors = messages * 8 * (message + byte * size)
                link = messages * 4 * size * link_beta if path == "network" else 0
                made.append(record("overhead", 4e-5 + max(processors, link), path=path, messages=messages, bytes=size))
    made += [record("flag", 3e-7, bytes=size) for size in (8, 16, 32, 64)]
    made += [record("match", 1e-6 + 2e-9 * posted, posted=posted) for posted in (1, 8, 64, 512)]
    made += [record("copy", (1 << 20) * 1e-10 * active, active=active, bytes=1 << 20) for active in (1, 2, 4)]
    for transfer, beta in (
        ("h2d", 2e-11),
        ("d2h", 3e-11),
        ("ipc", 1e-12),
        ("rows d2h", 5e-11),
        ("gather 8 B", 4e-12),
    ):
        for processes in (1, 2):
            for size in (1 << 12, 1 << 16, 1 << 20, 1 << 24):
                what = {"transfer": transfer, "processes": processes, "bytes": size}
                made.append(record("device", 1e-5 + processes * beta * size, batch=1, **what))
                if size <= 1 << 16 and transfer == "d2h":
                    made.append(record("device", (1e-5 + 15 * 2e-6) / 16 + processes * beta * size, batch=16, **what))
    for kind in ("strided", "indexed"):
        made += [record("pack", size * 5e-10, kind=kind, bytes=size) for size in (4096, 65536)]
    return made


def test_parameters_are_found(tmp_path: Path) -> None:
    calibration = calibrate.fit_all(_records())
    calibrate.require_good(calibration)
    read = tomllib.loads(calibrate.to_toml(calibration, "somewhere", "a test"))
    assert read["name"] == "somewhere" and read["provenance"] == "a test"
    assert read["host"] == {"cores": 2, "nodes": 4}
    assert read["injection"]["beta"] == pytest.approx(4e-8, rel=0.05)
    assert read["injection"]["short"]["alpha"] == pytest.approx(5e-6, rel=0.5)
    assert read["injection"]["short"]["beta"] == pytest.approx(4e-8, rel=0.05)
    assert [p.get("up_to") for p in read["links"]["node"]["protocols"]] == [512, 8192, None]
    assert len(read["links"]["network"]["protocols"]) == 1
    overhead = read["overhead"]
    for path, message in (("network", 8e-6), ("node", 1e-6), ("shared", 5e-7)):
        assert overhead[path]["message"] == pytest.approx(message, rel=0.1)
    # Larger messages between nodes were limited by the link: what bytes cost there is what they cost inside a node.
    assert overhead["network"]["byte"] == overhead["node"]["byte"] == pytest.approx(2e-10, rel=0.25)
    assert overhead["shared"]["wait"] == pytest.approx(4e-5 / 8, rel=0.1)
    assert overhead["flag"] == pytest.approx(3e-7, rel=0.1)
    assert overhead["match"] == pytest.approx(2e-9, rel=0.1)
    assert overhead["pack"] == pytest.approx(5e-10, rel=0.1)
    assert [copies["active"] for copies in read["copies"]] == [1, 2, 4]
    assert [copies["beta"] for copies in read["copies"]] == pytest.approx([1e-10, 2e-10, 4e-10], rel=0.1)
    assert [copies["processes"] for copies in read["device_copies"]] == [1, 2]
    assert read["device_copies"][0]["to_device"]["alpha"] == pytest.approx(1e-5, rel=0.1)
    assert [copies["to_host"]["beta"] for copies in read["device_copies"]] == pytest.approx([3e-11, 6e-11], rel=0.1)
    assert read["device_copies"][1]["from_peer"]["beta"] == pytest.approx(2e-12, rel=0.1)
    assert read["device_copies"][1]["pack"]["beta"] == pytest.approx(8e-12, rel=0.1)
    assert read["device_copies"][0]["rows_to_host"]["beta"] == pytest.approx(5e-11, rel=0.1)
    assert "rows_to_device" not in read["device_copies"][0]
    assert [copies["gap"] for copies in read["device_copies"]] == pytest.approx([2e-6, 2e-6], rel=0.1)
    assert read["fit"]["links"]["node"]["residual"] < 0.05
    assert read["fit"]["links"]["node"]["samples"] == len(SIZES)
    assert read["fit"]["poor"] == []

    console = Console(width=160)
    with console.capture() as capture:
        console.print(calibrate.table_of(calibration, "title"))
    assert "eager, to 8,192 B: 3." in capture.get() and "25 MB/s" in capture.get()
    picture = tmp_path / "picture.png"
    draw_calibration(calibration, "title", picture)
    assert picture.stat().st_size > 1000


def test_a_rooted_collective_is_what_it_takes_before_its_barrier() -> None:
    def sample(operation: str, size: int, seconds: float, *, rooted: bool = False) -> dict[str, object]:
        what = {"measure": "collective", "operation": operation, "bytes": size, "rooted": rooted}
        return {**what, "seconds": [seconds, seconds * 1.1, seconds * 0.9]}

    records = [*_records(), sample("barrier", 0, 2e-6), sample("allreduce", 8, 5e-6)]
    records += [sample("bcast", 1024, 9e-6, rooted=True), sample("bcast", 8, 3e-6, rooted=True)]
    next(record for record in records if record["measure"] == "run")["mpi"] = "Some MPI v1"
    own = tomllib.loads(calibrate.to_toml(calibrate.fit_all(records), "x", "y"))["own_collectives"]
    assert own["library"] == "Some MPI v1" and own["ranks"] > 0 and own["nodes"] > 0
    times = {entry["name"]: entry["times"] for entry in own["operations"]}
    assert times["allreduce"] == [{"bytes": 8, "seconds": pytest.approx(5e-6)}]
    assert times["bcast"] == [
        {"bytes": 8, "seconds": pytest.approx(1e-6)},
        {"bytes": 1024, "seconds": pytest.approx(7e-6)},
    ]


def test_samples_from_elsewhere_are_fitted(tmp_path: Path, command: Command) -> None:
    records = _records()
    run = next(record for record in records if record["measure"] == "run")
    run |= {"mpi": "Cray MPICH 8.1", "transport": {"FI_PROVIDER": "cxi"}, "date": "2026-01-02T03:04:05Z"}
    samples, output = tmp_path / "frontier.jsonl", tmp_path / "machine.toml"
    samples.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    code, printed = command.run("calibrate", "--samples", str(samples), "-o", str(output))
    assert code == 0, printed
    read = tomllib.loads(output.read_text(encoding="utf-8"))
    assert read["provenance"].startswith("laneway calibrate --samples frontier.jsonl, 2026-01-02, Cray MPICH 8.1, FI_PROVIDER=cxi,")
    assert set(read["links"]) == {"node", "network"}
    for wrong, says in ((tmp_path / "none.jsonl", "no such file"), (output, "line 1")):
        code, printed = command.run("calibrate", "--samples", str(wrong), "-o", str(tmp_path / "x.toml"))
        assert code != 0 and says in printed and not (tmp_path / "x.toml").exists()
    samples.write_text(json.dumps({"benchmark": "neighbor"}) + "\n", encoding="utf-8")
    code, printed = command.run("calibrate", "--samples", str(samples), "-o", str(tmp_path / "x.toml"))
    assert code == 2 and "laneway-bench calibrate --json" in printed


def test_a_fast_link_shows_what_bytes_cost() -> None:
    calibration = calibrate.fit_all(_records(link_beta=1e-10))
    assert calibration.parameters["overhead"]["network"]["byte"] == pytest.approx(4e-10, rel=0.1)


def test_a_fit_that_does_not_describe_its_data_is_refused() -> None:
    random = np.random.default_rng(2)
    records = _records()
    for record in records:
        if record["measure"] == "match":
            record["seconds"] = [1e-6 * random.uniform(0.1, 20)]
    calibration = calibrate.fit_all(records)
    with pytest.raises(UserError, match=r"overhead\.match \d+%.*--force"):
        calibrate.require_good(calibration)
    assert tomllib.loads(calibrate.to_toml(calibration, "x", "y"))["fit"]["poor"] == ["overhead.match"]


def test_cores_of_bound_ranks_are_their_own() -> None:
    records = _records()
    records[0] |= {"host_ranks": 16, "host_cores": 16, "bound": True}
    assert calibrate.fit_all(records).parameters["host"]["cores"] == 0


@needs_bench
@pytest.mark.parametrize(
    ("ranks", "machine", "links"),
    [
        (1, "", set()),
        pytest.param(5, "ranks:2,3", {"node", "network"}, marks=needs_long),
        (4, "node:2 socket:1 rank:2", {"socket", "network"}),
    ],
)
def test_a_short_calibration(command: Command, tmp_path: Path, ranks: int, machine: str, links: set[str]) -> None:
    output, raw = tmp_path / "machine.toml", tmp_path / "raw.jsonl"
    variables = [f"LANEWAY_MACHINE={machine}"] if machine else []
    has_device = ranks == 4
    if has_device:
        rates = "h2d=50e-6:2e9,d2h=100e-6:1e9,d2d=20e-6:1e9,kernel=20e-6:5e8"
        variables += ["LANEWAY_DEVICE_PLUGINS=simdevice", f"LANEWAY_SIM_DEVICE=direct_host=1,{rates}"]
    described = [option for variable in variables for option in ("-x", variable)]
    # Whether the fits are good is up to the machine at this moment.
    options = ["--quick", "--force", "--timeout", "100", "--keep-raw", str(raw), "-o", str(output)]
    code, printed = command.run("calibrate", "-n", str(ranks), *described, *options)
    assert code == 0, printed
    read = tomllib.loads(output.read_text(encoding="utf-8"))
    assert set(read.get("links", {})) == links
    assert ("injection" in read) == ("network" in links)
    assert read["overhead"]["pack"] > 0
    assert read["copies"][0]["active"] == 1
    assert ("device_copies" in read) == has_device
    # The host, so the MPI library, may touch this device's memory.
    assert set(read.get("device_links", {})) == (links if has_device else set())
    if has_device:
        first, second = read["device_copies"]
        assert first["processes"] == 1 and second["processes"] == 2
        # What the device is told to take, which no copy can undercut; a busy machine only adds to it. Two processes
        # share what one has.
        for told, beta in (
            (1 / 2e9, first["to_device"]["beta"]),
            (1 / 1e9, first["to_host"]["beta"]),
            (2 / 1e9, second["to_host"]["beta"]),
            (1 / 1e9, first["from_peer"]["beta"]),
            (1 / 5e8, first["pack"]["beta"]),
            (1 / 5e8, first["rows_to_host"]["beta"]),
            (1 / 5e8, first["rows_to_device"]["beta"]),
        ):
            assert 0.75 * told < beta < 6 * told
        # What starting a copy costs the host.
        assert 50e-6 <= first["to_device"]["alpha"] < 1e-3
        assert 50e-6 <= first["gap"] < 1e-3
    assert f"-n {ranks}" in read["provenance"]
    assert output.with_suffix(".png").stat().st_size > 1000
    assert raw.read_text(encoding="utf-8").count("\n") > 5


@needs_bench
def test_a_failing_run_says_why(command: Command, tmp_path: Path) -> None:
    output = tmp_path / "machine.toml"
    code, printed = command.run("calibrate", "-n", "2", "-x", "LANEWAY_MACHINE=node:3", "-o", str(output))
    assert code != 0 and "node:3" in printed and not output.exists()


_MACHINE_WITH_OWN = """
name = "made up"
provenance = "a test"
links.node.protocols = [{{ name = "eager", alpha = 1e-6, beta = 1e-9 }}]
links.network.protocols = [{{ name = "eager", alpha = 1e-5, beta = 1e-8 }}]
[own_collectives]
library = "{library}"
ranks = {ranks}
nodes = 2
[[own_collectives.operations]]
name = "allreduce"
times = [{{ bytes = 64, seconds = {seconds} }}]
"""


@needs_bench
@pytest.mark.parametrize(
    ("changes", "is_own"),
    [
        ({}, True),
        ({"seconds": 1.0}, False),
        ({"library": "No such library"}, False),
        ({"ranks": 5}, False),
    ],
)
def test_mpis_own_is_chosen_where_it_was_measured_to_be_faster(
    command: Command, tmp_path: Path, changes: dict[str, object], is_own: bool
) -> None:
    machine = tmp_path / "machine.toml"
    texts = {"library": "Open MPI", "ranks": 4, "seconds": 1e-9, **changes}
    machine.write_text(_MACHINE_WITH_OWN.format(**texts), encoding="utf-8")
    variables = [f"LANEWAY_PARAMETERS={machine}", "LANEWAY_MACHINE=node:2 rank:2", "LANEWAY_VERBOSE=choose"]
    options = [option for variable in variables for option in ("-x", variable)]
    what = ("dense", "--op", "allreduce", "--bytes", "8", "--candidate", "auto", "--check")
    code, printed = command.run("bench", "-n", "4", *options, *what)
    assert code == 0, printed
    assert ("MPI's own was measured here to take 0.001 us" in printed) == is_own, printed
