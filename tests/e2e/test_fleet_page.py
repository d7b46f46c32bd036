"""The page about other machines, walked through from its first command to its last on this one."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

from tests.e2e import docs_project
from tests.e2e.docs_blocks import blocks
from tests.needs import need

PAGE = Path(__file__).parents[2] / "docs" / "fleet.md"
DEADLINE_S = 240
# All blocks are one session of a shell; what it started ends with it, the scheduler last: its
# log has an error of a worker that it wrote to when both ended.
_FRAME = """set -e -o pipefail
end() {{
    trap - TERM
    for job in $(jobs -p | tac); do kill "$job" 2>/dev/null && wait "$job" || true; done
}}
trap end EXIT
{script}
echo "walked to the end"
"""


def test_the_walk_from_one_machine_to_three_works(tmp_path):
    need("openssl")
    project, environ = docs_project.make(tmp_path)
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    shown = [block.text for block in blocks(PAGE) if block.language == "sh"]
    assert len(shown) == 6
    script = "\n".join(shown).replace("8786", str(_free_port()))
    done = subprocess.run(
        ["bash", "-c", _FRAME.format(script=script)],
        cwd=project,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    logs = "\n".join(
        f"{log}:\n{log.read_text()}" for log in (project.parent / "fleet").glob("*.log")
    )
    assert "walked to the end" in done.stdout, f"{done.stdout}\n{logs}"
    assert re.search(r"^Fleet: dask\+tls://\S+: (one|two), tier [AB], ", done.stdout, re.MULTILINE)
    assert re.search(r"^42$", done.stdout, re.MULTILINE)
    assert "Traceback" not in done.stdout + logs
    assert "lies in the project" not in done.stdout


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
