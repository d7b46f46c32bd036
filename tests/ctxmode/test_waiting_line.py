"""What is waited for is told to a person at a terminal, and to nobody else."""

from __future__ import annotations

import io
import os
import pty
import sys

from ctxmode.waiting_line import waiting


def test_a_pipe_gets_nothing(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting("proving languages") as told:
        told(1, 2)
    assert stream.getvalue() == ""


def test_a_terminal_shows_how_far_it_is_and_is_left_clean(monkeypatch):
    master, slave = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(slave, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with waiting("proving languages") as told:
            told(3, 16)
        stream.flush()
        shown = os.read(master, 65_536).decode()
    os.close(master)
    assert "proving languages" in shown
    assert shown.endswith(("\x1b[2K", "\x1b[?25h\r\x1b[1A\x1b[2K"))
