"""What calls produced, returned and kept, as text and bars."""

import pytest

from ctxmode.operations.figures import Counts, ToolFigures
from ctxmode.render.usage_table import bar, usage_text


def test_the_text_names_the_formula_and_the_estimator():
    text = usage_text(ToolFigures({"ctx_execute": Counts(2, 1, 2048, 1024)}, {}))
    told = "2 calls (1 failed), produced 2.0 KB, returned 1.0 KB, kept 1.0 KB, reduction 50%"
    assert told in text
    assert "about 256 tokens (UTF-8 bytes / 4)" in text
    assert "kept = produced - returned, reduction = kept / produced" in text


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        (Counts(1, 0, 100, 50), "█" * 15 + "·" * 15 + " 50%"),
        (Counts(1, 0, 100, 0), "·" * 30 + " 0%"),
        (Counts(1, 0, 100, 300), "█" * 30 + " 300%"),
        (Counts(1, 0, 0, 10), ""),
    ],
)
def test_a_bar_is_the_share_that_was_returned(counts, shown):
    assert bar(counts) == shown
