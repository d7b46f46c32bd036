"""What a terminal is shown of a program's output, wherever its chunks are cut."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from ctxmode.render.terminal_output import (
    RUNNER_VARIABLES,
    LiveOutput,
    OutputScreen,
    disarm,
    for_review,
    is_runner_log,
    screen,
)
from tests.ctxmode.runner_logs import COMMANDS, HARMLESS, list_commands

SHOWN = {
    "plain \u00e9 text\n\twith tabs": "plain \u00e9 text\n\twith tabs",
    "\x1b[1;31mred\x1b[0m": "\x1b[1;31mred\x1b[0m",
    "\x1b[38:2::255:0:0mred\x1b[m": "\x1b[38:2::255:0:0mred\x1b[m",
    "10%\r20%\b": "10%\r20%\b",
    "\x1b]52;c;cm0gLXJmIH4K\x07": "\\x1b]52;c;cm0gLXJmIH4K\\x07",
    "\x1b]0;title\x1b\\": "\\x1b]0;title\\x1b\\",
    "\x1b[2J\x1b[6n\x1b[?1049h": "\\x1b[2J\\x1b[6n\\x1b[?1049h",
    "\x1bP$q\x1b\\": "\\x1bP$q\\x1b\\",
    "\x9b2J\x90": "\\x9b2J\\x90",
    "\x1b": "\\x1b",
    "\x1b[1;": "\\x1b[1;",
    "\x00\x0e\x7f": "\\x00\\x0e\\x7f",
}


@pytest.mark.parametrize("text", SHOWN)
def test_colours_pass_and_what_a_terminal_would_obey_is_shown(text: str):
    assert screen(text) == SHOWN[text]


@pytest.mark.parametrize("text", SHOWN)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_it_does_not_matter_where_chunks_are_cut(text: str, size: int):
    screen, data = OutputScreen(), text.encode()
    parts = [screen.feed(data[at : at + size]) for at in range(0, len(data), size)]
    assert b"".join([*parts, screen.feed(b"", final=True)]).decode() == SHOWN[text]


def test_a_sequence_that_never_ends_is_not_kept_for_ever():
    screen = OutputScreen()
    shown = screen.feed(b"\x1b[" + b"1" * 1000)
    assert shown == b"\\x1b[" + b"1" * 1000


def test_bytes_that_are_no_text_stay_no_control_characters():
    assert OutputScreen().feed(b"\x9b2J\xff") == "\ufffd2J\ufffd".encode()


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


async def test_a_terminal_is_screened_and_a_file_gets_every_byte():
    terminal, file = Terminal(), io.BytesIO()
    async with LiveOutput.open(terminal, file) as output:
        for stream in ("stdout", "stderr"):
            output.feed(stream, b"a\x1b")
            output.feed(stream, b"]52;c;eA==\x07\x1b[1")
    assert terminal.getvalue() == b"a\\x1b]52;c;eA==\\x07\\x1b[1"
    assert file.getvalue() == b"a\x1b]52;c;eA==\x07\x1b[1"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("+evil\x1b[8m hidden\x1b[0m", "+evil\\x1b[8m hidden\\x1b[0m"),
        ("+evil\r+good", "+evil\\x0d+good"),
        ("+evil\b\b\b\bgood", "+evil\\x08\\x08\\x08\\x08good"),
        ("+x = 1 # \u202edne\u2066", "+x = 1 # \\u{202e}dne\\u{2066}"),
        ("+a\u200bb\U000e0041", "+a\\u{200b}b\\u{e0041}"),
        ("+a\ttab\n-größer 日本 🎉\n", "+a\ttab\n-größer 日本 🎉\n"),
    ],
)
def test_what_a_person_decides_by_hides_nothing(monkeypatch, text: str, shown: str):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert for_review(text) == text  # a pipe gets every byte
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert for_review(text) == shown


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_of_a_ci_runner_is_left_in_a_log(command: str):
    assert list_commands(COMMANDS[command]) != []  # the control: as it is, a runner obeys it
    assert list_commands(disarm(f"{COMMANDS[command]}\n{COMMANDS[command]}")) == []
    assert disarm(COMMANDS[command]).replace(" ", "") == COMMANDS[command].replace(" ", "")


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays_as_it_is_in_a_log(text: str):
    assert disarm(HARMLESS[text]) == HARMLESS[text]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("name", [*COMMANDS, *HARMLESS])
def test_commands_are_found_wherever_chunks_are_cut(name: str, size: int):
    text = (COMMANDS | HARMLESS)[name]
    data = f"begin: {text}\n{text}\r\n\n {text}".encode()
    screen = OutputScreen(is_terminal=False, is_log=True)
    parts = [screen.feed(data[at : at + size]) for at in range(0, len(data), size)]
    assert b"".join([*parts, screen.feed(b"", final=True)]).decode() == disarm(data.decode())


def test_bytes_that_are_no_text_reach_a_pipe_of_a_runner_unchanged():
    screen = OutputScreen(is_terminal=False, is_log=True)
    assert screen.feed(data := bytes(range(256))) + screen.feed(b"", final=True) == data


@pytest.mark.parametrize("name", RUNNER_VARIABLES)
def test_a_runner_reads_what_is_not_redirected_into_a_file(name, monkeypatch, tmp_path):
    for each in RUNNER_VARIABLES:
        monkeypatch.delenv(each, raising=False)
    with (tmp_path / "file").open("w") as file, Path(os.devnull).open("w") as log:
        assert not is_runner_log(log)
        monkeypatch.setenv(name, "true")
        assert is_runner_log(log)
        assert not is_runner_log(file)
        monkeypatch.setenv(name, "false")
        assert not is_runner_log(log)
