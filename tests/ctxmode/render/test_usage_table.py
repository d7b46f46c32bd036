"""What calls produced, returned and kept, as text and bars."""

import re

import pytest

from ctxmode.operations.figures import ToolFigures
from ctxmode.operations.usage import Counts
from ctxmode.render.health import bar, show_usage, usage_text


def test_the_text_names_the_formula_and_the_estimator():
    text = usage_text(ToolFigures({"ctx_execute": Counts(2, 1, 2048, 1024)}, {}))
    told = "2 calls (1 failed), produced 2,048 B, returned 1,024 B, kept 1,024 B, reduction 50%"
    assert told in text
    assert "about 256 tokens (UTF-8 bytes / 4)" in text
    assert "kept = produced - returned, reduction = kept / produced" in text


@pytest.mark.parametrize(
    ("counts", "told", "tokens"),
    [
        (Counts(1, 0, 100, 100), "kept 0 B, reduction 0%", "about 0 tokens ("),
        (Counts(1, 0, 10, 330), "320 B more than produced", "about 80 tokens more ("),
        (Counts(1, 0, 0, 4000), "4,000 B more than produced", "about 1,000 tokens more ("),
    ],
)
def test_answers_longer_than_what_was_produced_are_told_as_more(counts, told, tokens):
    text = usage_text(ToolFigures({"ctx_search": counts}, {}))
    assert told in text
    assert tokens in text
    assert not re.search(r" -\d", text)


def test_the_table_shows_no_share_below_zero(capsys):
    show_usage(ToolFigures({"ctx_search": Counts(1, 0, 10, 330)}, {}))
    shown = capsys.readouterr().out
    assert "320 B more" in shown
    assert "%" not in shown


def test_what_is_listed_adds_up_to_the_total_that_is_shown(capsys):
    tools = {"a": Counts(1, 0, 1500, 100), "b": Counts(2, 0, 1571, 99), "c": Counts(1, 0, 10, 330)}
    show_usage(ToolFigures(tools, {}))
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines() if " B " in line]
    produced = [int(row[2].replace(",", "")) for row in rows]
    assert [row[0] for row in rows] == ["a", "b", "c", "total"]
    assert produced == [1500, 1571, 10, 3081]
    assert "bytes are measured" in shown


def test_small_calls_have_no_column_of_bars(capsys):
    show_usage(ToolFigures({"a": Counts(1, 0, 1000, 100)}, {}))
    shown = capsys.readouterr().out
    assert "returned of what was produced" not in shown
    assert "90%" in shown


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        (Counts(1, 0, 2000, 1000), "█" * 15 + "·" * 15 + " 50%"),
        (Counts(1, 0, 2000, 0), "·" * 30 + " 0%"),
        (Counts(1, 0, 1024, 1024), "█" * 30 + " 100%"),
        (Counts(1, 0, 2000, 6000), "█" * 30 + " more"),
        (Counts(1, 0, 1023, 10), ""),
        (Counts(1, 0, 10, 330), ""),
        (Counts(1, 0, 0, 10), ""),
    ],
)
def test_a_bar_is_the_share_that_was_returned(counts, shown):
    assert bar(counts) == shown
