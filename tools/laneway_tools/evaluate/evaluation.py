"""``laneway evaluate``: what is launched in which order, what is kept, and how it goes on where it stopped."""

from __future__ import annotations

import contextlib
import datetime
import errno
import json
import platform
import random
import re
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from laneway_tools import __version__
from laneway_tools.evaluate import applications, libraries, running, system
from laneway_tools.evaluate.applications import Installed
from laneway_tools.evaluate.libraries import Library
from laneway_tools.measure import results
from laneway_tools.measure.results import Record
from laneway_tools.places import cluster, launch, processors, talk
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root
from laneway_tools.places.places import Cluster, Place, Simulated
from laneway_tools.places.processes import Terminated

RESULTS = "results.jsonl"
SCHEMA = 1


def _groups() -> Mapping[str, tuple[str, ...]]:
    """What the program has, by group: the rows of its table."""
    rows = re.findall(
        r'^ +\{"(\w+)", "([\w-]+)", run_\w+\},$', (root() / "bench/evaluate/main.c").read_text(encoding="utf-8"), re.MULTILINE
    )
    return {group: tuple(name for name, its in rows if its == group) for group in dict.fromkeys(group for _, group in rows)}


GROUPS = _groups()
BENCHMARKS = tuple(name for group in GROUPS.values() for name in group)
PROGRAMS = tuple(application.name for application in applications.KNOWN)
_PROGRAM_STILL_SECONDS = 300  # many print nothing before their end


@dataclass(frozen=True)
class Effort:
    """How much is measured: the program's options, launches of each library, seconds without a result that are a hang, and
    minutes for all launches together."""

    arguments: tuple[str, ...]
    launches: int
    still_seconds: float
    minutes: float | None = None
    runs: int = 5
    """At most so many of each application in a launch."""


QUICK = Effort(("--sizes", "4:262144:16", "--grid", "16", "--seconds", "0.3", "--interval", "0.1", "--rounds", "7:60"), 2, 60, 7, 2)
FULL = Effort(("--sizes", "4:4194304:4", "--grid", "64", "--seconds", "2", "--interval", "0.03", "--rounds", "15:400"), 3, 300, 80)
# Virtual times repeat exactly, and cases that are left out would differ from run to run.
SIMULATED = Effort(("--sizes", "4:1048576:16", "--grid", "16", "--rounds", "1:1", "--batch", "1", "--warm-up", "1", "--no-control"), 1, 600)


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    output: Path
    mpis: str
    place: Place
    ranks: int | None = None
    quick: bool = False
    benchmarks: tuple[str, ...] = (*BENCHMARKS, *PROGRAMS)
    laneway: bool = True
    seed: int = 1
    variables: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    launches: int | None = None
    still_seconds: float | None = None
    afresh: bool = False
    minutes: float | None = None
    applications: Path | None = None

    def effort(self) -> Effort:
        """As asked for, or what suits the place."""
        base = SIMULATED if isinstance(self.place, Simulated) else QUICK if self.quick else FULL
        return Effort(
            (*base.arguments, *self.arguments),
            self.launches or base.launches,
            self.still_seconds or base.still_seconds,
            self.minutes or base.minutes,
            base.runs,
        )

    def settings(self) -> Record:
        """What must be the same where an evaluation goes on."""
        effort = self.effort()
        return {
            "on": str(self.place),
            "ranks": self.ranks,
            "arguments": list(effort.arguments),
            "seed": self.seed,
            "laneway": self.laneway,
            "variables": dict(self.variables),
        }


def benchmarks_of(text: str) -> tuple[str, ...]:
    """Benchmarks and groups of a list with commas; all for an empty one."""
    chosen: list[str] = []
    groups, every = {**GROUPS, applications.GROUP: PROGRAMS}, (*BENCHMARKS, *PROGRAMS)
    for name in filter(None, (name.strip() for name in text.split(","))):
        if name not in groups and name not in every:
            raise UserError(f"--benchmarks {name}: expected groups ({', '.join(groups)}) or benchmarks ({', '.join(every)})")
        chosen += groups.get(name, (name,))
    return tuple(name for name in every if name in chosen) or every


class Store:
    """The file of results: a line is written whole and at once, so that what was measured stays measured."""

    def __init__(self, wanted: Wanted) -> None:
        self.path = wanted.output / RESULTS
        try:
            wanted.output.mkdir(parents=True, exist_ok=True)
            if wanted.afresh:
                self.path.unlink(missing_ok=True)
            self._drop_broken_line()
            self.records = results.read(self.path)
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise UserError(f"-o {wanted.output}: {error.strerror}", 1) from error
        self._check(wanted.settings())

    def _drop_broken_line(self) -> None:
        """The last line of a file whose disk was full has no end."""
        if self.path.exists():
            data = self.path.read_bytes()
            if data and not data.endswith(b"\n"):
                self.path.write_bytes(data[: data.rfind(b"\n") + 1])

    def _check(self, settings: Record) -> None:
        before = next((record for record in self.records if record.get("record") == "settings"), None)
        if before is None:
            if self.records:
                raise UserError(f"{self.path} holds something else than an evaluation: give another folder with -o")
            self.add({"record": "settings", "schema": SCHEMA, **settings})
            return
        differing = [name for name, value in settings.items() if before.get(name) != value]
        if differing and all(record.get("record") in ("settings", "system", "library") for record in self.records):
            # Nothing is measured yet: what came before was refused, or stopped at once.
            self._file.truncate(0)
            self.records = []
            self.add({"record": "settings", "schema": SCHEMA, **settings})
            return
        for name, value in settings.items():
            if name in differing:
                raise UserError(
                    f"{self.path} is of an evaluation with {name} {json.dumps(before.get(name))}, not {json.dumps(value)}: "
                    "give another folder with -o, or begin afresh with --afresh"
                )

    def add(self, *records: Record) -> None:
        """Append records; those that are there stay there if the disk is full."""
        try:
            self._file.write("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
            self._file.flush()
        except OSError as error:
            full = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror
            raise UserError(f"{self.path}: {full}; the results so far are kept, and the same command goes on from there", 1) from error
        self.records += records

    def done(self) -> set[tuple[str, int, str]]:
        """What needs no more launches: (library, launch, benchmark), done or failed."""
        return {
            (str(record["library"]), int(str(record["launch"])), str(record["benchmark"]))
            for record in self.records
            if record.get("record") in ("done", "failed") and "launch" in record
        }


class Budget:
    """The time of an evaluation: each launch gets of what is left as its benchmarks are of all that are left."""

    def __init__(self, minutes: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = None if minutes is None else clock() + 60 * minutes

    def seconds(self, benchmarks: int, of: int) -> float | None:
        """For a launch of so many of the benchmarks that are left; None: as long as it takes. Not positive: none is left."""
        return None if self._end is None else (self._end - self._clock()) * benchmarks / max(of, benchmarks, 1)

    def is_used_up(self) -> bool:
        """Whether nothing more is to be launched."""
        return self._end is not None and self._clock() >= self._end


class _Progress:
    """A line for each launch that ends, with what is left as long as it looks like those before."""

    def __init__(self, launches: int) -> None:
        self._all, self._ended, self._begin = launches, 0, time.monotonic()

    def end(self, text: str) -> None:
        self._ended += 1
        used = time.monotonic() - self._begin
        left = used / self._ended * (self._all - self._ended)
        after = f", about {_duration(left)} left" if self._all > self._ended else f", {_duration(used)} in all"
        if not talk.is_quiet():
            print(f"[{self._ended}/{self._all}] {text}{after}", flush=True)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


@dataclass
class _Ready:
    """A library with its program and Laneway for it, or why there is none."""

    mpi: Library
    program: str
    laneway: str
    why_not: str
    installed: Sequence[Installed] = ()
    missing: Sequence[tuple[str, str]] = ()
    preload: str = ""
    """Of Laneway for unchanged programs, where there are some."""


def _prepare(library: Library, laneway: bool, folder: Path | None) -> _Ready:
    if not talk.is_quiet():
        print(
            f"{library.name}: the benchmarks are compiled" + (", and Laneway is built where it is not there yet" if laneway else ""),
            flush=True,
        )
    program = libraries.compile_program(library)
    installed, missing = applications.find(folder, library)
    if not laneway:
        return _Ready(library, program, "", "", installed, missing)
    try:
        found = libraries.find_laneway(library)
        return _Ready(library, program, found, "", installed, missing, libraries.find_preload(library, found) if installed else "")
    except UserError as error:
        return _Ready(library, program, "", str(error), installed, missing)


def _provenance() -> Record:
    now = datetime.datetime.now(datetime.UTC)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "host": platform.node(),
        "processors": processors.usable(),
        "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "others": system.running_processes(),
    }


class _Evaluation:
    def __init__(self, wanted: Wanted, store: Store, ready: Sequence[_Ready], clock: Callable[[], float]) -> None:
        self._wanted, self._store, self._ready = wanted, store, ready
        self._effort = wanted.effort()
        self._budget = Budget(self._effort.minutes, clock)
        self._place = str(wanted.place)
        self._commit = system.commit(root())
        self._number = sum(record.get("record") == "launch" for record in store.records)

    def _launches(self) -> list[tuple[int, _Ready, str]]:
        """Launches in turns, so that what changes with time meets all libraries; within a turn in an order that is drawn."""
        order = random.Random(self._wanted.seed)
        found = []
        for launch in range(1, self._effort.launches + 1):
            for group in (*GROUPS, applications.GROUP):
                turn = list(self._ready)
                order.shuffle(turn)
                found += [(launch, ready, group) for ready in turn]
        return found

    def _left(self, launch: int, ready: _Ready, group: str) -> list[str]:
        done = self._store.done()
        names = GROUPS.get(group) or [each.application.name for each in ready.installed]
        return [name for name in names if name in self._wanted.benchmarks and (ready.mpi.name, launch, name) not in done]

    def _taking_time(self, ready: _Ready, names: Sequence[str]) -> int:
        """How many of these are not known to be left out as a whole, as those of devices are where there is none."""
        known = [
            record
            for record in self._store.records
            if record.get("record") == "skip" and "bytes" not in record and "candidate" not in record
        ]
        idle = {record.get("benchmark") for record in known if record.get("library") == ready.mpi.name}
        return sum(name not in idle for name in names)

    def run(self) -> None:
        """All that is not there yet, as far as the time reaches."""
        left = [each for each in self._launches() if self._left(*each)]
        progress = _Progress(len(left))
        for number, (launch, ready, group) in enumerate(left):
            if self._budget.is_used_up():
                if not talk.is_quiet():
                    print(
                        f"the time is used up: {len(left) - number} of {len(left)} launches are left, and the same command goes on",
                        flush=True,
                    )
                return
            after = sum(self._taking_time(each[1], self._left(*each)) for each in left[number + 1 :])
            begin = time.monotonic()
            run = self._run_programs if group == applications.GROUP else self._run_group
            failures = run(launch, ready, group, after)
            said = f", {failures} failed" if failures else ""
            progress.end(f"{ready.mpi.name}: {group}, launch {launch}{said}, {_duration(time.monotonic() - begin)}")

    def _command(self, ready: _Ready, launch: int, names: Sequence[str], with_laneway: bool, seconds: float | None) -> list[str]:
        ours = ["--laneway", ready.laneway] if ready.laneway and with_laneway else []
        if seconds is not None:
            ours += ["--within", f"{max(seconds, 1):.1f}"]
        if isinstance(self._wanted.place, Simulated):
            # Each simulated rank is a host of its own.
            ours += ["--ranks-of-node", str(self._wanted.place.ranks_of_node)]
        return [ready.program, *ours, *self._effort.arguments, "--seed", str(self._wanted.seed * 1000 + launch), *names]

    def _run_group(self, launch: int, ready: _Ready, group: str, after: int) -> int:
        """A group of benchmarks; `after` are those of later launches. After a failure its benchmark is tried without Laneway, and
        those behind it are launched anew. How many failed."""
        failures, without = 0, False
        while left := self._left(launch, ready, group):
            if failures and self._budget.is_used_up():
                break
            names = left[:1] if without else left
            seconds = self._budget.seconds(self._taking_time(ready, names), self._taking_time(ready, left) + after)
            outcome = self._launch(ready, launch, names, not without, seconds)
            failed = next((name for name in names if name not in outcome.done), "")
            if not failed:
                without = False
                continue
            failures += 1
            has_ours = bool(ready.laneway) and not without
            self._keep_failure(ready, launch, failed, outcome, has_ours)
            without = has_ours
        return failures

    def _run_programs(self, launch: int, ready: _Ready, group: str, after: int) -> int:
        """The applications of others, one after another. How many failed, as they are or with Laneway."""
        failures = 0
        for name in (left := self._left(launch, ready, group)):
            if self._budget.is_used_up():
                break
            (one,) = (each for each in ready.installed if each.application.name == name)
            seconds = self._budget.seconds(1, len(left) - left.index(name) + after)
            failures += self._run_program(launch, ready, one, seconds)
        return failures

    def _run_program(self, launch: int, ready: _Ready, one: Installed, seconds: float | None) -> int:
        """In turns as it is, as it is once more, and with Laneway, as often as the time allows; what its results have to be is
        what it says as it is."""
        contestants = ["mpi", *([] if "--no-control" in self._effort.arguments else ["control"]), *(["laneway"] if ready.preload else [])]
        order = random.Random(self._wanted.seed * 1000 + launch)
        end = None if seconds is None else time.monotonic() + seconds
        found: dict[str, list[applications.Said]] = {name: [] for name in contestants}
        failures = 0
        for turn in range(self._effort.runs):
            if turn and end is not None and time.monotonic() >= end:
                break
            for name in order.sample(list(found), len(found)):
                said, outcome = self._run_once(launch, ready, one, name)
                if said is not None:
                    found[name].append(said)
                    continue
                failures += 1
                outcome.at = {"benchmark": one.application.name, "candidate": name}
                self._keep_failure(ready, launch, one.application.name, outcome, name == "laneway")
                if name != "laneway":
                    return failures
                del found[name]
        self._keep_program(launch, ready, one, found)
        return failures

    def _run_once(self, launch: int, ready: _Ready, one: Installed, contestant: str) -> tuple[applications.Said | None, running.Outcome]:
        """One run; nothing said where it failed."""
        self._number += 1
        log = (self._wanted.output / "logs" / f"{self._number:03}.log").absolute()
        folder = log.parent / "run"
        one.prepare(folder)
        command = [str(one.path), *applications.arguments(one.application, quick=self._wanted.quick)]
        wanted, ours = self._wanted, contestant == "laneway"
        variables = {**applications.VARIABLES, **wanted.variables} if ours else wanted.variables
        preloads, still = ([ready.preload] if ours else []), wanted.still_seconds or _PROGRAM_STILL_SECONDS
        provenance = _provenance()
        with contextlib.chdir(folder):
            outcome = running.run(ready.mpi, wanted.place, wanted.ranks, command, log, still, variables, preloads)
        said = None
        if outcome.status == 0:
            try:
                said = one.said(log.read_text(encoding="utf-8", errors="replace"), folder)
            except ValueError as error:
                outcome.message = str(error)
        self._store.add(
            {
                "record": "launch",
                "log": log.name,
                "command": shlex.join([*(f"{name}={value}" for name, value in variables.items()), *command]),
                "candidate": contestant,
                "status": outcome.status,
                "seconds": round(outcome.seconds, 2),
                "ranks": running.rank_count(ready.mpi, wanted.place, wanted.ranks, command),
                **self._of(launch, ready),
                "run": {**provenance, "commit": self._commit},
            }
        )
        return said, outcome

    def _of(self, launch: int, ready: _Ready) -> Record:
        return {"library": ready.mpi.name, "launch": launch, "machine": self._place}

    def _keep_program(self, launch: int, ready: _Ready, one: Installed, found: Mapping[str, Sequence[applications.Said]]) -> None:
        """A record for each figure and contestant. What says another result than the program as it is has none: it is wrong, unless
        the program itself says several."""
        common = self._of(launch, ready)
        own = {said.result for name, runs in found.items() if name != "laneway" for said in runs}
        pattern = shlex.join(applications.arguments(one.application, quick=self._wanted.quick))
        kept: list[Record] = []
        for name, runs in found.items():
            other = [said.result for said in runs if said.result not in own]
            if other and len(own) == 1:
                message = f"{other[0]}, and as it is {next(iter(own))}"
                kept.append({"record": "wrong", "benchmark": one.application.name, "candidate": name, "message": message, **common})
                continue
            for figures in zip(*(said.figures for said in runs), strict=True):
                samples = sorted(figure.seconds for figure in figures)
                kept.append(
                    {
                        "record": "result",
                        "group": "application",
                        "benchmark": figures[0].benchmark,
                        "pattern": pattern,
                        "where": "",
                        "candidate": name,
                        "samples_s": samples,
                        "median_s": samples[len(samples) // 2],
                        "flops": figures[0].flops,
                        "verified": None if other else True,
                        "note": runs[0].result,
                        **common,
                    }
                )
        self._store.add(*kept, {"record": "done", "benchmark": one.application.name, **common})

    def _launch(self, ready: _Ready, launch: int, names: Sequence[str], with_laneway: bool, seconds: float | None) -> running.Outcome:
        command = self._command(ready, launch, names, with_laneway, seconds)
        self._number += 1
        log = self._wanted.output / "logs" / f"{self._number:03}.log"
        wanted, provenance = self._wanted, _provenance()
        try:
            outcome = running.run(ready.mpi, wanted.place, wanted.ranks, command, log, self._effort.still_seconds, wanted.variables)
        except (KeyboardInterrupt, Terminated):
            self._keep(ready, launch, command, log, running.outcome_of(log), provenance)
            raise
        except OSError as error:
            raise UserError(f"{log}: {error.strerror}; the results so far are kept, and the same command goes on from there", 1) from error
        self._keep(ready, launch, command, log, outcome, provenance)
        return outcome

    def _keep(self, ready: _Ready, launch: int, command: Sequence[str], log: Path, outcome: running.Outcome, provenance: Record) -> None:
        """What a launch has given, also one that was stopped."""
        machine = next((record for record in outcome.records if record.get("record") == "machine"), {})
        run = {**provenance, "mpi": machine.get("mpi", ""), "laneway": machine.get("laneway", ""), "commit": self._commit}
        common: Record = {"library": ready.mpi.name, "launch": launch, "machine": self._place}
        kept = [
            {**record, **common, "run": run, "command": shlex.join(command)}
            for record in outcome.records
            if record.get("record") in ("result", "skip", "wrong", "note")
        ]
        finished = [{"record": "done", "benchmark": name, **common} for name in outcome.done]
        begun = {
            "record": "launch",
            "log": log.name,
            "command": shlex.join(command),
            "status": outcome.status,
            "seconds": round(outcome.seconds, 2),
        }
        begun |= {name: machine.get(name) for name in ("nodes", "ranks", "node_of_rank")}
        self._store.add({**begun, **common, "run": run}, *kept, *finished)

    def _keep_failure(self, ready: _Ready, launch: int, name: str, outcome: running.Outcome, has_ours: bool) -> None:
        at = outcome.at if outcome.at.get("benchmark") == name else {}
        # With Laneway loaded, the benchmark is not done with: the library's own gets a launch without it.
        kind = "failed with laneway" if has_ours else "failed"
        record: Record = {"record": kind, "library": ready.mpi.name, "launch": launch, "machine": self._place, "benchmark": name}
        record |= {key: at[key] for key in ("candidate", "bytes", "where", "pattern", "group") if key in at}
        record |= {"hung": outcome.stood_still, "status": outcome.status, "message": outcome.message}
        self._store.add(record)


def _describe(store: Store, wanted: Wanted, ready: Sequence[_Ready]) -> None:
    """The system table, once for each library."""
    known = {record.get("library") for record in store.records if record.get("record") == "library"}
    if not any(record.get("record") == "system" for record in store.records):
        link = system.link_bytes_per_second(wanted.place)
        store.add(
            {
                "record": "system",
                "rows": system.rows_of_machine(wanted.place, root(), wanted.variables),
                "link_bytes_per_second": link,
                "preloaded": system.preloaded(wanted.variables),
                "run": _provenance(),
            }
        )
    for each in ready:
        if each.mpi.name not in known:
            library = each.mpi
            store.add(
                {
                    "record": "library",
                    "library": library.name,
                    "kind": library.kind,
                    "compiler": library.compiler,
                    "launcher": library.launcher,
                    "variables": {name: value for name, value in library.around.items() if name != "PATH"},
                    "configuration": libraries.configuration(library),
                    "laneway": bool(each.laneway),
                    "message": each.why_not,
                }
            )


def run(wanted: Wanted, clock: Callable[[], float] = time.monotonic) -> Path:
    """Measure what is not measured yet; the file of results. A UserError says what is wrong before anything is launched.

    The time of ``wanted.minutes`` is that of `clock`, and begins when programs and libraries are built.
    """
    launch.Job([libraries.PROGRAM], wanted.place, wanted.ranks)  # refuses what no launch could be of, before anything is built
    found = libraries.parse(wanted.mpis, wanted.place)
    if wanted.applications is not None:
        if isinstance(wanted.place, Simulated):
            raise UserError("--applications: a simulated program is built for SimGrid's MPI, and these are not")
        applications.require(wanted.applications)
    if isinstance(wanted.place, Cluster):
        cluster.require_privilege()
    ready = [_prepare(library, wanted.laneway, wanted.applications) for library in found]
    store = Store(wanted)
    for each in ready:
        if each.why_not:
            talk.line(f"{each.mpi.name}: measured without Laneway: {each.why_not}")
    _describe(store, wanted, ready)
    _Evaluation(wanted, store, ready, clock).run()
    return store.path
