import pytest
from hypothesis import given
from hypothesis import strategies as st

from laneway_tools.places.errors import UserError
from laneway_tools.places.places import Cluster, Local, parse_place


@pytest.mark.parametrize(
    ("text", "ranks_by_node", "bits_per_second"),
    [
        ("cluster:4x4@200mbit", (4, 4, 4, 4), 200e6),
        ("cluster:5,3,8@200mbit", (5, 3, 8), 200e6),
        ("cluster:2x1@1gbit", (1, 1), 1e9),
        ("cluster:3@1.5gbit", (3,), 1.5e9),
    ],
)
def test_clusters(text: str, ranks_by_node: tuple[int, ...], bits_per_second: float) -> None:
    assert parse_place(text) == Cluster(ranks_by_node, bits_per_second)


def test_local() -> None:
    assert parse_place("local") == Local()


@pytest.mark.parametrize(
    "text",
    ["", "cluster", "cluster:4x4", "cluster:4x4@200", "cluster:0x4@1gbit", "cluster:4x0@1gbit", "cluster:4,0@1gbit"]
    + ["cluster:999x1@1gbit", "cluster:4x4@0mbit", "cluster:-1x4@1gbit", "local:4", "cluster:4x4x4@1gbit"],
)
def test_bad_places_say_what_is_expected(text: str) -> None:
    with pytest.raises(UserError, match="--on"):
        parse_place(text)


@given(st.lists(st.integers(1, 64), min_size=1, max_size=20), st.integers(1, 400_000))
def test_text_form_is_read_back(ranks_by_node: list[int], tens_of_kbit: int) -> None:
    place = Cluster(tuple(ranks_by_node), 1e5 + tens_of_kbit * 1e4)
    again = parse_place(str(place))
    assert isinstance(again, Cluster)
    assert again.ranks_by_node == place.ranks_by_node
    assert again.bits_per_second == pytest.approx(place.bits_per_second, rel=1e-5)
