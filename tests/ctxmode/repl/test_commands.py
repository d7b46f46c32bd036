"""Lines for an interactive session itself, rather than programs."""

from __future__ import annotations

import pytest

from ctxmode.commands.repl import COMMANDS, help_text, is_command, parse, save
from ctxmode.errors import UsageError


@pytest.mark.parametrize("text", [".help", ".load a b.py", ".quit ", ".save"])
def test_an_order_is_known_by_its_first_word(text):
    assert is_command(text)


@pytest.mark.parametrize("text", [".5 + 1", ". file.sh", ".helper", "x = .help", ".load a\n.quit"])
def test_all_else_is_a_program(text):
    assert not is_command(text)


def test_an_order_has_a_file_where_it_takes_one():
    assert parse(".load my file.py ") == (".load", "my file.py")
    assert parse(".reset") == (".reset", "")
    for text in (".load", ".quit now"):
        with pytest.raises(UsageError, match="invalid command"):
            parse(text)


def test_help_tells_every_order():
    assert all(form in help_text() for form in COMMANDS)


def test_what_was_typed_is_saved_to_a_new_file_only(tmp_path):
    file = tmp_path / "typed.py"
    assert save(["x = 1", "def f():\n    return x\n"], file) == f"2 programs saved to {file}"
    assert file.read_text() == "x = 1\ndef f():\n    return x\n"
    with pytest.raises(UsageError, match="already exists"):
        save([], file)
    with pytest.raises(UsageError, match="cannot write"):
        save([], tmp_path / "gone" / "typed.py")
