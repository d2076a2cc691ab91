"""The commands that need neither an MPI library nor a launcher."""

from __future__ import annotations

import json
import re
from pathlib import Path

from conftest import Command, needs_local_bench

from laneway_tools.places.paths import root

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
    page = (root() / "docs/concepts/strategies.md").read_text(encoding="utf-8")
    assert [name for name in rows if f"\n## {name}\n" not in page] == []


def test_rules_of_collectives(command: Command) -> None:
    code, output = command.run("strategies", "--collectives")
    assert code == 0, output
    rows = json.loads(output)
    assert all(row["description"] and row["citation"] for row in rows)
    assert {row["name"] for row in rows if row["windows"]} == {"rma_fence", "rma_lock"}
    _, text = command.run("strategies")
    assert all(f"{row['operation']}:{row['name']}\n" in text for row in rows)
    # The page lists them all, with operations that share their rules in one row.
    page = (root() / "docs/concepts/collectives.md").read_text(encoding="utf-8")
    table = page.split("| operation | rules |\n")[1].split("\n\n")[0]
    listed = {
        (operation, rule)
        for operations, rules in re.findall(r"^\| ([a-z_, ]+) \| (.*) \|$", table, re.MULTILINE)
        for operation in operations.split(", ")
        for rule in re.findall(r"`(\w+)`", rules)
    }
    assert listed == {(row["operation"], row["name"]) for row in rows}


def test_what_rules_are_expected_to_take(command: Command) -> None:
    what = ("rules", "--op", "alltoall", "--bytes", "4,4096", "--nodes", "32", "--ranks", "112", "--parameters", "dane-like", "--json")
    code, output = command.run(*what)
    assert code == 0, output
    seconds = {(row["bytes"], row["rule"]): row["predicted_s"] for row in json.loads(output)}
    # No rule is expected to beat the port of a node, and steps in turn are expected to take longer.
    limit = 112 * 31 * 112 * 4096 * 8.2e-11
    assert all(predicted >= limit for (size, _), predicted in seconds.items() if size == 4096)
    assert seconds[4, "node_aware_pairwise"] > seconds[4, "node_aware"]
    assert command.run("rules", "--op", "alltoal")[0] != 0


def test_finders(command: Command) -> None:
    code, output = command.run("strategies", "--finders")
    assert code == 0, output
    rows = json.loads(output)
    assert {"nbx", "personalized", "rma"} < {row["name"] for row in rows}
    assert all(row["description"] and row["citation"] for row in rows)
    _, text = command.run("strategies")
    assert all(f"\n{row['name']}\n" in text for row in rows)


def test_the_page_of_algorithms_is_what_the_library_says(command: Command, tmp_path: Path) -> None:
    written = tmp_path / "algorithms.md"
    code, output = command.run("strategies", "--page", str(written))
    assert code == 0, output
    page = root() / "docs/reference/algorithms.md"
    assert written.read_text(encoding="utf-8") == page.read_text(encoding="utf-8"), "'./dev strategies --page docs/reference/algorithms.md'"


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
