"""Many processes write one store at once, and nothing that was acknowledged is lost (R1)."""

from __future__ import annotations

import json
import subprocess
import sys

DEADLINE_S = 300


def test_r1_killed_writers_beside_an_import_lose_nothing_that_was_acknowledged():
    words = ["--processes", "6", "--events", "60", "--kills", "6", "--transcripts", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.sessions", "--writers", "--json", *words],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    figures = json.loads(done.stdout)["figures"]
    assert figures["killed"] == 6
    assert figures["acknowledged"] == 6 * 60
    assert (figures["lost"], figures["problems_of_check"]) == (0, 0)
