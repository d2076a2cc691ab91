"""A command on a machine in which nothing is installed: what is carried to it, how its parts and its silence are timed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from laneway_tools.dev import bare
from laneway_tools.dev.bare import Measured, Part, Timeline
from laneway_tools.places.errors import UserError


def _measured() -> Measured:
    return Measured("./dev demo", "0123456789ab", "2026-01-01", "Debian 12.1", 2)


def test_parts_lie_between_the_lines_that_end_them() -> None:
    timeline = Timeline(100)
    for text, now, used in (
        ("dev: packages, 5 s so far: 3 %, Unpacking g++-12", 105, 4),
        ("dev: packages: 20 s", 120, 15),
        ("openmpi: building …", 121, 16),
        ("openmpi: building, 7 s so far, 3/82, about 40 s left", 130, 30),
        ("openmpi: building: 30 s", 150, 70),
    ):
        timeline.heard(now)
        timeline.line(text, now, used)
    timeline.heard(152)
    assert timeline.parts == [Part("packages", 20, 15), Part("openmpi: building", 30, 55)]
    assert (timeline.silence, timeline.silent_after) == (20, "openmpi: building, 7 s so far, 3/82, about 40 s left")


def test_a_command_is_timed_with_what_it_starts(capsys: pytest.CaptureFixture[str]) -> None:
    measured = _measured()
    burn = "import time; end = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
    script = f"echo begin; sleep 0.6; '{sys.executable}' -c '{burn}'; echo 'burning: 1 s'; printf rest; exit 3"
    bare.follow(["sh", "-c", script], measured, dict(os.environ))
    assert measured.status == 3 and capsys.readouterr().out.splitlines()[:2] == ["begin", "burning: 1 s"]
    assert [part.name for part in measured.parts] == ["burning"]
    assert measured.parts[0].processor_seconds >= 0.4 and measured.processor_seconds >= 0.4
    assert measured.seconds >= 1.0 and measured.longest_silence_seconds >= 1.0 and measured.silent_after == "begin"
    assert bare.problems(measured, seconds=0.5, silence=0.9) == [
        "./dev demo ended with status 3",
        f"./dev demo took {measured.seconds:.0f} s, more than 0 s",
        f"./dev demo was silent for {measured.longest_silence_seconds:.0f} s after: begin",
    ]


def test_the_result_is_a_file(tmp_path: Path) -> None:
    measured = _measured()
    measured.parts.append(Part("packages", 24.5, 16.0))
    measured.write(tmp_path / "in" / "bare.json")
    record = json.loads((tmp_path / "in" / "bare.json").read_text())
    assert record["command"] == "./dev demo" and record["parts"] == [{"name": "packages", "seconds": 24.5, "processor_seconds": 16.0}]
    assert bare.problems(measured, seconds=240) == []


def test_debians_sources_alone_are_carried(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "# deb http://nowhere bookworm main\ndeb [signed-by=/a] http://a/debian bookworm main\ndeb http://b/other stable main\n"
        "deb http://a/debian bookworm-backports main\n"
    )
    debian = "Types: deb\nURIs: http://a/security\nSuites: bookworm-security\nComponents: main"
    (tmp_path / "sources.list.d" / "debian.sources").write_text(
        f"# from somewhere\n{debian}\n\nTypes: deb\nURIs: http://c\nSuites: nodistro\nComponents: main\n"
    )
    (tmp_path / "sources.list.d" / "else.list").write_text("deb http://d cloud-bookworm main\n")
    assert bare.debian_sources(tmp_path) == {
        "debian.list": "deb [signed-by=/a] http://a/debian bookworm main\n",
        "debian.sources": f"{debian}\n",
    }
    assert bare.debian_sources(tmp_path / "nothing") == {}


def test_what_reaches_the_registries_is_carried() -> None:
    given = {
        "PIP_INDEX_URL": "u",
        "PIP_FIND_LINKS": "/wheels",
        "https_proxy": "p",
        "SSL_CERT_FILE": "c",
        "CURL_CA_BUNDLE": "d",
        "LANEWAY_ROOT": "r",
        "PATH": "/x",
    }
    found = bare.carried(given)
    assert found.keys() - {"HOME", "PATH", "LANG"} == {"PIP_INDEX_URL", "https_proxy", "SSL_CERT_FILE", "CURL_CA_BUNDLE"}
    assert found["HOME"] == "/root" and "/x" not in found["PATH"]


_INSIDE = """
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
  char line[1000];
  DIR* root = opendir("/");
  for (struct dirent* entry; (entry = readdir(root)) != 0;) puts(entry->d_name);
  FILE* mounts = fopen("/proc/self/mounts", "r");
  while (fgets(line, sizeof line, mounts)) printf("mount %s", line);
  printf("pid %d\\n", (int)getpid());
  return fopen("/dev/shm/here", "w") && fopen("/dev/null", "w") && fopen("/dev/stdout", "w") ? 4 : 5;
}
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="SKIP: only root gets mounts of its own")
def test_a_bare_machine_has_nothing_of_this_one(tmp_path: Path) -> None:
    folder = tmp_path / "root"
    for name in ("proc", "sys", "dev"):
        (folder / name).mkdir(parents=True)
    (tmp_path / "inside.c").write_text(_INSIDE)
    compiled = subprocess.run(["cc", "-static", "-o", str(folder / "inside"), str(tmp_path / "inside.c")], capture_output=True, text=True)
    if compiled.returncode != 0:
        pytest.skip(f"SKIP: no static programs here: {compiled.stderr}")
    before = Path("/proc/self/mounts").read_text()
    done = subprocess.run(bare.enter(folder, ["/inside"]), capture_output=True, text=True, timeout=60)
    assert done.returncode == 4, done.stderr
    lines = done.stdout.splitlines()
    assert {line for line in lines if " " not in line} == {".", "..", "proc", "sys", "dev", "inside"} and "pid 1" in lines
    mounted = [line.split()[2] for line in lines if line.startswith("mount ")]
    assert mounted[0] == "/" and all(place == "/" or place.startswith(("/proc", "/sys", "/dev")) for place in mounted), mounted
    assert Path("/proc/self/mounts").read_text() == before and not Path("/dev/shm/here").exists()


def test_only_root_makes_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bare.os, "geteuid", lambda: 1000)
    with pytest.raises(UserError, match="root alone"):
        bare.make_root(tmp_path)
