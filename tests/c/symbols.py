"""symbols.py NM LIBRARY: the library exports what the headers declare, and the operations of api/operations.toml."""

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "api"))
import dense  # noqa: E402
import generate  # noqa: E402

nm, library = sys.argv[1:]
said = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
exported = {line.split()[-1].split("@")[0] for line in said.splitlines()}
profiling = {name for name in exported if name.startswith("PLNW_")}
exported = {name for name in exported if name.startswith("LNW_")}
dense_names = set(dense.functions(dense.read_table(TOP / "api" / "operations.toml")[0]))
operations = {name for name in exported if (re.match(r"LNW_I?[Nn]eighbor_", name) and "partitioned" not in name) or name in dense_names}
declared = set(generate.declared(TOP))
wrong = 0
for of, ours, theirs in (
    ("api/operations.toml", set(generate.functions(generate.read_table()[0])) | dense_names, operations),
    ("the headers", declared, exported),
    ("the profiling names", {f"P{name}" for name in exported}, profiling),
):
    for name in sorted(ours - theirs):
        print(f"{name} is in {of}, but the library does not export it")
    for name in sorted(theirs - ours):
        print(f"the library exports {name}, which is not in {of}")
    wrong += len(ours ^ theirs)
print(f"{len(exported)} functions, {len(operations)} of them operations")
sys.exit(1 if wrong or not operations else 0)
