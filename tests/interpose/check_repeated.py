"""check_repeated.py FOLDER LIBRARY HALO REPEATED LAUNCH... : messages that repeat, in jobs whose ranks differ, and what is reported of them."""

import json
import os
import subprocess
import sys
import time

folder, library, halo, repeated, *launch = sys.argv[1:]
NODES = {"LD_PRELOAD": library, "LANEWAY_MACHINE": "node:* rank:2"}
os.makedirs(folder, exist_ok=True)
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("wrong:", what, flush=True)


def run(*parts, timeout=120):
    """Parts are ranks, variables, and the program with its arguments. The exit status, and what was said."""
    command = list(launch)
    for ranks, variables, program in parts:
        given = [f"{name}={value}" for name, value in {**NODES, **variables}.items()]
        command += ["-n", str(ranks), "env", *given, *program, ":"]
    done = subprocess.run(command[:-1], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False)
    return done.returncode, done.stdout


def ranks_that_differ():
    program = [repeated, "0", "2"]
    began = time.monotonic()
    for others in ({}, {"LANEWAY_P2P": "0"}, {"LANEWAY_DISABLE": "1", "LANEWAY_P2P": "1"}, {"LD_PRELOAD": ""}):
        for order in (1, -1):
            parts = [(2, {"LANEWAY_P2P": "1", "LANEWAY_P2P_WAIT": "1"}, program), (1, others, program)]
            status, output = run(*parts[::order])
            if status != 0 and not output:  # MPICH's launcher may lose what ranks say just before they abort
                status, output = run(*parts[::order])
            check(status != 0 and "but is not on all ranks" in output, f"{others}: ends with a line that says why: {status}: {output}")
    check(time.monotonic() - began < 100, "ends soon")
    status, output = run((2, {"LANEWAY_P2P": "1"}, program), (1, {"LANEWAY_P2P": "asserted"}, program))
    check(status == 0 and output.count("nothing is taken over: it is not the same on all ranks") == 1, f"other values: {output}")
    check("all checks hold" in output and "bundles" not in output, f"other values: {output}")


def what_is_reported():
    # A grid of 2 x 2: both neighbours in the first dimension are on the other node, with 9 messages each.
    ranks, rounds, size, streams, first = 4, 60, 64, 4 * 18, 3
    file = os.path.join(folder, "repeated.json")
    job = (ranks, {"LANEWAY_P2P": "1", "LANEWAY_REPORT": file}, [halo, "persistent", str(size), str(rounds)])
    status, output = run(job)
    check(status == 0 and "all checks hold" in output, f"halo: {output}")
    with open(file, encoding="utf-8") as text:
        found = json.load(text)["point_to_point"]
    os.remove(file)
    print(found, flush=True)
    taken = streams * (rounds - first)
    check(found["streams"] == streams and found["messages_of_program"] == streams * rounds, f"messages: {found}")
    check(found["taken_over"] == taken and found["long_by_mpi"] == 0, f"taken over: {found}")
    check(2 * (rounds - first) <= found["bundles"] < taken, f"bundles: {found}")
    check(found["messages_between_nodes"] == streams * first + found["bundles"], f"messages instead: {found}")
    check(found["bytes_in_node_memory"] >= taken * size, f"bytes: {found}")
    status, output = run((ranks, {"LANEWAY_P2P": "1", "LANEWAY_REPORT": "1"}, job[2]))
    lines = output.splitlines()
    check(f"  streams taken over {streams:>36}" in lines and "messages between nodes instead" in output, f"a table: {output}")
    check(all(len(line) <= 79 for line in lines if line.startswith("  ")), f"79 columns: {output}")
    status, output = run((ranks, {"LANEWAY_P2P": "1", "LANEWAY_REPORT": "0"}, job[2]))
    check("bundles" not in output, f"nothing is said: {output}")
    status, output = run((ranks, {"LANEWAY_REPORT": file}, job[2]))
    with open(file, encoding="utf-8") as text:
        check(json.load(text)["point_to_point"] is None, "not asked for")


def allocations():
    # Memory grows to what ranks that are ahead of each other need, which takes some hundred rounds.
    for kind, rounds in (("persistent", "1000"), ("nonblocking", "1000"), ("mixed", "500")):
        status, output = run((4, {"LANEWAY_P2P": "1"}, [halo, kind, "200", rounds, "allocations"]))
        check(status == 0 and "all checks hold" in output, f"{kind}: calls allocate nothing: {output}")


for test in (ranks_that_differ, what_is_reported, allocations):
    test()
print("checks have failed" if failures else "all checks hold")
