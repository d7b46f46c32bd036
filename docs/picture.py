"""The picture of a terminal in README.md: commands that are run, and what they print, as SVG.

Run it as `python docs/picture.py` from the checkout after a message has changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/terminal.svg"
COLUMNS = 96
RUN_S_MAX = 120
COMMANDS = (
    "wc --lines --bytes access.log",
    "context-mode run python --bind access.log -c 'print(FILE_CONTENT.count(\"ERROR\"))'",
    "context-mode run shell -c 'cat access.log' --budget 200",
    "context-mode search 'connection refused' --limit 1 --budget 400",
    "context-mode run shell -c 'rm /etc/passwd'",
    "context-mode run shell -c 'getent hosts example.com'",
)


def write_log(path: Path) -> None:
    """Write the log that the commands read: 2,000 lines, 22 of them errors."""
    with path.open("w") as file:
        for number in range(2_000):
            at = f"2026-11-02T10:{number // 60:02}:{number % 60:02}Z"
            if number % 91 == 5:
                file.write(f"{at} ERROR connection refused by db-{number % 3}\n")
            else:
                file.write(f"{at} INFO GET /orders/{number} 200\n")


def run_all() -> list[tuple[str, str]]:
    """Run the commands in a folder of their own; return each with what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "shop"
        project.mkdir()
        write_log(project / "access.log")
        homes = {f"XDG_{kind}_HOME": f"{folder}/{kind}" for kind in ("CONFIG", "DATA", "STATE")}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {"PATH": path, "HOME": folder, "LANG": "C.UTF-8", **homes}
        return [(command, _run(command, project, environment)) for command in COMMANDS]


def _run(command: str, project: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=RUN_S_MAX,
    )
    return done.stdout.rstrip("\n")


def draw(runs: list[tuple[str, str]]) -> str:
    """Draw a terminal with commands and their outputs."""
    with open(os.devnull, "w") as nothing:
        console = Console(file=nothing, record=True, width=COLUMNS, force_terminal=True)
        for command, output in runs:
            console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
            console.print(Text(f"{output}\n"))
    return console.export_svg(title="context-mode", unique_id="terminal")


if __name__ == "__main__":
    PICTURE.write_text(draw(run_all()))
