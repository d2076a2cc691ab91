"""Each function of the C API is in the Python package, or listed with the reason: api/python.toml."""

import re
import sys
import tomllib

from laneway_tools.places.paths import root

sys.path.insert(0, str(root() / "api"))
import generate  # noqa: E402
import python_reference  # noqa: E402

_SOURCES = "".join(path.read_text(encoding="utf-8") for path in sorted((root() / "python/laneway").glob("*.py")))


def _names_of_python() -> set[str]:
    """Classes, functions and members of the package, and those that instances get."""
    found = set()
    for page in (root() / "docs/reference/python").glob("*.md"):
        found |= set(re.findall(r"^#+ (?:laneway\.)?(?:sparse\.)?([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE))
    return found | set(python_reference.exported(root() / "python/laneway"))


def test_each_function_is_there_or_has_a_reason() -> None:
    rows = tomllib.loads((root() / "api/python.toml").read_text(encoding="utf-8"))
    functions, names, used = generate.declared(root()), _names_of_python(), set()
    patterns = [*rows["lacks"], *rows["has"]]
    for function in functions:
        row = next((p for p in patterns if re.fullmatch(p, function.removeprefix("LNW_"), re.IGNORECASE)), None)
        assert row is not None, f"{function} is in no row of api/python.toml"
        used.add(row)
    assert used == set(patterns), f"rows that match no function: {sorted(set(patterns) - used)}"
    for pattern, name in rows["has"].items():
        assert name in names, f"{pattern}: the package has no {name}"


def test_a_function_that_is_there_is_called() -> None:
    """By its name, or by a name that is put together: then its parts are there."""
    rows = tomllib.loads((root() / "api/python.toml").read_text(encoding="utf-8"))
    put_together = re.compile(
        r"LNW_(I?neighbor_|Cvar|Pvar|Halo_|Topology_from_arrivals|Channel_create)|LNW_I?[a-z_]+(_init)?(_c)?$", re.IGNORECASE
    )
    for function in generate.declared(root()):
        short = function.removeprefix("LNW_")
        if any(re.fullmatch(p, short, re.IGNORECASE) for p in rows["lacks"]) or put_together.match(function):
            continue
        assert re.search(rf"\b{function}(_c|_sized)?\b", _SOURCES), f"{function} is called nowhere"


def test_exported_names_have_a_row_or_are_python_s_own() -> None:
    rows = tomllib.loads((root() / "api/python.toml").read_text(encoding="utf-8"))
    own = {"Distributor", "Error", "Explanation", "Halo", "SparseRequest"}
    named = {name.partition(".")[0] for name in rows["has"].values()}
    dense = {name for name, home in python_reference.exported(root() / "python/laneway").items() if home == "_dense"}
    assert set(python_reference.exported(root() / "python/laneway")) - dense - own == named - dense
