"""The closed forms of a paper: the comparison with its words, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command

from laneway_tools.papers import model
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_local_tool


def _record(seconds: dict[str, list[float]]) -> str:
    return json.dumps({"bytes": [1, 1024, 16384], "scenarios": [{"nodes": 4, "messages": 32, "seconds": seconds}]})


def test_winners_are_compared_with_claims() -> None:
    seconds = {"standard, staged": [3, 1, 5], "split + MD": [2, 3, 4], "2-step 1, staged": [1, 2, 1]}
    scenarios = model.parse(_record(seconds))
    assert scenarios[0].winners() == ["split + MD", "standard, staged", "split + MD"]
    assert scenarios[0].winners(best_case=True) == ["2-step 1, staged", "standard, staged", "2-step 1, staged"]
    claims = [model.Claim(4, 32, ("standard, staged",), up_to=1e4), model.Claim(4, 32, ("split + MD",), above=1e4)]
    small, large = model.compare(scenarios, claims)
    assert (small.agreeing, small.sizes) == (1, 2)
    assert [str(stretch) for stretch in small.stretches] == ["split + MD (1 B)", "standard, staged (1 KiB)"]
    assert (large.agreeing, large.sizes) == (1, 1)


def test_command(command: Command, tmp_path: Path) -> None:
    try:
        find_local_tool("laneway-bench")
    except UserError as error:
        pytest.skip(str(error))
    picture = tmp_path / "figure.svg"
    code, output = command.run("model", "--paper", "lassen", "--output", str(picture))
    assert code == 0, output
    assert "256 messages" in output and "statements disagree" in output
    assert "<svg" in picture.read_text(encoding="utf-8")
    code, output = command.run("model", "--paper", "lassen", "--machine", "elcapitan-like", "--output", str(picture))
    assert code == 0 and "elcapitan-like" in output and "statements" not in output, output
    code, output = command.run("model", "--paper", "nowhere", "--output", str(picture))
    assert code != 0 and "nowhere" in output
