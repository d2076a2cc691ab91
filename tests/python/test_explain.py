"""The commands that need neither an MPI library nor a launcher."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Command, needs_local_bench

pytestmark = needs_local_bench


def test_strategies(command: Command) -> None:
    code, output = command.run("strategies", "--json")
    assert code == 0, output
    rows = {row["name"]: row for row in json.loads(output)}
    assert {"direct", "three_step", "two_step", "split"} <= rows.keys()
    assert all(row["description"] and row["citation"] and row["operations"] and row["levels"] for row in rows.values())
    assert [name for name, row in rows.items() if row["automatic"]][:2] == ["direct", "three_step"]
    assert not any(rows[name]["automatic"] for name in ("spread", "leader_scatter", "cartesian_combining", "multi_path"))
    assert rows["three_step"]["deduplicates"] and not rows["common_neighborhood"]["deduplicates"]
    code, output = command.run("strategies")
    assert code == 0, output
    assert all(name in output and row["citation"] in output for name, row in rows.items())


def test_explain_every_strategy(command: Command, tmp_path: Path) -> None:
    _, output = command.run("strategies", "--json")
    for name in [row["name"] for row in json.loads(output)]:
        picture = tmp_path / f"{name}.svg"
        what = ["--pattern", "rsg:density=0.5,seed=1", "--machine", "node:2 rank:2", "--ranks", "4", "--grid", "2x2", "--strategy", name]
        code, output = command.run("explain", *what, "--messages-svg", str(picture))
        assert code == 0, output
        assert "link class" in output and "between nodes" in output and "plan of rank 0" in output
        assert picture.read_text(encoding="utf-8").startswith("<svg")


def test_mistakes_are_passed_back(command: Command) -> None:
    code, output = command.run("explain", "--pattern", "rsg:density=0.5,seed=1", "--machine", "node:2", "--ranks", "2",
                               "--strategy", "four_step")  # fmt: skip
    assert code != 0
    assert "unknown strategy 'four_step'" in output
    code, output = command.run("explain", "--help")
    assert code == 0 and "--messages-svg" in output
