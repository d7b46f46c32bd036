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
    process, requests = ahead
    with requests:
        assert starting.take(kind) is ahead
        other, others_requests = starting.take(kind)
        with others_requests:
            assert other.pid != process.pid
    for one in (process, other):
        one.wait(60)


@KINDS
def test_one_that_nobody_sets_up_ends_with_its_socket(kind):
    process, requests = starting.take(kind)
    assert process.poll() is None
    requests.close()
    process.wait(60)
