"""An agent of one's own writes its session while it works (R13)."""

import json
import subprocess
import time

DEADLINE_S = 60


def show(place):
    done = subprocess.run(
        [*place.command, "sessions", "show", "live", "--messages", "--json"],
        cwd=place.project, env=place.environment, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return json.loads(done.stdout)["session"]["messages"] if done.returncode == 0 else 0


def test_each_line_is_kept_soon_after_it_came_and_not_at_the_end(place):
    session = {"type": "session", "id": "live", "working_directory": str(place.project)}
    writer = subprocess.Popen(
        [*place.command, "sessions", "import", "-", "--json"],
        cwd=place.project, env=place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    writer.stdin.write(f"{json.dumps(session)}\n".encode())
    for number in (1, 2):
        line = {"role": "user", "content": f"word {number}"}
        writer.stdin.write(f"{json.dumps(line)}\n".encode())
        writer.stdin.flush()
        deadline = time.monotonic() + DEADLINE_S
        while show(place) != number:
            assert time.monotonic() < deadline
            assert writer.poll() is None
    told, _ = writer.communicate(timeout=60)
    assert json.loads(told)["messages"] == 2
