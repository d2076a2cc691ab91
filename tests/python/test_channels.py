"""The tables of channels, partitions and spmbv, from what laneway-bench writes."""

from pathlib import Path

from laneway_tools.measure import results
from laneway_tools.papers import channels

RECORDS = """
{"benchmark": "channel", "nodes": 1, "sizes": [{"bytes": 8, "carrier": "memory", "channel_s": 2e-7, "persistent_s": 4e-7, "put_flush_message_s": 8e-7}], "threads": []}
{"benchmark": "channel", "nodes": 2, "sizes": [{"bytes": 8, "carrier": "messages", "channel_s": 2e-5, "persistent_s": 2e-5, "put_flush_message_s": null}], "threads": []}
{"benchmark": "channel", "nodes": 1, "sizes": [], "threads": [{"threads": 4, "puts_per_second": 2.5e7}]}
{"benchmark": "partitioned", "nodes": 16, "sizes": [{"bytes": 512, "persistent_s": 1e-4, "one_partition_s": 1.05e-4, "after_last_s": 2e-5}]}
{"benchmark": "partitioned", "nodes": 1, "sizes": [{"bytes": 8, "persistent_s": 4e-7, "one_partition_s": 5e-7, "partitions_s": 6e-7, "after_last_s": 7e-7, "mpi_one_partition_s": 1e-6, "mpi_partitions_s": 2e-6, "mpi_after_last_s": 1.4e-6}]}
{"benchmark": "spmbv", "columns": 8, "exchange": "partitioned:direct", "early": true, "median_s": 0.004, "of_whole": 1.5}
"""


def test_every_record_has_rows() -> None:
    text = channels.tables(results.parse(RECORDS))
    assert "| one node | 8 | memory | 0.2 | 0.4 | 0.8 | 0.50 | 0.25 |" in text
    assert "| 2 nodes | 8 | messages | 20 | 20 | – | 1.00 | – |" in text
    assert "| 4 | 25.0 |" in text
    assert "| 16 nodes | 512 | 100 | 105 | 20 | 1.05 | 0.20 |" in text
    assert "| one node | 8 | 0.5 | 1 | 0.50 | 0.6 | 2 | 0.30 | 0.7 | 1.4 | 0.50 |" in text
    assert "| 8 | `partitioned:direct` | early | 4 | 1.50 |" in text


def test_no_records_make_no_tables() -> None:
    assert channels.tables([]).strip() == ""


def test_tables_go_to_the_page(tmp_path: Path, monkeypatch) -> None:  # noqa: ANN001
    page = tmp_path / "docs/results/channels.md"
    page.parent.mkdir(parents=True)
    page.write_text("# Channels\n\n<!-- measured: laneway reproduce channels -->\nold\n<!-- end of what was measured -->\n\nmore\n")
    monkeypatch.setattr(channels, "root", lambda: tmp_path)
    table = tmp_path / "channels.jsonl"
    table.write_text(RECORDS)
    assert channels.draw(table, tmp_path) == [tmp_path / "channels.md", page]
    text = page.read_text()
    assert text.startswith("# Channels\n\n<!-- measured") and text.endswith("measured -->\n\nmore\n")
    assert "old" not in text and "| 4 | 25.0 |" in text
