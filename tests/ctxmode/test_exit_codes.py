"""The table of exit codes."""

import pytest

from ctxmode import exit_codes
from executor.model import Status

OWN = {Status.OK, Status.NONZERO_EXIT, Status.SIGNALLED}


def test_every_status_without_an_exit_code_of_its_own_has_one_of_ours():
    assert set(exit_codes.BY_STATUS) == {status.value for status in set(Status) - OWN}


def test_every_code_of_ours_is_explained():
    assert set(exit_codes.BY_STATUS.values()) <= set(exit_codes.MEANINGS)


@pytest.mark.parametrize(
    ("status", "exit_code", "signal", "code"),
    [
        ("ok", 0, None, 0),
        ("nonzero_exit", 7, None, 7),
        ("nonzero_exit", 126, None, 126),
        ("signalled", None, 11, 139),
        ("timed_out", None, 9, 124),
        ("denied", None, None, 126),
        ("sandbox_unavailable", None, None, 125),
    ],
)
def test_a_run_exits_with_its_own_code_or_the_one_that_stands_for_its_end(
    status, exit_code, signal, code
):
    assert exit_codes.for_run(status, exit_code, signal) == code
