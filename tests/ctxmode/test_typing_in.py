"""Where a program that is typed ends."""

from __future__ import annotations

import io

import pytest

from ctxmode.typing_in import is_complete, piped

COMPLETE = ["x = 1", "", "print('(')", "f(1, 2)", "echo done", "}", "for i in x:\n  y\n", 'a = "{"']
OPEN = ["f(1,", "def f():", "def f():\n    x", "if true; then", "x = [", "[1, 2].each do", "a \\"]


@pytest.mark.parametrize("text", COMPLETE)
def test_a_complete_program_runs(text):
    assert is_complete(text)


@pytest.mark.parametrize("text", OPEN)
def test_an_open_one_goes_on_until_an_empty_line(text):
    assert not is_complete(text)
    assert is_complete(f"{text}\n")


async def test_a_pipe_is_cut_into_programs():
    read = piped(io.StringIO("x = 1\ndef f():\n    return x\n\nf()\n(1,"))
    found = []
    while (text := await read()) is not None:
        found.append(text)
    assert found == ["x = 1", "def f():\n    return x\n", "f()", "(1,"]
