"""How many processors this process may use: its affinity, and the quotas of its control groups."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path


def _hierarchies(root: Path) -> Iterator[tuple[Path, str, bool]]:
    """Where control groups are mounted, which of their folders is, and whether they are of version 2."""
    try:
        lines = (root / "proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2" or (kind[0] == "cgroup" and "cpu" in kind[2].split(",")):
            place = fields[4].encode().decode("unicode_escape")  # blanks are octal numbers
            yield root / place.lstrip("/"), fields[3], kind[0] == "cgroup2"


def _own_group(root: Path, unified: bool) -> str | None:
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if (number == "0" and not controllers) if unified else "cpu" in controllers.split(","):
            return path
    return None


def _limit(folder: Path, unified: bool) -> float:
    try:
        if unified:
            quota, period = map(float, (folder / "cpu.max").read_text().split())
        else:
            quota = float((folder / "cpu.cfs_quota_us").read_text())
            period = float((folder / "cpu.cfs_period_us").read_text())
    except (OSError, ValueError):  # "max" is no number
        return math.inf
    return quota / period if quota > 0 and period > 0 else math.inf


def quota(root: Path = Path("/")) -> float:
    """The least quota along the path of this process's control group, in processors; infinite without any."""
    least = math.inf
    for place, top, unified in _hierarchies(root):
        group = _own_group(root, unified)
        if group is None:
            continue
        above = top.rstrip("/")
        inside = group[len(above) :].strip("/") if (group + "/").startswith(above + "/") and "/.." not in group else ""
        folder = place / inside
        for one in (folder, *folder.parents):
            least = min(least, _limit(one, unified))
            if one == place:
                break
    return least


def cores(root: Path = Path("/")) -> int:
    """Cores that this process may use; those of a core count once. Without what the kernel tells of them, as many as processors."""
    found = set()
    for processor in os.sched_getaffinity(0):
        siblings = root / f"sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list"
        try:
            found.add(siblings.read_text().strip())
        except OSError:
            found.add(str(processor))
    return max(1, int(min(len(found), quota(root))))


def usable() -> int:
    """Whole processors, at least one."""
    return max(1, int(min(len(os.sched_getaffinity(0)), quota())))
