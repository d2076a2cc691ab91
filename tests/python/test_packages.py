"""Packages: recipes that agree with CMake; Debian's, built, installed in a folder, used and removed; the same bytes from every folder."""

from __future__ import annotations

import itertools
import os
import re
import runpy
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import needs_long

from laneway_tools.dev import build
from laneway_tools.places.paths import find_preloads, root


def needs_command(name: str, package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed (Debian: {package})")


def checked(argv: Sequence[str], directory: Path, **variables: str) -> str:
    """Run a command that has to succeed; what it prints."""
    environment = {**os.environ, **variables}
    done = subprocess.run(argv, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"{' '.join(argv)} ended with status {done.returncode}:\n" + "\n".join(said.splitlines()[-60:])
    return said


def text_of(name: str) -> str:
    return (root() / name).read_text(encoding="utf-8")


def project_version() -> str:
    return re.findall(r"^project\(laneway VERSION ([0-9.]+)", text_of("CMakeLists.txt"), re.M)[0]


def soname_version() -> str:
    return ".".join(project_version().split(".")[:2])


def copy_sources(to: Path) -> Path:
    """What git keeps, and what it would if it were told, without a repository around it."""
    listed = subprocess.run(
        ["git", "-C", str(root()), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    )
    shutil.rmtree(to, ignore_errors=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (root() / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root() / name, to / name)
    return to


def files_of(folder: Path) -> dict[str, bytes]:
    """The files below a folder; a link is the name that it leads to."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_symlink():
            found[str(path.relative_to(folder))] = os.readlink(path).encode()
        elif path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def assert_no_binary_names(files: Mapping[str, bytes], *folders: Path) -> None:
    naming = [name for name, data in files.items() if data[:4] == b"\x7fELF" for folder in folders if str(folder).encode() in data]
    assert not naming


# What agrees without building anything.


def test_versions_agree() -> None:
    version = project_version()
    assert re.findall(r'^version = "([0-9.]+)"', text_of("python/pyproject.toml"), re.M) == [version]
    for package in ("python/laneway", "tools/laneway_tools"):
        assert re.findall(r'^__version__ = "([0-9.]+)"', text_of(f"{package}/__init__.py"), re.M) == [version]
    assert re.findall(r"^version: ([0-9.]+)$", text_of("CITATION.cff"), re.M) == [version]
    assert re.findall(r'^    version\("([0-9.]+)"', text_of("packaging/spack/packages/laneway/package.py"), re.M)[0] == version
    assert re.match(r"laneway \(([0-9.]+)\) ", text_of("debian/changelog"))[1] == version


def test_forms_ask_for_what_finds_a_fault() -> None:
    form = text_of(".github/ISSUE_TEMPLATE/bug_report.yml")
    assert "Output of `laneway info`" in form and "The line of `LANEWAY_CHECK=plan`" in form
    assert (root() / ".github/ISSUE_TEMPLATE/feature_request.yml").is_file()


def test_debians_libraries_share_a_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lib" / "x86_64-linux-gnu"
    for path in (tmp_path / "bin" / "laneway-bench_openmpi", folder / "liblaneway_mpi_openmpi.so"):
        path.parent.mkdir(parents=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    monkeypatch.setenv("LANEWAY_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert find_preloads("/bin/true", "openmpi") == [str(folder / "liblaneway_mpi_openmpi.so")]


# The recipe of Spack, against directives that write down what they are told.

_OTHER_OPTIONS = {
    *("LANEWAY_MPI", "LANEWAY_INSTALL", "LANEWAY_UNIT_TESTS", "LANEWAY_SIMULATED"),  # no package is without, or with these
    *("LANEWAY_WERROR", "LANEWAY_MAP_PREFIX", "LANEWAY_SANITIZE"),  # for developers
    "LANEWAY_SUFFIX",  # each build has a prefix of its own
}
_PACKAGES_OF_CMAKE = {"nlohmann_json": "nlohmann-json", "tomlplusplus": "tomlplusplus", "MPI": "mpi", "PkgConfig": "pkgconfig"}
_PACKAGES_OF_BENCH = {"CLI11::CLI11": "cli11", "Eigen3::Eigen": "eigen", "Qhull::qhull_r": "qhull", "laneway_scotch": "scotch"}


@dataclass
class Recipe:
    """What the directives of a recipe said, and the arguments that it gives CMake for a choice of variants."""

    variants: dict[str, dict[str, object]] = field(default_factory=dict)
    dependencies: list[tuple[str, str]] = field(default_factory=list)
    package: type = object

    def arguments(self, chosen: Mapping[str, bool]) -> dict[str, str]:
        def satisfies(spec: str) -> bool:
            return all(chosen[name] == (sign == "+") for sign, name in re.findall(r"([+~])(\w+)", spec))

        package = self.package()
        package.spec = Spec(satisfies)
        active = {name: value for name, value in chosen.items() if satisfies(str(self.variants[name].get("when", "")))}

        def define(name: str, value: object) -> str:
            return f"-D{name}={'ON' if value is True else 'OFF' if value is False else value}"

        def define_from_variant(name: str, variant: str) -> str:
            assert variant in self.variants, f"{variant} is no variant"
            return define(name, active[variant]) if variant in active else ""

        package.define, package.define_from_variant = define, define_from_variant
        given = [argument for argument in package.cmake_args() if argument]
        assert all(re.fullmatch(r"-D\w+=.+", argument) for argument in given), given
        return dict(argument[2:].split("=", 1) for argument in given)


class Spec:
    """Of a spec, what recipes ask."""

    def __init__(self, satisfies: object) -> None:
        self.satisfies = satisfies

    def __getitem__(self, name: str) -> types.SimpleNamespace:
        assert name == "mpi"
        return types.SimpleNamespace(mpicc="/mpi/mpicc", mpicxx="/mpi/mpicxx", mpifc="/mpi/mpifort")


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    found = Recipe()
    module = types.ModuleType("spack.package")
    said: dict[str, object] = {
        "CMakePackage": type("CMakePackage", (), {}),
        "license": lambda name: None,
        "version": lambda name: None,
        "conflicts": lambda spec, msg="", when="": None,
        "variant": lambda name, **more: found.variants.update({name: more}),
        "depends_on": lambda spec, type="", when="": found.dependencies.append((spec, when)),
    }
    vars(module).update(said)
    monkeypatch.setitem(sys.modules, "spack", types.ModuleType("spack"))
    monkeypatch.setitem(sys.modules, "spack.package", module)
    names = runpy.run_path(str(root() / "packaging/spack/packages/laneway/package.py"))
    found.package = names["Laneway"]
    return found


def _choices(recipe: Recipe) -> Iterator[dict[str, bool]]:
    for values in itertools.product((False, True), repeat=len(recipe.variants)):
        yield dict(zip(recipe.variants, values, strict=True))


def test_the_spack_recipe_sets_options_that_there_are(recipe: Recipe) -> None:
    options = set(
        re.findall(r"^ *(?:option|set)\((LANEWAY_\w+) [^\n]*(?:CACHE STRING \"|\"[A-Z])", text_of("cmake/LanewayOptions.cmake"), re.M)
    )
    vendors = [path for path in (root() / "plugins").glob("*/vendor.cmake") if " OPTION " in path.read_text().replace("\n", " ")]
    options |= {f"LANEWAY_{path.parent.name.upper()}" for path in vendors}
    assert {"LANEWAY_FORTRAN", "LANEWAY_SHARED", "LANEWAY_SUFFIX"} <= options
    everything = dict.fromkeys(recipe.variants, True)
    given = recipe.arguments(everything)
    assert {name for name in given if not name.startswith("MPI_")} == options - _OTHER_OPTIONS
    assert given["MPI_C_COMPILER"] == "/mpi/mpicc" and given["MPI_Fortran_COMPILER"] == "/mpi/mpifort"
    # Each variant turns one option, and no combination another one.
    for variant in recipe.variants:
        without = recipe.arguments({**everything, variant: False})
        assert [name for name in without if without[name] != given[name]][:1] != [], variant
    for chosen in _choices(recipe):
        assert set(recipe.arguments(chosen)) <= set(given)
    assert all({"default", "description"} <= set(more) for more in recipe.variants.values())
    assert {"fortran", "cuda", "rocm", "bench"} <= set(recipe.variants)


def test_the_spack_recipe_depends_on_what_cmake_looks_for(recipe: Recipe) -> None:
    for _, when in recipe.dependencies:
        assert set(re.findall(r"[+~](\w+)", when)) <= set(recipe.variants)
    names = [(re.split(r"[@+~]", spec)[0], when) for spec, when in recipe.dependencies]
    always = {name for name, when in names if not when}
    looked_for = re.findall(r"find_package\((\w+) REQUIRED", text_of("cmake/LanewayDependencies.cmake"))
    modules = re.findall(r"pkg_check_modules\(HWLOC REQUIRED IMPORTED_TARGET GLOBAL (\w+)\)", text_of("cmake/LanewayDependencies.cmake"))
    assert {_PACKAGES_OF_CMAKE[name] for name in looked_for if name != "Threads"} | set(modules) <= always
    bench = re.findall(r"foreach\(dependency ([^)]*)\)", text_of("cmake/LanewayDependencies.cmake"))[0].split()
    assert {_PACKAGES_OF_BENCH[target] for target in bench} == {name for name, when in names if when == "+bench"}
    assert f"cmake@{re.findall(r'VERSION ([0-9.]+?)[.]{3}', text_of('CMakeLists.txt'))[0]}:" in {spec for spec, _ in recipe.dependencies}


# Debian's packages.

MPIS = ("openmpi", "mpich")
LAUNCH = {
    "openmpi": "mpirun.openmpi --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 -n 2",
    "mpich": "mpirun.mpich -n 2",
}


def _source_package(folder: Path) -> Path:
    sources = copy_sources(folder / f"laneway-{project_version()}")
    checked(["dpkg-source", "--build", sources.name], folder)
    return sources


def test_debian_names_follow_the_soname() -> None:
    major, minor, _ = project_version().split(".")
    soname = f"{major}.{minor}" if major == "0" else major
    packages = re.findall(r"^Package: (\S+)$", text_of("debian/control"), re.M)
    for mpi in MPIS:
        assert {f"liblaneway-{mpi}{soname}", f"liblaneway-{mpi}-dev", f"laneway-tools-{mpi}"} <= set(packages)
    listed = {path.stem for path in (root() / "debian").glob("*.install")}
    assert {path.name.removesuffix(".install") for path in (root() / "debian").glob("*.install")} == set(packages), listed


@needs_long
@needs_command("dpkg-source", "dpkg-dev")
@needs_command("lintian", "lintian")
def test_debian_source_package(tmp_path: Path) -> None:
    _source_package(tmp_path)
    version = project_version()
    packed = checked(["tar", "-tf", f"laneway_{version}.tar.xz"], tmp_path).split()
    for name in ("debian/rules", "src/CMakeLists.txt", "tools/laneway_tools/dev/build.py", "LICENSE"):
        assert any(entry.partition("/")[2] == name for entry in packed), name
    assert not [entry for entry in packed if re.match(r"[^/]*/(build|\.git|\.venv|demo)/", entry)]
    checked(["lintian", "--fail-on", "error", f"laneway_{version}.dsc"], tmp_path)


@pytest.fixture(scope="module")
def debs() -> list[Path]:
    """All packages, built without optimisation, since they are for looking at; lintian finds no error in them."""
    # Always in the same folder, where the compiler cache knows it.
    folder = root() / "build" / "debian"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sources = _source_package(folder)
    settings = {"DEB_BUILD_OPTIONS": f"noopt noautodbgsym parallel={build.jobs()}", "DEB_CXXFLAGS_STRIP": "-g", "DEB_CFLAGS_STRIP": "-g"}
    if shutil.which("ccache"):
        settings["CCACHE_DIR"] = checked(["ccache", "--get-config", "cache_dir"], folder).strip()
    checked(["dpkg-buildpackage", "-us", "-uc", "-b"], sources, **settings)
    checked(["lintian", "--fail-on", "error", *(str(path) for path in folder.glob("*.changes"))], folder)
    built = sorted(folder.glob("*.deb"))
    names = re.findall(r"^Package: (\S+)$", text_of("debian/control"), re.M)
    assert sorted(path.name.partition("_")[0] for path in built) == sorted(names)
    return built


def _dpkg(place: Path, *arguments: str) -> None:
    # Dependencies are those of the machine around, which the folder knows nothing of; maintainers' scripts stay in the folder.
    checked(["dpkg", f"--root={place}", "--force-depends", "--force-not-root", "--force-script-chrootless", *arguments], place)


@pytest.fixture(scope="module")
def installed(debs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which dpkg has installed all of them side by side; then it removes them, and nothing is left."""
    place = tmp_path_factory.mktemp("installed")
    for name in ("info", "updates", "triggers"):
        (place / "var/lib/dpkg" / name).mkdir(parents=True)
    for name in ("status", "available"):
        (place / "var/lib/dpkg" / name).touch()
    _dpkg(place, "--install", *(str(path) for path in debs))
    yield place
    _dpkg(place, "--purge", *(path.name.partition("_")[0] for path in debs))
    assert not [name for name in files_of(place) if not name.startswith("var/")]


@needs_long
@pytest.mark.timeout(1800)  # builds everything with two MPI libraries
@needs_command("dh", "debhelper")
@needs_command("lintian", "lintian")
class TestDebianPackages:
    def test_can_be_installed_here(self, debs: list[Path]) -> None:
        said = checked(["apt-get", "install", "--simulate", "--yes", *(str(path) for path in debs)], debs[0].parent, LC_ALL="C")
        assert all(f"Inst {path.name.partition('_')[0]} " in said for path in debs)

    def test_name_no_folder_of_the_build(self, debs: list[Path], installed: Path) -> None:
        files = files_of(installed / "usr")
        assert_no_binary_names(files, debs[0].parent, root())
        shared = [name for name in files if re.search(rf"/liblaneway_\w+\.so\.{re.escape(soname_version())}$", name)]
        assert sorted(Path(name).name.split(".")[0] for name in shared) == sorted(
            f"liblaneway_{part}{mpi}" for part in ("", "fortran_") for mpi in MPIS
        )
        assert [name for name in files if name.endswith("/laneway/plugins/liblaneway_simdevice.so")]
        assert "share/doc/laneway/README.md" in files and "share/laneway/machines/lassen.toml" in files

    @pytest.mark.parametrize("mpi", MPIS)
    def test_programs_are_built_with_them(self, installed: Path, mpi: str, tmp_path: Path) -> None:
        folder = next((installed / "usr/lib").glob(f"*/liblaneway_{mpi}.so")).parent
        examples = installed / "usr/share/doc/laneway/examples"
        variables = {"PKG_CONFIG_PATH": str(folder / "pkgconfig"), "LD_LIBRARY_PATH": str(folder)}
        flags = checked(["pkg-config", "--cflags", "--libs", f"laneway_{mpi}"], tmp_path, **variables).split()
        checked([f"mpicc.{mpi}", str(examples / "alltoallv.c"), "-o", "by_pkg_config", *flags], tmp_path)
        settings = [f"CMAKE_PREFIX_PATH={installed / 'usr'}", f"MPI_C_COMPILER=mpicc.{mpi}", f"MPI_CXX_COMPILER=mpicxx.{mpi}"]
        checked(["cmake", "-S", str(examples), "-B", "by_cmake", *(f"-D{setting}" for setting in settings)], tmp_path)
        checked(["cmake", "--build", "by_cmake"], tmp_path)
        for program in ("by_pkg_config", "by_cmake/example_alltoallv", "by_cmake/example_halo", "by_cmake/example_halo_fortran"):
            assert f"liblaneway_{mpi}.so.{soname_version()} => {folder}" in checked(["ldd", program], tmp_path, **variables)
            said = checked(["timeout", "60", *LAUNCH[mpi].split(), f"./{program}"], tmp_path, **variables)
            if "halo" not in program:
                assert "rank 0: 1.0 from the left, 1.5 from the right" in said and "rank 1: 0.0 from the left, 0.5" in said
        bench = installed / f"usr/bin/laneway-bench_{mpi}"
        assert project_version() in checked([str(bench), "--version"], tmp_path, **variables)


# The same sources in two folders.


def _built(sources: Path, folder: Path, **variables: str) -> Path:
    settings = ["CMAKE_BUILD_TYPE=RelWithDebInfo", "CMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0 -g1", "CMAKE_C_FLAGS_RELWITHDEBINFO=-O0 -g1"]
    settings += ["CMAKE_Fortran_FLAGS_RELWITHDEBINFO=-O0 -g1", "LANEWAY_CUDA=OFF", "LANEWAY_HIP=OFF", "LANEWAY_EXAMPLES=OFF"]
    if shutil.which("mpicc.openmpi"):
        settings += ["MPI_C_COMPILER=mpicc.openmpi", "MPI_CXX_COMPILER=mpicxx.openmpi", "MPI_Fortran_COMPILER=mpifort.openmpi"]
    options = [f"-D{setting}" for setting in settings]
    checked(["cmake", "-S", str(sources), "-B", str(folder), "-G", "Ninja", *options], sources, **variables)
    checked(["cmake", "--build", str(folder), "--parallel", str(build.jobs())], sources, **variables)
    return folder


@needs_long
@pytest.mark.timeout(1800)  # builds everything twice
def test_a_second_build_gives_the_same_bytes(tmp_path: Path) -> None:
    top = root() / "build" / "twice"
    shutil.rmtree(top, ignore_errors=True)
    first = _built(copy_sources(top / "one"), top / "one" / "build", TZ="UTC")
    # Without the compiler cache, which would hand out what the first one made; elsewhere, and at another hour.
    place = top / "a-folder-whose-name-is-longer"
    second = _built(copy_sources(place / "another"), place / "beside", TZ="Asia/Tokyo", CCACHE_DISABLE="1")
    prefixes = [tmp_path / "first", tmp_path / "second"]
    for folder, prefix in zip((first, second), prefixes, strict=True):
        checked(["cmake", "--install", str(folder), "--prefix", str(prefix)], tmp_path)
    one, another = (files_of(prefix) for prefix in prefixes)
    assert set(one) == set(another)
    assert [name for name in one if one[name] != another[name]] == []
    assert {f"lib/liblaneway.so.{project_version()}", "lib/liblaneway_mpi.so", "bin/laneway-bench"} <= {
        name.replace("lib64/", "lib/") for name in one
    }
    assert_no_binary_names(one, top)

    # Stripped, it is smaller and runs; removed, nothing is left of it.
    stripped = tmp_path / "stripped"
    checked(["cmake", "--install", str(first), "--prefix", str(stripped), "--strip"], tmp_path)
    for name, data in files_of(stripped).items():
        if data[:4] == b"\x7fELF":
            assert ".symtab" not in checked(["readelf", "--sections", "--wide", str(stripped / name)], tmp_path), name
    assert project_version() in checked([str(stripped / "bin/laneway-bench"), "--version"], tmp_path)
    checked(["cmake", "--build", str(first), "--target", "uninstall"], tmp_path)
    assert files_of(stripped) == {}


@needs_long
def test_the_citation_is_valid() -> None:
    venv = root() / "build" / "cffconvert.venv"
    if not (venv / "bin" / "cffconvert").is_file():
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)])
        pip = [str(venv / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "cffconvert==2.0.0"]
        if made.returncode != 0 or subprocess.run(pip).returncode != 0:
            pytest.skip("pip could not install cffconvert")
    checked([str(venv / "bin" / "cffconvert"), "--validate", "--infile", "CITATION.cff"], root())
