import os
import sys
from pathlib import Path

import pytest

from laneway_tools.dev import build
from laneway_tools.places import cluster, launch, petsc, supervisor
from laneway_tools.places.errors import UserError
from laneway_tools.places.launch import Job, command_line
from laneway_tools.places.paths import find_preloads, find_program, root
from laneway_tools.places.places import Cluster, Local, parse_place


def test_a_link_to_a_program_stays(tmp_path: Path) -> None:
    """The Python of a virtual environment is a link, and finds its packages by its own name."""
    for link in (tmp_path / "python", tmp_path / "again"):
        link.symlink_to(sys.executable)
        assert find_program(str(link), "openmpi") == str(link)
        assert find_program(os.path.relpath(link), "openmpi") == str(link)


def test_ranks_default_to_what_the_place_holds() -> None:
    assert Job(["true"], parse_place("cluster:5,3,8@1gbit")).rank_count() == 16


@pytest.mark.parametrize("ranks", [0, -1, 17])
def test_ranks_must_fit(ranks: int) -> None:
    with pytest.raises(UserError, match=f"-n {ranks}"):
        Job(["true"], parse_place("cluster:4x4@1gbit"), ranks)


def test_unknown_mpi_and_missing_program() -> None:
    with pytest.raises(UserError, match="openmpi, mpich"):
        Job(["true"], Local(), mpi="other")
    with pytest.raises(UserError, match="no program"):
        Job([], Local())
    with pytest.raises(UserError, match="not found"):
        find_program("no-such-program-anywhere", "openmpi")


def test_local_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWAY_STRATEGY", "direct")
    argv = command_line(Job(["true", "x"], Local(), 3, variables={"OTHER": "1"}))
    assert argv[0] == "mpirun.openmpi"
    assert argv[-4:-2] == ["-n", "3"] and argv[-1] == "x"
    assert ["-x", "LANEWAY_STRATEGY"] == argv[argv.index("LANEWAY_STRATEGY") - 1 : argv.index("LANEWAY_STRATEGY") + 1]
    assert "OTHER" in argv
    assert command_line(Job(["true"], Local(), 2, "mpich"))[:3] == ["mpirun.mpich", "-n", "2"]


def test_ranks_keep_to_cores_where_each_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch.processors, "cores", lambda: 4)
    monkeypatch.delenv("HYDRA_BINDING", raising=False)
    for ranks, wanted, is_bound in ((4, True, True), (5, True, False), (4, False, False)):
        ours = Job(["true"], Local(), ranks, keep_to_cores=wanted)
        argv = command_line(ours)
        assert argv[argv.index("--bind-to") + 1] == ("core:if-supported" if is_bound else "none")
        theirs = Job(["true"], Local(), ranks, "mpich", keep_to_cores=wanted)
        assert launch._environment(theirs).get("HYDRA_BINDING") == ("core" if is_bound else None)
    elsewhere = Job(["true"], parse_place("cluster:2x2@1gbit"), 4, keep_to_cores=True)
    assert "core" not in " ".join(command_line(elsewhere))


def test_preload_reaches_only_the_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = parse_place("sim:lassen:2x2")
    (tmp_path / "liblaneway_mpi.so").write_text("")
    (tmp_path / "CMakePresets.json").write_text("{}")
    monkeypatch.setenv("LANEWAY_ROOT", str(tmp_path))
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    with pytest.raises(UserError, match="builds it"):
        command_line(Job(["true"], Local(), 2, preload=True))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere:{tmp_path}")
    ours = str(tmp_path / "liblaneway_mpi.so")
    argv = command_line(Job(["true"], Local(), 2, preload=True))
    assert argv[argv.index(f"LD_PRELOAD={ours}") - 1] == "-x"
    argv = command_line(Job(["true"], Local(), 2, "mpich", preload=True))
    assert argv[argv.index("LD_PRELOAD") - 1 : argv.index("LD_PRELOAD") + 2] == ["-genv", "LD_PRELOAD", ours]
    argv = command_line(Job(["true"], Local(), 2, variables={"LD_PRELOAD": "/tool.so"}, preload=True))
    assert f"LD_PRELOAD=/tool.so:{ours}" in argv and "LD_PRELOAD" not in argv
    with pytest.raises(UserError, match="simulated"):
        Job(["true"], simulated, preload=True)


def test_petsc_is_told_to_call_neighborhood_collectives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PETSC_OPTIONS", "-log_view")
    told = {"PETSC_OPTIONS": "-log_view -sf_type neighbor", "LANEWAY_PRELOAD_PETSC": "neighbor"}
    assert petsc.variables(["./program"], {}) == told
    assert petsc.variables(["./program"], {"PETSC_OPTIONS": ""})["PETSC_OPTIONS"] == "-sf_type neighbor"
    assert petsc.variables(["./program", "-sf_type", "basic"], {}) == {}
    assert petsc.variables(["./program"], {"PETSC_OPTIONS": "-sf_type window"}) == {}
    (tmp_path / ".petscrc").write_text("-sf_type basic\n")
    assert petsc.variables(["./program"], {}) == {}


def test_cluster_command_lines_use_only_the_cluster_network() -> None:
    place = parse_place("cluster:5,3@1gbit")
    openmpi = command_line(Job(["true"], place))
    for parameter in ("btl_tcp_if_include", "oob_tcp_if_include"):
        assert openmpi[openmpi.index(parameter) + 1] == supervisor.SUBNET
    mpich = command_line(Job(["true"], place, mpi="mpich"))
    assert mpich[mpich.index("-hosts") + 1] == "10.77.0.1:5,10.77.0.2:3"


def test_tools_are_found_in_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "CMakePresets.json").write_text("{}")
    tool = tmp_path / "build" / "mpich" / "bench" / "laneway-tool"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("LANEWAY_ROOT", str(tmp_path))
    assert root() == tmp_path
    assert find_program("laneway-tool", "mpich") == str(tool)
    with pytest.raises(UserError, match="builds it"):
        find_program("laneway-tool", "openmpi")


@pytest.mark.parametrize("where", ["2x8@100mbit", "2x8@200mbit", "4x4@200mbit", "2x8@1gbit", "4x4@10gbit"])
def test_burst_hides_at_most_a_frame_and_a_moment(where: str) -> None:
    place = parse_place(f"cluster:{where}")
    assert isinstance(place, Cluster)
    bits = place.bits_per_second
    mtu = cluster.frame_bytes(place)
    assert mtu + 18 <= supervisor.burst_bytes(bits, mtu) <= mtu + 18 + bits / 8 * 60e-6


def test_presets_without_debians_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    argv = build.configure_command("openmpi")
    assert argv[argv.index("--preset") + 1] == "mpi" and argv[argv.index("-B") + 1] == str(root() / "build" / "openmpi")
    assert build.configure_command("nompi")[-1] == "nompi"
    monkeypatch.setattr(build.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert build.configure_command("asan")[-1] == "asan"


def test_transports_are_forced_on_emulated_clusters_only() -> None:
    assert "pml" in command_line(Job(["true"], parse_place("cluster:2x1@1gbit"))) and "pml" not in command_line(Job(["true"], Local(), 2))


def test_installed_tools_are_found_without_the_working_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWAY_ROOT", str(tmp_path / "nowhere"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    tool = tmp_path / "bin" / "laneway-bench_mpich"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    (tmp_path / "lib" / "liblaneway_mpi_mpich.so").write_text("")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert find_program("laneway-bench", "mpich") == str(tool)
    assert find_preloads("/bin/true", "mpich") == [str(tmp_path / "lib" / "liblaneway_mpi_mpich.so")]
    with pytest.raises(UserError, match="add the folder of an installed one to the PATH"):
        find_program("laneway-bench", "openmpi")
