"""NAME=VALUE options."""

import pytest

from ctxmode.commands.run import environment, limits
from ctxmode.errors import UsageError
from executor.model import Limits


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], None),
        (["memory_bytes=512M"], Limits(memory_bytes=512 * 1024**2)),
        (["memory_bytes=1G", "wall_s=1.5"], Limits(memory_bytes=1024**3, wall_s=1.5)),
        (["output_bytes=4k"], Limits(output_bytes=4096)),
        (["file_bytes=2GiB"], Limits(file_bytes=2 * 1024**3)),
        (["processes=7"], Limits(processes=7)),
    ],
)
def test_limits_take_numbers_with_units(pairs, expected):
    assert limits(pairs) == expected


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("memory=1G", "memory_bytes"),
        ("nonsense=1", "Choose from:"),
        ("memory_bytes", "positive"),
        ("memory_bytes=", "positive"),
        ("memory_bytes=-1", "positive"),
        ("memory_bytes=0", "positive"),
        ("memory_bytes=1T", "positive"),
        ("wall_s=inf", "positive"),
        ("wall_s=nan", "positive"),
    ],
)
def test_a_malformed_limit_is_refused_with_what_would_do(pair, said):
    with pytest.raises(UsageError) as caught:
        limits([pair])
    assert said in str(caught.value)


def test_variables_may_hold_equals_signs():
    assert environment(["A=b=c", "EMPTY="]) == {"A": "b=c", "EMPTY": ""}


@pytest.mark.parametrize("pair", ["A", "=b", ""])
def test_a_malformed_variable_is_refused(pair):
    with pytest.raises(UsageError):
        environment([pair])
