"""`show` of a source whose file changed since it was indexed."""

import pytest


@pytest.fixture
def page(user):
    """A page of the user's project, which is indexed."""
    path = user.project("app") / "guide.md"
    path.write_text("old words\n")
    user.ask("app", "index", "guide.md")
    return path


def test_a_file_that_changed_is_shown_as_it_is_now(user, page):
    assert user.ask("app", "kept", "show", "guide.md") == "old words\n"
    page.write_text("new words\n")
    assert user.ask("app", "kept", "show", "guide.md") == "new words\n"
    older = user.ask("app", "kept", "show", "1")
    assert older == "old words\ncontext-mode: guide.md: an older version, replaced by source 2\n"


@pytest.mark.parametrize("what", [(), ("--terms",), ("--contents",)])
def test_a_file_that_is_gone_is_said_on_stderr_and_in_data(user, page, what):
    shown = user.ask("app", "kept", "show", "guide.md", *what, "--json")
    assert (shown["stale"], user.said) == (None, "")
    page.unlink()
    shown = user.ask("app", "kept", "show", "guide.md", *what, "--json")
    assert (shown["stale"], user.said) == ("gone", "context-mode: guide.md: file was deleted\n")
