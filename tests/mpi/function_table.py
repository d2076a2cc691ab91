#!/usr/bin/env python3
"""Writes every function of C headers as a row for one_bad_argument_test.cpp: FUNCTION(name, {type, name}, ...).

``function_table.py OUTPUT HEADER...``
"""

import re
import sys
from pathlib import Path


def parameters(text: str) -> list[tuple[str, str]]:
    """The type and the name of each; arrays are pointers."""
    # A pointer to a function has commas and a name inside.
    text = re.sub(r"void \(\*(\w+)\)\(void\*\)", r"Function \1", text)
    found = []
    for parameter in text.split(","):
        match = re.fullmatch(r"(.*?)(\w+)(\[\])?", parameter.strip())
        if match is None:
            raise SystemExit(f"not a parameter: {parameter}")
        found.append((match[1].strip() + ("*" if match[3] else ""), match[2]))
    return found


def rows(header: str) -> list[str]:
    """Those of a header."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    found = []
    for match in re.finditer(r"LNW_PUBLIC int (LNW_\w+)\(([^;]*)\);", " ".join(text.split())):
        of_call = "".join(f', {{"{kind}", "{name}"}}' for kind, name in parameters(match[2]))
        found.append(f"FUNCTION({match[1]}{of_call})")
    return found


def main() -> None:
    output, *headers = sys.argv[1:]
    found = [row for header in headers for row in rows(Path(header).read_text(encoding="utf-8"))]
    Path(output).write_text("\n".join(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
