"""The report of all benchmarks, and what a change did, from what each of them says."""

from __future__ import annotations

import importlib
from dataclasses import asdict

import pytest

from benchmarks import all as everything
from benchmarks.report import Report, Row, Times, lines, summary

REPORT = Report(
    "one",
    [Row("warm", Times(5.0, 6.0, 10), Times(20.0, 25.0, 10))],
    {"megabytes_per_s": 500.0},
    ("in turn",),
    load=0.5,
    processors=2,
)


def test_a_table_shows_medians_and_ratios():
    assert "| warm | 5.0 | 6.0 | 20.0 | 0.25 | -15.0 |" in lines(REPORT)
    assert "- megabytes per s: 500.0" in lines(REPORT)


def test_the_summary_is_median_and_nearest_rank():
    assert summary([n / 8 for n in range(1, 21)]) == Times(1312.5, 2375.0, 20)


def test_a_report_survives_its_json():
    assert everything.restored(asdict(REPORT)) == REPORT


def test_the_document_has_each_benchmark_and_what_did_not_run():
    text = everything.document(
        {"one": asdict(REPORT), "two": "did not run: no go", "three": {"x": 1}}
    )
    for part in (
        "## one",
        "| warm |",
        "## two\n\ndid not run: no go",
        "| x | 1.00 |",
        "GiB",
        "load",
    ):
        assert part in text


def test_only_what_differs_is_shown_the_largest_first():
    before = {"a median_ms": 10.0, "b median_ms": 10.0, "c median_ms": 10.0, "load": 1.0}
    after = {"a median_ms": 12.0, "b median_ms": 10.5, "c median_ms": 30.0, "load": 9.0}
    told = everything.differences(before, after)
    assert [line.split()[0] for line in told] == ["c", "a"]
    assert told[1].endswith("1.20")


def test_nothing_that_differs_is_said():
    assert everything.differences({"a median_ms": 1.0}, {"a median_ms": 1.0}) == [
        "nothing differs by 10 % or more"
    ]


def test_items_go_by_their_names():
    data = {"rows": [{"language": "c", "ours": {"median_ms": 3}}, {"name": "go", "ok": True}]}
    assert everything.numbers(data) == {"rows c ours median_ms": 3.0}


@pytest.mark.parametrize("name", ["all", *everything.NAMES])
def test_a_benchmark_can_be_imported(name):
    module = importlib.import_module(f"benchmarks.{name}")
    assert callable(module.main)
