"""``laneway calibrate``: measures a machine and writes its parameters."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import numpy as np
import tomli_w
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from laneway_tools.measure import results
from laneway_tools.measure.fits import Fit, Piece, Protocols, fit_protocols, fit_terms
from laneway_tools.measure.results import Record
from laneway_tools.places import launch, talk
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import find_program
from laneway_tools.places.places import Simulated

BOUND = 0.25
"""A fit is refused if half of its samples are further from it than this fraction."""

LINKS = ("core", "socket", "node", "network")
PATHS = ("network", "node", "shared")

_STEP = re.compile(r"^calibrate (\d+)/(\d+) (.*)$")
_LINK_BOUND = 0.5
# How far short messages may be from a line of their own.
_ON_A_LINE = 0.05


def _quiet(record: Record) -> float:
    """Where only the measured ranks run, whatever disturbs them adds time: the minimum. Each sample is a mean of
    milliseconds, so that no lucky message makes it."""
    return float(np.min(record["seconds"]))


def _busy(record: Record) -> float:
    """Where all ranks compete for the cores, how they take turns is part of the cost: the median."""
    return float(np.median(record["seconds"]))


@dataclass(frozen=True)
class Series:
    """Samples of one measure: its records, and the time taken for each."""

    records: Sequence[Record]
    seconds: np.ndarray

    def column(self, key: str) -> np.ndarray:
        return np.array([float(record[key]) for record in self.records])

    def where(self, key: str, values: Iterable[object]) -> Series:
        kept = [i for i, record in enumerate(self.records) if record[key] in set(values)]
        return Series([self.records[i] for i in kept], self.seconds[kept])

    def __bool__(self) -> bool:
        return bool(self.records)


@dataclass
class Calibration:
    """What a parameter file says, and how well each of its numbers describes what was measured."""

    run: Record
    parameters: dict[str, object] = field(default_factory=dict)
    fits: dict[str, Fit | Protocols] = field(default_factory=dict)
    series: dict[str, Series] = field(default_factory=dict)
    notes: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(self, name: str, fit: Fit | Protocols, series: Series, **notes: float) -> None:
        self.fits[name], self.series[name] = fit, series
        if notes:
            self.notes[name] = notes

    def poor(self) -> dict[str, float]:
        """The fits that do not describe their data, with their residuals."""
        return {name: fit.residual for name, fit in self.fits.items() if not fit.residual <= BOUND}


class _Fitter:
    """Turns the records of one run into parameters."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records
        self._made = Calibration(_described(records))

    def _series(self, measure: str, time: Callable[[Record], float] = _quiet, **what: object) -> Series:
        wanted = {"measure": measure, **what}
        found = [record for record in self._records if all(record.get(key) == value for key, value in wanted.items())]
        return Series(found, np.array([time(record) for record in found]))

    def calibrate(self) -> Calibration:
        self._links("links", "pingpong")
        self._links("device_links", "device_pingpong")
        self._injection()
        self._host()
        self._overheads()
        self._flag()
        self._match()
        self._pack()
        self._copies()
        self._device_copies()
        self._own_collectives()
        return self._made

    def _links(self, parameter: str, measure: str) -> None:
        links = {}
        for name in LINKS:
            if series := self._series(measure, link=name):
                fit = fit_protocols(series.column("bytes"), series.seconds)
                self._made.add(f"{parameter}.{name}", fit, series)
                links[name] = {"protocols": [_protocol(piece) for piece in fit.pieces]}
        if links:
            self._made.parameters[parameter] = links

    def _injection(self) -> None:
        for name, directions in (("injection", 1), ("injection_both_ways", 2)):
            series = self._series("injection", _busy, directions=directions)
            if not series:
                return
            series = series.where("active", [max(series.column("active"))])
            fit = fit_terms((1.0, series.column("active") * series.column("bytes")), series.seconds)
            self._made.add(name, fit, series, beta=fit.coefficients[1])
        self._made.parameters["injection"] = {"beta": self._made.fits["injection"].coefficients[1]}
        self._short_messages()

    def _short_messages(self) -> None:
        """What short messages take at the interface of a node."""
        series = self._series("gap", _busy)
        if not series:
            return
        messages = series.column("messages")
        fit = fit_terms((1.0, messages * series.column("bytes"), messages), series.seconds)
        self._made.add("injection_short", fit, series)
        _, beta, alpha = fit.coefficients
        # Processors limited the rate where many messages do not lie on the line of few, or bytes took longer than those of
        # large messages.
        if fit.residual <= _ON_A_LINE and beta <= self._made.parameters["injection"]["beta"]:
            self._made.parameters["injection"]["short"] = {"alpha": alpha, "beta": beta}

    def _host(self) -> None:
        run = self._made.run
        # A rank that is bound to cores of its own says nothing about how many there are.
        one_each = bool(run["bound"]) and int(run["host_cores"]) >= int(run["host_ranks"])
        self._made.parameters["host"] = {
            "cores": 0 if one_each else int(run["host_cores"]),
            "nodes": int(run["host_nodes"]),
        }

    @property
    def _cores_of_rank(self) -> float:
        """The share of a core that a rank has when all are busy."""
        return min(1.0, float(self._made.run["host_cores"]) / float(self._made.run["host_ranks"]))

    def _overhead(self, path: str) -> tuple[Fit, Series] | None:
        series = self._series("overhead", _busy, path=path)
        if path == "network" and series:
            series = self._not_bound_by_link(series)
        if not series:
            return None
        messages = series.column("messages")
        terms = [np.ones_like(messages), messages]
        if len(set(series.column("bytes"))) > 1:
            terms.append(messages * series.column("bytes"))
        return fit_terms(terms, series.seconds), series

    def _not_bound_by_link(self, series: Series) -> Series:
        """The sizes at which processors, not links, limit how fast messages go: the smallest in any case."""
        ranks_of_node = math.ceil(float(self._made.run["ranks"]) / float(self._made.run["nodes"]))
        beta = self._made.parameters.get("injection", {}).get("beta", 0.0)
        sizes = sorted(set(series.column("bytes")))
        kept = sizes[:1]
        for size in sizes[1:]:
            some = series.where("bytes", [size])
            _, slope = fit_terms((1.0, some.column("messages")), some.seconds).coefficients
            if ranks_of_node * size * beta < _LINK_BOUND * slope:
                kept.append(size)
        return series.where("bytes", kept)

    def _overheads(self) -> None:
        overhead: dict[str, object] = {}
        for path in reversed(PATHS):
            found = self._overhead(path)
            if found is None:
                continue
            fit, series = found
            wait, message, *byte = (self._cores_of_rank * value for value in fit.coefficients)
            self._made.add(f"overhead.{path}", fit, series, wait=wait)
            # Where the link is too slow to show what bytes cost the processor, they cost what they do inside a node.
            inside = overhead.get("node", {"byte": 0.0})
            overhead[path] = {"message": message, "byte": byte[0] if byte else inside["byte"], "wait": wait}
        self._made.parameters["overhead"] = overhead

    def _parameter(self, name: str, value: float, fit: Fit, series: Series, **notes: float) -> None:
        self._made.parameters["overhead"][name] = value
        self._made.add(f"overhead.{name}", fit, series, **notes)

    def _flag(self) -> None:
        if series := self._series("flag"):
            fit = fit_terms((1.0,), series.seconds)
            self._parameter("flag", fit.coefficients[0], fit, series)

    def _match(self) -> None:
        if series := self._series("match"):
            fit = fit_terms((1.0, series.column("posted")), series.seconds)
            self._parameter("match", fit.coefficients[1], fit, series)

    def _pack(self) -> None:
        strided, indexed = (self._series("pack", _busy, kind=kind) for kind in ("strided", "indexed"))
        if strided and indexed:
            (beta,) = fit_terms((strided.column("bytes"),), strided.seconds).coefficients
            fit = fit_terms((indexed.column("bytes"),), indexed.seconds)
            self._parameter("pack", fit.coefficients[0], fit, indexed, strided=beta)

    def _copies(self) -> None:
        copies = []
        for record in self._series("copy", _busy).records:
            seconds = np.array(record["seconds"]) / float(record["bytes"])
            beta = float(np.median(seconds))
            series = Series([record], np.array([_busy(record)]))
            self._made.add(f"copies.{record['active']}", Fit(tuple(beta / seconds - 1), (beta,)), series)
            copies.append({"active": int(record["active"]), "beta": beta})
        self._made.parameters["copies"] = copies

    def _device_copies(self) -> None:
        copies = []
        for processes in sorted({int(record["processes"]) for record in self._series("device").records}):
            row: dict[str, object] = {"processes": processes}
            for direction, transfer in (_DEVICE_COPIES | _DEVICE_PACKS).items():
                series = self._series("device", _busy, transfer=transfer, processes=processes, batch=1)
                if not series:
                    continue
                fit = fit_terms((1.0, series.column("bytes")), series.seconds)
                self._made.add(f"device_copies.{processes}.{direction}", fit, series)
                row[direction] = {"alpha": fit.coefficients[0], "beta": fit.coefficients[1]}
            if series := self._series("device", _busy, processes=processes, batch=_DEVICE_BATCH):
                row["gap"] = self._gap(processes, series)
            copies.append(row)
        if copies:
            self._made.parameters["device_copies"] = copies

    def _own_collectives(self) -> None:
        """What was measured, for no law is known of what an MPI library chooses. A rooted operation is followed by a
        barrier, which does not count."""
        times: dict[str, dict[int, float]] = {}
        for record in self._series("collective", _busy).records:
            times.setdefault(str(record["operation"]), {})[int(record["bytes"])] = _busy(record)
        if not times:
            return
        rooted = {record["operation"] for record in self._series("collective", rooted=True).records}
        (barrier,) = times["barrier"].values()
        operations = [
            {
                "name": name,
                "times": [
                    {"bytes": size, "seconds": max(seconds - barrier, 0.05 * seconds) if name in rooted else seconds}
                    for size, seconds in sorted(by_size.items())
                ],
            }
            for name, by_size in times.items()
        ]
        run = self._made.run
        self._made.parameters["own_collectives"] = {
            "library": run.get("mpi", ""),
            "ranks": run["ranks"],
            "nodes": run["nodes"],
            "operations": operations,
        }

    def _gap(self, processes: int, batches: Series) -> float:
        """What each further copy of a batch takes, besides its bytes."""
        single = self._series("device", _busy, transfer=_DEVICE_BATCHED, processes=processes, batch=1)
        short = single.where("bytes", batches.column("bytes"))
        series = Series([*short.records, *batches.records], np.concatenate([short.seconds, batches.seconds]))
        batch = series.column("batch")
        fit = fit_terms((1.0, batch - 1, batch * series.column("bytes")), series.seconds * batch)
        self._made.add(f"device_copies.{processes}.gap", fit, series)
        return fit.coefficients[1]


def _protocol(piece: Piece) -> dict[str, object]:
    limit = {} if piece.up_to is None else {"up_to": piece.up_to}
    return {"name": piece.name, **limit, "alpha": piece.alpha, "beta": piece.beta}


def fit_all(records: Sequence[Record]) -> Calibration:
    """Parameters from what ``laneway-bench calibrate`` has written."""
    return _Fitter(records).calibrate()


def require_good(calibration: Calibration) -> None:
    """Raise a UserError that names the fits that do not describe their data."""
    if poor := calibration.poor():
        listed = ", ".join(f"{name} {residual:.0%}" for name, residual in poor.items())
        raise UserError(
            f"not written: half of the samples are more than {BOUND:.0%} away from what was fitted to them ({listed}). "
            "Other programs may have used the machine: measure again, or write the file in spite of it with --force",
            1,
        )


def _rounded(value: object) -> object:
    """Four significant digits are more than any of this is known to."""
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def to_toml(calibration: Calibration, name: str, provenance: str) -> str:
    """The parameter file (docs/reference/calibration.md)."""
    quality: dict[str, object] = {"refused_above": BOUND, "poor": sorted(calibration.poor())}
    for key, fit in calibration.fits.items():
        table = quality
        for part in key.split("."):
            table = table.setdefault(part, {})
        table |= {"residual": fit.residual, "samples": fit.samples, **calibration.notes.get(key, {})}
    order = ("links", "device_links", "device_copies", "injection", "host", "overhead", "copies", "own_collectives")
    known = {key: calibration.parameters[key] for key in order if key in calibration.parameters}
    return tomli_w.dumps(_rounded({"name": name, "provenance": provenance, **known, "fit": quality}))


def _describe_protocols(pieces: Sequence[Piece]) -> str:
    limits = [*(f"to {piece.up_to:,} B" for piece in pieces[:-1]), "above" if len(pieces) > 1 else "all"]
    return "\n".join(
        f"{piece.name}, {limit}: {piece.alpha * 1e6:.3g} µs + {piece.beta * 1e9:.3g} ns/B"
        for piece, limit in zip(pieces, limits, strict=True)
    )


def _describe(name: str, calibration: Calibration) -> str:
    top, _, rest = name.partition(".")
    parameters = calibration.parameters
    if top in ("links", "device_links"):
        return _describe_protocols(calibration.fits[name].pieces)
    if top == "copies":
        return f"{calibration.fits[name].coefficients[0] * 1e9:.3g} ns/B for each of {rest}"
    if top == "overhead":
        value = parameters["overhead"][rest]
        if isinstance(value, Mapping):
            return f"{value['message'] * 1e6:.3g} µs a message, {value['byte'] * 1e9:.3g} ns/B"
        return f"{value * 1e9:.3g} ns/B" if rest == "pack" else f"{value * 1e6:.3g} µs"
    alpha, beta, *message = calibration.fits[name].coefficients
    if rest.endswith(".gap"):
        return f"{beta * 1e6:.3g} µs a copy"
    if message:
        return f"{beta * 1e9:.3g} ns/B, {message[0] * 1e6:.3g} µs a message"
    if top == "device_copies":
        return f"{alpha * 1e6:.3g} µs + {beta * 1e9:.3g} ns/B"
    return f"{beta * 1e9:.3g} ns/B, {1e-6 / beta if beta > 0 else math.inf:,.0f} MB/s"


def table_of(calibration: Calibration, title: str) -> Table:
    """All fits, with how far the measured times are from them."""
    table = Table(title=title)
    table.add_column("fit")
    table.add_column("found")
    for column in ("median residual", "samples"):
        table.add_column(column, justify="right")
    poor = calibration.poor()
    for name, fit in calibration.fits.items():
        style = "red" if name in poor else ""
        table.add_row(name, _describe(name, calibration), f"{fit.residual:.1%}", str(fit.samples), style=style)
    return table


def _follow(lines: TextIO, progress: Progress) -> list[str]:
    """Move the bar by what the program prints; what else it has printed."""
    task = progress.add_task("starting", total=None)
    other = []
    for line in lines:
        if step := _STEP.match(line):
            number, steps = int(step[1]), int(step[2])
            progress.update(task, completed=number - 1, total=steps, description=step[3].strip())
            if number == steps or 10 * (number - 1) // steps != 10 * (number - 2) // steps:
                talk.line(f"calibrate: step {number} of {steps}: {step[3].strip()}")
        else:
            other.append(line.rstrip())
    return other


def _run(job: launch.Job, console: Console) -> None:
    """Run the program with a bar; what it prints is shown if it fails."""
    reading, writing = os.pipe()
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=talk.is_quiet()) as progress, ThreadPoolExecutor(1) as reader:
        with open(writing, "wb") as output:
            said = reader.submit(_follow, open(reading, encoding="utf-8", errors="replace"), progress)
            status = launch.run(job, output)
        other = said.result()
    if status != 0:
        raise UserError("\n".join([f"laneway-bench calibrate ended with status {status}", *other[-25:]]), status)


def _described(records: Sequence[Record]) -> Record:
    """What the program says of its run."""
    run = next((record for record in records if record.get("measure") == "run"), None)
    if run is None:
        raise UserError("laneway-bench calibrate wrote no description of its run", 1)
    return run


_DEVICE_COPIES = {
    "to_device": "h2d",
    "to_host": "d2h",
    "from_peer": "ipc",
    "rows_to_device": "rows h2d",
    "rows_to_host": "rows d2h",
}
_DEVICE_PACKS = {"pack": "gather 8 B"}
"""Names of ``device_copies`` in parameter files, and what ``laneway-bench device`` calls them."""
_DEVICE_BATCHED = "d2h"
_DEVICE_BATCH = 16
"""What is also copied so many times before it is waited for."""
_DEVICE_BYTES = ("1KiB", "4KiB", "16KiB", "64KiB", "256KiB", "1MiB", "4MiB", "16MiB")


def _measure_device(job: launch.Job, run: Record, quick: bool, raw: Path) -> list[Record]:
    """Copies between host and device and from a peer's, and packing, one at a time in each of 1, 2, … processes of a
    node, and small copies in batches; none where there is no device. Without MPI."""
    processes = [count for count in (1, 2, 4, 8) if count <= max(1, int(run["ranks"]) // int(run["nodes"]))]
    options = ["--processes", ",".join(map(str, processes)), "--iterations", "10" if quick else "40"]
    command = [find_program("laneway-bench", job.mpi), "device", *options, "--if-any", "--json", str(raw)]
    for transfers, sizes, batch in (
        (_DEVICE_COPIES.values(), _DEVICE_BYTES, 1),
        (_DEVICE_PACKS.values(), _DEVICE_BYTES[:-2], 1),
        ((_DEVICE_BATCHED,), _DEVICE_BYTES[:4], _DEVICE_BATCH),
    ):
        what = ["--transfer", ",".join(transfers), "--bytes", ",".join(sizes[1::2] if quick else sizes)]
        what += ["--batch", str(batch)]
        done = subprocess.run([*command, *what], env={**os.environ, **job.variables}, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UserError(f"laneway-bench device: {done.stderr or done.stdout}", done.returncode)
    records = results.parse(raw.read_text(encoding="utf-8"), "the samples") if raw.exists() else []
    return [{**record, "measure": "device", "seconds": [record["median_s"]]} for record in records]


@dataclass(frozen=True)
class Source:
    """Where samples are from: a name for the machine, and what ``laneway calibrate`` was called with."""

    name: str
    options: str


def source_of(job: launch.Job, *, quick: bool) -> Source:
    """Of samples that this job has measured."""
    return Source(str(job.place), f"--on {job.place} -n {job.rank_count()}" + (" --quick" if quick else ""))


def _provenance(source: Source, calibration: Calibration, forced: bool) -> str:
    run = calibration.run
    said = [f"laneway calibrate {source.options}"]
    said += [str(run.get("date", datetime.date.today().isoformat()))[:10], str(run["mpi"])]
    said += [f"{name}={value}" for name, value in dict(run.get("transport") or {}).items()]
    said.append(f"{run['ranks']} ranks on {run['nodes']} nodes")
    if run.get("machine"):
        said.append(f"described as {run['machine']}")
    if forced:
        said.append(f"written by --force although these fits are poor: {', '.join(calibration.poor())}")
    return ", ".join(said)


def measure(job: launch.Job, *, quick: bool, keep_raw: Path | None) -> Calibration:
    """Measure, fit and print a table; ``job`` is the program without its options, ``keep_raw`` a file for the samples."""
    console = talk.console()
    with tempfile.TemporaryDirectory(prefix="laneway-") as folder:
        raw = Path(folder) / "samples.jsonl"
        options = ["--json", str(raw), *(["--quick"] if quick else [])]
        _run(dataclasses.replace(job, command=[*job.command, *options]), console)
        text = raw.read_text(encoding="utf-8")
        records = results.parse(text, "the samples")
        if not isinstance(job.place, Simulated):
            records += _measure_device(job, _described(records), quick, Path(folder) / "device.jsonl")
    if keep_raw:
        keep_raw.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    calibration = fit_all(records)
    console.print(table_of(calibration, f"{job.place}, {calibration.run['ranks']} ranks, {calibration.run['mpi']}"))
    return calibration


def fit_samples(path: Path) -> Calibration:
    """Fit and print a table of samples that laneway-bench calibrate has written, here or elsewhere."""
    if not path.is_file():
        raise UserError(f"--samples {path}: there is no such file")
    records = results.read(path)
    if not records or any("measure" not in record for record in records):
        raise UserError(f"--samples {path}: has no samples of 'laneway-bench calibrate --json'")
    run = _described(records)
    calibration = fit_all(records)
    talk.console().print(table_of(calibration, f"{path.name}, {run['ranks']} ranks, {run['mpi']}"))
    return calibration


def write(calibration: Calibration, source: Source, output: Path, *, force: bool) -> None:
    """Write the parameter file; without ``force``, a UserError if a fit does not describe its data."""
    if not force:
        require_good(calibration)
    name = re.sub(r"[:@,]", "-", source.name)
    provenance = _provenance(source, calibration, forced=bool(calibration.poor()))
    output.write_text(to_toml(calibration, name, provenance), encoding="utf-8")
    talk.console().print(f"parameters:    {output}", highlight=False)
