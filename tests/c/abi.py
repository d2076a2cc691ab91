"""abi.py STORED COMPILER: the C interface has all that the stored description of an earlier one has, types included.

Functions of the headers' declarations, with empty bodies, are compiled and described by abidw; abidiff compares. That
the library has these functions, tests/c/symbols.py checks. ``abi.py --write STORED COMPILER INCLUDE`` describes other
headers.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
DECLARATION = re.compile(r"LNW_PUBLIC\s+int\s+(LNW_\w+)(\([^;]*\));")


def library(compiler: list[str], include: Path, folder: Path) -> Path:
    """The functions that the headers in include/laneway declare, compiled."""
    text = "".join(path.read_text() for path in sorted((include / "laneway").glob("*.h"))
                   if path.name not in ("device.h", "device_kernels.h", "sim_device.h", "hypre.h"))
    bodies = [f"int ({name}){parameters} {{ return 0; }}" for name, parameters in DECLARATION.findall(text)]
    source = folder / "interface.c"
    source.write_text("\n".join(["#include <laneway/laneway.h>", *bodies, ""]))
    made = folder / "interface.so"
    argv = [*compiler, "-g", "-gdwarf-4", "-O0", "-fPIC", "-shared", f"-I{include}", str(source), "-o", str(made)]
    subprocess.run(argv, check=True)
    return made


def main(arguments: list[str]) -> int:
    """The command."""
    writes = arguments[0] == "--write"
    stored, *compiler = arguments[1:] if writes else arguments
    include = Path(compiler.pop()) if writes else TOP / "include"
    if shutil.which("abidiff") is None:
        print("SKIP: abidiff is not installed (Debian: abigail-tools)")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        made = library(compiler, include, Path(folder))
        if writes:
            argv = ["abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--no-elf-needed",
                    "--drop-undefined-syms", "--out-file", stored, str(made)]
            subprocess.run(argv, check=True)
            path = Path(stored)
            path.write_text(path.read_text().replace(f"{folder}/", ""))
            return 0
        # Functions may be added.
        grows = str(TOP / "api" / "exported.suppr")
        done = subprocess.run(["abidiff", "--no-added-syms", "--suppressions", grows, stored, str(made)])
        print("the same, or more" if done.returncode == 0 else "what programs were built with has changed")
        return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
