"""Filters in a query: times as people write them, and what has only the look of a filter."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest

from kb.filters import moment, without_sense


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("30m", 1800), ("2h", 7200), ("3d", 259_200), ("1w", 604_800)],
)
def test_an_age_is_counted_from_now(text: str, seconds: float) -> None:
    before = time.time()
    found = moment(text)
    assert found is not None
    assert before <= found + seconds <= time.time()


@pytest.mark.parametrize(("text", "days"), [("today", 0), ("yesterday", 1), ("Yesterday", 1)])
def test_a_day_begins_at_midnight(text: str, days: int) -> None:
    before = datetime.now()
    found = moment(text)
    after = datetime.now()
    assert found is not None
    midnights = {
        datetime(now.year, now.month, now.day) - timedelta(days=days) for now in (before, after)
    }
    assert datetime.fromtimestamp(found) in midnights


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-01", datetime(2024, 5, 1)),
        ("2024-05-01T10:30", datetime(2024, 5, 1, 10, 30)),
        ("2024-05-01T10:30:00+00:00", datetime.fromisoformat("2024-05-01T10:30:00+00:00")),
    ],
)
def test_a_date_is_itself(text: str, expected: datetime) -> None:
    assert moment(text) == expected.timestamp()


@pytest.mark.parametrize(
    "text", ["", "forever", "7", "d", "-1d", "1y", "2024-13-01", "7d\n", "٣d", "0000-00-00"]
)
def test_what_means_no_time_is_none(text: str) -> None:
    assert moment(text) is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("retry since:forever", ["since:forever"]),
        ("since:1.2 and since:soon", ["since:1.2", "since:soon"]),
        ("retry since:2d kind:code lang:x source:y path:z", []),
        ('"since:forever"', []),
        ("the time since: never", []),
    ],
)
def test_a_filter_without_sense_is_told(query: str, expected: list[str]) -> None:
    assert without_sense(query) == expected
