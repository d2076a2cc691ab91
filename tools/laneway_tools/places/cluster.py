"""The outside of an emulated cluster: starting its supervisor and making sure that it ends."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from laneway_tools.places.errors import UserError
from laneway_tools.places.places import Cluster
from laneway_tools.places.processes import wait_bounded

_CAP_NET_ADMIN = 12
_CAP_SYS_ADMIN = 21
_STOP_SECONDS = 6.0
_HELP = (
    "An emulated cluster needs the right to make namespaces and network links. Use one of:\n"
    "  - run as root:                       sudo ./dev run …\n"
    "  - in a container, start it with:     --privileged (or CAP_SYS_ADMIN and CAP_NET_ADMIN)\n"
    "  - as an ordinary user, allow it:     sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000\n"
    "    and on Ubuntu 23.10 or newer:      sysctl kernel.apparmor_restrict_unprivileged_userns=0\n"
    "Without that right, '--on local' runs the same program on this machine alone."
)


def frame_bytes(cluster: Cluster) -> int:
    """The largest packet of a link. The more all links carry, the larger: packets cost processor time that ranks need."""
    bits_per_second = len(cluster.ranks_by_node) * cluster.bits_per_second
    return 3000 if bits_per_second <= 4e8 else 6000 if bits_per_second <= 1e9 else 9000


def _has_capabilities() -> bool:
    with open("/proc/self/status", encoding="ascii") as status:
        effective = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff:"))
    wanted = 1 << _CAP_SYS_ADMIN | 1 << _CAP_NET_ADMIN
    return effective & wanted == wanted


def _namespaces() -> list[str]:
    user = [] if _has_capabilities() else ["--user", "--map-root-user"]
    return [*user, "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc", "--net", "--uts", "--ipc"]


def require_privilege() -> None:
    """Raise a UserError that says what is missing when no cluster can be made here."""
    missing = [tool for tool in ("unshare", "nsenter", "setpriv", "ip", "tc", "mount") if shutil.which(tool) is None]
    if missing:
        raise UserError(f"not found: {', '.join(missing)}. Install util-linux, mount and iproute2, or run './dev setup'.")
    probe = subprocess.run(
        ["unshare", *_namespaces(), "ip", "link", "add", "type", "veth"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if probe.returncode != 0:
        raise UserError(f"the system refused it: {probe.stderr.strip()}\n{_HELP}")


def run(
    cluster: Cluster,
    command: Sequence[str],
    environment: Mapping[str, str],
    timeout_seconds: float | None = None,
    output: BinaryIO | None = None,
) -> int:
    """Run a command in node 0 of a new cluster and return its exit status.

    The cluster lives as long as this call. If the calling process is killed, the kernel kills the supervisor, and with
    it everything inside. Call it from the main thread: the kernel ties that promise to the thread that starts it.
    """
    require_privilege()
    lifeline, hold = os.pipe()
    config = {
        "id": str(os.getpid()),
        "ranks_by_node": list(cluster.ranks_by_node),
        "bits_per_second": cluster.bits_per_second,
        "mtu": frame_bytes(cluster),
        "lifeline": lifeline,
        "command": list(command),
    }
    supervisor = [sys.executable, "-P", "-m", "laneway_tools.places.supervisor", json.dumps(config)]
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "unshare", *_namespaces(), "--", *supervisor],
        env=dict(environment),
        pass_fds=[lifeline],
        stdout=output,
        stderr=output,
    )
    os.close(lifeline)
    return wait_bounded(process, lambda: os.close(hold), timeout_seconds, _STOP_SECONDS)
