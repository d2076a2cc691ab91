"""What ``laneway lint`` checks of files that are generated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def check_generated(top: Path) -> list[str]:
    """Compare the files that api/generate.py writes with what it would write."""
    script = top / "api" / "generate.py"
    if not script.is_file():
        return []
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    problems = [f"{name}: is not what api/generate.py writes; run it" for name in done.stdout.splitlines()]
    if done.returncode != 0 and not problems:
        problems = [f"api/generate.py: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'failed'}"]
    return problems
