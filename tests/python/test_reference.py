"""The reference has a section for each public function, and no other."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from laneway_tools.places.paths import root

sys.path.insert(0, str(root() / "api"))
import functions as reference  # noqa: E402
import generate  # noqa: E402
import headers  # noqa: E402

_REFERENCE = root() / "docs" / "reference"


def _sections(language: str, level: str = "##") -> dict[str, str]:
    """The sections of a language's pages, by title; a title twice is an error."""
    found: dict[str, str] = {}
    for page in sorted((_REFERENCE / language).glob("*.md")):
        for part in re.split(rf"^{level} ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            title, _, text = part.partition("\n")
            assert title not in found, f"{page.name}: {title}"
            found[title] = text
    return found


def _functions_of_c() -> set[str]:
    parts = re.findall(r"#include <(laneway/\w+\.h)>", (root() / "include/laneway/laneway.h").read_text())
    texts = "".join((root() / "include" / part).read_text() for part in parts)
    return set(re.findall(r"^LNW_PUBLIC int (LNW_\w+)\(", texts, re.MULTILINE))


def test_each_function_of_c_has_one_section() -> None:
    declared: dict[str, str] = {}
    for title, text in _sections("c").items():
        for name in re.findall(r"^int (LNW_\w+)\(", text.split("```")[1], re.MULTILINE):
            assert name not in declared, f"{name}: {declared.get(name)} and {title}"
            declared[name] = title
    functions = _functions_of_c()
    assert len(functions) > 300
    # What a macro of the same name calls is no function for programs; of some there is the macro alone.
    assert {name for name in functions - set(declared) if not name.endswith("_sized")} == set()
    assert set(declared) - functions == set()
    assert set(declared.values()) == set(_sections("c"))


def test_sections_of_c_say_all_that_a_caller_needs() -> None:
    for name, text in _sections("c").items():
        assert "| argument | | meaning |" in text or "It has no arguments" in text, name
        assert "- **Completion:** " in text and "- **Errors:** " in text, name
        assert f"{name}(" in text.rsplit("```c\n", 1)[1], name
    for page in (_REFERENCE / "c").glob("*.md"):
        assert "**Threads:** " in page.read_text(encoding="utf-8"), page


def test_the_calls_of_the_reference_compile(tmp_path: Path) -> None:
    compiler = shutil.which("mpicc") or pytest.skip("SKIP: mpicc is not here")
    operations, _ = generate.read_table()
    dense, _ = generate.dense.read_table(root() / "api" / "operations.toml")
    source = ["#include <laneway/laneway.h>", "#include <stdlib.h>"]
    for family in reference.read(root(), operations, dense, {}):
        for function in family.functions:
            form = next((f for f in function.forms if not f.name.endswith("_sized")), function.forms[0])
            declared = re.findall(r"^(?:const )?\w+\** ([\w, ]+)(?: = [^;]*)?;$", function.example, re.MULTILINE)
            known = {name for names in declared for name in names.split(", ")}
            taken = [p for p in form.parameters if p.name not in known and p.name not in ("info", "size", "status", "array_of_statuses")]
            taken += [p for p in form.parameters if p.name == "size" and p.type != "size_t" and p not in taken]
            parameters = [
                headers.Parameter(p.type.removesuffix("*"), p.name) if f"&{p.name}" in function.example else p for p in dict.fromkeys(taken)
            ]
            body = function.example.replace("\n", "\n  ")
            source.append(f"void call_{function.name}({', '.join(p.declared for p in parameters) or 'void'}) {{\n  {body}\n}}")
    path = tmp_path / "calls.c"
    path.write_text("\n".join(source) + "\n", encoding="utf-8")
    argv = [
        compiler,
        "-std=c99",
        "-fsyntax-only",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-parameter",
        f"-I{root() / 'include'}",
        str(path),
    ]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]


def test_each_procedure_of_fortran_has_one_section() -> None:
    names = set()
    for source in ("laneway.F90", "names.inc", "collective_names.inc"):
        text = re.sub(r"&\s*\n\s*", " ", (root() / "fortran" / source).read_text())
        names |= {n for line in re.findall(r"^\s*public :: (.*)$", text, re.MULTILINE) for n in re.findall(r"\blnw_\w+", line)}
    sections = _sections("fortran")
    assert len(names) > 150 and set(sections) == names
    assert all(f"call {name}(" in text and "](../c/" in text for name, text in sections.items())


def test_each_class_and_function_of_cpp_has_one_section() -> None:
    names = set()
    for part, prefix in (("laneway", ""), ("sparse", ""), ("queue", ""), ("strided", ""), ("aosoa", ""), ("kokkos", "kokkos::")):
        text = (root() / "include/laneway" / f"{part}.hpp").read_text()
        text = re.sub(r"^namespace detail \{.*?^\}  // namespace detail$", "", text, flags=re.MULTILINE | re.DOTALL)
        names |= {f"laneway::{prefix}{n}" for n in re.findall(r"^(?:class|struct) (\w+)(?!;)\b", text, re.MULTILINE)}
        functions = re.findall(r"^(?! )(?:inline |\[\[nodiscard\]\] )*[\w:<>\[\], ]+ (\w+)\([^;]*?\{", text, re.MULTILINE)
        names |= {f"laneway::{prefix}{n}" for n in functions}
    sections = set(_sections("cpp"))
    assert {"laneway::Halo", "laneway::CartHalo", "laneway::kokkos::Halo", "laneway::query", "laneway::Bag"} <= names
    assert names - {s.removesuffix(", function") for s in sections} == set()
    assert {s.removesuffix(", function") for s in sections} - names <= {"laneway::kokkos::is_on_host"}, "a constant"


def test_each_name_of_python_has_one_section() -> None:
    tree = ast.parse((root() / "python/laneway/__init__.py").read_text())
    values = {ast.unparse(n.targets[0]): n.value for n in tree.body if isinstance(n, ast.Assign)}
    dense = ast.literal_eval(values["_DENSE"])
    homes = values["_HOMES"]
    assert isinstance(homes, ast.Dict)
    names = {ast.literal_eval(key) for key in homes.keys if key} | {f for n in dense for f in (n, f"i{n}", f"{n}_init")}
    sections = _sections("python")
    assert {title.removeprefix("laneway.") for title in sections if not title.startswith("laneway.sparse.")} == names
    members = _sections("python", "###")
    assert {"Halo.exchange", "Halo.accumulate_init", "Topology.ialltoallv", "Request.explain", "Channel.put"} <= set(members)


def test_no_page_of_functions_is_left_behind() -> None:
    written = set(generate.outputs())
    assert {page for language in ("c", "cpp", "fortran", "python") for page in (_REFERENCE / language).glob("*")} - written == set()
