"""How all pictures look: a colour and a marker for each name, units, legends beside what they explain, text as text, which is at least
11 pixels high where a picture is 800 pixels wide."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MultipleLocator, NullFormatter, NullLocator


@dataclass(frozen=True)
class Style:
    """What a candidate is drawn with in every picture. No two have the same marker and a similar colour."""

    colour: str
    marker: str


# The colours of Okabe and Ito, which colour-blind readers tell apart, and darker ones that the markers set off.
STYLES = {
    "mpi": Style("#7f7f7f", "s"),
    "p2p": Style("#b0b0b0", "x"),
    "direct": Style("#0072b2", "o"),
    "auto": Style("#000000", "D"),
    "three_step": Style("#d55e00", "^"),
    "two_step": Style("#e69f00", "v"),
    "split": Style("#009e73", "P"),
    "spread": Style("#56b4e9", "<"),
    "load_aware": Style("#cc79a7", ">"),
    "grouped": Style("#8c510a", "X"),
    "common_neighborhood": Style("#5e3c99", "h"),
    "leader_scatter": Style("#01665e", "p"),
    "cartesian_combining": Style("#999933", "*"),
    "multi_path": Style("#882255", "d"),
}
# What papers call strategies, and variants that share a picture with theirs.
_PAPERS = {
    "standard": STYLES["mpi"],
    "partial": Style(STYLES["three_step"].colour, "x"),
    "full": STYLES["three_step"],
    "3-step": STYLES["three_step"],
    "2-step all": STYLES["two_step"],
    "2-step 1": Style(STYLES["grouped"].colour, "s"),
    "split + MD": STYLES["split"],
    "split + DD": Style(STYLES["spread"].colour, "X"),
}
# Operations, rules of collectives and finders: the same in every picture. Black, blue and grey are auto's, direct's and MPI's alone.
_NAMED = {
    name: Style(colour, marker)
    for name, colour, marker in (
        ("alltoall", "#d55e00", "o"),
        ("alltoallv", "#e69f00", "^"),
        ("allgather", "#009e73", "s"),
        ("allreduce", "#cc79a7", "D"),
        ("bcast", "#8c510a", "v"),
        ("reduce", "#5e3c99", "P"),
        ("nonblocking", "#d55e00", "o"),
        ("pairwise", "#009e73", "^"),
        ("bruck", "#cc79a7", "s"),
        ("hierarchical", "#e69f00", "v"),
        ("multi_leader", "#56b4e9", "P"),
        ("node_aware", "#882255", "X"),
        ("locality_aware", "#999933", "<"),
        ("multi_leader_locality", "#5e3c99", ">"),
        ("lanes", "#01665e", "h"),
        ("lanes_bruck", "#01665e", "x"),
        ("multi_leader_bruck", "#8c510a", "p"),
        ("hierarchical_bruck", "#8c510a", "*"),
        ("recursive_doubling", "#e69f00", "v"),
        ("ring", "#009e73", "^"),
        ("rabenseifner", "#cc79a7", "s"),
        ("multi_lane", "#56b4e9", "P"),
        ("locality_peers", "#5e3c99", ">"),
        ("nbx", "#d55e00", "^"),
        ("personalized", "#009e73", "P"),
        ("nbx_node", "#e69f00", "v"),
        ("personalized_node", "#cc79a7", ">"),
        ("forward", "#56b4e9", "<"),
        ("creation", "#999933", "*"),
    )
}
_OF_MPI = (Style("#7f7f7f", "s"), Style("#b0b0b0", "X"), Style("#4d4d4d", "h"))
_OTHERS = (
    Style("#009e73", "o"),
    Style("#d55e00", "^"),
    Style("#e69f00", "s"),
    Style("#cc79a7", "D"),
    Style("#882255", "v"),
    Style("#56b4e9", "P"),
    Style("#5e3c99", "X"),
    Style("#999933", "<"),
    Style("#8c510a", ">"),
    Style("#01665e", "h"),
)
_RC = {
    "svg.fonttype": "none",
    "svg.hashsalt": "laneway",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def style_of(name: str, names: Sequence[str]) -> Style:
    """The style of one of the names of a picture: a strategy has its own, also by the name that a paper gives it, a variant
    (``split_nodedup``, ``auto: direct``) its strategy's, and others have one by their place among the others."""
    if name in STYLES:
        return STYLES[name]
    if (short := name.split(",")[0]) in _PAPERS:
        return _PAPERS[short]
    own = name.removeprefix("laneway ")
    if own in STYLES or own in _NAMED:
        return STYLES.get(own) or _NAMED[own]
    if name.startswith("MPI"):
        return _OF_MPI[[other for other in names if other.startswith("MPI")].index(name) % len(_OF_MPI)]
    if name.startswith("forward:"):
        return Style(_NAMED["forward"].colour, style_of(name.removeprefix("forward:"), names).marker)
    base = name.split(":")[0].removesuffix("_nodedup").removesuffix("-again")
    if base in STYLES:
        return Style(STYLES[base].colour, "$\\circ$" if name.endswith("_nodedup") else STYLES[base].marker)
    others = [other for other in names if other not in STYLES]
    taken = [STYLES[known] for known in names if known in STYLES]
    free = [one for one in _OTHERS if one not in taken]
    return free[others.index(name) % len(free)]


@contextmanager
def pictures() -> Iterator[None]:
    """In it, matplotlib draws as all pictures look."""
    with plt.rc_context(_RC):
        yield


def save(figure: Figure, *paths: Path) -> list[Path]:
    """Write a figure, the same bytes each time, and close it."""
    with plt.rc_context(_RC):
        for path in paths:
            figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    return list(paths)


def bytes_text(count: float) -> str:
    """``256 KiB``; less than a byte is none."""
    if count < 1:
        return "0 B"
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"


def seconds_text(seconds: float) -> str:
    """``1.5 ms``."""
    if seconds == 0:
        return "0 s"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.9999:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def scale(axis: object, text: object = None) -> None:
    """Tick labels of an axis by ``text(value)``, or as plain numbers; none on minor ticks."""
    to_text = text or (lambda value: f"{value:g}")
    axis.set_major_formatter(FuncFormatter(lambda value, _: to_text(value)))
    axis.set_minor_formatter(NullFormatter())


#: Of all pictures with panels in two columns, or one: letters of 9 points are then 11 pixels high or more at a width of 800.
TWO_COLUMNS_INCHES = 8.0
ONE_COLUMN_INCHES = 6.0
_MOST_TICKS = 8


def count_text(count: float) -> str:
    """``16,384``."""
    return f"{count:,.0f}"


def ticks_at(axis: Axis, values: Sequence[float]) -> None:
    """A tick of a logarithmic axis at each of the values where they are few, but for those too near to the last one; otherwise some."""
    if len(values) > _MOST_TICKS:
        axis.set_major_locator(LogLocator(base=2, numticks=5))
        return
    ordered = sorted(values)
    nearest = math.log2(ordered[-1] / ordered[0]) / _MOST_TICKS if ordered[0] > 0 else 0
    shown: list[float] = []
    for value in ordered:
        if not shown or math.log2(value / shown[-1]) >= nearest:
            shown.append(value)
    axis.set_major_locator(FixedLocator(shown))
    axis.set_minor_locator(NullLocator())


def some_decades(axis: Axis) -> None:
    """Ticks of a logarithmic axis: at 1, 2 and 5 where it has less than three decades, at more where less than one."""
    low, high = axis.get_view_interval()
    subs = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if high < 10 * low else (1.0, 2.0, 5.0) if high < 1000 * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs))


def byte_ticks(axis: Axis) -> None:
    """Ticks of a linear axis from 0 on at multiples of a power of two."""
    _, high = axis.get_view_interval()
    axis.set_major_locator(MultipleLocator(2.0 ** math.floor(math.log2(high / 4))))


# Of a legend's line and the space beside it, and of a letter of its labels.
_LINE_INCHES = 0.6
_LETTER_INCHES = 0.08


def legend_below(figure: Figure, axes: Sequence[Axes], columns: int = 4, free: Axes | None = None) -> None:
    """One legend for all panels, below them or in a free place of the grid: each label once."""
    handles: dict[str, object] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if free is not None:
        free.set_axis_off()
        free.legend(handles.values(), handles.keys(), loc="center", ncols=1 if len(handles) <= 8 else 2)
    elif handles:
        fitting = int(figure.get_figwidth() / (_LINE_INCHES + _LETTER_INCHES * max(map(len, handles))))
        rows = -(-len(handles) // max(1, min(columns, fitting)))
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=-(-len(handles) // rows))
