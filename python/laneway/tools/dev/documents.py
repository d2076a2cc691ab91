"""What ``laneway lint`` checks of documents: lengths of pages, sentences and lines, links, words that only we use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PAGE_WORDS = 900
"""Of a page that somebody reads to do something. Code is not counted."""
SENTENCE_WORDS = 40
MEAN_SENTENCE_WORDS = 20.0
LINE_LENGTH = 160

DIALECT = {
    r"whoever|whomever": "'who', or name them",
    r"the most of any": "'the maximum over ranks'",
    r"the sketch": "the paper's title, or nothing",
    r"lent and borrowed": "'shared'",
    r"a letter (?:from|to)|letters of talk": "'a message'",
}
"""Words that readers do not know in our sense, and what they know instead."""

KNOWN: dict[str, tuple[str, ...]] = {}
"""Pages that are not rewritten yet, and which checks they fail. A check that a page passes, or a page that goes, leaves the list."""

_FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1`*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
_ITEM = re.compile(r"^( *)(?:[-*+]|\d+[.)])(?:\s+|$)")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|cf|vs|Fig|Eq|Sect|no|al)\.(?= )")
_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*[A-Z0-9`\x01])")
_MENTION = re.compile(r"(?<![\w/.-])docs/[\w./-]+\.md\b")
_SOURCE = re.compile(r"`((?:api|bench|cmake|examples|fortran|include|integrations|machines|plugins|python|simulator|src|tests)/[\w./-]+)`")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Problem:
    """What one check has found on one page."""

    page: str
    check: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}: {self.text}"


def pages_of(top: Path) -> list[Path]:
    """All documents: README.md, CONTRIBUTING.md and docs/."""
    first = [path for name in ("README.md", "CONTRIBUTING.md") if (path := top / name).is_file()]
    return first + sorted((top / "docs").rglob("*.md"))


def is_for_use(name: str) -> bool:
    """Whether people read the page to do something, so that it has to be short."""
    return name.startswith(("docs/start/", "docs/use/")) or name == "docs/install.md"


def without_code(text: str) -> str:
    """The page without blocks of code and comments; lines keep their numbers."""

    def blank(found: re.Match[str]) -> str:
        return "\n" * found[0].count("\n")

    return _COMMENT.sub(blank, _FENCE.sub(blank, text))


def _plain(text: str) -> str:
    """The text as it is read: code is one word, a link its name."""
    return _LINK.sub(lambda found: found[1], _CODE.sub("\x01", text))


def _words(text: str) -> int:
    return len(re.findall(r"[^\W_]\w*(?:[-'’.,/]\w+)*|\x01", text))


def blocks_of(text: str) -> Iterator[tuple[int, str, bool]]:
    """Paragraphs and items of lists: the number of the first line, the text, whether it is an item. No tables, no headings."""
    lines: list[str] = []
    first, is_item, indent = 0, False, 0
    for number, line in enumerate([*without_code(text).splitlines(), ""], 1):
        item = _ITEM.match(line)
        is_code = line.startswith("    ") and not lines and not (is_item and len(line) - len(line.lstrip()) <= indent + 5)
        ends = not line.strip() or line.lstrip().startswith(("|", "#", ">", "<")) or re.match(r"^[-=*_ ]{3,}$", line)
        if lines and (ends or item):
            yield first, " ".join(lines), is_item
            lines = []
        if ends or is_code:
            continue
        if not lines:
            first = number
            if item:
                is_item, indent = True, len(item[1])
            elif not line.startswith(" "):
                is_item, indent = False, 0
        lines.append(line[item.end() :].strip() if item else line.strip())


def sentences_of(text: str) -> Iterator[tuple[int, str, bool]]:
    """Sentences with the number of the line that their paragraph begins in; whether they are whole, not items of a list in a few words."""
    for number, block, is_item in blocks_of(text):
        plain = _ABBREVIATION.sub(r"\1", _plain(block))
        for sentence in _END.split(plain):
            if _words(sentence):
                yield number, sentence, not is_item or sentence.rstrip("\"')*_ ").endswith((".", "!", "?"))


def _lengths(name: str, text: str) -> Iterator[tuple[str, str]]:
    words = _words(_plain(without_code(text)))
    if is_for_use(name) and words > PAGE_WORDS:
        yield "words", f"{words} words, more than {PAGE_WORDS}: make two pages of it"
    counted = []
    for number, sentence, is_whole in sentences_of(text):
        length = _words(sentence)
        if is_whole:
            counted.append(length)
        if length > SENTENCE_WORDS:
            yield "sentences", f"line {number}: a sentence of {length} words: {sentence.replace(chr(1), '`…`')[:60]}…"
    if len(counted) > 4 and sum(counted) / len(counted) > MEAN_SENTENCE_WORDS:
        yield "sentences", f"sentences have {sum(counted) / len(counted):.1f} words on average, more than {MEAN_SENTENCE_WORDS:.0f}"
    for number, line in enumerate(without_code(text).splitlines(), 1):
        if len(line) > LINE_LENGTH and not line.lstrip().startswith(("|", "[", "![")):
            yield "lines", f"line {number} has {len(line)} characters, more than {LINE_LENGTH}"


def _dialect(text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(without_code(text).splitlines(), 1):
        for words, instead in DIALECT.items():
            for found in re.finditer(rf"\b(?:{words})\b", _plain(line), re.IGNORECASE):
                yield "words", f"line {number}: '{found[0]}': readers know {instead}"


def slug(heading: str) -> str:
    """The name by which links find a heading, as GitHub and the site make it."""
    text = _LINK.sub(lambda found: found[1], heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


@cache
def _slugs(text: str) -> frozenset[str]:
    found: dict[str, int] = {}
    names = set()
    for heading in _HEADING.findall(without_code(text)):
        name = slug(heading)
        times = found.get(name, 0)
        names.add(f"{name}-{times}" if times else name)
        found[name] = times + 1
    return frozenset(names)


def links_of(text: str) -> Iterator[tuple[int, str]]:
    """The links of a page that leave for no other machine, with the numbers of their lines."""
    readable = _CODE.sub(lambda found: re.sub(r"[^\n]", "x", found[0]), without_code(text))
    for found in _LINK.finditer(readable):
        if not re.match(r"[a-z]+:", found[2]):
            yield readable.count("\n", 0, found.start()) + 1, found[2]


def _links(top: Path, page: Path, text: str) -> Iterator[tuple[str, str]]:
    for number, link in links_of(text):
        target, _, heading = link.partition("#")
        path = (page.parent / target) if target else page
        if not path.exists():
            yield "links", f"line {number}: {link} is not there"
        elif not path.resolve().is_relative_to(top.resolve()):
            yield "links", f"line {number}: {link} leaves the tree"
        elif heading and path.suffix == ".md" and heading not in _slugs(path.read_text(encoding="utf-8")):
            yield "links", f"line {number}: {target or 'this page'} has no heading #{heading}"


def _sources(top: Path, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(without_code(text).splitlines(), 1):
        for name in _SOURCE.findall(line):
            # Examples of names, such as NAME.cpp, are in capitals.
            path = top / name
            is_there = path.exists() or any(path.parent.glob(f"{path.name}.*"))
            if not re.search(r"[A-Z]{4}", path.stem) and not is_there:
                yield "links", f"line {number}: `{name}` is not there"


def problems_of(top: Path, page: Path) -> list[Problem]:
    """All that is wrong with a page."""
    name, text = str(page.relative_to(top)), page.read_text(encoding="utf-8")
    found = [*_lengths(name, text), *_dialect(text), *_links(top, page, text), *_sources(top, text)]
    return [Problem(name, check, what) for check, what in found]


def check_mentions(top: Path, files: list[Path]) -> list[str]:
    """Find what sources and tools call docs/….md and is not there."""
    problems = []
    for path in files:
        if path.suffix in {".svg", ".png", ".csv"} or "changelog" in path.name.lower():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            for name in _MENTION.findall(line):
                if not (top / name).is_file() and "test" not in path.stem:
                    problems.append(f"{path.relative_to(top)}:{number}: {name} is not there")
    return problems


def check_documents(top: Path, files: list[Path], known: dict[str, tuple[str, ...]] = KNOWN) -> list[str]:
    """Check every page, and what other files call pages; leave out what is known."""
    found = [problem for page in pages_of(top) for problem in problems_of(top, page)]
    problems = [str(problem) for problem in found if problem.check not in known.get(problem.page, ())]
    failed = {(problem.page, problem.check) for problem in found}
    for page, checks in known.items():
        for check in checks:
            if (page, check) not in failed:
                problems.append(f"{page}: passes '{check}': remove it from the list of python/laneway/tools/dev/documents.py")
    return problems + check_mentions(top, files)
