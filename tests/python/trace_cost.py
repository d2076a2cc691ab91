"""What LANEWAY_TRACE costs exchanges that are traced, over the same ones that are not: jobs take turns.

    python tests/python/trace_cost.py LANEWAY-BENCH [PAGE]

prints ratios of medians as JSON. With PAGE it writes docs/results/tracing.md, too.
"""

from __future__ import annotations

import datetime
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RANKS, TURNS, ITERATIONS = 4, 15, 400
SIZES = (1024, 16384, 262144)
LAUNCH = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "pml", "ob1"]
PAGE = """# Cost of tracing

| | |
| --- | --- |
| measured | {date}, {ranks} ranks, Open MPI, emulated nodes of 2 ranks; load of {load:.0f} on {processors} processors |
| command | `python tests/python/trace_cost.py build/openmpi/bench/laneway-bench docs/results/tracing.md` |
| data | this page |
| wanted | less than 3% of an exchange with `LANEWAY_TRACE`; nothing without |
| reached | {reached}; without it no instruction of a trace runs (`tests/python/test_trace.py` counts) |
| physical limit | two readings of the clock a step |

Two jobs take turns in an order that is drawn, {turns} times: one is traced, the other is not. Each exchanges {iterations} times with the
8 neighbours of a Moore neighborhood, by `three_step`. The last column has the median of the turns' ratios, and its 95% interval.

| bytes of an edge | without, µs | with, µs | with ÷ without |
| ---: | ---: | ---: | ---: |
{rows}

Next: [see what held an exchange up](../use/tracing.md).
"""


def median_of(bench: str, size: int, trace: str | None) -> float:
    """Seconds of an exchange in one job."""
    around = {name: value for name, value in os.environ.items() if name != "LANEWAY_TRACE"}
    more = {} if trace is None else {"LANEWAY_TRACE": trace}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.jsonl"
        options = ["--pattern", "moore:d=2,r=1", "--machine", "node:2 rank:2", "--strategy", "three_step", "--baseline", "mpi"]
        program = [bench, "neighbor", *options, "--bytes", str(size), "--iterations", str(ITERATIONS), "--json", str(file)]
        exported = [] if trace is None else ["-x", "LANEWAY_TRACE"]
        subprocess.run([*LAUNCH, *exported, "-n", str(RANKS), *program], env={**around, **more}, check=True, capture_output=True, timeout=120)
        records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        return statistics.median(next(r["samples_s"] for r in records if r.get("candidate") == "three_step"))


def interval(values: list[float]) -> tuple[float, float]:
    """Of the median, 95%, from its order alone."""
    ordered, count = sorted(values), len(values)
    within = int(count / 2 - 0.98 * count**0.5)
    return ordered[max(within, 0)], ordered[min(count - 1 - within, count - 1)]


def main() -> None:
    bench, found = sys.argv[1], {}
    order = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            pairs = []
            for _ in range(TURNS):
                jobs: list[str | None] = [None, f"{folder}/t"]
                order.shuffle(jobs)
                seconds = {job is not None: median_of(bench, size, job) for job in jobs}
                pairs.append((seconds[False], seconds[True]))
            ratios = [traced / plain for plain, traced in pairs]
            found[size] = {
                "without_us": statistics.median(plain for plain, _ in pairs) * 1e6,
                "with_us": statistics.median(traced for _, traced in pairs) * 1e6,
                "ratio": statistics.median(ratios),
                "interval": interval(ratios),
            }
            print(json.dumps({"bytes": size, **found[size]}), flush=True)
    if len(sys.argv) > 2:
        lines = [
            f"| {size:,} | {each['without_us']:.1f} | {each['with_us']:.1f} | {each['ratio']:.3f} ({each['interval'][0]:.3f} to {each['interval'][1]:.3f}) |"
            for size, each in found.items()
        ]
        ratios = [each["ratio"] for each in found.values()]
        reached = f"ratios of {min(ratios):.3f} to {max(ratios):.3f}"
        values = {"date": datetime.date.today().isoformat(), "ranks": RANKS, "load": os.getloadavg()[0], "processors": os.cpu_count()}
        text = PAGE.format(**values, reached=reached, turns=TURNS, iterations=ITERATIONS, rows="\n".join(lines))
        Path(sys.argv[2]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
