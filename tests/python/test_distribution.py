"""Wheels of the package, built to the end, in environments of their own: for an MPI library, for the ABI of MPI 5, from sources."""

from __future__ import annotations

import ctypes.util
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import needs_long

from laneway_tools.dev import build, package, wheels
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root

_PROGRAM = """
import numpy as np
from mpi4py import MPI
import laneway
comm = MPI.COMM_WORLD
halo = laneway.Halo(comm, np.arange(3 * comm.rank, 3 * comm.rank + 3), [(3 * comm.rank + 3) % (3 * comm.size)])
x = np.concatenate([np.arange(3.0) + 3 * comm.rank, [-1]])
halo.exchange(x)
assert x[3] == (3 * comm.rank + 3) % (3 * comm.size), x
total = np.zeros(2)
laneway.allreduce(comm, np.full(2, comm.rank + 1.0), total)
assert total.tolist() == [comm.size * (comm.size + 1) / 2] * 2
right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
arrived = laneway.sparse_alltoallv(comm, [right], np.array([comm.rank]))
assert arrived.sources == [left] and arrived.data.tolist() == [left]
if comm.rank == 0:
    print("all right:", comm.size, MPI.Get_library_version().splitlines()[0], laneway._library.loaded()._name)
"""


@pytest.fixture(autouse=True)
def _quick_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested is the packaging: compiled without optimisation, a part at once, and what has no MPI once for all wheels."""
    quick = "-DCMAKE_CXX_FLAGS_RELEASE='-O0 -DNDEBUG' -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 -DLANEWAY_MAP_PREFIX=OFF"
    monkeypatch.setenv("CMAKE_ARGS", f"{os.environ.get('CMAKE_ARGS', '')} {quick}".strip())


def _prepared(name: str) -> Path:
    try:
        return wheels.prepare(name)
    except UserError as error:
        pytest.skip(f"no wheel of {name}: {str(error).splitlines()[-1]}")


def _environment(name: str) -> Path:
    venv = build.build_dir(f"wheel-{name}.venv")
    if not (venv / "bin" / "python").is_file():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    return venv


def _install(venv: Path, *packages: str) -> None:
    argv = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", *packages]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=venv)
    assert done.returncode == 0, done.stdout + done.stderr


def _mpi4py_for_the_abi(venv: Path, mpicc: str) -> Path:
    """The wheel of mpi4py, compiled for the ABI of MPI 5; once, since pip keeps none that it is told to compile."""
    folder = build.build_dir("wheel-abi.mpi4py")
    if not list(folder.glob("mpi4py-*.whl")):
        argv = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--no-binary", "mpi4py"]
        around = {**os.environ, "MPICC": mpicc, "CFLAGS": "-O0"}
        done = subprocess.run([*argv, "-w", str(folder), "mpi4py>=4.1"], capture_output=True, text=True, env=around, cwd=venv)
        assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("mpi4py-*.whl"))


def _run(launcher: list[str], venv: Path, around: dict[str, str]) -> str:
    argv = ["timeout", "--kill-after=5", "200", *launcher, "-n", "2", str(venv / "bin" / "python"), "-m", "mpi4py", "-c", _PROGRAM]
    cleared = {key: value for key, value in {**os.environ, **around}.items() if key not in ("PYTHONPATH", "LANEWAY_LIBRARY")}
    done = subprocess.run(argv, cwd=venv, env=cleared, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all right: 2 " in done.stdout and str(venv) in done.stdout, done.stdout
    return done.stdout


def _check_contents(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if re.search(r"/lib/liblaneway(_\w+)?\.so", name)], names
    assert not [name for name in names if re.search(r"/lib(mpi|open-|mpich)[^/]*$", name)], names
    assert not [name for name in names if "tools" in name or name.endswith("/entry_points.txt")], "the command is another package"


def _debian(mpi: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    if mpi == "openmpi":
        yields = ["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        return ["mpirun.openmpi", *yields], {"MPI4PY_MPIABI": "openmpi"}
    name = ctypes.util.find_library("mpich")
    if name is None:
        pytest.skip("libmpich is not installed")
    # mpi4py's wheel looks for the name that every other MPICH has.
    (folder / "libmpi.so.12").symlink_to(next(Path("/usr/lib").glob(f"*/{name}")))
    return ["mpirun.mpich"], {"MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"}


@needs_long
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_wheel_has_the_library_inside(mpi: str, tmp_path: Path) -> None:
    """Built, repaired, installed beside nothing but mpi4py and NumPy, and run."""
    made = package.build_wheel(mpi, tmp_path / "built")
    _check_contents(made)
    repaired = package.repair(made, tmp_path)
    assert re.search(r"-py3-none-manylinux_\d+_\d+_x86_64", repaired.name), repaired.name
    _check_contents(repaired)
    assert [name for name in zipfile.ZipFile(repaired).namelist() if "libhwloc" in name]
    venv = _environment(mpi)
    _install(venv, "--force-reinstall", "--no-deps", str(repaired))
    _install(venv, "mpi4py>=4.1", "numpy")
    launcher, around = _debian(mpi, tmp_path)
    _run(launcher, venv, around)


@needs_long
def test_a_source_distribution_is_enough(tmp_path: Path) -> None:
    archive = package.source_distribution(tmp_path)
    again = tmp_path / "again"
    assert package.source_distribution(again).read_bytes() == archive.read_bytes()
    names = tarfile.open(archive).getnames()
    assert any(name.endswith("/library/src/CMakeLists.txt") for name in names)
    assert not [name for name in names if "__pycache__" in name or "laneway_tools" in name]
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path)
    made = package.build_wheel("openmpi", tmp_path / "built", tmp_path / archive.name.removesuffix(".tar.gz"))
    _check_contents(made)
    venv = _environment("sources")
    _install(venv, "--force-reinstall", "--no-deps", str(made))
    _install(venv, "mpi4py>=4.1", "numpy")
    launcher, around = _debian("openmpi", tmp_path)
    _run(launcher, venv, around)


@needs_long
def test_one_wheel_for_all_that_have_the_abi_of_mpi_5(tmp_path: Path) -> None:
    """The same files with MPICH 5 and Intel MPI; mpi4py is compiled for the ABI, too."""
    _prepared("pypi:mpich")
    mpicc, _ = package.compilers(package.ABI)
    made = package.build_wheel(package.ABI, tmp_path / "built")
    repaired = package.repair(made, tmp_path)
    _check_contents(repaired)
    with zipfile.ZipFile(repaired) as archive:
        library = Path(archive.extract(next(name for name in archive.namelist() if "/lib/liblaneway.so" in name), tmp_path))
    said = subprocess.run(["readelf", "-W", "--dynamic", "--dyn-syms", str(library)], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"NEEDED.*\[(libmpi[^]]*)\]", said) == ["libmpi_abi.so.1"]
    # What one library alone has would not be there with the others.
    assert not re.findall(r"UND (MPIX_\w+|MPIR_\w+|MPII_\w+|I_MPI\w+)", said)
    venv = _environment("abi")
    _install(venv, "--force-reinstall", "--no-deps", str(repaired))
    _install(venv, "numpy")
    _install(venv, "--force-reinstall", "--no-deps", str(_mpi4py_for_the_abi(venv, mpicc)))
    mpich = _prepared("pypi:mpich")
    said = _run([str(mpich / "bin" / "mpiexec")], venv, {"LD_LIBRARY_PATH": f"{mpich}/lib"})
    assert "MPICH Version" in said
    impi = _prepared("pypi:impi")
    around = wheels.environment("pypi:impi")
    said = _run(
        [str(impi / "bin" / wheels.find("pypi:impi").launcher)],
        venv,
        {key: around[key] for key in around if os.environ.get(key) != around[key]},
    )
    assert "Intel" in said


@needs_long
def test_one_wheel_for_three_libraries(tmp_path: Path) -> None:
    """The same files with Debian's two libraries, with MPICH from PyPI under either name, and with PyPI's Open MPI."""
    mpich = _prepared("pypi:mpich")
    made = package.build_for_all(tmp_path / "built")
    repaired = package.repair(made, tmp_path)
    _check_contents(repaired)
    with zipfile.ZipFile(repaired) as archive:
        listed = archive.read(next(name for name in archive.namelist() if name.endswith("/RECORD"))).decode()
        libraries = {name: archive.read(name) for name in archive.namelist() if "/lib/liblaneway_" in name}
    needed = {}
    for name, contents in libraries.items():
        assert f"{name},sha256=" in listed
        (tmp_path / "one.so").write_bytes(contents)
        said = subprocess.run(["readelf", "-W", "-d", str(tmp_path / "one.so")], capture_output=True, text=True, check=True).stdout
        (kind,) = re.findall(r"/liblaneway_(\w+)\.so", name)
        (needed[kind],) = re.findall(r"NEEDED.*\[(libmpi[^]]*)\]", said)
    assert needed == {"abi": "libmpi_abi.so.1", "openmpi": "libmpi.so.40", "mpich": "libmpich.so.12", "mpich_upstream": "libmpi.so.12"}
    venv = _environment("all")
    _install(venv, "--force-reinstall", "--no-deps", str(repaired))
    _install(venv, "mpi4py>=4.1", "numpy")
    for mpi, said in (("openmpi", "Open MPI v4"), ("mpich", "MPICH Version")):
        launcher, around = _debian(mpi, tmp_path)
        told = _run(launcher, venv, around)
        assert said in told and f"liblaneway_{mpi}." in told, told
    around = {"MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": f"{mpich}/lib"}
    told = _run([str(mpich / "bin" / "mpiexec")], venv, around)
    assert re.search(r"MPICH Version:\s*5", told) and "liblaneway_mpich_upstream" in told, told
    openmpi = _prepared("pypi:openmpi")
    around = {key: value for key, value in wheels.environment("pypi:openmpi").items() if os.environ.get(key) != value}
    around |= {"MPI4PY_MPIABI": "openmpi", "LD_LIBRARY_PATH": f"{openmpi}/lib", "OMPI_MCA_mpi_yield_when_idle": "1"}
    assert "Open MPI v5" in _run([str(openmpi / "bin" / "mpiexec"), "--oversubscribe"], venv, around)
    venv = _environment("all-abi")
    _install(venv, "--force-reinstall", "--no-deps", str(repaired))
    _install(venv, "numpy")
    mpicc, _ = package.compilers(package.ABI)
    _install(venv, "--force-reinstall", "--no-deps", str(_mpi4py_for_the_abi(venv, mpicc)))
    assert "liblaneway_abi" in _run([str(mpich / "bin" / "mpiexec")], venv, {"LD_LIBRARY_PATH": f"{mpich}/lib"})


@needs_long
def test_the_command_is_a_package_without_the_library(tmp_path: Path) -> None:
    """Built and installed beside nothing, and beside what it needs to begin."""
    venv = _environment("tools")
    argv = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "-w", str(tmp_path)]
    done = subprocess.run([*argv, str(root() / "tools")], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = tmp_path.glob("laneway_tools-*-py3-none-any.whl")
    names = zipfile.ZipFile(made).namelist()
    sources = {str(path.relative_to(root() / "tools")) for path in (root() / "tools").rglob("*.py")}
    assert {name for name in names if ".dist-info/" not in name} == sources
    _install(venv, "--force-reinstall", "--no-deps", str(made))
    _install(venv, "typer>=0.9", "rich>=13")
    around = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "LANEWAY_ROOT")}
    for arguments, status, said in ((["--version"], 0, "laneway "), (["machines"], 2, "is not Laneway's working tree")):
        done = subprocess.run([str(venv / "bin" / "laneway"), *arguments], capture_output=True, text=True, env=around)
        assert done.returncode == status and said in done.stdout + done.stderr, done.stdout + done.stderr


def test_unknown_libraries_are_named() -> None:
    with pytest.raises(UserError, match="--mpi lam: expected all, openmpi, mpich, abi, or one of PyPI: pypi:openmpi"):
        package.compilers("lam")
