"""The table of what works where says what the headers and sources have."""

from __future__ import annotations

import re
import sys

import pytest

from laneway_tools.places.paths import root

sys.path.insert(0, str(root() / "api"))
import support  # noqa: E402

ROWS = support.read(root() / "api/support.toml")


def test_the_calls_of_families_are_in_the_headers() -> None:
    declared = "".join(path.read_text() for path in (root() / "include/laneway").glob("*.h"))
    for family in ROWS["family"]:
        calls = [call for form in support.FORMS for call in family.get(form, [])]
        assert calls, family["name"]
        assert [call for call in calls if not re.search(rf"LNW_PUBLIC int {call}\(", declared)] == []
        assert (root() / "docs/reference" / family["page"].partition("#")[0]).is_file()


@pytest.mark.parametrize("row", ROWS["library"], ids=lambda row: row["name"])
def test_what_decides_is_as_the_table_says(row: dict) -> None:
    text = (root() / row["source"]).read_text()
    assert [shown for shown in row["shown"] if not re.search(shown, text)] == []
    # Who asks for LANEWAY_ENGINE=1 is not served by default.
    assert ('== "1"' in text) == ("LANEWAY_ENGINE=1" in row["single"])
    # engine::is_tried says no with MPI_THREAD_MULTIPLE; where it does not decide, the engine serves that level, too.
    assert ("is_tried()" in text.split("bool can_be_entered")[1]) == (row["multiple"] == "thread")


def test_engines_are_not_tried_with_many_threads() -> None:
    text = (root() / "src/mpi/engine.cpp").read_text()
    assert "level == MPI_THREAD_MULTIPLE" in text.split("bool engine::is_tried()")[1].split("\n}\n")[0]
    helper = (root() / "src/communicator/background.cpp").read_text()
    assert "has_engine() ? Helper::engine : single_threaded() ? Helper::none : Helper::thread" in helper


def test_only_blocking_operations_relay_without_an_engine_and_a_thread() -> None:
    assert support.relays("engine") == support.relays("thread") == "all"
    assert support.relays("none") == "blocking"
    assert support.relays("none; engine with `LANEWAY_ENGINE=1`") == "blocking; all with the engine"
    decides = (root() / "src/operations/neighborhood/family.cpp").read_text()
    assert "phases_ == Phases::one || may_relay(agreed_.hints.progress, have_helpers)" in decides
