"""The latest runs: how each ended, what it took, and where its output is."""

from __future__ import annotations

from ctxmode.insight.charts import build_bars
from ctxmode.insight.model import ROWS, Asked, Data, part
from ctxmode.insight.reading import Reader
from ctxmode.operations.run_records import ROWS_MAX, count_by_status, list_runs


def build(reader: Reader, asked: Asked) -> Data:
    """Build the list of runs, of one status where that is asked for."""
    status, at = asked.text("status"), asked.number("at")
    rows = reader.runs(lambda db: list_runs(db, status=status, offset=at, limit=ROWS + 1)) or []
    counts = reader.runs(count_by_status) or {}
    return part("/runs", asked, [row._asdict() for row in rows]) | {
        "status": status,
        "statuses": build_bars(counts),
        "total": sum(counts.values()),
        "most": ROWS_MAX,
    }
