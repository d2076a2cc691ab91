"""The machine that is evaluated, as it describes itself: Tables 1 and 2 of Shafie Khorassani et al. (PEARC '22) by program.

K. Shafie Khorassani, C.-C. Chen, B. Ramesh, A. Shafi, H. Subramoni, D. K. Panda: High Performance MPI over the Slingshot
Interconnect: Early Experiences. doi:10.1145/3491418.3530773.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from laneway_tools import __version__
from laneway_tools.places import machines, processors
from laneway_tools.places.places import Cluster, Place, Simulated

Rows = list[tuple[str, str]]
_SECONDS = 20


def said(argv: Sequence[str]) -> str:
    """What a program prints; nothing where it is missing or fails."""
    if shutil.which(argv[0]) is None:
        return ""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _processors() -> str:
    fields = dict(line.split(":", 1) for line in said(["lscpu"]).splitlines() if ":" in line)
    value = {name.strip(): text.strip() for name, text in fields.items()}
    parts = [value.get("Model name", platform.processor() or platform.machine())]
    if sockets := value.get("Socket(s)"):
        parts.append(
            f"{sockets} sockets of {value.get('Core(s) per socket', '?')} cores, {value.get('Thread(s) per core', '?')} threads a core"
        )
    parts.append(f"{value.get('NUMA node(s)', '1')} NUMA nodes")
    parts.append(f"{processors.usable()} usable here")
    return ", ".join(parts)


def _memory() -> str:
    found = re.search(r"MemTotal:\s+(\d+) kB", _read(Path("/proc/meminfo")))
    return f"{int(found[1]) / 2**20:.1f} GiB" if found else ""


def _network() -> str:
    parts = []
    for device in sorted(Path("/sys/class/infiniband").glob("*")):
        parts += [f"{device.name}: {_read(port / 'rate')}" for port in sorted(device.glob("ports/*"))]
    for interface in sorted(Path("/sys/class/net").glob("*")):
        speed = _read(interface / "speed")
        if interface.name != "lo":
            rate = f", {int(speed) / 1000:g} Gbit/s" if speed.isdigit() and int(speed) > 0 else ""
            parts.append(f"{interface.name}{rate}")
    return "; ".join(parts)


def _devices() -> str:
    names = [line.split("(")[0].strip() for line in said(["nvidia-smi", "-L"]).splitlines() if line.startswith("GPU")]
    names += [
        line.strip() for line in said(["rocm-smi", "--showproductname"]).splitlines() if "Card series" in line or "Card Series" in line
    ]
    return "; ".join(names) or "none found"


_VERSION_OF = """
import ctypes, sys
for name in sys.argv[2:]:
    try:
        number = ctypes.c_int()
        if getattr(ctypes.CDLL(name), sys.argv[1])(ctypes.byref(number)) == 0:
            print(number.value)
            break
    except (OSError, AttributeError):
        pass
"""


def _number_of(function: str, libraries: Sequence[str], variables: Mapping[str, str]) -> int:
    """What a library's function says of its version, in a process of its own; 0 where the loader does not find the library."""
    try:
        argv = [sys.executable, "-c", _VERSION_OF, function, *libraries]
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, env={**os.environ, **variables}
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return int(done.stdout) if done.stdout.strip().isdigit() else 0


def _dotted(number: int, *units: int) -> str:
    """12040 as 12.4 by the units 1000 and 10; 22703 as 2.27.3 by 10000, 100 and 1."""
    parts = []
    for unit in units:
        parts.append(str(number // unit))
        number %= unit
    return ".".join(parts)


def _collectives_of(libraries: Sequence[str], variables: Mapping[str, str]) -> str:
    """NCCL's or RCCL's version: three numbers, until 2.8 with two digits less."""
    number = _number_of("ncclGetVersion", libraries, variables)
    return _dotted(number, *((10000, 100, 1) if number >= 10000 else (1000, 100, 1))) if number else ""


def _software_of_devices(variables: Mapping[str, str]) -> Rows:
    """Drivers, runtimes and collective libraries of GPUs; a dash where one is not found."""
    api = _number_of("cuDriverGetVersion", ["libcuda.so.1"], variables)
    toolkit = re.search(r"release ([\d.]+)", said(["nvcc", "--version"]))
    cuda = [f"{_dotted(api, 1000, 10)} of the driver"] if api else []
    cuda += [f"toolkit {toolkit[1]}"] if toolkit else []
    found = [
        ("NVIDIA driver", _first_line(said(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]))),
        ("CUDA", ", ".join(cuda)),
        ("NCCL", _collectives_of(["libnccl.so.2", "libnccl.so"], variables)),
        ("AMD driver", _read(Path("/sys/module/amdgpu/version"))),
        (
            "ROCm",
            _first_line(_read(Path(os.environ.get("ROCM_PATH", "/opt/rocm")) / ".info" / "version"))
            or _first_line(said(["hipconfig", "--version"])),
        ),
        ("RCCL", _collectives_of(["librccl.so.1", "librccl.so"], variables)),
    ]
    return [(name, value or "-") for name, value in found]


def running_processes() -> float | None:
    """How many processes want a processor now, without this one: what else runs on the machine. The mean of a few looks."""
    found = []
    for _ in range(5):
        text = _read(Path("/proc/loadavg"))
        if len(text.split()) < 4:
            return None
        found.append(int(text.split()[3].partition("/")[0]) - 1)
        time.sleep(0.02)
    return sum(found) / len(found)


def preloaded(variables: Mapping[str, str]) -> str:
    """What is preloaded into the programs that are measured."""
    return variables.get("LD_PRELOAD") or os.environ.get("LD_PRELOAD", "")


def commit(top: Path) -> str:
    """Of the working tree; empty where git does not know it."""
    return said(["git", "-C", str(top), "describe", "--always", "--dirty", "--match", "no-tag", "--abbrev=12"]).strip()


def _first_line(text: str) -> str:
    return next((line.strip().lstrip("# ") for line in text.splitlines() if line.strip()), "")


def rows_of_machine(place: Place, top: Path, variables: Mapping[str, str] | None = None) -> Rows:
    """Hardware and software that all libraries share; `variables` are those that programs are given."""
    release = re.search(r'^PRETTY_NAME="?([^"\n]*)', _read(Path("/etc/os-release")), re.MULTILINE)
    rows = [
        ("Place", str(place)),
        ("Host", platform.node()),
        ("Processors", _processors()),
        ("Memory", _memory()),
        ("Network devices", _network()),
        ("GPUs", _devices()),
        *_software_of_devices(variables or {}),
        ("Kernel", f"{platform.system()} {platform.release()}"),
        ("System", release[1] if release else ""),
        ("C compiler", _first_line(said(["cc", "--version"]))),
        ("UCX", _first_line(said(["ucx_info", "-v"]))),
        ("libfabric", _first_line(said(["fi_info", "--version"]))),
        ("FFTW", said(["pkg-config", "--modversion", "fftw3"]).strip()),
        ("Laneway", f"{__version__}, {commit(top)}"),
    ]
    if isinstance(place, Cluster):
        rows.insert(
            1, ("Links", f"emulated: {place.nodes} nodes, {place.bits_per_second / 1e6:g} Mbit/s each, {os.cpu_count()} processors for all")
        )
    if isinstance(place, Simulated):
        rows.insert(
            1,
            (
                "Links",
                f"simulated: {machines.read(place.machine).name}, {place.nodes} nodes of {place.ranks_of_node} ranks; times are virtual",
            ),
        )
    return [(name, value) for name, value in rows if value]


def link_bytes_per_second(place: Place) -> float | None:
    """What a node's link carries, where it is known: the physical limit between nodes."""
    if isinstance(place, Cluster):
        return place.bytes_per_second
    if isinstance(place, Simulated):
        machine = machines.read(place.machine)
        beta = machine.injection_beta or machine.link("network")[-1].beta
        return 1 / beta if beta > 0 else None
    return None
