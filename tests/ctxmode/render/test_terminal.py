"""Tables fit the window, and colours go where they are wanted."""

from __future__ import annotations

import pytest
from rich.table import Table

from ctxmode.render import terminal


@pytest.fixture
def table():
    made = Table("name", "value", box=None, title="All")
    made.add_row("limits.memory_bytes", "2147483648")
    made.add_row("warm", "")
    return made


@pytest.fixture
def shown(capsys, monkeypatch, table):
    def show(**environ: str) -> str:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        terminal.console().print(table)
        return capsys.readouterr().out

    return show


def test_a_narrow_window_shows_records(shown):
    lines = [line.strip() for line in shown(COLUMNS="40").splitlines()]
    assert lines == [
        "All",
        "name: limits.memory_bytes",
        "value: 2147483648",
        "",
        "name: warm",
        "",
    ]


@pytest.mark.parametrize("columns", [20, 40, 59, 60, 80, 200])
def test_no_line_is_wider_than_the_window(shown, columns):
    assert max(map(len, shown(COLUMNS=str(columns)).splitlines())) <= columns


def test_a_pipe_has_no_colours_unless_they_are_forced(shown):
    assert "\x1b" not in shown()
    assert "\x1b" in shown(FORCE_COLOR="1")


def test_no_color_outweighs_being_forced(shown):
    assert "\x1b[3" not in shown(FORCE_COLOR="1", NO_COLOR="1").replace("\x1b[3m", "")
