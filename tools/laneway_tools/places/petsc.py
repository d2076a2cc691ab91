"""PETSc exchanges through neighborhood collectives, which can be taken over, if it is told to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

_OPTION = "-sf_type"
# A variable of the library's own: its report says what was set here, in programs that have PETSc.
_SAYS = "LANEWAY_PRELOAD_PETSC"


def _has_chosen(command: Sequence[str], options: str) -> bool:
    """Whether the user names a type of PetscSF where PETSc reads its options."""
    if _OPTION in command or _OPTION in options.split():
        return True
    for file in (Path.home() / ".petscrc", Path(".petscrc"), Path("petscrc")):
        try:
            if _OPTION in file.read_text(encoding="utf-8", errors="replace"):
                return True
        except OSError:
            continue
    return False


def variables(command: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """What ranks under the preload are given for PETSc: nothing if the user has chosen. Other programs do not read it."""
    options = given.get("PETSC_OPTIONS", os.environ.get("PETSC_OPTIONS", ""))
    if _has_chosen(command, options):
        return {}
    return {"PETSC_OPTIONS": f"{options} {_OPTION} neighbor".strip(), _SAYS: "neighbor"}
