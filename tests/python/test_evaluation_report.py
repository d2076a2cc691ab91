"""The report of an evaluation, on results that are made here: what it says, and that a browser shows it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from conftest import Command, needs_long

from laneway_tools.evaluate import figures, findings, report, study
from laneway_tools.evaluate.limits import least_seconds
from laneway_tools.evaluate.study import Case, Contestant, Study
from laneway_tools.measure import compare
from laneway_tools.measure.results import Record
from laneway_tools.places.errors import UserError

_VERSIONS = {"openmpi": "Open MPI v4.1.4, package: x", "mpich": "MPICH Version:\t4.0.2"}
_SIZES = (4, 1024, 16384, 262144)
_LINK = 25e6
OPEN_MPI, MPICH = Contestant("openmpi", "mpi"), Contestant("mpich", "mpi")


class _Made:
    """Records of two libraries in two launches. Times are given by library; everything scatters by ``spread``."""

    def __init__(self, spread: float = 0.02, seed: int = 1) -> None:
        self._random, self._spread = np.random.default_rng(seed), spread
        self.records: list[Record] = [{"record": "system", "rows": [["Place", "cluster:2x2@200mbit"]], "link_bytes_per_second": _LINK}]
        for library, version in _VERSIONS.items():
            self.records.append({"record": "library", "library": library, "configuration": "--with-<x>", "laneway": True})
            self.records.append(
                {"record": "launch", "library": library, "launch": 2, "node_of_rank": [0, 0, 1, 1], "run": {"mpi": version}}
            )

    def add(
        self, group: str, benchmark: str, size: int | None, seconds: Mapping[str, float], candidate: str = "mpi", **more: object
    ) -> None:
        for launch in (1, 2):
            for library, value in seconds.items():
                samples = value * np.exp(self._spread * self._random.standard_normal(25))
                record: Record = {"record": "result", "group": group, "benchmark": benchmark, "where": "between", "library": library}
                record |= {
                    "launch": launch,
                    "machine": "cluster:2x2@200mbit",
                    "candidate": candidate,
                    "samples_s": [float(s) for s in samples],
                }
                record |= {"ranks": 4, "nodes": 2, "run": {"schema": 1, "mpi": _VERSIONS[library]}} | more
                self.records.append(record if size is None else record | {"bytes": size})

    def with_control(self, group: str, benchmark: str, size: int | None, seconds: Mapping[str, float], **more: object) -> None:
        for candidate in ("mpi", "control"):
            self.add(group, benchmark, size, seconds, candidate, **more)

    def study(self) -> Study:
        return study.read(self.records)


def _all() -> _Made:
    made = _Made()
    for size in _SIZES:
        time = 3e-5 + size / 24e6
        made.with_control("point-to-point", "latency", size, {"openmpi": time, "mpich": 1.3 * time})
        made.with_control("point-to-point", "bandwidth", size, {"openmpi": 16 * time, "mpich": 17 * time}, moved_bytes=16.0 * size)
        made.with_control("collective", "bcast", size, {"openmpi": time, "mpich": (3 if size > 1024 else 0.7) * time})
        made.with_control("neighborhood", "neighbor_alltoallv", size, {"openmpi": time, "mpich": time}, pattern="mesh")
        made.add(
            "neighborhood",
            "neighbor_alltoallv",
            size,
            {"openmpi": 0.5 * time, "mpich": 0.5001 * time},
            "laneway_persistent",
            pattern="mesh",
        )
    made.with_control("collective", "barrier", None, {"openmpi": 1e-4, "mpich": 1e-4})
    made.with_control("application", "hpcg", 4096, {"openmpi": 1e-3, "mpich": 1.3e-3}, flops=1e6, communication_share=0.4)
    made.records.append(
        {
            "record": "failed",
            "library": "mpich",
            "benchmark": "discovery",
            "bytes": 64,
            "candidate": "mpi",
            "hung": True,
            "message": "no result for 60 s",
        }
    )
    return made


def test_what_the_numbers_show_is_said() -> None:
    found = findings.summary(_all().study())
    libraries = " ".join(found["Libraries compared"])
    assert re.search(
        r"Messages between two ranks, between nodes: Open MPI 4\.1\.4 leads\. MPICH 4\.0\.2's time as a multiple: 1\.\d\d \(", libraries
    )
    (fall,) = found["Who falls where"]
    assert re.fullmatch(
        r"MPICH 4\.0\.2 falls behind in bcast between nodes from 16 KiB to 256 KiB: (2\.9|3\.0)( to 3\.[01])? times the time of Open MPI 4\.1\.4\.",
        fall,
    ), fall
    assert any(
        "Laneway, persistent, over MPICH 4.0.2, neighbor_alltoallv (mesh)" in said and "0.50" in said
        for said in found["Laneway beside the libraries"]
    )
    assert found["What did not work"] == ["MPICH 4.0.2: discovery at 64 B hung: no result for 60 s."]
    (link,) = found["The links"]
    assert re.search(r"23\.\d+ MB/s of Open MPI 4\.1\.4, is 9[345]% of what the link carries", link)


def test_who_leads_where() -> None:
    rows = {(row.benchmark, row.size): row for row in findings.winners(_all().study())}
    assert rows["bcast", "small"].leader == MPICH and rows["bcast", "small"].is_shown
    assert rows["bcast", "large"].leader == OPEN_MPI and 2.9 < rows["bcast", "large"].ratio.value < 3.1  # type: ignore[union-attr]
    assert rows["neighbor_alltoallv, mesh", "small"].leader.is_laneway and not rows["neighbor_alltoallv, mesh", "small"].is_shown
    assert not rows["barrier", ""].is_shown


@pytest.mark.parametrize("seed", range(5))
def test_equals_lead_nowhere(seed: int) -> None:
    """Times that differ by chance alone, with launches that differ, too: nothing is said."""
    random, made = np.random.default_rng(seed), _Made(0.05, seed)
    for size in _SIZES:
        for benchmark in ("latency", "bcast", "allreduce", "alltoall"):
            group = "point-to-point" if benchmark == "latency" else "collective"
            for candidate in ("mpi", "control"):
                before = len(made.records)
                made.add(group, benchmark, size, {"openmpi": 1e-4, "mpich": 1e-4}, candidate)
                for record in made.records[before:]:
                    factor = float(np.exp(0.1 * random.standard_normal()))
                    record["samples_s"] = [s * factor for s in record["samples_s"]]  # type: ignore[attr-defined]
    found = made.study()
    assert 0.1 < found.noise < 0.6
    assert set(findings.summary(found)) <= {"What to use here"}
    assert findings.advice(found) == ["No library leads over all 16 cases; choose by the table."]
    assert not [row for row in findings.winners(found) if row.is_shown]


def test_a_control_that_scatters_silences_a_small_lead() -> None:
    """The same lead is said where equals are equal, and is not where the same thing measured twice differs by more."""
    for launches_differ, is_said in ((0.0, True), (0.3, False)):
        made = _Made(0.001)
        for size in _SIZES:
            made.with_control("collective", "bcast", size, {"openmpi": 1e-4, "mpich": 1.1e-4})
        for record in made.records:
            if record.get("launch") == 2 and "samples_s" in record:
                record["samples_s"] = [s * (1 + launches_differ) for s in record["samples_s"]]  # type: ignore[attr-defined]
        assert any(row.is_shown for row in findings.winners(made.study())) == is_said


def test_a_library_that_scatters_silences_no_other() -> None:
    """Of what is measured over each library its own noise counts."""
    made = _Made(0.001)
    for size in _SIZES:
        made.with_control("collective", "bcast", size, {"openmpi": 1e-4, "mpich": 1e-4})
        made.add("collective", "bcast", size, {"openmpi": 0.8e-4, "mpich": 0.8e-4}, "laneway")
    for record in made.records:
        if record.get("launch") == 2 and record["library"] == "mpich" and "samples_s" in record:
            record["samples_s"] = [2 * s for s in record["samples_s"]]  # type: ignore[attr-defined]
    found = made.study()
    assert found.noise_of(OPEN_MPI) < 0.01 and found.noise_of(OPEN_MPI, MPICH) == found.noise_of(MPICH) > 0.9
    said = findings.summary(found)["Laneway beside the libraries"]
    assert said and all("over Open MPI 4.1.4" in sentence for sentence in said)
    assert "of Open MPI 4.1.4" in report.as_markdown(found, "")


def test_what_to_set_is_said_with_its_hint() -> None:
    """The library that leads, the function to call, for which sizes, and what it has chosen by itself; nothing where MPI's own call leads."""
    made = _Made(0.001)
    for size in _SIZES:
        made.with_control("collective", "bcast", size, {"openmpi": 1e-4, "mpich": 2e-4})
        made.add("collective", "bcast", size, {"openmpi": 0.5e-4}, "laneway_persistent", note="tree")
        made.with_control("neighborhood", "neighbor_alltoallw", size, {"openmpi": 1e-4, "mpich": 2e-4}, pattern="mesh")
        made.add("neighborhood", "neighbor_alltoallw", size, {"mpich": 0.5e-4}, "mpi_persistent", pattern="mesh")
        made.with_control("discovery", "discovery", size, {"openmpi": 1e-4, "mpich": 2e-4})
        made.add("discovery", "discovery", size, {"openmpi": 0.5e-4}, "laneway", note="nbx" if size < 1024 else "rma")
        made.add("neighborhood", "neighbor_reducev", size, {"openmpi": 1e-4}, "loop", pattern="ring")
        made.add("neighborhood", "neighbor_reducev", size, {"openmpi": 0.5e-4}, "laneway_persistent", pattern="ring", note="three_step")
        made.with_control("collective", "gather", size, {"openmpi": 1e-4, "mpich": 2e-4})
    use, *calls = findings.advice(made.study())
    assert use.startswith("Use Open MPI 4.1.4: over 16 cases MPICH 4.0.2 takes 2.00 ("), use
    every = "between nodes for small, medium and large sizes: it leads all others"
    assert sorted(calls) == [
        f"Call LNW_Bcast_init over Open MPI 4.1.4 for bcast, {every}, by lnw_collective=tree.",
        f"Call LNW_Neighbor_reducev_init over Open MPI 4.1.4 for neighbor_reducev, ring, {every}, by lnw_strategy=three_step.",
        f"Call LNW_Sparse_alltoallv over Open MPI 4.1.4 for discovery, {every}, by lnw_find=nbx and rma.",
        f"Call MPI_Neighbor_alltoallw_init over MPICH 4.0.2 for neighbor_alltoallw, mesh, {every}.",
    ]


def test_limits_are_those_of_the_links() -> None:
    found = _all().study()
    by_hand = {"alltoall": 2 * 2 * 1000, "allgather": 2 * 1000, "gather": 2 * 1000, "bcast": 1000, "allreduce": 1000, "latency": 1000}
    for benchmark, least in by_hand.items():
        assert least_seconds(found, Case("collective", benchmark, "", "between", 1000)) == pytest.approx(least / _LINK)
    assert least_seconds(found, Case("collective", "alltoall", "", "inside", 1000)) is None
    figure = figures.values(found, found.series()["point-to-point", "bandwidth", "", "between"], "Bandwidth")
    (limit,) = [trace for trace in figure["data"] if trace["name"] == "what the links allow"]  # type: ignore[attr-defined]
    assert set(limit["y"]) == {_LINK / 1e6}


def test_the_page_holds_everything(tmp_path: Path) -> None:
    pages = report.write(_all().study(), "MPI <here>", tmp_path / "r" / "page.html")
    page, text = (path.read_text(encoding="utf-8") for path in pages)
    assert "<title>MPI &lt;here&gt;</title>" in page and "--with-&lt;x&gt;" in page
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=.?https?:", page)
    assert page.count('class="plot"') == len(json.loads(re.search(r"const figures=(\[.*?\]);\n", page)[1].replace("<\\/", "</")))  # type: ignore[index]
    for said in (sentence for some in findings.summary(_all().study()).values() for sentence in some):
        assert f"- {said}" in text
    assert "| bcast | between nodes | large | Open MPI 4.1.4 | MPICH 4.0.2 |" in text and "40% communication" in text


def test_what_did_not_run_is_in_a_table(tmp_path: Path) -> None:
    """Once for all launches and libraries with one reason, and who is left out where others ran; without, no table."""
    made = _all()
    assert "What did not run" not in report.as_markdown(made.study(), "MPI")
    for library in ("openmpi", "mpich", "openmpi"):
        common: Record = {"record": "skip", "library": library, "where": "", "ranks": 4}
        made.records.append(common | {"benchmark": "fft_alltoall", "candidate": "heffte", "message": "a C++ library"})
        if library == "mpich":
            made.records.append(common | {"benchmark": "device_bcast", "message": "no <device>"})
    page, text = (path.read_text(encoding="utf-8") for path in report.write(made.study(), "MPI", tmp_path / "page.html"))
    assert (
        "| fft_alltoall | heffte | Open MPI 4.1.4, MPICH 4.0.2 | a C++ library |\n| device_bcast | all | MPICH 4.0.2 | no <device> |"
        in text
    )
    assert (
        '>heffte</td><td data-name="library">Open MPI 4.1.4, MPICH 4.0.2</td><td data-name="why">a C++ library</td>' in page
        and "no &lt;device&gt;" in page
    )


def test_a_crowd_is_named() -> None:
    """Times of ranks that wait for each other's processors are not taken for the library's alone."""
    for on, processors, is_said in (("cluster:2x2@200mbit", 2, True), ("cluster:2x2@200mbit", 8, False), ("job", 2, False)):
        made = _all()
        made.records += [{"record": "settings", "on": on}, {"record": "launch", "launch": 1, "ranks": 4, "run": {"processors": processors}}]
        assert ("4 ranks share 2 processors" in report.as_markdown(made.study(), "x")) == is_said


def test_two_evaluations_on_one_page(tmp_path: Path) -> None:
    for name, factor in (("before", 1.0), ("after", 0.5)):
        made = _Made()
        for size in _SIZES:
            made.with_control("collective", "bcast", size, {"openmpi": factor * 1e-4, "mpich": 1e-4})
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.jsonl").write_text("".join(json.dumps(record) + "\n" for record in made.records), encoding="utf-8")
    text = compare.run(tmp_path / "before", tmp_path / "after")
    assert "bcast 4 B between openmpi" in text and re.search(r"mpi +100 µs +50 µs +0\.50\d \(.*(49|50|51)% faster", text), text
    found = report.read_files([tmp_path / "before", tmp_path / "after"])
    names = {found.name(contestant) for contestant in found.contestants()}
    assert names == {"Open MPI 4.1.4 (before)", "Open MPI 4.1.4 (after)", "MPICH 4.0.2 (before)", "MPICH 4.0.2 (after)"}
    assert all(row.leader == Contestant("openmpi@after", "mpi") and row.is_shown for row in findings.winners(found))


def test_results_of_laneway_bench(tmp_path: Path) -> None:
    lines = [
        {
            "benchmark": "neighbor",
            "op": "allgather",
            "pattern": "stencil",
            "bytes": size,
            "machine": "node:2 rank:2",
            "candidate": name,
            "samples_s": [time * size, time * size * 1.01],
        }
        for size in (8, 64)
        for name, time in (("mpi", 1e-6), ("three_step", 5e-7))
    ]
    file = tmp_path / "results.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = report.read_files([file])
    assert [c.candidate for c in found.contestants()] == ["mpi", "three_step"]
    assert "neighbor allgather" in report.as_markdown(found, "x")
    file.write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="no results with samples"):
        report.read_files([file])
    with pytest.raises(UserError, match="there is no such file"):
        report.read_files([tmp_path / "none.jsonl"])


def _chromium() -> str:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or ""


@needs_long
def test_a_browser_shows_it(tmp_path: Path, command: Command) -> None:
    """A report, and what compare -o writes of two: in Chromium, at 1,280 and 390 pixels: no complaint, all plots drawn, nothing wider than the window, and it prints."""
    api = pytest.importorskip("playwright.sync_api", reason="SKIP: playwright is not installed (pip install playwright)")
    if not _chromium():
        pytest.skip("SKIP: no chromium here (Debian: chromium)")
    made = _all()
    made.records.append(
        {"record": "skip", "library": "mpich", "benchmark": "fft_alltoall", "candidate": "heffte", "message": "a long reason " * 8}
    )
    page_file, _ = report.write(made.study(), "MPI libraries", tmp_path / "page.html")
    both = tmp_path / "both.html"
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.jsonl").write_text("".join(json.dumps(record) + "\n" for record in _all().records), encoding="utf-8")
    code, said = command.run("compare", str(tmp_path / "before"), str(tmp_path / "after"), "-o", str(both))
    assert code == 0 and str(both) in said, said
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        for file, width in ((page_file, 1280), (page_file, 390), (both, 1280), (both, 390)):
            page, said = browser.new_page(viewport={"width": width, "height": 900}), []
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on(
                "request", lambda request: said.append(request.url) if not request.url.startswith(("file:", "data:", "blob:")) else None
            )
            page.goto(file.as_uri(), timeout=120_000)
            page.wait_for_function("[...document.querySelectorAll('.plot')].every(p => p.querySelector('.main-svg'))", timeout=120_000)
            boxes = page.eval_on_selector_all(
                ".plot",
                "ps => ps.map(p => [p.getBoundingClientRect().width, p.querySelectorAll('.scatterlayer .trace, .barlayer .trace').length])",
            )
            assert said == [] and boxes and all(w >= min(width, 480) * 0.8 and traces >= 1 for w, traces in boxes)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            # Of two reports, plots and tables have the libraries of both.
            assert all((name in page.inner_text("body")) == (file == both) for name in ("Open MPI 4.1.4 (before)", "MPICH 4.0.2 (after)"))
            small = page.eval_on_selector_all("p, li, td", "es => Math.min(...es.map(e => parseFloat(getComputedStyle(e).fontSize)))")
            assert small >= 12
            if width == 390:
                # No cell is cut off, or so narrow that a word has no room; each says what it is.
                cells = page.eval_on_selector_all(
                    "section[open] td, h2 + .wide td, .wide + .wide td",
                    "es => es.map(e => { const b = e.getBoundingClientRect();"
                    " return [b.left, b.right, e.scrollWidth - e.clientWidth, getComputedStyle(e, '::before').content] })",
                )
                assert cells and all(left >= 0 and right <= width and right - left > 300 and over <= 0 for left, right, over, _ in cells)
                assert all(len(name) > 4 for *_, name in cells)
            if width == 1280:
                assert page.pdf().startswith(b"%PDF-")
        browser.close()


def _late(operation: str) -> _Made:
    """Four ranks on one machine; `operation` takes 500 µs more than it would, by rank 3."""
    made = _Made(0.02)
    for record in made.records:
        if record["record"] == "launch":
            record["ranks"] = 4
    for size in _SIZES:
        time = 2e-6 + size / 5e9
        made.with_control("point-to-point", "latency", size, {"openmpi": time, "mpich": time})
        for name, factor in (
            ("bcast", 2),
            ("reduce", 2),
            ("allreduce", 3.5),
            ("gather", 2),
            ("allgather", 3),
            ("alltoall", 3),
            ("alltoallv", 3.1),
        ):
            seconds = factor * time + (5e-4 if name == operation else 0)
            late = {"slowest_rank": 3, "slowest_share": 0.97 if name == operation else 0.3, "first_s": 2 * seconds, "fastest_rank_s": 1e-6}
            made.with_control("collective", name, size, {"openmpi": seconds, "mpich": factor * time}, **late)
    return made


def test_a_late_rank_is_seen_in_one_evaluation() -> None:
    """By what other operations of the same library would take, and by which rank is last; nothing where all is as it should be."""
    assert findings.guidelines(_late("").study()) == []
    for operation, than in (
        ("bcast", "allreduce"),
        ("bcast", "a chain of messages through all ranks, twice"),
        ("allreduce", "reduce and bcast"),
        ("allgather", "gather and bcast"),
        ("alltoallv", "1.1 times alltoall"),
        ("reduce", "allreduce"),
    ):
        found = _late(operation).study()
        said = [sentence for sentence in findings.guidelines(found) if f"times as long as {than}" in sentence]
        assert len(said) == 1 and said[0].startswith(f"Open MPI 4.1.4, {operation}, between nodes, from 4 B"), (operation, said)
        assert said[0].endswith("Rank 3 is the slowest in nearly all samples.")
        assert said[0] in report.as_markdown(found, "x")


def test_first_calls_and_fastest_ranks_have_a_column() -> None:
    text = report.as_markdown(_late("bcast").study(), "x")
    assert "| Open MPI 4.1.4: first call; fastest rank |" in text and "1.01 ms; 1.00 µs, rank 3 last" in text.replace("1 µs", "1.00 µs"), (
        text
    )


def test_the_page_says_how_programs_ran() -> None:
    made = _all()
    made.records += [
        {"record": "settings", "on": "local", "variables": {"OMPI_MCA_btl": "self,tcp"}},
        *({"record": "launch", "launch": 1, "ranks": 4, "node_of_rank": [0, 0, 0, 1], "run": {"date": f"2026-11-2{day}T10:00:00Z", "others": day}}
          for day in (3, 5)),
    ]  # fmt: skip
    for text in (report.as_markdown(made.study(), "x"), report.as_html(made.study(), "x")):
        for said in (
            "4, by node: 3, 1",
            "2026-11-23 to 2026-11-25",
            "OMPI_MCA_btl=self,tcp",
            "4.0 processes wanted a processor, 5.0 at most",
        ):
            assert said in text, said


def test_libraries_with_something_preloaded_get_no_advice() -> None:
    made = _Made(0.001)
    for size in _SIZES:
        made.with_control("collective", "bcast", size, {"openmpi": 1e-4})
        made.add("collective", "bcast", size, {"openmpi": 0.5e-4}, "laneway")
    assert any(said.startswith("Call LNW_Bcast") for said in findings.advice(made.study()))
    made.records[0]["preloaded"] = "slow.so"
    assert findings.advice(made.study()) == ["Nothing: slow.so was preloaded, and the times are those of the libraries with it."]


def test_nobody_leads_where_no_difference_is_shown() -> None:
    text = report.as_markdown(_all().study(), "x")
    assert "| barrier | between nodes | - | - | - | - | no difference shown |" in text


def test_small_ratios_have_digits() -> None:
    assert str(study.Ratio(0.0031, 0.00042, 0.61)) == "0.0031 (0.00042 to 0.61)"


def test_files_that_are_no_text_are_one_line(command: Command, tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)))
    for arguments in (("report", str(binary), "-o", str(tmp_path / "p.html")), ("compare", str(binary), str(binary))):
        code, said = command.run(*arguments)
        assert code == 1 and "Traceback" not in said and "is no text: results have one JSON object a line" in said, said
