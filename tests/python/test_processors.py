from pathlib import Path

import pytest

from laneway_tools.places import processors

UNIFIED = "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"


def _write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert processors.quota(tmp_path) == float("inf")


def test_the_least_quota_along_the_path_counts(tmp_path: Path) -> None:
    _write(tmp_path, "proc/self/mountinfo", UNIFIED)
    _write(tmp_path, "proc/self/cgroup", "0::/job/step\n")
    _write(tmp_path, "sys/fs/cgroup/job/cpu.max", "150000 100000\n")
    _write(tmp_path, "sys/fs/cgroup/job/step/cpu.max", "max 100000\n")
    assert processors.quota(tmp_path) == 1.5


@pytest.mark.parametrize("path", ["/docker/abc", "/", "/../../docker/abc"])
def test_version_1_in_a_container(tmp_path: Path, path: str) -> None:
    _write(tmp_path, "proc/self/mountinfo", "33 22 0:29 /docker/abc /sys/fs/cgroup/c\\040pu rw - cgroup cgroup rw,cpu\n")
    _write(tmp_path, "proc/self/cgroup", f"4:cpuacct,cpu:{path}\n0::/\n")
    _write(tmp_path, "sys/fs/cgroup/c pu/cpu.cfs_quota_us", "300000\n")
    _write(tmp_path, "sys/fs/cgroup/c pu/cpu.cfs_period_us", "100000\n")
    assert processors.quota(tmp_path) == 3


def test_at_least_one_is_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "quota", lambda: 0.25)
    assert processors.usable() == 1


def test_threads_of_a_core_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors.os, "sched_getaffinity", lambda _: {0, 1, 4, 5})
    for processor in (0, 1, 4, 5):
        _write(tmp_path, f"sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list", f"{processor % 4},{processor % 4 + 4}\n")
    assert processors.cores(tmp_path) == 2
    assert processors.cores(tmp_path / "nothing") == 4
