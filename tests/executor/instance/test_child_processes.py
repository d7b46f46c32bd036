"""The processes beside a server may be started before they are asked for."""

from __future__ import annotations

import pytest

from executor.instance import child_processes as starting

KINDS = pytest.mark.parametrize(
    "kind", [starting.SPAWNER, starting.JUDGE], ids=["spawner", "judge"]
)


@KINDS
def test_the_one_started_early_is_given_out_first_and_once(kind, monkeypatch):
    monkeypatch.setattr(starting, "_started", {kind: starting.take(kind)})
    ahead = starting._started[kind]
    with ahead.requests:
        assert starting.take(kind) is ahead
        other = starting.take(kind)
        with other.requests:
            assert other.process.pid != ahead.process.pid
    for one in (ahead, other):
        one.process.wait(60)


@KINDS
def test_one_that_nobody_sets_up_ends_with_its_socket(kind):
    one = starting.take(kind)
    assert one.process.poll() is None
    one.requests.close()
    one.process.wait(60)
