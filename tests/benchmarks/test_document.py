"""BENCHMARKS.md: its tables, its age, and what differs from another revision."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import document
from benchmarks.document import AGE_MAX, differences, read_revision, run_git
from benchmarks.harness import ROOT, Bench, Row

BENCHMARKS = ROOT / "BENCHMARKS.md"


def results(*rows: Row, notes: tuple[str, ...] = ()):
    return {"rows": [asdict(row) for row in rows], "notes": list(notes), "failed": []}


def test_a_row_shows_medians_ratio_and_bar():
    row = Row("warm", 5.0, "ms", 6.25, "bubblewrap", 20.0, "ratio ≤ 1.6")
    text = document.document({"execute": results(row, notes=("one round",))})
    assert "## execute\n" in text
    assert "| warm | 5 ms | 6.25 | 20, bubblewrap | 0.25 | ratio ≤ 1.6 |\n\n- one round\n" in text
    assert "GiB" in text


@pytest.mark.parametrize(
    ("row", "bar"),
    [
        (Row("x", 31.0, "ms", None, "y", 1.0, "≤ 30 ms more"), "≤ 30 ms more |"),
        (Row("x", 31.1, "ms", None, "y", 1.0, "≤ 30 ms more"), "**≤ 30 ms more** |"),
        (Row("x", 1.6, "ms", None, "y", 1.0, "ratio ≤ 1.6"), "ratio ≤ 1.6 |"),
        (Row("x", 1.7, "ms", None, "y", 1.0, "ratio ≤ 1.6"), "**ratio ≤ 1.6** |"),
        (Row("x", 0.1, "", bar="≤ 0"), "**≤ 0** |"),
        (Row("x", 8.0, "MB", bar="≥ 8 MB"), "≥ 8 MB |"),
        (Row("x", 7.9, "MB", bar="≥ 8 MB"), "**≥ 8 MB** |"),
    ],
)
def test_a_bar_that_is_missed_is_bold(row, bar):
    assert document.sections({"room": results(row)})[-1].endswith(bar)


def test_a_row_survives_its_json():
    row = Row("warm", 5.0, "ms", 6.25, "bubblewrap", 20.0, "ratio ≤ 1.6")
    assert Row(**json.loads(json.dumps(asdict(row)))) == row


def test_only_what_differs_is_shown_the_largest_first():
    before = results(Row("a", 10.0), Row("b", 10.0), Row("c", 10.0))
    after = results(Row("a", 12.0), Row("b", 10.5), Row("c", 30.0))
    told = differences(before, after)
    assert [line.split()[0] for line in told] == ["c", "a"]
    assert told[1].endswith("1.20")
    assert differences(before, before) == ["nothing differs by 10 % or more"]


def test_a_median_and_a_nearest_rank_are_reported(tmp_path: Path):
    bench = Bench(20, tmp_path)
    bench.times("x", [n / 8 for n in range(1, 21)], "y", [1.0, 2.0, 4.0])
    assert bench.rows == [Row("x", 1312.5, "ms", 2375.0, "y", 2000.0)]


def find_missing_history() -> str:
    """Say what keeps commits from being counted, or nothing."""
    if run_git("rev-parse", "--show-toplevel") != str(ROOT):
        return "not applicable: this is not a checkout of git, so its commits can't be counted"
    if run_git("rev-parse", "--is-shallow-repository") == "true":
        return "not applicable: this clone is shallow, so its commits can't be counted"
    return ""


def test_the_figures_are_at_most_100_commits_old():
    if reason := find_missing_history():
        pytest.skip(reason)
    revision = read_revision(BENCHMARKS.read_text())
    assert revision, "BENCHMARKS.md names no revision: python -m benchmarks"
    assert run_git("cat-file", "-t", revision) == "commit", (
        f"{revision} is no commit of this history"
    )
    age = int(run_git("rev-list", "--count", f"{revision}..HEAD"))
    assert age <= AGE_MAX, f"BENCHMARKS.md is {age} commits old: python -m benchmarks"


def test_a_document_names_its_revision():
    text = document.document({})
    found = read_revision(text)
    assert (found == "") == (run_git("rev-parse", "HEAD") == "")
    assert run_git("rev-parse", "HEAD").startswith(found)
    assert read_revision("# Benchmarks\n") == ""


@pytest.mark.parametrize(
    ("given", "is_written"), [((), True), (("--only", "shell"), False), (("hooks",), False)]
)
def test_the_document_is_written_where_all_is_measured(given, is_written, monkeypatch, tmp_path):
    found = {"failed": [], "tables": []}
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "measure_apart", lambda *_: [("hooks", found)])
    monkeypatch.setattr(command, "sections", lambda _: [])
    monkeypatch.setattr(command, "document", lambda _: "measured\n")
    assert command.main(given) == 0
    assert (tmp_path / "BENCHMARKS.md").exists() is is_written
