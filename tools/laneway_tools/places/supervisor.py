"""The inside of an emulated cluster.

Runs as the first process of a PID namespace of its own, with its own network and mount namespaces. It joins one network
namespace for each node to a bridge, runs one command in node 0, and returns that command's exit status. Nothing it
makes has a name outside: when it ends, in whatever way, the kernel ends every process and removes every interface
and every file of the cluster. It uses only the standard library and the tools ``ip``, ``tc``, ``unshare``, ``nsenter``.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import NoReturn

SETUP_FAILED = 125
AGENT = "/dev/shm/laneway/agent"
HOSTFILE = "/dev/shm/laneway/hosts"
INTERFACE = "lane0"
SUBNET = "10.77.0.0/24"

_NODE_NAMESPACES = ["--net", "--uts", "--mount", "--ipc"]
_GRACE_SECONDS = 3.0
_DRAIN_SECONDS = 1.0
_QUEUE_BYTES = 256 * 1024 * 1024

# Open MPI's launcher warns when an agent is quicker than its parent's setpgid; it means nothing.
_RACE_WARNING = "/plm:rsh: Warning: setpgid/d"

_HOLDER = """
set -e
hostname "$1"
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mkdir /dev/shm/laneway
mount -t sysfs sysfs /sys || true
ip link set lo up
echo reno > /proc/sys/net/ipv4/tcp_congestion_control
echo 0 > /proc/sys/net/ipv4/tcp_slow_start_after_idle
echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6 || true
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 || true
echo ready
exec sleep infinity
"""

_AGENT_HEAD = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
case "$1" in
"""
_AGENT_TAIL = """*) echo "laneway: the cluster has no node '$1'" >&2; exit 255 ;;
esac
shift
exec nsenter --target $pid --net --uts --mount --ipc -- /bin/sh -c 'cd "$1" 2>/dev/null; eval "$2"' sh "$PWD" "$*"
"""


class SetupError(Exception):
    """A step of building the cluster failed."""


@dataclass(frozen=True)
class Node:
    """One node: its place in the cluster, its names, and the process that keeps its namespaces alive."""

    index: int
    name: str
    slots: int
    holder: int

    @property
    def address(self) -> str:
        return node_address(self.index)


def node_address(index: int) -> str:
    """The address of a node in the cluster's subnet."""
    return f"10.77.0.{index + 1}"


def node_name(cluster_id: str, index: int) -> str:
    """The host name of a node."""
    return f"lane{cluster_id}n{index}"


def burst_bytes(bits_per_second: float, mtu: int) -> int:
    """The token bucket of a link: one frame, and what the link carries in 50 µs.

    A larger bucket would let short transfers run faster than the link; a smaller one loses rate whenever the kernel's
    timer is late.
    """
    return mtu + 18 + int(bits_per_second / 8 * 50e-6)


def _call(step: str, argv: list[str], text: str = "") -> None:
    done = subprocess.run(argv, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise SetupError(f"{step} failed: {done.stderr.strip() or f'exit status {done.returncode}'}")


def _start_holder(name: str) -> int:
    holder = subprocess.Popen(
        ["unshare", *_NODE_NAMESPACES, "--", "/bin/sh", "-c", _HOLDER, "sh", name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert holder.stdout is not None and holder.stderr is not None
    if holder.stdout.readline() != "ready\n":
        raise SetupError(f"making node {name} failed: {holder.stderr.read().strip()}")
    return holder.pid


def _join(nodes: list[Node], bits_per_second: float, mtu: int) -> None:
    links = ["link add bridge0 type bridge", f"link set bridge0 mtu {mtu} up"]
    for node in nodes:
        end = f"mtu {mtu} gso_max_segs 1"
        links.append(f"link add port{node.index} {end} type veth peer name {INTERFACE} {end} netns {node.holder}")
        links.append(f"link set port{node.index} master bridge0 up")
    _call("joining the nodes to a bridge", ["ip", "-batch", "-"], "\n".join(links))

    shape = f"root tbf rate {bits_per_second:.0f}bit burst {burst_bytes(bits_per_second, mtu)} limit {_QUEUE_BYTES}"
    ports = "\n".join(f"qdisc add dev port{node.index} {shape}" for node in nodes)
    _call("limiting the links", ["tc", "-batch", "-"], ports)
    for node in nodes:
        inside = ["nsenter", "--target", str(node.holder), "--net"]
        address = f"address add {node.address}/24 dev {INTERFACE}\nlink set {INTERFACE} up"
        _call(f"configuring {node.name}", [*inside, "ip", "-batch", "-"], address)
        _call(f"limiting the link of {node.name}", [*inside, "tc", "qdisc", "add", "dev", INTERFACE, *shape.split()])


def _write(path: str, text: str, mode: int = 0o644) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def _write_files(nodes: list[Node]) -> None:
    known = "".join(f"{node.address}|{node.name}) pid={node.holder} ;;\n" for node in nodes)
    for node in nodes:
        own = f"/proc/{node.holder}/root"
        _write(own + AGENT, _AGENT_HEAD + known + _AGENT_TAIL, 0o755)
        _write(own + HOSTFILE, "".join(f"{other.address} slots={other.slots}\n" for other in nodes))


def _name_nodes(cluster_id: str, nodes: int) -> None:
    if not os.path.exists("/etc/hosts"):
        return
    names = "".join(f"{node_address(i)} {node_name(cluster_id, i)}\n" for i in range(nodes))
    _write("/dev/shm/etc_hosts", "127.0.0.1 localhost\n" + names)
    _call("naming the nodes", ["mount", "--bind", "/dev/shm/etc_hosts", "/etc/hosts"])


def build(cluster_id: str, ranks_by_node: list[int], bits_per_second: float, mtu: int) -> list[Node]:
    """Make the nodes and their links inside the namespaces of this process."""
    _call("mounting /dev/shm", ["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/dev/shm"])
    _name_nodes(cluster_id, len(ranks_by_node))
    nodes = []
    for index, slots in enumerate(ranks_by_node):
        name = node_name(cluster_id, index)
        nodes.append(Node(index, name, slots, _start_holder(name)))
    _join(nodes, bits_per_second, mtu)
    _write_files(nodes)
    return nodes


class _Children:
    """The processes that have ended; the first process of a PID namespace inherits all orphans and collects them."""

    def __init__(self) -> None:
        self.ended: dict[int, int] = {}
        self._wake, signalled = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def _collect(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.ended[pid] = status

    def wait(self, child: int, seconds: float | None, lifeline: int | None = None) -> int | None:
        """The child's wait status; None when time is up, or when the other end of the lifeline is closed."""
        until = None if seconds is None else time.monotonic() + seconds
        watched = [self._wake] if lifeline is None else [self._wake, lifeline]
        while True:
            self._collect()
            if child in self.ended:
                return self.ended[child]
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return None
            ready, _, _ = select.select(watched, [], [], left)
            if lifeline in ready:
                return None
            if self._wake in ready:
                os.read(self._wake, 4096)


def _run_in(node: Node, command: list[str], lifeline: int) -> int:
    """Run a command in a node and return its exit code; end it when the other end of the lifeline is closed."""
    children = _Children()
    enter = ["nsenter", "--target", str(node.holder), *_NODE_NAMESPACES, "--"]
    inside = ["/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", os.getcwd(), *command]
    noise = subprocess.Popen(["sed", "-u", _RACE_WARNING], stdin=subprocess.PIPE, stdout=2, start_new_session=True)
    child = subprocess.Popen([*enter, *inside], stderr=noise.stdin)
    assert noise.stdin is not None
    noise.stdin.close()
    status = children.wait(child.pid, None, lifeline)
    if status is None:
        os.kill(child.pid, signal.SIGTERM)
        status = children.wait(child.pid, _GRACE_SECONDS)
    children.wait(noise.pid, _DRAIN_SECONDS)
    return 128 + signal.SIGKILL if status is None else _exit_code(status)


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def main() -> NoReturn:
    """Build the cluster that the argument describes, run its command in node 0, end with its status."""
    config = json.loads(sys.argv[1])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda *_: None)
    try:
        nodes = build(config["id"], config["ranks_by_node"], config["bits_per_second"], config["mtu"])
    except SetupError as error:
        print(f"laneway: cannot build the emulated cluster: {error}", file=sys.stderr)
        sys.exit(SETUP_FAILED)
    os._exit(_run_in(nodes[0], config["command"], config["lifeline"]))


if __name__ == "__main__":
    main()
