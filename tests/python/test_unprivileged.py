"""The emulated cluster without root: user namespaces are enough."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from laneway_tools.places import cluster
from laneway_tools.places.errors import UserError
from laneway_tools.places.paths import root

_NOBODY = 65534


def test_nobody_may_have_a_cluster(tmp_path: Path) -> None:
    drop = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    probe = [*drop, "unshare", "--user", "--map-root-user", "--net", "ip", "link", "add", "type", "veth"]
    if (refused := subprocess.run(probe, capture_output=True, text=True)).returncode != 0:
        pytest.skip(f"user namespaces are not allowed here: {refused.stderr.strip()}")
    python = [*drop, sys.executable, "-B"]
    around = {**os.environ, "HOME": "/nonexistent", "TMPDIR": "/tmp", "PYTHONPATH": str(root() / "tools")}
    if subprocess.run([*python, "-c", "import laneway_tools.cli"], env=around, cwd="/", capture_output=True).returncode != 0:
        pytest.skip("nobody cannot read this working tree or its Python")
    argv = [*python, "-m", "laneway_tools", "run", "--on", "cluster:2x1@200mbit", "--", "hostname"]
    done = subprocess.run(argv, env=around, cwd="/", capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    names = sorted(line for line in done.stdout.splitlines() if line)
    assert len(names) == 2 and names[0].endswith("n0") and names[1].endswith("n1"), done.stdout


def test_what_a_refusal_says_names_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = subprocess.CompletedProcess([], 1, "", "unshare: unshare failed: Operation not permitted")
    monkeypatch.setattr(cluster.subprocess, "run", lambda *_, **__: refusal)
    with pytest.raises(UserError) as raised:
        cluster.require_privilege()
    for name in ("kernel.apparmor_restrict_unprivileged_userns=0", "kernel.unprivileged_userns_clone=1", "--on local"):
        assert name in str(raised.value)
