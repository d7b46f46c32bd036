"""The limits that a supervisor sums over the whole tree of a run."""

from __future__ import annotations

import resource

import pytest

from executor.spawner.supervisor import find_exceeded

RLIMITS = [(resource.RLIMIT_NOFILE, 9), (resource.RLIMIT_NPROC, 50)]


class Sampled:
    def __init__(self, cpu_s: float, resident: int, threads: int) -> None:
        self.sampled, self.threads = (cpu_s, resident), threads

    def sample(self) -> tuple[float, int]:
        return self.sampled


@pytest.mark.parametrize(
    ("found", "rlimits", "reason"),
    [
        ((1.0, 100, 50), RLIMITS, None),
        ((1.1, 100, 50), RLIMITS, "cpu"),
        ((1.0, 101, 50), RLIMITS, "memory"),
        ((1.0, 100, 51), RLIMITS, "processes"),  # the kernel's root passes the kernel's limit
        ((1.0, 100, 51), RLIMITS[:1], None),  # a control group holds it
    ],
)
def test_a_run_that_has_passed_a_limit_is_ended_for_it(found, rlimits, reason):
    run = {"cpu_s": 1.0, "memory_bytes": 100, "rlimits": rlimits}
    assert find_exceeded(Sampled(*found), run) == reason
