"""check_report.py FOLDER LIBRARY PROGRAM MPI LAUNCH... : what the preload reports of programs whose calls are known."""

import json
import os
import re
import shutil
import subprocess
import sys
import time

folder, library, program, mpi, *launch = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
# A strategy is named, so that something is taken over whatever is predicted, and calls are compared all the same.
NODES = {"LANEWAY_MACHINE": "node:* rank:2", "LANEWAY_STRATEGY": "three_step", "LANEWAY_PRELOAD_TRIAL": "8"}
failures = []


def run(ranks, *arguments, launcher=(), **variables):
    """The exit status, and what was said."""
    given = {"LD_PRELOAD": library, **NODES, **variables}
    command = [*launch, *launcher, "-n", str(ranks), "env", *(f"{name}={value}" for name, value in given.items()), program, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    return done.returncode, done.stdout


def check(condition, what):
    if not condition:
        failures.append(what)
        print("wrong:", what, flush=True)


def said(output):
    return "".join(line + "\n" for line in output.splitlines() if "laneway" in line.lower())


def report(ranks, *arguments, **variables):
    """What a run writes as JSON."""
    file = os.path.join(folder, "report.json")
    status, output = run(ranks, *arguments, LANEWAY_REPORT=file, **variables)
    check(status == 0 and "all checks hold" in output, f"{arguments}: status {status}: {output}")
    with open(file, encoding="utf-8") as text:
        read = json.load(text)
    os.remove(file)
    check(read["ranks"] == read["ranks_that_told"] == ranks, f"{arguments}: {read}")
    return read


def only_row(read):
    # A dry run also counts the collectives that the program itself has for its checks.
    rows = [row for row in read["rows"] if "Neighbor" in row["operation"] or "_init" in row["operation"]]
    check(len(rows) == 1, f"one row: {read}")
    return rows[0]


def sums_agree(ranks):
    # A ring: each rank sends to both neighbours.
    for what, name, calls in (
        ("ring", "MPI_Neighbor_allgather", 400),
        ("varying", "MPI_Neighbor_alltoallv", 300),
        ("persistent", "_init", 400),
    ):
        degree = 2 if ranks > 2 else 1
        row = only_row(report(ranks, what, str(calls), "100", LANEWAY_FIXED_COUNTS="1"))
        print(what, json.dumps(row), flush=True)
        left = sum(one["calls"] for one in row["left"])
        persistent_calls = 0 if what == "persistent" and "_init" not in row["operation"] else calls
        check(name in row["operation"] or persistent_calls == 0, f"{what}: {row}")
        check(row["calls"] == calls == row["taken_over"] + left, f"{what}: calls: {row}")
        check(row["messages"] == calls * degree * ranks and row["bytes"] == 100 * row["messages"], f"{what}: bytes: {row}")
        check(row["neighbors"] == degree and row["ranks"] == ranks, f"{what}: neighbours: {row}")
        sampled = sum(one["calls"] for one in row["left"] if "at most one in 128" in one["reason"])
        check(sampled <= 1 + calls // 128, f"{what}: {sampled} calls sampled: {row}")


def few_calls_have_no_saving():
    row = only_row(report(2, "ring", "20", "100"))
    check(row["saved"] is None and row["mpi_seconds"] is None, f"of 20 calls none is timed: {row}")


def forms():
    text, page, file = (os.path.join(folder, f"report.{form}") for form in ("txt", "html", "json"))
    status, output = run(2, "ring", "200", LANEWAY_REPORT=text)
    check(status == 0 and f"{text} says more" in output, f"where the text is: {output}")
    with open(text, encoding="utf-8") as written:
        check("Neighbor_allgather" in written.read(), "a text")
    # A page is made of the JSON by `laneway report`, and who asks for one is told so.
    for calls, says_more in (("200", True), ("2", False)):
        status, output = run(2, "ring" if says_more else "nothing", calls, LANEWAY_REPORT=page)
        check(status == 0 and (f"{file} says more" in output) == says_more, f"where the report is: {output}")
        check(output.count(f"`laneway report {file} -o {page}` makes a page of it") == 1, f"how to get the page: {output}")
        with open(file, encoding="utf-8") as written:
            check(json.load(written)["ranks"] == 2 and not os.path.exists(page), "the report is JSON")
        os.remove(file)
    nowhere = os.path.join(folder, "nowhere", "report")
    _, output = run(2, "ring", "200", LANEWAY_REPORT=f"{nowhere}.html")
    check(f"cannot write {nowhere}.json" in output and "says more" not in output, f"a report that cannot be written: {output}")
    check("laneway report" not in output, f"there is nothing to make a page of: {output}")
    _, output = run(2, "ring", "200", LANEWAY_REPORT="1")
    check("what the preload saved" in output and "Neighbor_allgather" in output, f"a table: {output}")
    check(all(len(line) <= 79 for line in output.splitlines()), f"79 columns: {output}")
    _, output = run(2, "ring", "200")
    check(len(said(output).splitlines()) == 1 and "LANEWAY_REPORT=1 says more" in output, f"one line: {output}")
    _, output = run(2, "ring", "20", LANEWAY_REPORT="report.doc")
    check(output.count("LANEWAY_REPORT is report.doc, not 0, 1 or a file") == 1, f"a bad name is said once: {output}")


def silence():
    for arguments, variables in (
        (["nothing"], {}),
        (["grid", "20"], {}),
        (["ring", "20"], {"LANEWAY_REPORT": "0"}),
        (["ring", "20"], {"LANEWAY_DISABLE": "1"}),
    ):
        _, output = run(2, *arguments, **variables)
        check(not said(output), f"{arguments} {variables}: nothing is said: {output}")


def counts_alone():
    row = only_row(report(2, "varying", "30", "100", LANEWAY_DISABLE="count", LANEWAY_FIXED_COUNTS="1"))
    check(row["taken_over"] == 0 and row["calls"] == 30 and "would be tried" in row["left"][0]["reason"], f"dry run: {row}")


def late_and_lost_ranks():
    # A job of which one rank runs without the library.
    bare, ours = [program, "nothing"], ["env", f"LD_PRELOAD={library}", program, "nothing"]
    job = subprocess.run([*launch, "-n", "1", *bare, ":", "-n", "1", *ours], capture_output=True, text=True, timeout=60, check=False)
    check(job.returncode == 0, f"a job that is preloaded in part: {job.stdout}{job.stderr}")
    status, output = run(3, "late", "4", LANEWAY_REPORT_WAIT="1")
    check(status == 0 and output.count("Only 1 of 3 ranks have told") == 1, f"a late rank: {output}")
    check(len(said(output).splitlines()) == 2, f"and then all of them: {output}")
    launcher = ["-disable-auto-cleanup"] if mpi == "mpich" else []
    began = time.monotonic()
    try:
        status, output = run(3, "killed", launcher=launcher, LANEWAY_REPORT_WAIT="2")
        check(status != 0, f"a rank was killed: {output}")
    except subprocess.TimeoutExpired:
        check(False, "a killed rank hangs the others")
    check(time.monotonic() - began < 60, "a killed rank holds the others up")


def petsc():
    """A library of that name is in the program; which it is does not matter."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        some = next(line.split()[-1] for line in maps if re.search(r"/lib[cm]\.so", line))
    fake = os.path.join(folder, "libpetsc.so.3")
    shutil.copy(some, fake)
    told = "laneway run has had PETSc call neighborhood collectives"
    _, output = run(2, "ring", "5", LANEWAY_PRELOAD_PETSC="neighbor", LD_PRELOAD=f"{library}:{fake}")
    check(output.count(told) == 1, f"what was set for PETSc is said: {output}")
    _, output = run(2, "ring", "5", LANEWAY_PRELOAD_PETSC="neighbor")
    check(told not in output, f"a program without PETSc: {output}")
    _, output = run(2, "nothing", LANEWAY_VERBOSE="1", LD_PRELOAD=f"{library}:{fake}")
    check("PETSc calls them with -sf_type neighbor" in output, f"PETSc with messages: {output}")


def allocations():
    for what in ("ring", "persistent", "varying"):
        for form in ("", os.path.join(folder, "report.json")):
            status, output = run(2, "allocations", "400", what, LANEWAY_REPORT=form)
            check(status == 0 and "all checks hold" in output, f"{what}: calls allocate nothing: {output}")


def logs():
    _, output = run(2, "ring", "5", LANEWAY_LOG="info:interpos")
    check(output.count("LANEWAY_LOG names the part 'interpos': is interpose meant?") == 1, f"a wrong part: {output}")
    _, output = run(2, "ring", "5", LANEWAY_LOG="info:interpose")
    check(output.count("preload: MPI_Neighbor_allgather: 5 taken over (rank 0)") == 1, f"LANEWAY_LOG=info:interpose: {output}")


for ranks in (2, 4) if mpi == "openmpi" else (2, 3):
    sums_agree(ranks)
for test in (few_calls_have_no_saving, forms, silence, counts_alone, allocations, petsc, late_and_lost_ranks, logs):
    test()
print("checks have failed" if failures else "all checks hold")
