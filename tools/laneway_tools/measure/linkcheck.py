"""``laneway cluster check``: the rates that a run really gets."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rich.table import Table

from laneway_tools.measure import results
from laneway_tools.places import launch, talk
from laneway_tools.places.errors import UserError
from laneway_tools.places.places import Cluster, Place


def measure(place: Place, mpi: str) -> tuple[dict[str, object], str]:
    """Run ``laneway-bench link`` at a place; its result, and the line of JSON that it wrote."""
    with tempfile.TemporaryDirectory(prefix="laneway-") as folder:
        file = Path(folder) / "link.jsonl"
        status = launch.run(launch.Job(["laneway-bench", "link", "--json", str(file)], place, mpi=mpi))
        if status != 0:
            raise UserError(f"laneway-bench link ended with status {status}", status)
        text = file.read_text(encoding="utf-8")
        found = [record for record in results.parse(text) if record.get("benchmark") == "link"]
        if not found:
            raise UserError("laneway-bench link wrote no result", 1)
        return found[-1], text


def check(place: Place, mpi: str, json: Path | None) -> None:
    """Measure a place and print what was found beside the nominal rate."""
    record, text = measure(place, mpi)
    if json:
        with json.open("a", encoding="utf-8") as file:
            file.write(text)
    table = Table(title=f"{place}, {mpi}")
    for column in ("path", "latency", "rate", "nominal rate", "share of nominal"):
        table.add_column(column, justify="left" if column == "path" else "right")
    for path, prefix in (("between nodes", "link"), ("inside a node", "node")):
        rate, latency = record.get(f"{prefix}_bytes_per_second"), record.get(f"{prefix}_latency_s")
        nominal = place.bytes_per_second if prefix == "link" and isinstance(place, Cluster) else None
        if not isinstance(rate, (int, float)) or rate <= 0:
            table.add_row(path, "-", "-", _rate(nominal), "-")
            continue
        shown = f"{float(latency) * 1e6:.1f} µs" if isinstance(latency, (int, float)) else "-"
        table.add_row(path, shown, _rate(rate), _rate(nominal), f"{rate / nominal:.3f}" if nominal else "-")
    talk.console().print(table)


def _rate(bytes_per_second: float | None) -> str:
    if bytes_per_second is None:
        return "-"
    return f"{bytes_per_second / 1e6:,.1f} MB/s"
