"""Plots of a study, as plotly's JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from laneway_tools.evaluate.findings import humanised_bytes
from laneway_tools.evaluate.limits import least_seconds
from laneway_tools.evaluate.study import OWN, Case, Contestant, Measured, Study

Figure = dict[str, object]
# Okabe and Ito's colours, which most colour-blind readers can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = {
    OWN: "solid",
    "loop": "dot",
    "staged": "dot",
    "nccl": "dashdot",
    "rccl": "dashdot",
    "consensus": "dot",
    "laneway": "dash",
    "laneway_persistent": "longdash",
}
_SYMBOLS = {
    OWN: "circle",
    "loop": "x",
    "staged": "x",
    "nccl": "star",
    "rccl": "star",
    "consensus": "x",
    "laneway": "square",
    "laneway_persistent": "diamond",
}
_LIMIT = "#555555"


@dataclass(frozen=True)
class Quantity:
    """What is plotted: its axis, and its value from seconds."""

    axis: str
    value: Callable[[Measured, float], float]
    more_is_better: bool


_TIME = Quantity("time, µs", lambda measured, seconds: seconds * 1e6, False)
_BANDWIDTH = Quantity("bandwidth, MB/s", lambda measured, seconds: measured.moved / seconds / 1e6, True)
_RATE = Quantity("messages per second", lambda measured, seconds: measured.messages / seconds, True)
_FLOPS = Quantity("GFLOP/s", lambda measured, seconds: measured.flops / seconds / 1e9, True)


def quantity_of(measured: Measured) -> Quantity:
    """Of a case: bandwidth, a rate, GFLOP/s or time, by what its records count."""
    return _BANDWIDTH if measured.moved else _RATE if measured.messages else _FLOPS if measured.flops else _TIME


def _style(study: Study, contestant: Contestant) -> dict[str, object]:
    libraries = sorted({c.mpi for c in study.contestants()}) if contestant.mpi else [""]
    if contestant.mpi:
        colour = _COLOURS[libraries.index(contestant.mpi) % len(_COLOURS)]
    else:
        names = sorted({c.candidate for c in study.contestants() if not c.mpi})
        colour = _COLOURS[names.index(contestant.candidate) % len(_COLOURS)]
    return {
        "line": {"color": colour, "width": 2, "dash": _DASHES.get(contestant.candidate, "solid")},
        "marker": {"color": colour, "size": 8, "symbol": _SYMBOLS.get(contestant.candidate, "circle")},
    }


def _layout(title: str, x: str, y: str, is_by_size: bool, sizes: Sequence[int]) -> Figure:
    axis: Figure = {"title": {"text": x}, "automargin": True}
    if is_by_size:
        shown = [size for i, size in enumerate(sizes) if len(sizes) <= 8 or i % 2 == 0]
        axis |= {"type": "log", "tickvals": shown, "ticktext": [humanised_bytes(size) for size in shown]}
    return {
        "title": {"text": title, "font": {"size": 14}, "x": 0, "xref": "paper"},
        "xaxis": axis,
        "yaxis": {"title": {"text": y}, "type": "log", "automargin": True},
        "showlegend": True,
        "legend": {"orientation": "h", "yanchor": "top", "y": -0.28, "x": 0, "font": {"size": 11}},
        "margin": {"l": 10, "r": 10, "t": 40, "b": 10},
        "height": 430,
        "font": {"family": "system-ui, sans-serif", "size": 12},
    }


def _decades(layout: Figure, values: Sequence[float]) -> None:
    """Labels at powers of ten and, where there are few of those, at 2 and 5 times them."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    steps = (1,) if high - low > 3 else (1, 2, 5)
    ticks = [step * 10.0**power for power in range(low, high + 1) for step in steps]
    layout["yaxis"] |= {"tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}  # type: ignore[operator]


def _bars(study: Study, case: Case, title: str) -> Figure:
    contestants = study.contestants([case])
    quantity = quantity_of(study.cases[case][contestants[0]])
    found = [study.cases[case][c] for c in contestants]
    values = [quantity.value(m, m.median) for m in found]
    ends = [sorted(quantity.value(m, s) for s in m.interval) for m in found]
    bars = {
        "type": "bar",
        "x": [study.name(c) for c in contestants],
        "y": values,
        "marker": {"color": [_style(study, c)["line"]["color"] for c in contestants]},  # type: ignore[index]
        "error_y": {
            "type": "data",
            "array": [e[1] - v for e, v in zip(ends, values, strict=True)],
            "arrayminus": [v - e[0] for e, v in zip(ends, values, strict=True)],
        },
    }
    layout = _layout(title, "", quantity.axis, False, [])
    layout["yaxis"] = {"title": {"text": quantity.axis}, "rangemode": "tozero", "automargin": True}
    return {"data": [bars], "layout": layout}


def _limit(study: Study, cases: Sequence[Case], quantity: Quantity) -> Figure | None:
    """The physical limit, where it is known."""
    if quantity is _BANDWIDTH and study.link and cases[0].where == "between":
        value = study.link * (2 if cases[0].benchmark == "bidirectional" else 1) / 1e6
        points = [(case.bytes, value) for case in cases]
    elif quantity is _TIME:
        points = [(case.bytes, seconds * 1e6) for case in cases if (seconds := least_seconds(study, case))]
    else:
        points = []
    if len(points) < 2:
        return None
    x, y = zip(*points, strict=True)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "what the links allow",
        "x": x,
        "y": y,
        "line": {"color": _LIMIT, "width": 1.5, "dash": "dashdot"},
        "hoverinfo": "skip",
    }


def values(study: Study, cases: Sequence[Case], title: str) -> Figure:
    """Values by size, both axes logarithmic, with 95% intervals; bars where there is one size."""
    contestants = study.contestants(cases)
    if len(cases) == 1:
        return _bars(study, cases[0], title)
    quantity = quantity_of(study.cases[cases[0]][study.contestants(cases[:1])[0]])
    traces: list[Figure] = []
    for contestant in contestants:
        found = [(case, study.cases[case][contestant]) for case in cases if contestant in study.cases[case]]
        y = [quantity.value(m, m.median) for _, m in found]
        ends = [sorted(quantity.value(m, s) for s in m.interval) for _, m in found]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": study.name(contestant),
                "x": [case.bytes for case, _ in found],
                "y": y,
                "text": [humanised_bytes(case.bytes) for case, _ in found],
                "hovertemplate": "%{text}: %{y:.4g}<extra>%{fullData.name}</extra>",
                "error_y": {
                    "type": "data",
                    "thickness": 1,
                    "width": 3,
                    "array": [e[1] - v for e, v in zip(ends, y, strict=True)],
                    "arrayminus": [v - e[0] for e, v in zip(ends, y, strict=True)],
                },
                **_style(study, contestant),
            }
        )
    limit = _limit(study, cases, quantity)
    layout = _layout(
        title, "data of a rank" if cases[0].group == "application" else "bytes", quantity.axis, True, [case.bytes for case in cases]
    )
    _decades(layout, [value for trace in traces for value in trace["y"]])  # type: ignore[attr-defined]
    return {"data": [*traces, *([limit] if limit else [])], "layout": layout}


def ratios(study: Study, cases: Sequence[Case]) -> Figure | None:
    """Times as multiples of the first contestant's, with 95% intervals; below 1 is faster. The band is what equals differ by."""
    contestants = study.contestants(cases)
    if len(cases) < 2 or len(contestants) < 2:
        return None
    base, traces = contestants[0], []
    for contestant in contestants[1:]:
        found = [(case, ratio) for case in cases if (ratio := study.ratio([case], contestant, base))]
        if found:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": study.name(contestant),
                    "x": [case.bytes for case, _ in found],
                    "y": [ratio.value for _, ratio in found],
                    "text": [humanised_bytes(case.bytes) for case, _ in found],
                    "hovertemplate": "%{text}: %{y:.3g}<extra>%{fullData.name}</extra>",
                    "error_y": {
                        "type": "data",
                        "thickness": 1,
                        "width": 3,
                        "array": [r.high - r.value for _, r in found],
                        "arrayminus": [r.value - r.low for _, r in found],
                    },
                    **_style(study, contestant),
                }
            )
    if not traces:
        return None
    layout = _layout(
        f"Time as a multiple of {study.name(base)}'s",
        "data of a rank" if cases[0].group == "application" else "bytes",
        "ratio of times",
        True,
        [case.bytes for case in cases],
    )
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": {"color": _LIMIT, "width": 1}}
    band = {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": 1 / (1 + study.noise),
        "y1": 1 + study.noise,
        "fillcolor": "#888888",
        "opacity": 0.15,
        "line": {"width": 0},
    }
    layout["shapes"] = [band, line]
    return {"data": traces, "layout": layout}
