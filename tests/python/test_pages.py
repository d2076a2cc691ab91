"""How blocks of pages are run: tests/consumer/page.py, with stand-ins for compilers and launcher."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from laneway_tools.places.paths import root


def _run(folder: Path, pages: dict[str, str], *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    tools, home = folder / "tools", folder / "home"
    (home / "laneway/lib/pkgconfig").mkdir(parents=True)
    tools.mkdir()
    stand_ins = {
        "mpicc": 'cp "$1" "$3"; chmod +x "$3"',
        "mpirun": 'echo "$1 $2: $("$3")"',
        "pkg-config": 'echo "of $3 at $PKG_CONFIG_PATH" >>"$HOME/asked"',
    }
    for name, text in stand_ins.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    for name, text in pages.items():
        (folder / name).write_text(text)
    environ = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(home), **variables}
    argv = [
        sys.executable,
        str(root() / "tests/consumer/page.py"),
        *(options or ["--once"]),
        str(folder / "work"),
        *(str(folder / n) for n in pages),
    ]
    return subprocess.run(argv, capture_output=True, text=True, env=environ, timeout=60)


def test_blocks_are_run_in_order_in_one_folder(tmp_path: Path) -> None:
    page = "# Page\n\n```text a.txt\nhere\n```\n\n```sh\nexit 1\n```\n\n```sh run\ncat a.txt >b.txt\n```\n\n- then\n\n  ```sh run\n  cat b.txt\n  ```\n"
    done = _run(tmp_path, {"page.md": page, "other.md": "```sh\nexit 1\n```\n"})
    assert done.returncode == 0, done.stderr
    assert "\nhere\n" in done.stdout and "1 pages, 0 fail" in done.stdout


def test_programs_are_compiled_and_run_at_two_ranks(tmp_path: Path) -> None:
    done = _run(tmp_path, {"page.md": "```c run\n#!/bin/sh\necho ran\n```\n"})
    assert done.returncode == 0, done.stderr
    assert "-n 2: ran" in done.stdout
    assert (tmp_path / "home/asked").read_text().startswith(f"of laneway at {tmp_path}/home/laneway/lib/pkgconfig")


@pytest.mark.parametrize(
    "block", ["```sh run\nfalse\necho too late\n```\n", "```sh run\nfalse | true\n```\n", "```cobol run\n```\n", "```sh\n```\n"]
)
def test_what_fails_is_a_failure(tmp_path: Path, block: str) -> None:
    done = _run(tmp_path, {"page.md": block})
    assert done.returncode == 1 and "too late\n" not in done.stdout.replace("echo too late\n", "")


def test_a_page_that_fails_hides_no_other(tmp_path: Path) -> None:
    done = _run(tmp_path, {"a.md": "```sh run\nfalse\n```\n", "b.md": "```sh run\necho there\n```\n"})
    assert done.returncode == 1 and "\nthere\n" in done.stdout and "2 pages, 1 fail" in done.stdout


def test_what_is_not_built_is_said(tmp_path: Path) -> None:
    page = "```fortran run\nend\n```\n\n```sh run\nlaneway-bench\n```\n\n```sh run\necho fortran-like\n```\n"
    done = _run(tmp_path, {"page.md": page}, "--once", "--without", "fortran", "--without", "laneway-bench")
    assert done.returncode == 0 and "block 1 needs fortran" in done.stdout and "block 2 needs laneway-bench" in done.stdout


def test_nothing_is_set_that_readers_do_not_have(tmp_path: Path) -> None:
    page = '```sh run\ntest -z "$OMPI_MCA_rmaps_base_oversubscribe$LANEWAY_STRATEGY"\n```\n'
    done = _run(tmp_path, {"page.md": page}, OMPI_MCA_rmaps_base_oversubscribe="1", LANEWAY_STRATEGY="direct")
    assert done.returncode == 0, done.stderr


def test_root_sets_what_the_page_says_and_others_nothing(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents[:2]:
        parent.chmod(0o755)
    of_root = "```sh root\nexport SAID=1\n```\n"
    page = 'echo "user $(id -u), said ${SAID:-nothing}"'
    pages = {"page.md": f"```sh run\n{page}\n```\n", "index.md": of_root}
    done = _run(tmp_path, pages, "--root", str(tmp_path / "index.md"))
    assert done.returncode == 0, done.stdout + done.stderr
    if os.geteuid() == 0:
        assert "user 0, said 1\n" in done.stdout
        assert "user 65534, said nothing\n" in done.stdout or "SKIP: another user" in done.stdout
    else:
        assert f"user {os.geteuid()}, said nothing\n" in done.stdout


def test_the_page_for_root_says_what_root_sets() -> None:
    sys.path.insert(0, str(root() / "tests/consumer"))
    import page as pages

    if os.geteuid() == 0:
        assert "OMPI_ALLOW_RUN_AS_ROOT" in pages.root_sets(root() / "docs/start/index.md")
        with pytest.raises(ValueError, match="0 blocks for root"):
            pages.root_sets(root() / "docs/index.md")


def test_every_page_marks_blocks_that_can_be_run() -> None:
    sys.path.insert(0, str(root() / "tests/consumer"))
    import page as pages

    for path in (root() / "README.md", *(root() / "docs").rglob("*.md")):
        for language, name, _ in pages.blocks_of(path):
            assert name not in {"run", "root"} or language in {"sh", "c", "cpp", "fortran", "python"}, f"{path}: {language} {name}"
