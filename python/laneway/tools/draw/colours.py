"""Colours of candidates, and for those that have none of their own."""

from __future__ import annotations

from collections.abc import Sequence

COLOURS = {"mpi": "#9a9a9a", "direct": "#4878a8", "auto": "#6a9f58", "three_step": "#d9772b", "three_step_nodedup": "#e8b98a"}
OTHER_COLOURS = ("#8b6bb1", "#c44e52", "#937860")


def colour_of(candidate: str, candidates: Sequence[str]) -> str:
    """The colour of one of the candidates of a picture."""
    others = [name for name in candidates if name not in COLOURS]
    return COLOURS.get(candidate) or OTHER_COLOURS[others.index(candidate) % len(OTHER_COLOURS)]
