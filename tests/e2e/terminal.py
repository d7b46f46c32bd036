"""A program on a pseudo-terminal, and its screen as a person sees it, compared with a kept one.

Snapshots lie in `snapshots/`; with CTXMODE_SNAPSHOTS=write they are made anew, to be read before
they are committed.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyte

DEADLINE_S = 90.0
WRITE_S = 8.0
LINES = 32
CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")
SNAPSHOTS = Path(__file__).parent / "snapshots"
# What differs from run to run and machine to machine, and what stands for it.
VARIABLE = {
    r"\d+-[0-9a-f]+/\d+": "ID",
    r"out-[0-9a-z]+": "OUTPUT",
    r"tier [ABC]": "tier T",
    r"(analyze +)[ABC]\b": r"\1T",
    r'"/\S*/main-(\d+)\.': r'"FOLDER/main-\1.',
    r"\d+(\.\d+)? s\b": "N s",
    r"\b\d+ / 120\b": "N / 120",
    r"\b[\d.]+ [kKMG]?B / ": "SIZE / ",
    r" {2,}": "  ",
}
# A traceback of Python 3.13 has the line itself, also where no file has it.
SOURCE = re.compile(r'(", line \d+, in <module>\n)  \S.*\n(?:  [~^]+\n)?')


class Terminal:
    """A program on a terminal, all that it has shown since the last wait, and its screen."""

    def __init__(self, master: int, columns: int) -> None:
        self._master = master
        self._screen = pyte.Screen(columns, LINES)
        self._stream = pyte.ByteStream(self._screen)
        self.shown = b""

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, *texts: str) -> str:
        """What has been shown since the last wait, once these texts are in it one after another.

        Texts that follow without anything typed in between belong into one call: both may
        arrive at once, and nothing is left for a second wait.
        """
        awaited = re.compile(b".*".join(re.escape(text.encode()) for text in texts), re.DOTALL)
        deadline = time.monotonic() + DEADLINE_S
        while not awaited.search(CONTROL.sub(b"", self.shown)):
            assert time.monotonic() < deadline, (texts, self.shown)
            self._read()
        plain, self.shown = CONTROL.sub(b"", self.shown).decode(errors="replace"), b""
        return plain

    def wait_for_prompt(self, prompt: str, number: int) -> None:
        """Until the program has asked so many times, and nothing is typed yet behind the last."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            lines = [line.rstrip() for line in self._screen.display if line.strip()]
            asked = sum(line.startswith(prompt) for line in lines)
            if asked == number and lines[-1] == prompt:
                return
            assert time.monotonic() < deadline, (number, lines)
            self._read()

    def becomes(self, name: str, more: Mapping[str, str] | None = None) -> None:
        """Wait until the screen is the snapshot of that name; `more` is variable, besides."""
        file = SNAPSHOTS / f"{name}.txt"
        variable = {**(more or {}), **VARIABLE}
        if os.environ.get("CTXMODE_SNAPSHOTS") == "write":
            settled = time.monotonic() + WRITE_S
            while time.monotonic() < settled:
                self._read()
            file.write_text(self._picture(variable))
        deadline = time.monotonic() + DEADLINE_S
        while (now := self._picture(variable)) != file.read_text():
            assert time.monotonic() < deadline, f"the screen is\n{now}\nnot\n{file.read_text()}"
            self._read()

    def _picture(self, variable: Mapping[str, str]) -> str:
        lines = [line.rstrip() for line in self._screen.display]
        for pattern, replacement in variable.items():
            lines = [re.sub(pattern, replacement, line) for line in lines]
        picture = "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"
        return SOURCE.sub(r"\1", picture)

    def _read(self, patience_s: float = 1.0) -> bool:
        """Take in what is shown next; whether anything was."""
        if not select.select([self._master], [], [], patience_s)[0]:
            return False
        try:
            chunk = os.read(self._master, 65_536)
        except OSError:  # nobody has the terminal open any more
            time.sleep(0.05)
            return False
        self._stream.feed(chunk)
        if b"\x1b[6n" in chunk:  # a terminal tells where its cursor is
            cursor = self._screen.cursor
            self.type(f"\x1b[{cursor.y + 1};{cursor.x + 1}R")
        self.shown += chunk
        return True


def _take_terminal() -> None:
    """Make the terminal that is stdin the one that Ctrl-C reaches this process by."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def terminal(
    project: Path, environment: Mapping[str, str], *arguments: str, columns: int = 100
) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    """The program with these arguments, started in a project, on a terminal of its own."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "ctxmode", *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=project,
        env={**environment, "LINES": str(LINES), "COLUMNS": str(columns)},
        start_new_session=True,
        preexec_fn=_take_terminal,  # noqa: PLW1509 - nothing else runs in this process
    )
    os.close(slave)
    try:
        yield Terminal(master, columns), process
        process.wait(DEADLINE_S)
    finally:
        process.kill()
        process.wait()
        os.close(master)
