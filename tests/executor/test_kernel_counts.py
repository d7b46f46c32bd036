"""What the kernel counts by user is not used up by one run."""

from __future__ import annotations

from tests.executor.conftest import Run

COUNT = """
import ctypes
libc = ctypes.CDLL(None)
number = 0
while number < 1000 and libc.inotify_init() >= 0:
    number += 1
print(number)
"""


async def test_a_run_has_few_of_its_users_notices_of_files(run: Run):
    result = await run("python", COUNT)
    assert 0 < int(result.stdout.text) <= 32
