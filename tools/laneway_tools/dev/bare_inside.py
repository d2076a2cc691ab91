"""The first process of a bare machine: makes a folder its root, with mounts of its own, and becomes a command in there.

What it runs as has namespaces of its own for mounts and processes. The root that it leaves is detached by the C library, since a bare
machine has no umount.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
_MNT_DETACH = 2


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def _mount_all(folder: Path) -> None:
    _mount("--make-rprivate", "/")
    _mount("--bind", str(folder), str(folder))
    for kind, place in (("proc", "proc"), ("sysfs", "sys"), ("tmpfs", "dev"), ("devpts", "dev/pts"), ("tmpfs", "dev/shm")):
        (folder / place).mkdir(exist_ok=True)
        _mount("-t", kind, *(["-o", "newinstance,ptmxmode=0666"] if kind == "devpts" else []), kind, str(folder / place))
    for name in _DEVICES:
        (folder / "dev" / name).touch()
        _mount("--bind", f"/dev/{name}", str(folder / "dev" / name))
    for name, target in _LINKS.items():
        (folder / "dev" / name).symlink_to(target)


def main(folder: str, directory: str, *command: str) -> None:
    """Never returns."""
    c = ctypes.CDLL(None, use_errno=True)
    _mount_all(Path(folder))
    os.chdir(folder)
    os.mkdir("left")
    subprocess.run(["pivot_root", ".", "left"], check=True)
    os.chdir("/")
    if c.umount2(b"/left", _MNT_DETACH) != 0:
        raise OSError(ctypes.get_errno(), "the root that is left cannot be detached")
    os.rmdir("/left")
    os.chdir(directory)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
