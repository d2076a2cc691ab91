"""The man pages in man/: laneway.1 and laneway-bench.1 from commands.md, laneway.7 from the pages of hints and variables, LNW_*.3
from the headers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from laneway.tools.dev import reference

HEADERS = ("base.h", "topology.h", "sparse.h", "bag.h", "distributor.h", "halo.h", "neighborhood.h", "collectives.h", "requests.h", "operation.h", "channel.h", "partitioned.h", "queue.h")
_ERRORS = (
    "MPI_SUCCESS or an MPI error code. The communicator's error handler has been called before. MPI_Error_string gives a text that names "
    "the rank, the call and the argument."
)

_SUMMARIES = {
    "LNW_Get_version": "version of the library that is linked",
    "LNW_Dist_graph_create_adjacent": "make a communicator with neighbours, perhaps with new ranks",
    "LNW_Comm_get_reorder_sized": "what reordering ranks has brought",
    "LNW_Comm_get_reorder": "what reordering ranks has brought",
    "LNW_Topology_create": "make a topology object from lists of neighbours",
    "LNW_Topology_from_comm": "make a topology object from a communicator",
    "LNW_Topology_get_neighbors_count": "numbers of neighbours of a topology object",
    "LNW_Topology_get_neighbors": "neighbours of a topology object",
    "LNW_Topology_free": "free a topology object",
    "LNW_Sparse_alltoall": "exchange with partners that only one side knows",
    "LNW_Sparse_alltoallv": "exchange of counted blocks with partners that only one side knows",
    "LNW_Isparse_alltoallv": "nonblocking sparse exchanges of counted blocks",
    "LNW_Sparse_alltoallv_sets": "several sparse exchanges in one round",
    "LNW_Isparse_alltoall": "nonblocking sparse exchanges",
    "LNW_Answer_append": "put an answer to a request together",
    "LNW_Sparse_query": "send requests to ranks that answer at once",
    "LNW_Arrivals_get_count": "how many entries have arrived",
    "LNW_Arrivals_get_sources": "sources, counts and offsets of what has arrived",
    "LNW_Arrivals_get_data": "what has arrived",
    "LNW_Arrivals_copy": "copy what has arrived into own buffers",
    "LNW_Arrivals_get_info": "how partners were found",
    "LNW_Arrivals_free": "free what has arrived",
    "LNW_Topology_from_arrivals": "make a topology from what has arrived",
    "LNW_Topology_from_arrivals_reversed": "make a topology of answers to what has arrived",
    "LNW_Topology_create_from_destinations": "make a topology from destinations alone",
    "LNW_Topology_create_from_sources": "make a topology from sources alone",
    "LNW_Dist_graph_create": "make a communicator with neighbours from any edges",
    "LNW_Neighbor_allgather": "blocking neighborhood operations",
    "LNW_Ineighbor_allgather": "nonblocking neighborhood operations",
    "LNW_Neighbor_allgather_init": "persistent neighborhood operations",
    "LNW_Neighbor_alltoallv_init_indexed": "persistent neighborhood operation with lists of elements",
    "LNW_Neighbor_reduce": "combine what neighbours send into the receive buffer",
    "LNW_Neighbor_reducev_init_indexed": "persistent neighborhood reduction with lists of elements",
    "LNW_Neighbor_allgather_c": "neighborhood operations with large counts",
    "LNW_Neighbor_allgather_topology": "neighborhood operations on topology objects",
    "LNW_Alltoall": "blocking dense operations",
    "LNW_Ialltoall": "nonblocking dense operations",
    "LNW_Alltoall_init": "persistent dense operations",
    "LNW_Alltoall_c": "dense operations with large counts",
    "LNW_Start": "start persistent requests",
    "LNW_Test": "complete a request",
    "LNW_Testall": "complete several requests",
    "LNW_Request_free": "free an inactive request",
    "LNW_Request_set_buffers": "run a persistent request on other buffers",
    "LNW_Request_set_stream": "order a persistent request by a device's stream",
    "LNW_Stream_synchronize": "wait for a device's stream before an operation that none orders",
    "LNW_Request_get_statistics_sized": "what a request sends, and what memory it takes",
    "LNW_Request_get_statistics": "what a request sends, and what memory it takes",
    "LNW_Request_get_info": "how the strategy of a request was chosen",
    "LNW_Request_get_strategy": "the strategy of a request",
    "LNW_Request_get_plan": "the plan of a request as JSON",
    "LNW_Comm_prepare": "make what channels and partitioned messages need",
    "LNW_Bag_create": "make a bag of messages to any rank",
    "LNW_Bag_send": "send a message to any rank",
    "LNW_Bag_next": "take the next message that has arrived",
    "LNW_Bag_flush": "wait until all messages of a round have arrived everywhere",
    "LNW_Bag_iflush": "begin to end a round of messages",
    "LNW_Bag_get_info": "what a bag has sent",
    "LNW_Bag_free": "free a bag",
    "LNW_Distributor_create": "find out which elements arrive from whom",
    "LNW_Distributor_create_from_imports": "find out who wants which elements of this rank",
    "LNW_Distributor_get_count": "how many elements leave and arrive",
    "LNW_Distributor_get_sources": "from which ranks elements arrive",
    "LNW_Distributor_exchange": "move elements once",
    "LNW_Distributor_init": "make a persistent request that moves elements",
    "LNW_Distributor_reverse_init": "make a persistent request that combines elements where they came from",
    "LNW_Distributor_free": "free a distributor",
    "LNW_Halo_create": "make a halo from the global numbers of ghosts",
    "LNW_Halo_create_from_ids": "make a halo from global numbers, own elements having any",
    "LNW_Halo_create_cart": "make a halo of an array that is spread over a grid of ranks",
    "LNW_Halo_get_count": "how many elements the arrays of a halo have",
    "LNW_Halo_get_sent": "which elements of a halo go to which ranks",
    "LNW_Halo_get_received": "which ghosts of a halo come from which ranks",
    "LNW_Halo_get_cart": "the grid of a halo, and this rank's place in it",
    "LNW_Halo_init": "make a persistent request that fills the ghosts of an array",
    "LNW_Halo_reverse_init": "make a persistent request that combines ghosts into what they are copies of",
    "LNW_Halo_init_fields": "make a persistent request that fills the ghosts of several arrays",
    "LNW_Halo_reverse_init_fields": "make a persistent request that combines the ghosts of several arrays",
    "LNW_Halo_free": "free a halo",
    "LNW_Channel_create": "make an end of a channel",
    "LNW_Channel_create_with_buffer": "make an end of a channel, with memory of the receiver's own",
    "LNW_Channel_put": "put data into a segment of a channel",
    "LNW_Channel_flush": "wait until what was put may be written again",
    "LNW_Channel_test_free": "whether a segment of a channel is free",
    "LNW_Channel_test": "whether data has been put into a segment",
    "LNW_Channel_wait": "wait for data in a segment",
    "LNW_Channel_release": "give a segment back to the sender",
    "LNW_Channel_get_info": "what carries the data of a channel",
    "LNW_Channel_free": "free an end of a channel",
    "LNW_Psend_init": "make a partitioned message to a rank",
    "LNW_Precv_init": "make a partitioned message from a rank",
    "LNW_Pready": "say that partitions may be sent",
    "LNW_Pready_range": "say that a range of partitions may be sent",
    "LNW_Pready_list": "say that some partitions may be sent",
    "LNW_Parrived": "whether a partition has arrived",
    "LNW_Neighbor_alltoallv_init_partitioned": "neighborhood operations whose blocks become ready in parts",
    "LNW_Neighbor_alltoallv_init_indexed_partitioned": "the same with lists of elements",
    "LNW_Pready_edge": "say that a partition of a block may be sent",
    "LNW_Parrived_edge": "whether a partition of a block has arrived",
    "LNW_Queue_init": "let a stream start exchanges and wait for them",
    "LNW_Enqueue_start": "start an exchange when a stream gets there",
    "LNW_Enqueue_startall": "start exchanges together when a stream gets there",
    "LNW_Enqueue_wait": "let a stream wait for an exchange",
    "LNW_Enqueue_waitall": "let a stream wait for several exchanges",
    "LNW_Enqueue_ready": "say in a stream that a partition may be sent",
    "LNW_Enqueue_ready_edge": "say in a stream that a partition of a block may be sent",
    "LNW_Enqueue_call": "call a function when a stream gets there",
    "LNW_Match": "match requests, which needs nothing",
    "LNW_Queue_wait": "wait for all that is in a queue",
    "LNW_Queue_progress": "advance a queue once",
    "LNW_Queue_free": "free a queue",
    "LNW_Queue_get_statistics_sized": "how often a queue was triggered",
    "LNW_Queue_get_statistics": "how often a queue was triggered",
    "LNW_Operation_init": "make a persistent request from a structure, for bindings",
}
"""One line of each page, which the comments in the headers do not have."""


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    for character, name in (("…", "\\&..."), ("–", "\\(en"), ("→", "\\(->"), ("≥", "\\(>="), ("µ", "\\(mc"), ("·", "\\(pc")):
        text = text.replace(character, name)
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def _inline(text: str) -> str:
    """Text with Markdown's code, emphasis and links: code is bold, links are their names."""
    text = re.sub(r"\[([^\]]*)\]\([^)\s]*\)", r"\1", text)
    parts = re.split(r"(`[^`]+`|\*[^* ][^*]*\*)", text)
    out = ""
    for part in parts:
        if len(part) > 2 and part[0] == part[-1] == "`":
            out += f"\\fB{_escaped(part[1:-1])}\\fR"
        elif len(part) > 2 and part[0] == part[-1] == "*":
            out += f"\\fI{_escaped(part[1:-1])}\\fR"
        else:
            out += _escaped(part)
    return "\\&" + out if out.startswith((".", "'")) else out


def _head(name: str, section: int, version: str, summary: str) -> str:
    return f'.\\" Written by ./dev docs \\-\\-update.\n.TH {name} {section} "" "Laneway {version}" "Laneway"\n.nh\n.ad l\n.SH NAME\n{summary}\n'


def _terms(rows: Iterable[tuple[str, str]]) -> str:
    def breakable(term: str) -> str:
        return _escaped(term).replace(",", ",\\:") if len(term) > 60 else _escaped(term)

    return "".join(f".TP\n\\fB{breakable(term)}\\fR\n{_inline(meaning)}\n" for term, meaning in rows)


def _see(*pages: str) -> str:
    return ".SH SEE ALSO\n" + ",\n".join(f".BR {name} ({section})" for name, section in (page.split(".") for page in pages)).replace("),\n", ") ,\n") + "\n"


# --- commands


def _of_program(page: str, program: str, version: str, summary: str, description: str) -> str:
    out = _head(program.upper(), 1, version, f"{_escaped(program)} \\- {summary}")
    out += f".SH SYNOPSIS\n.B {_escaped(program)}\n.I command\n.RI [ options ]\n.SH DESCRIPTION\n{_inline(description)}\n.SH COMMANDS\n"
    for command in reference.commands_in(page, program):
        out += f".SS {_escaped(command.name.removeprefix(program + ' '))}\n{_inline(command.summary)}\n"
        out += _terms((option.usage, option.meaning) for option in command.options)
    return out


# --- hints and variables


def _tables_in(page: str) -> Iterator[list[str]]:
    """The cells of all rows of all tables, but for their heads."""
    rows = [line for line in page.splitlines() if line.startswith("|")]
    for i, line in enumerate(rows):
        is_head = i + 1 < len(rows) and re.match(r"^\|( ?-+ ?\|)+$", rows[i + 1])
        if not is_head and not re.match(r"^\|( ?-+ ?\|)+$", line):
            yield [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _hints(hints: str, variables: str, version: str) -> str:
    out = _head("LANEWAY", 7, version, "laneway \\- hints and environment variables of the Laneway library")
    out += ".SH DESCRIPTION\nA hint is a key of an MPI_Info or a variable of the environment. It holds for one operation, for a communicator "
    out += "or topology object and all its operations, or for the program. The first that is given of these counts.\n.SH HINTS\n"
    for cells in _tables_in(hints):
        if len(cells) != 5 or not cells[0].startswith("`lnw_"):
            continue
        key, variable, default, values, meaning = cells
        names = ", ".join(name.strip("`") for name in (key, variable) if name != "none")
        out += f".TP\n\\fB{_escaped(names)}\\fR\n{_inline(meaning)}.\nValues: {_inline(values)}.\nDefault: {_inline(default)}.\n"
    out += ".SH ENVIRONMENT\n"
    rows = [cells for cells in _tables_in(variables) if len(cells) == 2 and cells[0].startswith("`")]
    out += _terms((cells[0].replace("`", ""), cells[1]) for cells in rows)
    return out + _see("laneway.1", "laneway-bench.1", "LNW_Start.3")


# --- headers


@dataclass
class _Page:
    """A man page of functions that one comment is about."""

    functions: list[str] = field(default_factory=list)
    prototypes: list[str] = field(default_factory=list)
    comment: str = ""
    groups: tuple[tuple[str, str], ...] = ()


_TOKEN = re.compile(
    r"/\*\*(?!<)(?P<comment>.*?)\*/"
    r"|(?P<prototype>LNW_PUBLIC int (?P<name>LNW_\w+)\([^;]*\);)"
    r"|(?P<structure>typedef (?:struct|enum) (?P<type>LNW_\w+) \{.*?^\} LNW_\w+;)",
    re.DOTALL | re.MULTILINE,
)


def _comment_text(comment: str) -> str:
    lines = [re.sub(r"^\s*\* ?", "", line).strip() for line in comment.strip().split("\n")]
    return "\n".join(lines).strip()


def _read_header(text: str) -> tuple[list[_Page], dict[str, str]]:
    """The pages of a header, and its structures by name, each with the comment before it."""
    pages: list[_Page] = []
    structures: dict[str, str] = {}
    groups: list[tuple[str, str]] = []
    comment: str | None = None
    for token in _TOKEN.finditer(text):
        if token["comment"] is not None:
            comment = _comment_text(token["comment"])
            if comment == "@}":
                groups.pop()
                comment = ""
            elif comment.startswith("@name"):
                name, _, about = comment.removesuffix("@{").removeprefix("@name ").partition("\n")
                groups.append((name.strip(), about.strip()))
                comment = ""
        elif token["structure"]:
            structures[token["type"]] = token["structure"]
            comment = None
        else:
            if comment is not None or not pages:
                pages.append(_Page(comment=comment or "", groups=tuple(groups)))
                comment = None
            pages[-1].functions.append(token["name"])
            pages[-1].prototypes.append(token["prototype"].removeprefix("LNW_PUBLIC "))
    return [page for page in pages if page.functions], structures


def _paragraphs(text: str) -> str:
    out = []
    for paragraph in re.split(r"\n\s*\n", text):
        parts = re.split(r"(?:^|\n)- ", paragraph)
        if parts[0].strip():
            out.append(".PP\n" + _inline(" ".join(parts[0].split())) + "\n")
        out += [".IP \\(bu 2\n" + _inline(" ".join(part.split())) + "\n" for part in parts[1:]]
    return "".join(out)


def _code(text: str) -> str:
    if text.endswith(");"):
        whole = re.sub(r"\s+", " ", text).replace(" ", "\0").replace(",\0", ", ")  # lines break between arguments
        lines = textwrap.fill(whole, 72, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        return _escaped(lines.replace("\0", " "))
    return _escaped(text.replace("/**<", "/*"))


def _of_functions(page: _Page, structures: dict[str, str], version: str) -> str:
    group, about = page.groups[-1] if page.groups else ("", "")
    summary = _SUMMARIES.get(page.functions[0], "a call of Laneway")
    out = _head(page.functions[0], 3, version, ", ".join(page.functions) + f" \\- {_escaped(summary)}")
    out += ".SH SYNOPSIS\n.nf\n\\fB#include <laneway/laneway.h>\\fR\n"
    for name, text in structures.items():
        if any(re.search(rf"\b{name}\b", prototype) for prototype in page.prototypes):
            out += f".PP\n{_code(text)}\n"
    out += "".join(f".PP\n{_code(prototype)}\n" for prototype in page.prototypes) + ".fi\n"
    out += ".SH DESCRIPTION\n" + (_paragraphs("\n\n".join(part for part in (page.comment, about) if part)) or f"{_escaped(group)}.\n")
    return out.replace(".SH DESCRIPTION\n.PP\n", ".SH DESCRIPTION\n") + f".SH RETURN VALUE\n{_inline(_ERRORS)}\n" + _see("laneway.7", "laneway.1")


def outputs(top: Path) -> dict[Path, str]:
    """Each man page, and what it should contain."""
    version = re.findall(r"^project\(laneway VERSION ([\d.]+)", (top / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)[0]
    docs, man = top / "docs/reference", top / "man"
    commands = (docs / "commands.md").read_text(encoding="utf-8")
    files = {
        man / "laneway.1": _of_program(
            commands, "laneway", version, "runs, measures, tests and explains Laneway",
            "The command of Laneway, a library for irregular data movement on any MPI. In its working tree it is `./dev`.",
        ) + _see("laneway-bench.1", "laneway.7"),
        man / "laneway-bench.1": _of_program(
            commands, "laneway-bench", version, "measures and explains exchanges of Laneway",
            "Started by the launcher of the MPI library, such as `mpirun -n 4 laneway-bench neighbor`. `BYTES` are numbers such as 4096 or 4KiB.",
        ) + _see("laneway.1", "laneway.7"),
        man / "laneway.7": _hints(
            (docs / "hints.md").read_text(encoding="utf-8"), (docs / "environment.md").read_text(encoding="utf-8"), version
        ),
    }
    read = [_read_header((top / "include/laneway" / name).read_text(encoding="utf-8")) for name in HEADERS]
    structures = {name: text for _, found in read for name, text in found.items()}
    for page in (page for pages, _ in read for page in pages):
        files[man / f"{page.functions[0]}.3"] = _of_functions(page, structures, version)
        for name in page.functions[1:]:
            files[man / f"{name}.3"] = f".so man3/{page.functions[0]}.3\n"
    return files


def differing(top: Path) -> dict[Path, str]:
    """Those of `outputs` that are missing or contain something else, and with no text those that should not be there."""
    if not (top / reference.PAGE).is_file():
        return {}
    files = outputs(top)
    wrong = {path: text for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text}
    return wrong | {path: "" for path in (top / "man").glob("*.[137]") if path not in files}


def check_manual(top: Path) -> list[str]:
    """Compare the man pages with what they are written from."""
    unknown = [path.stem for path, text in outputs(top).items() if "\\- a call of Laneway\n" in text] if (top / reference.PAGE).is_file() else []
    named = [f"{name}: has no line among the summaries of python/laneway/tools/dev/manual.py" for name in unknown]
    return named + [f"{path.relative_to(top)}: is not what its sources say; './dev docs --update' writes it" for path in differing(top)]


def update(top: Path) -> list[str]:
    """Write the man pages; the names of those that have changed."""
    changed = differing(top)
    for path, text in changed.items():
        path.parent.mkdir(exist_ok=True)
        if text:
            path.write_text(text, encoding="utf-8")
        else:
            path.unlink()
    return [str(path.relative_to(top)) for path in changed]
