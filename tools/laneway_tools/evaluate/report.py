"""The report: one HTML file with everything inside, and the same in Markdown without the plots."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from laneway_tools.evaluate import figures, findings, study
from laneway_tools.evaluate.findings import humanised_bytes, place_in_words
from laneway_tools.evaluate.study import OWN, Case, Study
from laneway_tools.measure import results
from laneway_tools.measure.compare import humanised
from laneway_tools.places.errors import UserError

_TITLES = {
    "latency": "Latency",
    "bandwidth": "Bandwidth",
    "bidirectional": "Bandwidth both ways",
    "rate": "Rate of messages",
    "fft_alltoall": "3-D FFT by alltoall",
    "fft_alltoallv": "3-D FFT by alltoallv",
    "hpcg": "Conjugate gradients with multigrid",
    "hpcg_spmv": "Sparse matrix times vector, 27 points",
    "hpcg_mg": "Multigrid with symmetric Gauss-Seidel",
    "hpcg_ddot": "Dot product",
    "hpcg_waxpby": "Sum of vectors",
    "sparse_product": "Random sparse matrix times vector",
    "xhpcg": "HPCG, the program",
    "xhpcg_ddot": "HPCG, the program: dot products",
    "xhpcg_waxpby": "HPCG, the program: sums of vectors",
    "xhpcg_spmv": "HPCG, the program: sparse matrix times vector",
    "xhpcg_mg": "HPCG, the program: multigrid",
    "speed3d_c2c_a2av": "heFFTe, complex, by alltoallv",
    "speed3d_c2c_p2p_pl": "heFFTe, complex, by messages",
    "speed3d_r2c_a2av": "heFFTe, real, by alltoallv",
    "nekbone": "Nekbone",
    "discovery": "Discovery of senders",
}
_HOW = (
    "Times are geometric means of the launches' medians, of the slowest rank. Intervals are 95%, resampled over launches and over samples within them. "
    "A difference counts as shown if its interval leaves out 1, and it is larger than 1% and than what the same thing measured twice differs by."
)
_STYLE = """
:root{--text:#1a1a1a;--soft:#5a5a5a;--line:#d5d5d5;--back:#fff;--shade:#f5f6f8;--accent:#0072b2}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1200px;padding:0 16px 48px;font:16px/1.5 system-ui,sans-serif;color:var(--text);background:var(--back)}
h1{font-size:1.7rem;margin:1.2rem 0 .3rem}h2{font-size:1.3rem;margin:2.2rem 0 .5rem;border-bottom:1px solid var(--line)}h3{font-size:1.05rem;margin:1.4rem 0 .4rem}
h1,h2,h3{overflow-wrap:anywhere}p,li{max-width:75ch;overflow-wrap:anywhere}.soft{color:var(--soft);font-size:.9rem}
nav{font-size:.9rem;display:flex;flex-wrap:wrap;gap:.2rem .9rem}a{color:var(--accent)}
.wide{overflow-x:auto;margin:.6rem 0}table{border-collapse:collapse;font-size:.88rem;min-width:100%}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}th{background:var(--shade)}
td.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}.system td{overflow-wrap:anywhere}.system td:first-child{white-space:nowrap}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:12px}.plot{min-height:430px;min-width:0}
.none{color:var(--soft)}details{margin:.4rem 0}
@media(max-width:700px){thead{display:none}table,tbody,tr,td{display:block}tr{border-bottom:2px solid var(--line);padding:.3rem 0}
td{border:0;padding:.1rem 0;overflow-wrap:anywhere}td.number{text-align:left;white-space:normal}td::before{content:attr(data-name) ": ";color:var(--soft)}}
@media(max-width:480px){body{padding:0 10px 32px;font-size:15px}h1{font-size:1.4rem}}
@media print{nav,details{display:none}body{max-width:none}h2{break-before:auto}.plot,table{break-inside:avoid}.plots{grid-template-columns:1fr 1fr}.wide{overflow:visible}}
"""
_SCRIPT = """
for (const plot of document.querySelectorAll('.plot')) {
  const figure = figures[plot.dataset.figure];
  Plotly.newPlot(plot, figure.data, figure.layout, {responsive: true, displaylogo: false});
}
"""


def read_files(paths: Sequence[Path]) -> Study:
    """The study of result files, or of folders that hold one. A UserError where there is nothing to report."""
    read: list[list[results.Record]] = []
    for path in paths:
        file = path / "results.jsonl" if path.is_dir() else path
        if not file.is_file():
            raise UserError(f"{file}: there is no such file")
        read.append(results.read(file))
    if len(read) > 1:
        read = [study.labelled(records, label) for records, label in zip(read, _labels(paths), strict=True)]
    found = study.read([record for records in read for record in records])
    if not found.cases and not found.failures:
        why = "; ".join(dict.fromkeys(f"{benchmark}: {reason}" for benchmark, _, _, reason in findings.left_out(found)))
        raise UserError(f"{', '.join(map(str, paths))}: no results with samples{f' ({why})' if why else ''}")
    return found


def _labels(paths: Sequence[Path]) -> list[str]:
    """Short names of files that differ."""
    short = [path.name if path.is_dir() else path.stem for path in paths]
    return [name if short.count(name) == 1 else str(path) for name, path in zip(short, paths, strict=True)]


def plotly_script() -> str:
    """plotly.js itself, from the Python package."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise UserError("the report needs plotly: pip install './tools[measure]', or './dev setup'") from error
    return str(get_plotlyjs())


def title_of(case: Case) -> str:
    """What a section is headed."""
    name = _TITLES.get(case.benchmark, case.benchmark)
    more = [case.pattern] if case.pattern and case.group != "application" else []
    return f"{name}{f' ({more[0]})' if more else ''}, {place_in_words(case.where)}" if case.where else name


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = (), kind: str = "") -> str:
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = ""
    for row in rows:
        # Where the window is narrow, each cell is a line that begins with its column's name.
        inside = (
            f'<td{" class=number" if i in numbers else ""} data-name="{html.escape(name)}">{html.escape(text)}</td>'
            for i, (name, text) in enumerate(zip(head, row, strict=True))
        )
        body += f"<tr>{''.join(inside)}</tr>"
    return f'<div class="wide"><table class="{kind}"><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>'


def _markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    clean = [[text.replace("|", "\\|") for text in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [list(head), ["---"] * len(head), *clean])


_WINNERS = ("benchmark", "where", "sizes", "leads", "next", "its time, as a multiple", "verdict")


def _winner_rows(data: Study) -> list[list[str]]:
    rows = []
    for row in findings.winners(data):
        runner_up = data.name(row.runner_up) if row.runner_up else "-"
        verdict = "shown" if row.is_shown else "alone" if row.ratio is None else "no difference shown"
        leads = [data.name(row.leader), runner_up, str(row.ratio or "-")]
        if row.ratio is not None and not row.is_shown:
            leads = ["-"] * 3  # whoever was first here may be second in the next evaluation
        rows.append([row.benchmark, place_in_words(row.where), row.size or "-", *leads, verdict])
    return rows


def _system_rows(data: Study) -> list[tuple[str, str]]:
    """The machine, and how programs ran on it."""
    by_node = [count for _, count in sorted(Counter(data.nodes_of_ranks).items())]
    days = sorted({date[:10] for date in data.dates})
    variables = data.settings.get("variables")
    rows = [
        ("Ranks", f"{data.ranks}, by node: {', '.join(map(str, by_node))}" if data.ranks and by_node else str(data.ranks or "")),
        ("Measured", " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""),
        ("Variables", " ".join(f"{name}={value}" for name, value in variables.items()) if isinstance(variables, Mapping) else ""),
        ("Preloaded", data.preloaded),
        (
            "Other programs",
            f"before the launches {np.median(data.others):.1f} processes wanted a processor, {max(data.others):.1f} at most"
            if data.others
            else "",
        ),
    ]
    return [*((name, value) for name, value in rows if value), *data.system]


def _library_rows(data: Study) -> list[list[str]]:
    return [
        [
            data.names.get(str(library["library"]), str(library["library"])),
            str(library.get("configuration") or "-"),
            " ".join(f"{name}={value}" for name, value in dict(library.get("variables") or {}).items()) or "-",  # type: ignore[call-overload]
            str(library.get("message") or ("with Laneway" if library.get("laneway") else "without Laneway")),
        ]
        for library in data.libraries
    ]


_LEFT_OUT = ("benchmark", "candidate", "library", "why")
_LIBRARIES = ("library", "configured with", "variables", "Laneway over it")


def value_text(data: Study, case: Case, contestant: study.Contestant) -> str:
    """The value of a case with its interval."""
    measured = data.cases[case][contestant]
    quantity = figures.quantity_of(measured)
    if quantity.axis.startswith("time"):
        return f"{humanised(measured.median)} ({humanised(measured.interval[0])} to {humanised(measured.interval[1])})"
    low, high = sorted(quantity.value(measured, seconds) for seconds in measured.interval)
    return f"{quantity.value(measured, measured.median):.4g} ({low:.4g} to {high:.4g})"


def _number_rows(data: Study, cases: Sequence[Case]) -> tuple[list[str], list[list[str]]]:
    contestants = data.contestants(cases)
    axis = figures.quantity_of(data.cases[cases[0]][data.contestants(cases[:1])[0]]).axis
    with_ranks = [c for c in contestants if any(data.cases[case][c].first for case in cases if c in data.cases[case])]
    rows = []
    for case in cases:
        row = [humanised_bytes(case.bytes) if case.bytes >= 0 else "-"]
        for contestant in contestants:
            measured = data.cases[case].get(contestant)
            share = f", {measured.share:.0%} communication" if measured and measured.share is not None else ""
            row.append(value_text(data, case, contestant) + share if measured else "-")
        for contestant in with_ranks:
            measured = data.cases[case].get(contestant)
            row.append(_first_and_fastest(measured) if measured else "-")
        rows.append(row)
    head = [axis.split(",")[0] if axis.startswith("time") else axis, *(data.name(c) for c in contestants)]
    return [*head, *(f"{data.name(c)}: first call; fastest rank" for c in with_ranks)], rows


def _first_and_fastest(measured: study.Measured) -> str:
    """What a first call costs, and how far ranks are apart."""
    first = humanised(measured.first_call) if measured.first_call is not None else "-"
    fastest = list(measured.fastest.values())
    late = f", rank {measured.late_rank} last" if measured.late_rank is not None else ""
    return f"{first}; {humanised(float(np.median(fastest))) if fastest else '-'}{late}"


def _section(data: Study, number: int, cases: Sequence[Case], plots: list[figures.Figure]) -> str:
    heading = title_of(cases[0])
    text = f'<section><h3 id="s{number}">{html.escape(heading)}</h3><div class="plots">'
    for figure in (figures.values(data, cases, heading), figures.ratios(data, cases)):
        if figure is not None:
            text += f'<div class="plot" data-figure="{len(plots)}"></div>'
            plots.append(figure)
    head, rows = _number_rows(data, cases)
    return f"{text}</div><details><summary>Numbers</summary>{_table(head, rows)}</details></section>"


def _facts(data: Study) -> list[str]:
    if str(data.settings.get("on", "")).startswith("sim:"):
        return [_HOW, "These times are virtual: they repeat exactly, so that intervals have no width."]
    of_each = [f"{data.noise_of(c):.1%} of {data.name(c)}" for c in data.contestants() if c.candidate == OWN]
    of_libraries = f": {', '.join(of_each)}" if len(of_each) > 1 else ""
    control = (
        f"The same thing measured twice differs here by up to {data.noise:.1%} (19 of 20 cases){of_libraries}."
        if data.noise
        else "There is no control: how much equals differ is not known."
    )
    launches = (
        "One launch: differences between launches are in no interval."
        if data.launches == 1
        else f"{data.launches} launches of each."
        if data.launches
        else ""
    )
    on = str(data.settings.get("on", ""))
    is_full = on.startswith(("local", "cluster:")) and 0 < data.processors < data.ranks
    crowd = (
        f"{data.ranks} ranks share {data.processors} processors: those of a library that polls keep each other waiting, which is in its times."
        if is_full
        else ""
    )
    return [fact for fact in (_HOW, control, launches, crowd) if fact]


def as_html(data: Study, title: str) -> str:
    """The whole page."""
    plots: list[figures.Figure] = []
    groups: dict[str, list[tuple[int, str]]] = {}
    sections: dict[str, str] = {}
    for number, cases in enumerate(data.series().values()):
        group = cases[0].group
        groups.setdefault(group, []).append((number, title_of(cases[0])))
        sections[group] = sections.get(group, "") + _section(data, number, cases, plots)
    text = f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{html.escape(title)}</title><link rel="icon" href="data:,"><style>{_STYLE}</style></head><body>'
    text += f'<h1>{html.escape(title)}</h1><p class="soft">{html.escape(" ".join(_facts(data)))}</p><nav><a href="#summary">Summary</a><a href="#winners">Who leads where</a><a href="#system">System</a>'
    text += "".join(f'<a href="#g{i}">{html.escape(group)}</a>' for i, group in enumerate(groups)) + "</nav>"
    text += '<h2 id="summary">Summary</h2>'
    for heading, said in findings.summary(data).items():
        text += f"<h3>{html.escape(heading)}</h3><ul>" + "".join(f"<li>{html.escape(sentence)}</li>" for sentence in said) + "</ul>"
    if not findings.summary(data):
        text += '<p class="none">The numbers show no difference.</p>'
    text += '<h2 id="winners">Who leads where</h2>' + _table(_WINNERS, _winner_rows(data), (5,))
    if left_out := findings.left_out(data):
        text += '<h2 id="left-out">What did not run</h2>' + _table(_LEFT_OUT, left_out)
    text += (
        '<h2 id="system">System</h2>'
        + _table(("what", "value"), _system_rows(data), kind="system")
        + _table(_LIBRARIES, _library_rows(data), kind="system")
    )
    for i, (group, entries) in enumerate(groups.items()):
        links = "".join(f'<a href="#s{number}">{html.escape(name)}</a>' for number, name in entries)
        text += f'<h2 id="g{i}">{html.escape(group[:1].upper() + group[1:])}</h2><nav>{links}</nav>{sections[group]}'
    inside = json.dumps(plots).replace("</", "<\\/")
    return f"{text}<script>{plotly_script()}</script><script>const figures={inside};{_SCRIPT}</script></body></html>\n"


def as_markdown(data: Study, title: str) -> str:
    """The same without plots."""
    parts = [f"# {title}", " ".join(_facts(data)), "## Summary"]
    for heading, said in findings.summary(data).items():
        parts += [f"### {heading}", "\n".join(f"- {sentence}" for sentence in said)]
    parts += ["## Who leads where", _markdown_table(_WINNERS, _winner_rows(data))]
    if left_out := findings.left_out(data):
        parts += ["## What did not run", _markdown_table(_LEFT_OUT, left_out)]
    parts += ["## System", _markdown_table(("what", "value"), _system_rows(data)), _markdown_table(_LIBRARIES, _library_rows(data))]
    group = ""
    for cases in data.series().values():
        if cases[0].group != group:
            group = cases[0].group
            parts.append(f"## {group[:1].upper()}{group[1:]}")
        parts += [f"### {title_of(cases[0])}", _markdown_table(*_number_rows(data, cases))]
    return "\n\n".join(parts) + "\n"


def write(data: Study, title: str, page: Path) -> list[Path]:
    """Write the page, and Markdown beside it; their paths."""
    text = page.with_suffix(".md")
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(as_html(data, title), encoding="utf-8")
        text.write_text(as_markdown(data, title), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{page}: {error.strerror}", 1) from error
    return [page, text]
