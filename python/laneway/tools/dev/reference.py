"""docs/reference/commands.md: all commands and options, as the programs have them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = "docs/reference/commands.md"
LANEWAY, BENCH = "laneway", "laneway-bench"


@dataclass(frozen=True)
class Option:
    """An option or argument: as it is written, and what it means."""

    usage: str
    meaning: str


@dataclass(frozen=True)
class Command:
    """A command: its words, what it does, its options, and the group that help shows it in."""

    name: str
    summary: str
    options: tuple[Option, ...]
    group: str = ""


def _option_of(parameter: Any) -> Option:
    required = "required: " if parameter.required else ""
    if parameter.param_type_name == "argument":
        return Option(parameter.metavar or parameter.name.upper(), parameter.help or "")
    # Of what has no metavar, the types' names differ between versions of typer.
    value = parameter.metavar or max(parameter.opts, key=len).lstrip("-").upper().replace("-", "_")
    usage = ", ".join(parameter.opts) + ("" if getattr(parameter, "is_flag", False) else f" {value}")
    default, meaning = parameter.default, parameter.help or ""
    if isinstance(default, (str, int, float)) and not isinstance(default, bool) and default != "" and "default:" not in meaning:
        meaning += f"; default: {default}"
    return Option(usage, required + meaning)


def commands_of(group: Any, name: str = LANEWAY, panel: str = "") -> list[Command]:
    """The commands of a group of click's, each with those in it, in its order."""
    found = []
    for word, command in group.commands.items():
        if command.hidden:
            continue
        shown = getattr(command, "rich_help_panel", None)
        inside = shown if isinstance(shown, str) else panel
        if hasattr(command, "commands"):
            found += commands_of(command, f"{name} {word}", inside)
            continue
        options = tuple(_option_of(p) for p in command.params if not getattr(p, "hidden", False) and p.name != "help")
        found.append(Command(f"{name} {word}", " ".join((command.help or "").split()), options, inside))
    return found


def to_json(commands: Iterable[Command]) -> str:
    """The commands as text for `from_json`."""
    rows = [[c.name, c.summary, [[o.usage, o.meaning] for o in c.options], c.group] for c in commands]
    return json.dumps(rows)


def from_json(text: str) -> list[Command]:
    """The commands of `to_json`."""
    return [Command(name, summary, tuple(Option(*o) for o in options), group) for name, summary, options, group in json.loads(text)]


def of_laneway() -> list[Command]:
    """The commands of the program laneway, which knows more of them than this folder may."""
    argv = [sys.executable, "-m", "laneway", "commands"]
    return from_json(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


def _readable(usage: str) -> str:
    usage = re.sub(r"INT:SIZE \[[^\]]*\](:INT in \[[^\]]*\])?", "BYTES", usage)
    usage = re.sub(r"\b(INT|FLOAT|TEXT):(INT|FLOAT) in \[(\S+) - (\S+)\]", r"\1 from \3 to \4", usage)
    usage = re.sub(r"\b(?:INT|FLOAT|TEXT):(\{[^}]*\})", r"\1", usage)
    return usage.replace("INT:POSITIVE", "INT").strip()


def _without_default(usage: str) -> tuple[str, str]:
    found = re.search(r"(?<=[\w}])=\[?([^\]\s]*)\]?(?=( \.\.\.)?$)", usage)
    return (usage[: found.start()] + usage[found.end() :], found[1]) if found else (usage, "")


def options_in(text: str) -> tuple[Option, ...]:
    """The options in a help text of CLI11, but for --help."""
    part = re.search(r"^Options:\n((?:  .*\n?)+)", text, re.MULTILINE)
    lines = part[1].splitlines() if part else []
    found = []
    for i, line in enumerate(lines):
        if not line.startswith("  -"):
            continue
        below = lines[i + 1].strip() if i + 1 < len(lines) and lines[i + 1].startswith(" " * 20) else ""
        usage, meaning = (line.strip(), below) if below else (line[:30].strip(), line[30:].strip())
        needs = re.findall(r"Needs: (\S+)", usage)
        usage = re.sub(r" ?Needs: \S+", "", usage)
        required = "required: " if "REQUIRED" in usage else ""
        usage, default = _without_default(_readable(usage.replace(" REQUIRED", "")))
        if usage != "-h,--help":
            notes = ([f"with {', '.join(needs)}"] if needs else []) + ([f"default: {default}"] if default else [])
            found.append(Option(usage, required + "; ".join([meaning, *notes])))
    return tuple(found)


def of_bench(tool: str) -> list[Command]:
    """The subcommands of a laneway-bench."""

    def help_of(*words: str) -> str:
        return subprocess.run([tool, *words, "--help"], capture_output=True, text=True, check=True).stdout

    listed = help_of().split("Subcommands:\n")[1].split("\n\n")[0]
    rows = re.findall(r"^  (\w+) +(.*)$", listed, re.MULTILINE)
    return sorted((Command(f"{BENCH} {name}", text, options_in(help_of(name))) for name, text in rows), key=lambda c: c.name)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def table_of(commands: Iterable[Command]) -> str:
    """The commands in Markdown."""
    out = []
    group = None
    rows = list(commands)
    groups = [command.group for command in rows]
    for command in sorted(rows, key=lambda row: groups.index(row.group)):
        if command.group and command.group != group:
            group = command.group
            out.append(f"**To {group}:**\n")
        summary = textwrap.fill(_cell(command.summary), 140, break_long_words=False, break_on_hyphens=False)
        out.append(f"### {command.name}\n\n{summary}\n")
        if command.options:
            lines = "\n".join(f"| `{o.usage.replace('|', chr(92) + '|')}` | {_cell(o.meaning)} |" for o in command.options)
            out.append(f"| option | meaning |\n| --- | --- |\n{lines}\n")
    return "\n".join(out)


def _region(of: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- generated from the help of {of} -->\n)(.*?)(<!-- end of what is generated -->)", re.DOTALL)


def region_of(page: str, of: str) -> str:
    """The part of the page that is generated from the help of a program."""
    found = _region(of).search(page)
    return found[2] if found else ""


def with_region(page: str, of: str, commands: Iterable[Command]) -> str:
    """The page with the commands of a program as they are."""
    text, times = _region(of).subn(lambda found: f"{found[1]}\n{table_of(commands)}\n{found[3]}", page)
    if times != 1:
        raise ValueError(f"{PAGE} has {times} parts for {of}, not one")
    return text


def commands_in(page: str, of: str) -> list[Command]:
    """The commands of a program, as the page has them."""
    found = []
    for part in re.split(r"^### ", region_of(page, of), flags=re.MULTILINE)[1:]:
        name, _, rest = part.partition("\n")
        rows = re.findall(r"^\| `(.*?)` \| (.*) \|$", rest, re.MULTILINE)
        summary = " ".join(rest.strip().split("\n\n")[0].split("\n"))
        options = tuple(Option(usage.replace("\\|", "|"), _text(meaning)) for usage, meaning in rows)
        found.append(Command(name, _text(summary), options))
    return found


def _text(cell: str) -> str:
    return cell.replace("\\|", "|").replace("&lt;", "<")


def check_commands(top: Path) -> list[str]:
    """Compare the page with the commands of laneway."""
    page = top / PAGE
    if not page.is_file():
        return []
    text = page.read_text(encoding="utf-8")
    if with_region(text, LANEWAY, of_laneway()) == text:
        return []
    return [f"{PAGE}: is not what the command's help says; './dev docs --update' writes it"]
