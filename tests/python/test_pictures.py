"""Pictures: text that can be read and searched, styles that can be told apart, at most four panels."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import matplotlib.colors
import matplotlib.pyplot as plt
import numpy as np
import pytest
import test_calibrate
from matplotlib.figure import Figure
from matplotlib.text import Text

from laneway_tools.draw import style
from laneway_tools.draw.calibration import draw_calibration
from laneway_tools.draw.exchanges import Bar, NodeMatrix, draw_matrices, draw_times
from laneway_tools.draw.lines import Value, draw_lines
from laneway_tools.draw.predictions import draw_predictions
from laneway_tools.measure import calibrate, validate
from laneway_tools.measure.validate import Case
from laneway_tools.papers import measured, reproduce
from laneway_tools.papers.closed_forms import draw_closed_forms
from laneway_tools.papers.model import Scenario
from laneway_tools.places.paths import root

_NAMES = [name for name in style.STYLES if name != "p2p"]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Figure]]:
    """What has been saved, still open."""
    kept: list[Figure] = []
    monkeypatch.setattr(style.plt, "close", kept.append)
    yield kept
    monkeypatch.undo()
    plt.close("all")


def _texts(figure: Figure) -> list[Text]:
    figure.set_dpi(150)  # as it was saved
    figure.canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    edges = figure.bbox
    # Tick labels outside their axis are there, but not drawn.
    shown = []
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not axes.get_visible() or not axes.axison or not low <= tick.get_loc() <= high:
                    shown += [tick.label1, tick.label2]
    hidden = {id(text) for text in shown}
    for axes in figure.axes:
        if not axes.get_visible() or not axes.axison:
            hidden |= {id(text) for text in axes.findobj(Text)}
    return [text for text in texts if id(text) not in hidden and text.get_window_extent().width > 0 and edges.width > 0]


def overlaps(figure: Figure) -> list[str]:
    """Pairs of texts that are printed over each other, and texts beyond the edge."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in _texts(figure)]
    found = []
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        if width > 1 and height > 1:
            found.append(f"{one!r} and {other!r}")
    # The box of a turned text is a little larger than the text.
    page = figure.bbox.padded(0.01 * figure.bbox.width)
    return found + [f"{text!r} leaves the page" for text, box in boxes if not (page.contains(*box.min) and page.contains(*box.max))]


def test_the_check_finds_texts_over_each_other() -> None:
    figure, axes = plt.subplots()
    axes.text(0.5, 0.5, "one text")
    assert not overlaps(figure)
    axes.text(0.52, 0.5, "another")
    assert overlaps(figure) == ["'one text' and 'another'"]
    plt.close(figure)


def _times(folder: Path) -> None:
    random = np.random.default_rng(1)
    bars = [
        Bar(f"allgather\nrsg:density=0.6,seed=1\n{size}", name, 1e-3 * (k + 1), 8e-4, list(1e-3 * (k + 1 + 0.1 * random.random(20))))
        for size in ("1 KiB", "32 KiB", "256 KiB")
        for k, name in enumerate(["mpi", "direct", "auto", "three_step"])
    ]
    draw_times(bars, "cluster:4x4@200mbit, 16 ranks, Open MPI", folder / "times")


def _matrices(folder: Path) -> None:
    table = [[0 if i == j else 332e3 * (1 + i) for j in range(4)] for i in range(4)]
    cases = ("spmv delaunay:n=131072,seed=1,curve=0", "allgather rsg:density=0.6,seed=1, 262144")
    draw_matrices([NodeMatrix(case, name, table) for case in cases for name in ("mpi", "direct", "three_step_nodedup")], folder / "m")


def _lines(folder: Path) -> None:
    values = [
        Value(f"panel {p}", name, 2.0**e, (k + 1) * 1.0 * 1.3**e, k == 2)
        for p in range(4)
        for k, name in enumerate(_NAMES)
        for e in range(4, 21, 4)
    ]
    draw_lines(values, "bytes of an edge", "µs", folder / "lines.svg", reference=20, logarithmic=True)


def _predictions(folder: Path) -> None:
    cases = [Case(f"case {k}", dict.fromkeys(_NAMES, 0.0001 * 3**k), dict.fromkeys(_NAMES, 0.00012 * 3**k), "direct", {}) for k in range(5)]
    draw_predictions(cases, folder / "v.svg")


def _calibration(folder: Path) -> None:
    records = test_calibrate._records()
    draw_calibration(calibrate.fit_all(records), "cluster:4x4@200mbit, Open MPI v4.1.4", folder / "c.png")


def _closed_forms(folder: Path) -> None:
    sizes = [2**k for k in range(21)]
    ways = ("standard", "3-step", "2-step all", "2-step 1")
    names = [f"{way}, {memory}" for way in ways for memory in ("staged", "device-aware")] + ["split + MD", "split + DD"]
    seconds = {name: [1e-5 * (k + 1) * (1 + size / 2**10) for size in sizes] for k, name in enumerate(names)}
    draw_closed_forms([Scenario(nodes, messages, sizes, seconds) for nodes in (4, 16) for messages in (32, 256)], folder / "m.svg")


@pytest.mark.parametrize("draw", [_times, _matrices, _lines, _predictions, _calibration, _closed_forms])
def test_no_text_is_printed_over_another(draw: Callable[[Path], None], tmp_path: Path, figures: list[Figure]) -> None:
    draw(tmp_path)
    assert len(figures) == 1
    assert overlaps(figures[0]) == []
    assert sum(axes.get_visible() and axes.axison and axes.get_label() != "<colorbar>" for axes in figures[0].axes) <= 4


@pytest.mark.parametrize("figure", ["hypre", "lassen", "rocm", "scale", "validate"])
def test_pictures_of_committed_tables_can_be_read(figure: str, tmp_path: Path, figures: list[Figure]) -> None:
    if figure == "validate":
        draw_predictions(validate.cases_of_table(measured.committed("validate-cluster-4x4.csv")), tmp_path / "validate-cluster-4x4.svg")
    else:
        reproduce.run(figure, tmp_path, table=measured.committed(f"{figure}.csv"))
    assert figures
    for drawn in figures:
        assert overlaps(drawn) == []
        assert sum(axes.get_visible() and axes.axison for axes in drawn.axes) <= 4
        assert drawn.get_figwidth() <= 8.5  # at 1,000 pixels, letters of 8 points are 13 pixels high
    for path in tmp_path.iterdir():
        assert path.stat().st_size < 200_000, path
        assert "<text" in path.read_text(encoding="utf-8"), path
        assert (root() / "docs/pictures" / path.name).is_file(), path


def test_svg_has_its_text_as_text_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    written = []
    for _ in range(2):
        _predictions(tmp_path)
        written.append((tmp_path / "v.svg").read_bytes())
    assert b">three_step<" in written[0] and written[0] == written[1]


def _distance(one: str, other: str) -> float:
    return float(np.linalg.norm(np.subtract(matplotlib.colors.to_rgb(one), matplotlib.colors.to_rgb(other))))


def test_every_strategy_has_a_colour_and_a_marker_of_its_own() -> None:
    for path in (root() / "src/algorithms/neighborhood/rules").glob("*.cpp"):
        assert style.style_of(path.stem, [*style.STYLES, path.stem]) not in [one for name, one in style.STYLES.items() if name != path.stem]
    own: Sequence[style.Style] = list(style.STYLES.values())
    assert len({one.marker for one in own}) == len({one.colour for one in own}) == len(own)
    assert min(_distance(a.colour, b.colour) for a, b in itertools.combinations(own, 2)) > 0.15
    assert style.style_of("split_nodedup", []).colour == style.STYLES["split"].colour
    assert style.style_of("auto: direct", []) == style.STYLES["auto"]
    assert style.style_of("2-step all, staged", []) == style.STYLES["two_step"]
    assert style.style_of("full", []) == style.STYLES["three_step"] != style.style_of("partial", [])
    assert style.style_of("b", ["mpi", "a", "b"]) != style.style_of("a", ["mpi", "a", "b"])
