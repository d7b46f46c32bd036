"""Age is believed only if something was recorded lately, but not just now."""

import pytest

from base.clock import DAY_S, is_confirmed

NOW = 100 * DAY_S


@pytest.mark.parametrize(
    ("days_ago", "keep_days", "is_believed"),
    [
        ((), 30, False),
        ((31, 40), 30, False),  # a leap past all that is recorded
        ((40, 0.5, -1), 30, False),  # and what was recorded since
        ((40, 30), 30, True),
        ((1,), 30, True),
        ((0.4,), 1, False),
        ((0.5,), 1, True),  # of a short time its second half
        ((1.1,), 1, False),
    ],
)
def test_records_confirm_the_clock(days_ago, keep_days, is_believed):
    times = [NOW - days * DAY_S for days in days_ago]
    assert is_confirmed(NOW, keep_days * DAY_S, times) == is_believed
