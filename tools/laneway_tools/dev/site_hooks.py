"""What the site needs besides Markdown: links that leave docs/, and blocks that are run or are files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from laneway_tools.places import bench_help

_LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
_FENCE = re.compile(r"^( *```)(\w+) (\S+)$", re.MULTILINE)
_TOP_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
_FOLDER = "tree"


def _top(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path).parent.resolve()


def _help_of_bench() -> str:
    """What each command of a laneway-bench says of itself."""
    tool = os.environ.get("LANEWAY_BENCH") or shutil.which("laneway-bench")
    if not tool:
        return "This site was built where there is no `laneway-bench`. `laneway-bench COMMAND --help` lists the options.\n"

    parts = [f"```text\n{bench_help.commands(tool)}\n```\n"]
    parts += [f"### laneway-bench {name}\n\n```text\n{bench_help.said(tool, name)}\n```\n" for name in bench_help.names(tool)]
    return "\n".join(parts)


def _help_of_laneway() -> str:
    """What typer writes of all commands."""
    argv = [sys.executable, "-m", "typer", "laneway_tools.cli", "utils", "docs", "--name", "laneway"]
    text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    text = text.partition("\n## ")[2]  # without the list of commands, which the page has
    return re.sub(r"^#+ ", "### ", f"## {text}", flags=re.MULTILINE)


_GENERATED = {"<!-- site: laneway -->": _help_of_laneway, "<!-- site: laneway-bench -->": _help_of_bench}
"""What the site writes in place of these lines: help, which the programs have."""


def _in_tree(config: MkDocsConfig, page: Path, target: str) -> Path | None:
    """The file outside of docs/ that a link means, if it does."""
    path = (page.parent / target).resolve()
    docs = Path(config.docs_dir).resolve()
    inside = path.is_relative_to(_top(config)) and not path.is_relative_to(docs)
    return path if inside and path.exists() else None


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Pages of the top folder become pages of the site; other files that pages link to lie beside them."""
    top = _top(config)
    for name in _TOP_PAGES:
        if (top / name).is_file():
            files.append(File.generated(config, f"{_FOLDER}/{name}", abs_src_path=str(top / name)))
    pages = [file for file in files if file.src_uri.endswith(".md")]
    for file in pages:  # grows
        page = Path(file.abs_src_path or "")
        for found in _LINK.finditer(page.read_text(encoding="utf-8")):
            path = _in_tree(config, page, found[2])
            if path is None or path.is_dir():
                continue
            uri = f"{_FOLDER}/{path.relative_to(top)}"
            if files.get_file_from_path(uri) is None:
                added = File.generated(config, uri, abs_src_path=str(path))
                files.append(added)
                if path.suffix == ".md":
                    pages.append(added)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite such links, and give blocks that are files their name."""
    top, docs = _top(config), Path(config.docs_dir).resolve()
    source = Path(page.file.abs_src_path or "")
    here = os.path.dirname(page.file.src_uri)

    def rewritten(found: re.Match[str]) -> str:
        path = (source.parent / found[2]).resolve()
        if path.is_relative_to(docs):
            uri = str(path.relative_to(docs))
        elif _in_tree(config, source, found[2]) is None:
            return found[0]
        elif path.is_dir():
            return "]()"  # folders of the sources are not part of the site
        else:
            uri = f"{_FOLDER}/{path.relative_to(top)}"
        return f"{found[1]}{os.path.relpath(uri, here or '.')}{found[3]}"

    markdown = _LINK.sub(rewritten, markdown)
    for mark, text in _GENERATED.items():
        if mark in markdown:
            markdown = markdown.replace(mark, text())
    # Doxygen writes them when the rest is there, so that they are no page to link to.
    markdown = markdown.replace("<!-- site: headers -->", '<a href="../headers/index.html">The headers</a>')
    markdown = re.sub(r"\[([^\]]+)\]\(\)", r"\1", markdown)
    return _FENCE.sub(lambda found: found[1] + found[2] + ("" if found[3] in {"run", "root"} else f' title="{found[3]}"'), markdown)
