"""The command ``laneway``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from laneway import build as building
from laneway import checks, launch, linkcheck
from laneway import demo as demonstration
from laneway import lint as linting
from laneway.errors import UserError
from laneway.paths import find_local_tool, root
from laneway.places import parse_place
from laneway.processes import Terminated, install_signal_handlers

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Build, run, measure, test and show Laneway.")
cluster_app = typer.Typer(no_args_is_help=True, help="The emulated cluster itself.")
app.add_typer(cluster_app, name="cluster")

On = Annotated[str, typer.Option("--on", metavar="WHERE", help="local, cluster:4x4@200mbit or cluster:5,3,8@200mbit")]
Ranks = Annotated[Optional[int], typer.Option("-n", help="ranks; default: as many as WHERE holds")]
Mpi = Annotated[str, typer.Option("--mpi", help="openmpi or mpich")]
Variables = Annotated[Optional[list[str]], typer.Option("-x", metavar="VAR=VALUE", help="set a variable in every rank")]
Timeout = Annotated[Optional[float], typer.Option("--timeout", metavar="S", help="end the program after S seconds")]
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


def _run(
    command: list[str], on: str, ranks: int | None, mpi: str, variables: list[str] | None, timeout: float | None
) -> None:
    job = launch.Job(command, parse_place(on), ranks, mpi, _variables(variables), timeout)
    raise typer.Exit(launch.run(job))


def _run_here(subcommand: str, arguments: list[str]) -> None:
    """One process of laneway-bench, without an MPI launcher."""
    raise typer.Exit(subprocess.run([find_local_tool("laneway-bench"), subcommand, *arguments]).returncode)


@app.command(context_settings=_PASS_ON)
def run(
    context: typer.Context,
    on: On = "local",
    ranks: Ranks = None,
    mpi: Mpi = "openmpi",
    variables: Variables = None,
    timeout: Timeout = None,
) -> None:
    """Start an MPI program: laneway run -n 16 --on cluster:4x4@200mbit -- PROGRAM ARGS"""
    _run(list(context.args), on, ranks, mpi, variables, timeout)


@app.command(context_settings=_PASS_ON)
def bench(
    context: typer.Context,
    on: On = "local",
    ranks: Ranks = None,
    mpi: Mpi = "openmpi",
    variables: Variables = None,
    timeout: Timeout = None,
) -> None:
    """Start laneway-bench: laneway bench --on cluster:4x4@200mbit neighbor --op allgather …"""
    _run(["laneway-bench", *context.args], on, ranks, mpi, variables, timeout)


@app.command(context_settings=_PASS_ALL_ON)
def explain(context: typer.Context) -> None:
    """Lanes, messages and plans of a strategy, without MPI: laneway explain --pattern … --machine … --ranks …"""
    _run_here("explain", context.args)


@app.command(context_settings=_PASS_ALL_ON)
def strategies(context: typer.Context) -> None:
    """What strategies there are, what they fit and where they are from; --json for programs."""
    _run_here("strategies", context.args)


@cluster_app.command("check")
def cluster_check(
    on: On,
    mpi: Mpi = "openmpi",
    json: Annotated[Optional[Path], typer.Option("--json", help="also append the result to this file")] = None,
) -> None:
    """Measure the link and on-node rates that a run gets, beside the nominal rate."""
    linkcheck.check(parse_place(on), mpi, json)


@app.command("build")
def build_preset(
    preset: Annotated[Optional[list[str]], typer.Option("--preset", help="openmpi, mpich, asan or nompi")] = None,
    mpi: Annotated[Optional[str], typer.Option("--mpi", help="the preset of this MPI library")] = None,
) -> None:
    """Configure and build presets."""
    for name in preset or [mpi or "openmpi"]:
        building.build(name)


@app.command()
def test(
    long: Annotated[bool, typer.Option("--long", help="also run the long tests")] = False,
    only: Annotated[
        Optional[list[str]], typer.Option("--only", help="a suite: lint, openmpi, mpich, asan, nompi or python")
    ] = None,
) -> None:
    """Build every preset, run every test, check the layers and the format, and count."""
    raise typer.Exit(checks.run_all(long, tuple(only or ())))


@app.command()
def demo(
    output: Annotated[Optional[Path], typer.Option("--output", help="where the pictures go; default: demo/")] = None,
) -> None:
    """Run two exchanges on an emulated cluster, show one table, draw three pictures."""
    demonstration.run(output or root() / "demo")


@app.command()
def lint(tidy: Annotated[bool, typer.Option("--tidy", help="also run clang-tidy (slow)")] = False) -> None:
    """Check the layers, the tracked text and the format."""
    found = linting.check_all(root())
    if tidy:
        found["tidy"] = linting.check_tidy(root())
    for name, problems in found.items():
        print(f"{name}: {'ok' if not problems else f'{len(problems)} problems'}")
        for problem in problems:
            print(f"  {problem}")
    raise typer.Exit(1 if any(found.values()) else 0)


@app.command("format")
def format_sources() -> None:
    """Rewrite every C and C++ source with clang-format."""
    print(f"formatted {linting.format_all(root())} files")


@app.command()
def install(
    prefix: Annotated[Path, typer.Option("--prefix", help="where to install")],
    mpi: Mpi = "openmpi",
) -> None:
    """Build Laneway for one MPI library and install it."""
    building.install(prefix.resolve(), mpi)


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
