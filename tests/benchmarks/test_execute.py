"""The benchmark of runs works and says under which conditions it measured."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.execute import Times, measure, table, times


def test_percentiles_are_of_the_samples():
    assert times([n / 1000 for n in range(100, 0, -1)]) == Times(1.0, 50.5, 95.0)
    assert times([0.002]) == Times(2.0, 2.0, 2.0)


async def test_one_round_of_shell_is_measured_and_told(tmp_path: Path, monkeypatch):
    shutil.copy("/bin/bash", tmp_path)  # nothing else is to be proven for this
    monkeypatch.setenv("PATH", str(tmp_path))
    report = await measure(["shell"], 1)
    (row,) = report.rows
    assert (row.language, report.rounds) == ("shell", 1)
    assert row.cold_ratio == row.cold.median_ms / row.bare.median_ms > 0
    assert row.warm_ratio == row.warm.median_ms / row.bare.median_ms > 0
    assert row.waited
    assert "n = 1 each" in table(report)
    assert "load average" in table(report)
