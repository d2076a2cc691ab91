"""``laneway compare``, on records that are made here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from laneway_tools.measure import compare
from laneway_tools.places.errors import UserError


def _record(candidate: str, median: float, spread: float, seed: int, **more: object) -> dict[str, object]:
    samples = median * (1 + spread * np.random.default_rng(seed).standard_normal(40))
    record: dict[str, object] = {"benchmark": "neighbor", "op": "allgather", "pattern": "stencil", "bytes": 8, "ranks": 4}
    record |= {"machine": "node:2 rank:2", "candidate": candidate, "samples_s": [float(s) for s in samples]}
    return record | more


def test_differences_are_shown_only_where_the_interval_has_them() -> None:
    first = [_record("mpi", 1e-3, 0.02, 1), _record("direct", 1e-3, 0.02, 2), _record("auto", 1e-3, 0.3, 3), _record("split", 1, 0, 4)]
    second = [_record("mpi", 8e-4, 0.02, 5), _record("direct", 1.2e-3, 0.02, 6), _record("auto", 1e-3, 0.3, 7)]
    faster, slower, neither = compare.pair(first, second)
    assert faster.verdict() in ("20% faster", "21% faster") and 0.77 < faster.low < faster.high < 0.82
    assert slower.verdict().endswith("% slower") and slower.low > 1.15
    assert neither.verdict() == "no difference shown" and neither.low < 1 < neither.high


def test_other_cases_are_not_compared(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, size in zip(paths, (8, 16), strict=True):
        path.write_text(json.dumps(_record("mpi", 1, 0.1, 1, bytes=size)) + "\n", encoding="utf-8")
    with pytest.raises(UserError, match="in common"):
        compare.run(*paths)
    with pytest.raises(UserError, match="no such file"):
        compare.run(paths[0], tmp_path / "c.jsonl")


def test_the_text_fits_79_columns_and_says_what_differs(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, median, mpi in zip(paths, (1.234e-3, 2e-3), ("Open MPI v4.1.4", "MPICH Version: 4.0.2"), strict=True):
        records = [
            _record(name, median, 0.01, 1, run={"schema": 1, "mpi": mpi, "date": path.name}) for name in ("mpi", "three_step_nodedup")
        ]
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    text = compare.run(*paths)
    assert text.splitlines()[0] == "mpi: Open MPI v4.1.4 → MPICH Version: 4.0.2"
    assert "2 compared: 0 faster, 2 slower, 0 without a difference" in text
    assert max(map(len, text.splitlines()[1:-1])) <= 79, text
