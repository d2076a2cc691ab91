"""``laneway hardware``: what it compares with what, and all of it on the sim device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command, needs_bench

from laneway_tools.measure.hardware import Step, targets_of
from laneway_tools.measure.results import Record

_BYTES = 4 << 20


def _device(transfer: str, rate: float, processes: int = 1, of_ceiling: float = 1.0) -> Record:
    sizes = {"bytes": _BYTES, "processes": processes}
    return {"transfer": transfer, **sizes, "bytes_per_second": rate, "ceiling_fraction_median": of_ceiling}


def test_figures_are_fractions_of_rates_of_the_same_run() -> None:
    copies = [_device("d2d", 1e12, 2), _device("d2h", 50e9, 2), _device("h2d", 25e9, 2)]
    steps = [
        Step("device", [], records=[*copies, _device("pack 1 KiB", 0, of_ceiling=0.9), _device("gather 8 B", 0, of_ceiling=0.4)]),
        Step("pair dd", [], records=[{"candidate": "direct", "bytes": _BYTES, "median_s": 2 * _BYTES / 0.7e12}]),
        # Both directions at once: twice the bytes at 50 and 25 GB/s.
        Step("pair staged", [], records=[{"candidate": "direct", "bytes": _BYTES, "median_s": 4 * _BYTES * (1 / 50e9 + 1 / 25e9)}]),
        Step("halo staged", [], records=[{"candidate": "direct", "speedup_vs_mpi": 1.5}]),
        Step("halo dd", [], records=[{"candidate": "direct", "speedup_vs_mpi": 2.5}, {"candidate": "mpi", "speedup_vs_mpi": 9}]),
    ]
    measured = {target.name.split(",")[0]: target for target in targets_of(steps)}
    assert measured["pack 1 KiB"].is_met and not measured["gather 8 B"].is_met
    assert measured["unpack 1 KiB"].measured is None and not measured["unpack 1 KiB"].is_met
    assert measured["two ranks by IPC from 4 MiB"].measured == pytest.approx(0.7)
    assert measured["two ranks staged from 4 MiB"].measured == pytest.approx(0.5)
    assert measured["halo of 8 ranks"].measured == 2.5


@needs_bench
def test_every_step_runs_on_the_sim_device(command: Command, tmp_path: Path) -> None:
    output = tmp_path / "hardware.json"
    code, printed = command.run("hardware", "--plugin", "simdevice", "--quick", "-o", str(output))
    assert code == 0, printed
    written = json.loads(output.read_text(encoding="utf-8"))
    steps = {step["name"]: step for step in written["steps"]}
    assert all(step["status"] == 0 for step in steps.values())
    assert {"links", "device", "pair dd", "halo staged", "node-pong device", "spmv", "spmm", "tests of devices"} <= set(steps)
    assert "PASSED" in steps["tests of reductions"]["said"]
    assert "[devices]" in steps["links"]["said"] and "PASSED" in steps["tests of devices"]["said"]
    # How fast the host plays a device says nothing.
    assert all(target["measured"] > 0 for target in written["targets"])


@needs_bench
def test_a_machine_without_a_device_is_told_so(command: Command, tmp_path: Path) -> None:
    code, printed = command.run("hardware", "--plugin", "quantum", "-o", str(tmp_path / "hardware.json"))
    assert code != 0 and "--plugin quantum" in printed
