"""The verbs for people, on a real pseudo-terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

DEADLINE_S = 90.0
CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")


def take_terminal() -> None:
    """Make the terminal that is stdin the one that Ctrl-C reaches this process by."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """A program on a terminal, and all that it has shown."""

    def __init__(self, master: int) -> None:
        self._master = master
        self.shown = b""

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str) -> str:
        """What has been shown since the last wait, once `text` is among it."""
        deadline = time.monotonic() + DEADLINE_S
        while text.encode() not in CONTROL.sub(b"", self.shown):
            assert time.monotonic() < deadline, (text, self.shown)
            if select.select([self._master], [], [], 1.0)[0]:
                self._read()
        plain, self.shown = CONTROL.sub(b"", self.shown).decode(errors="replace"), b""
        return plain

    def _read(self) -> None:
        try:
            chunk = os.read(self._master, 65_536)
        except OSError as error:  # nobody has the terminal open any more
            raise AssertionError(self.shown) from error
        if b"\x1b[6n" in chunk:  # a terminal tells where its cursor is
            self.type("\x1b[1;1R")
        self.shown += chunk


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "project").mkdir()
    return {**os.environ, "CONTEXT_MODE_DIR": str(tmp_path / "data"), "TERM": "xterm"}


@contextmanager
def terminal(
    tmp_path: Path, environment: dict[str, str], *arguments: str, columns: int = 140
) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    master, slave = pty.openpty()
    size = {"LINES": "24", "COLUMNS": str(columns)}
    process = subprocess.Popen(
        [sys.executable, "-m", "ctxmode", *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=tmp_path / "project",
        env={**environment, **size},
        start_new_session=True,
        preexec_fn=take_terminal,  # noqa: PLW1509 - nothing else runs in this process
    )
    os.close(slave)
    try:
        yield Terminal(master), process
        process.wait(DEADLINE_S)
    finally:
        process.kill()
        process.wait()
        os.close(master)


def test_a_repl_keeps_variables_through_blocks_and_interrupts(tmp_path, environment):
    with terminal(tmp_path, environment, "repl", "shell") as (screen, process):
        screen.wait_for("shell>")
        screen.type("word=kept\r")
        screen.wait_for("shell>")
        screen.type("echo it is $word\r")
        assert "it is kept" in screen.wait_for("it is kept")
        screen.wait_for("shell>")
        screen.type("for n in 1 2; do\recho number-$((n + 5))\rdone\r")
        screen.wait_for("number-7")
        screen.wait_for("shell>")
        screen.type("echo be''gun; sleep 1000\r")  # not as it is echoed
        screen.wait_for("begun")
        screen.type("\x03")
        screen.wait_for("interrupted")
        screen.wait_for("shell>")
        screen.type("echo $word still\r")
        screen.wait_for("kept still")
        screen.wait_for("shell>")
        screen.type("\x04")
        assert process.wait(DEADLINE_S) == 0
    history = tmp_path / "data" / "state" / "history" / "shell"
    assert "word=kept" in history.read_text()


@contextmanager
def running(tmp_path: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program under way in another process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ctxmode", "run", "shell", "-c", "echo begun; sleep 1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path / "project",
        env=environment,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def command(tmp_path: Path, environment: dict[str, str], *arguments: str):
    return subprocess.run(
        [sys.executable, "-m", "ctxmode", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path / "project",
        env=environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_top_shows_what_runs_and_a_rows_number_stops_it(tmp_path, environment):
    with running(tmp_path, environment) as program:
        with terminal(tmp_path, environment, "top") as (screen, _):
            assert "2.0 GB" in screen.wait_for("echo begun")
            screen.type("1")
            screen.wait_for("nothing runs now")
            screen.type("q")
        assert program.wait(DEADLINE_S) == 130


@pytest.mark.parametrize("columns", [20, 80])
def test_top_fits_a_narrow_screen(tmp_path, environment, columns):
    with terminal(tmp_path, environment, "top", columns=columns) as (screen, process):
        screen.wait_for("nothing runs")
        screen.type("q")
        assert process.wait(DEADLINE_S) == 0


def test_what_runs_is_listed_as_json_and_stopped_by_its_id(tmp_path, environment):
    with running(tmp_path, environment) as program:
        listed = json.loads(command(tmp_path, environment, "top", "--once", "--json").stdout)
        (one,) = listed["running"]
        assert (one["label"], one["wall_s_max"]) == ("shell: echo begun; sleep 1000", 120)
        assert one["memory_bytes_max"] == 2 * 1024**3
        stopped = command(tmp_path, environment, "stop", one["id"])
        assert (stopped.returncode, one["id"] in stopped.stdout) == (0, True)
        assert program.wait(DEADLINE_S) == 130
    missing = command(tmp_path, environment, "top", "--stop", one["id"])
    assert (missing.returncode, "Running: none." in missing.stderr) == (2, True)


def test_kept_outputs_are_listed_shown_and_compared(tmp_path, environment):
    for last in (3000, 3001):
        command(tmp_path, environment, "run", "shell", "-c", f"seq {last}; echo told >&2")
    listed = json.loads(command(tmp_path, environment, "outputs", "--json").stdout)
    new, old = (one["id"] for one in listed["outputs"])
    assert command(tmp_path, environment, "outputs", "show", old).stdout.startswith("1\n2\n3\n")
    compared = command(tmp_path, environment, "outputs", "diff", old, new).stdout
    assert "\n+3001\n" in compared
    wrong = command(tmp_path, environment, "outputs", "show", "out-none")
    assert (wrong.returncode, new in wrong.stderr) == (2, True)
