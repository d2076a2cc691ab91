"""Reading what laneway-bench writes, one JSON object a line, and writing tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from laneway_tools.places.errors import UserError

Record = dict[str, object]


def parse(text: str, source: str = "the result") -> list[Record]:
    """The objects of a JSON-lines text."""
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise UserError(f"{source}, line {number}: {error}", 1) from error
        if not isinstance(record, dict):
            raise UserError(f"{source}, line {number}: expected an object", 1)
        records.append(record)
    return records


def read(path: Path) -> list[Record]:
    """The objects of a JSON-lines file; none where there is no file."""
    if not path.exists():
        return []
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError:
        raise UserError(f"{path}: is no text: results have one JSON object a line", 1) from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", 1) from error


def number(record: Record, key: str) -> float | None:
    """A number of a record, or nothing where it is missing or null."""
    value = record.get(key)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def rounded(value: float) -> str:
    """A number as tables have it: five digits."""
    return f"{value:.5g}"


def read_csv(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a table that ``write_csv`` has written. A UserError where it has none, or lacks one of these columns."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error):
        raise UserError(f"{path}: is no text with commas") from None
    if missing := [column for column in columns if column not in (reader.fieldnames or ())]:
        raise UserError(f"{path}: the picture needs the columns {', '.join(columns)}; missing: {', '.join(missing)}")
    if not rows:
        raise UserError(f"{path}: no rows")
    return rows


def write_csv(path: Path, rows: Sequence[dict[str, object]]) -> None:
    """Write rows that all have the same keys."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
