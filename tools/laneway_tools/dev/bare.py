"""``laneway bare``: a command of ``./dev`` on a machine in which nothing is installed, and how long each part of it takes."""

from __future__ import annotations

import json
import os
import re
import resource
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

from rich.table import Table

from laneway_tools.dev.steps import Steps
from laneway_tools.places import processors, talk
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root

SUITE = "bookworm"
_TREE = "/root/laneway"
_PART = re.compile(r"^(?:dev: )?(\S.*): \d+ s$")
"""The last line of a part, as ./dev and ``laneway_tools.dev.steps`` print it."""
_CARRIED = re.compile(r"^(PIP_\w+|(?:https?|ftp|no|all)_proxy|\w*CA_?BUNDLE|\w*SSL_CERT\w*)$", re.IGNORECASE)
"""Variables by which this machine reaches the registries of packages."""
_CERTIFICATES = ("/usr/local/share/ca-certificates", "/etc/ssl/certs/ca-certificates.crt")
_APT_SETTINGS = re.compile(r"^(?:Acquire::(?:http|https|Check-|Retries|ForceIPv)|APT::Architectures?\b)", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """What lies between two lines that end a part."""

    name: str
    seconds: float
    processor_seconds: float


@dataclass
class Measured:
    """A command on a bare machine."""

    command: str
    commit: str
    date: str
    system: str
    processors: int
    status: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    longest_silence_seconds: float = 0.0
    silent_after: str = ""
    packages: int = 0
    parts: list[Part] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """As a JSON object."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


class Timeline:
    """Reads what a command prints while it runs: where parts end, and how long nothing was said."""

    def __init__(self, now: float) -> None:
        self._begin = self._said = now
        self._part, self._part_cpu = now, 0.0
        self._last_line = "the beginning"
        self.parts: list[Part] = []
        self.silence, self.silent_after = 0.0, ""

    def heard(self, now: float) -> None:
        """Something was printed, or it has ended."""
        if now - self._said > self.silence:
            self.silence, self.silent_after = now - self._said, self._last_line
        self._said = now

    def line(self, text: str, now: float, cpu_seconds: float) -> None:
        """A line is complete, when this command had used so many seconds of processors."""
        self._last_line = text
        if found := _PART.match(text):
            self.parts.append(Part(found[1], round(now - self._part, 1), round(cpu_seconds - self._part_cpu, 1)))
            self._part, self._part_cpu = now, cpu_seconds


def stanzas(text: str) -> Iterator[str]:
    """The sources of packages that a file names: paragraphs, or lines in the older format; without comments."""
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    if re.search(r"^Types:", text, re.MULTILINE):
        yield from (part.strip() for part in re.split(r"\n\s*\n", text) if part.strip())
    else:
        yield from (line.strip() for line in text.splitlines() if line.strip().startswith("deb "))


def is_debians(source: str) -> bool:
    """Whether all that a source names are suites of this Debian."""
    suites = re.search(r"^Suites:(.*)$", source, re.MULTILINE)
    words = suites[1].split() if suites else re.sub(r"\[.*?\]", "", source).split()[2:3]
    return all(re.fullmatch(rf"{SUITE}(?:[-/](?:updates|security))?", word) for word in words)


def debian_sources(apt: Path = Path("/etc/apt")) -> dict[str, str]:
    """Where this machine gets Debian's packages: the contents of files of sources.list.d by their names."""
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*.list")), *sorted((apt / "sources.list.d").glob("*.sources"))]
    found = {file: [each for each in stanzas(file.read_text(encoding="utf-8")) if is_debians(each)] for file in files if file.is_file()}
    return {
        file.name if file.parent.name == "sources.list.d" else "debian.list": ("\n\n" if file.suffix == ".sources" else "\n").join(chosen)
        + "\n"
        for file, chosen in found.items()
        if chosen
    }


def apt_settings() -> str:
    """How this machine's apt reaches its sources: proxies and the like."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False).stdout
    return "".join(f"{line}\n" for line in dump.splitlines() if _APT_SETTINGS.match(line) and not line.endswith('"";'))


def carried(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a command on the bare machine gets, and the least that a shell has."""
    found = {
        name: value
        for name, value in environment.items()
        if _CARRIED.match(name) and not (name == "PIP_FIND_LINKS" and value.startswith("/"))
    }
    return {"HOME": "/root", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", **found}


def make_root(folder: Path) -> None:
    """A Debian that has what every Debian has, and apt, which reaches its sources as this machine's does."""
    if os.geteuid() != 0:
        raise UserError("a bare machine is made by root alone: sudo ./dev bare")
    if missing := [tool for tool in ("mmdebstrap", "unshare", "pivot_root", "git") if shutil.which(tool) is None]:
        raise UserError(f"not found: {', '.join(missing)} ('./dev setup --nightly')")
    with tempfile.TemporaryDirectory() as temporary:
        settings = Path(temporary) / "apt.conf"
        settings.write_text(apt_settings(), encoding="utf-8")
        files = []
        for name, content in debian_sources().items():
            files.append(Path(temporary) / name)
            files[-1].write_text(content, encoding="utf-8")
        argv = ["mmdebstrap", "--quiet", "--mode=root", "--variant=apt", f"--aptopt={settings}", SUITE, str(folder), *map(str, files)]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"mmdebstrap ended with status {done.returncode}:\n{done.stderr.strip()[-2000:]}", 1)
    pip = [Path("/etc/pip.conf"), *(Path.home() / name for name in (".config/pip/pip.conf", ".pip/pip.conf"))]
    for path in (Path("/etc/resolv.conf"), Path("/etc/hosts"), *map(Path, _CERTIFICATES), *pip):
        inside = folder / ("root" / path.relative_to(Path.home()) if path in pip[1:] else path.relative_to("/"))
        if path.exists():
            inside.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, inside, dirs_exist_ok=True)
            else:
                shutil.copyfile(path, inside)


def enter(folder: Path, command: Sequence[str], directory: str = "/") -> list[str]:
    """A command line that runs a command in this root, with its own mounts and processes, which end with it; the network is ours."""
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL"]
    inside = [sys.executable, "-P", "-m", "laneway_tools.dev.bare_inside", str(folder), directory]
    return ["setpriv", "--pdeathsig", "KILL", *apart, *inside, *command]


def cpu_seconds_of(process: int, proc: Path = Path("/proc")) -> float:
    """What a process and all that descend from it have used so far."""
    ticks, parents = {}, {}
    for status in proc.glob("[0-9]*/stat"):
        try:
            fields = status.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parents[int(status.parent.name)] = int(fields[1])
        ticks[int(status.parent.name)] = sum(map(int, fields[11:15]))
    inside = {process}
    while more := {child for child, parent in parents.items() if parent in inside} - inside:
        inside |= more
    return sum(ticks.get(each, 0) for each in inside) / os.sysconf("SC_CLK_TCK")


def _lines(stream: int, timeline: Timeline) -> Iterator[str]:
    """Complete lines of a stream as they come."""
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while selector.select():
            block = os.read(stream, 65536)
            timeline.heard(time.monotonic())
            if not block:
                return
            *lines, rest = (rest + block).split(b"\n")
            yield from (line.decode(errors="replace").rstrip("\r") for line in lines)


def follow(argv: Sequence[str], measured: Measured, environment: Mapping[str, str]) -> None:
    """Run a command, print what it prints, and time its parts."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    timeline = Timeline(begin)
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as process:
        assert process.stdout is not None
        try:
            for line in _lines(process.stdout.fileno(), timeline):
                timeline.line(line, time.monotonic(), cpu_seconds_of(process.pid))
                if not talk.is_quiet():
                    print(line, flush=True)
            measured.status = process.wait()
        except BaseException:
            process.kill()
            raise
    measured.seconds = round(time.monotonic() - begin, 1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    measured.processor_seconds = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1)
    measured.longest_silence_seconds, measured.silent_after = round(timeline.silence, 1), timeline.silent_after
    measured.parts = timeline.parts


def _installed(folder: Path) -> int:
    return (folder / "var/lib/dpkg/status").read_text(encoding="utf-8").count("\nStatus: install ok installed\n")


@contextmanager
def machine() -> Iterator[Path]:
    """The root of a bare machine with a clean clone of the current commit; nothing of it stays."""
    builds = root() / "build"
    builds.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bare-", dir=builds) as temporary:
        folder = Path(temporary) / "root"
        with Steps() as steps, steps.step(f"making a Debian {SUITE} in which nothing is installed"):
            make_root(folder)
        clone = ["git", "clone", "--quiet", "--no-hardlinks", str(root()), str(folder / _TREE[1:])]
        done = subprocess.run(clone, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise UserError(f"git clone: {done.stderr.strip()}", 1)
        yield folder


def measure(command: Sequence[str] = ("demo",)) -> Measured:
    """Run ``./dev COMMAND`` on a bare machine, from a clean clone of the current commit."""
    git = ["git", "-C", str(root()), "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    with machine() as folder:
        system = "Debian " + (folder / "etc/debian_version").read_text(encoding="utf-8").strip()
        measured = Measured(" ".join(["./dev", *command]), commit, date.today().isoformat(), system, processors.usable())
        before = _installed(folder)
        follow(enter(folder, ["./dev", *command], _TREE), measured, carried(os.environ))
        measured.packages = _installed(folder) - before
    return measured


def problems(measured: Measured, seconds: float | None = None, silence: float = 10.0) -> list[str]:
    """What is not as it should be: it failed, it took too long, or it was silent for too long."""
    found = []
    if measured.status != 0:
        found.append(f"{measured.command} ended with status {measured.status}")
    if seconds is not None and measured.seconds > seconds:
        found.append(f"{measured.command} took {measured.seconds:.0f} s, more than {seconds:.0f} s")
    if measured.longest_silence_seconds > silence:
        found.append(f"{measured.command} was silent for {measured.longest_silence_seconds:.0f} s after: {measured.silent_after}")
    return found


def table_of(measured: Measured) -> Table:
    """The parts of a command and what each took."""
    table = Table(title=f"{measured.command} on a bare {measured.system}, {measured.commit}")
    table.add_column("part", overflow="fold")
    for column in ("seconds", "CPU s"):
        table.add_column(column, justify="right")
    for part in measured.parts:
        table.add_row(part.name, f"{part.seconds:.1f}", f"{part.processor_seconds:.1f}")
    table.add_row("all", f"{measured.seconds:.1f}", f"{measured.processor_seconds:.1f}", style="bold")
    return table
