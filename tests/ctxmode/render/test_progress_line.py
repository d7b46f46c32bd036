"""What is waited for is told to a person at a terminal, and to nobody else."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import sys

from ctxmode.render.terminal_output import waiting


def test_a_pipe_gets_nothing(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting("proving languages") as on_progress:
        on_progress(1, 2)
    assert stream.getvalue() == ""


def test_a_terminal_shows_how_far_it_is_and_is_left_clean(monkeypatch):
    master, slave = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(slave, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with waiting("proving languages") as on_progress:
            on_progress(3, 16)
    shown = all_of(master).decode()
    assert "proving languages" in shown
    assert "\x1b[2K" in shown.rpartition("proving languages")[2]  # the line is gone


def all_of(terminal: int) -> bytes:
    """What was written to a terminal that nobody has open any more."""
    shown = b""
    with os.fdopen(terminal, "rb", buffering=0) as reader, contextlib.suppress(OSError):
        while chunk := reader.read(65_536):
            shown += chunk
    return shown
