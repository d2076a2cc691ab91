"""Pages of results begin with where Laneway is slower, as their data says."""

import pytest

from laneway_tools.papers import losses
from laneway_tools.places.paths import root

#: Pages whose data is of something else than Laneway beside what it stands against.
_WITHOUT = {
    "boomeramg-levels",  # counts of messages
    "closed-forms",  # formulas of a paper
    "decisions",  # what designs cost, Laneway's beside Laneway's
    "development",  # what tests take
    "evaluation",  # a report of its own, with its own table of losses
    "gpus",  # the hardware, by its own limits
    "index",
    "lassen-matrices",  # the data of lassen
    "overlap",  # shares that are hidden
    "python",  # kept in no table
    "simulator",  # simulated beside measured times
    "sources",
    "tracing",  # what tracing costs
}


def test_pages_have_the_losses_of_their_data() -> None:
    for page, text in losses.written().items():
        assert page.read_text(encoding="utf-8") == text, f"{page.name}: './dev reproduce losses' brings it up to date"


def test_every_page_of_results_is_one_or_the_other() -> None:
    pages = {page.stem for page in (root() / "docs" / "results").glob("*.md")}
    assert set(losses.PAGES) | _WITHOUT == pages and not set(losses.PAGES) & _WITHOUT


def test_the_losses_that_are_known_are_there() -> None:
    local = [ratio for what, _, ratio in losses.PAGES["collectives"]() if what == "alltoallv, `local`"]
    slower = sum(ratio > 1.03 for ratio in local)
    row = f"| alltoallv, `local` | the best of MPI's algorithms | {slower} of {len(local)} |"
    assert len(local) > 2 and (row in losses.table(losses.PAGES["collectives"]())) == (slower > 0)
    fft = next(line for line in losses.table(losses.PAGES["libraries"]()).splitlines() if line.startswith("| fft_alltoall |"))
    assert "-" not in fft.replace("| fft_alltoall |", "").split("|")


def test_tables_are_of_what_is_slower() -> None:
    assert "nowhere" in losses.table([("a", "b", 1.02), ("a", "b", 0.5)])
    text = losses.table([("a", "b", 2.0), ("a", "b", 0.5), ("c", "b", 0.9), ("d", "b", 3.0)])
    assert text.splitlines()[-2:] == ["| d | 1 of 1 | 3.00 | 3.00 |", "| a | 1 of 2 | 2.00 | 1.00 |"] and "(b)" in text
    assert losses.table([("a", "b", 2.0), ("a", "c", 0.5)]).splitlines()[-1] == "| a | b | 1 of 1 | 2.00 | 2.00 |"
    wide = losses.table([(f"{i}", "x" if i % 2 else "y", 2.0) for i in range(40)])
    assert "| slower | y | x |" in wide and "| 0 | 2.00 (2.00) | - |" in wide


@pytest.mark.parametrize("page", ["# Title\n\nText\n", "# Title\n\n| | |\n| --- | --- |\n"])
def test_a_table_is_put_after_the_title_once(page: str) -> None:
    once = losses.with_losses(page, "one\n")
    assert once.startswith("# Title\n\n<!-- losses") and once.endswith(page.partition("\n\n")[2])
    assert losses.with_losses(once, "two\n") == losses.with_losses(page, "two\n")
