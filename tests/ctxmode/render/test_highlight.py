"""Colours for a person's terminal only, and nothing there that a terminal would obey."""

import re
import sys

import pytest

from ctxmode.render import highlight


@pytest.mark.parametrize(
    ("terminal", "no_color", "wanted"),
    [(True, None, True), (False, None, False), (True, "1", False), (True, "", True)],
)
def test_only_a_terminal_without_no_color_gets_colours(monkeypatch, terminal, no_color, wanted):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    assert highlight.is_colour_wanted() is wanted


@pytest.mark.parametrize("language", ["python", "markdown", "tsx", "no such language", None])
def test_colours_change_nothing_but_the_colour(language):
    text = "\n# head\n\ndef f():\n    return 'x'\n\n"
    assert re.sub(r"\x1b\[[0-9;]*m", "", highlight.colour(text, language)) == text


def test_code_is_coloured():
    assert "\x1b[" in highlight.colour("def f(): pass", "python")


@pytest.mark.parametrize("text", ["\x1b]0;title\x07", "a\rb", "\x9b31m", "\x7f"])
def test_what_a_terminal_would_obey_is_shown_instead(text):
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", highlight.harmless(text))
    assert highlight.harmless("tab\tand\nline") == "tab\tand\nline"


@pytest.mark.parametrize("name", ["a\nb", "a\r\n--- b", "a\tb", "\x1b[2J", "a\u2028b", "a\x85b"])
def test_a_name_takes_one_line(name):
    shown = highlight.one_line(name)
    assert len(shown.splitlines()) == 1
    assert shown.isprintable()


def test_a_plain_name_is_left_alone():
    assert highlight.one_line("docs/Zürich \\ 1.md") == "docs/Zürich \\ 1.md"
