"""The spawner's process may be started before it is asked for."""

from __future__ import annotations

from executor import starting


def test_the_one_started_ahead_is_given_out_first_and_once():
    starting.start_ahead()
    ahead = starting._ahead[0]
    with ahead.requests:
        assert starting.started() is ahead
        other = starting.started()
        with other.requests:
            assert other.process.pid != ahead.process.pid
    for one in (ahead, other):
        one.process.wait(60)


def test_one_that_nobody_sets_up_ends_with_its_socket():
    one = starting.started()
    assert one.process.poll() is None
    one.requests.close()
    one.process.wait(60)
