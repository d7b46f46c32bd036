"""All spellings that a file system or tool takes for one name have one form."""

from __future__ import annotations

import pytest

from executor.project.rules.names import fold, is_short

pytestmark = pytest.mark.once  # a name is the same for everyone


@pytest.mark.parametrize(
    ("spelt", "name"),
    [
        (".GIT", ".git"),
        (".git.", ".git"),
        (".git . .", ".git"),
        (".git::$INDEX_ALLOCATION", ".git"),
        (".g\u200cit", ".git"),  # HFS+ leaves out what joins and parts
        ("\ufeff.git", ".git"),
        (".gi\u00adt", ".git"),  # ext4 with casefold leaves out soft hyphens
        (".gi\ufe0ft", ".git"),
        (".v\u017fcode", ".vscode"),  # long s
        (".g\u0131t", ".git"),  # dotless i
        ("\uff0egit", ".git"),  # full width
        (".Z\u2126", ".z\u03c9"),
        ("caf\u00e9", "cafe\u0301"),
        ("GIT~1", ".git"),
    ],
)
def test_these_are_one(spelt, name):
    assert fold(spelt) == fold(name)


@pytest.mark.parametrize(
    ("one", "other"),
    [(".git", "git"), (".git", ".gitx"), ("git~", "git~1"), ("a.b", "ab"), (" .git", ".git")],
)
def test_these_are_two(one, other):
    assert fold(one) != fold(other)


def test_bytes_that_are_no_text_have_a_form_too():
    assert fold(b"\xff.GIT".decode("utf-8", "surrogateescape")).endswith(".git")


@pytest.mark.parametrize("name", ["VSCODE~1", "GITMOD~3", "CLAUDE~1.JSO", "a~12.txt", "GI7EBA~1"])
def test_a_short_name_of_windows_is_known(name):
    assert is_short(fold(name))


@pytest.mark.parametrize("name", ["git~", "file.~1~", "a.tar~1", "toolong~1x", "a~b", "uv.toml"])
def test_these_are_no_short_names(name):
    assert not is_short(fold(name))
