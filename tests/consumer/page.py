"""Does what a page says. A block ```c ring.c is written to ring.c, a block ```sh run is run, both in an empty folder."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

_BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main(page: Path, folder: Path) -> int:
    folder.mkdir(parents=True)
    commands = 0
    for _, name, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if name != "run":
            (folder / name).write_text(text, encoding="utf-8")
            continue
        commands += 1
        print(text, flush=True)
        status = subprocess.run(["bash", "-e", "-c", text], cwd=folder).returncode
        if status != 0:
            print(f"{page}: ended with status {status}:\n{text}", file=sys.stderr)
            return 1
    if commands == 0:
        print(f"{page} has no block to run", file=sys.stderr)
    return 0 if commands > 0 else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
