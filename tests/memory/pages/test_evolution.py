"""What became of a page: two versions compared, blame, and all versions (C16-C18)."""

from __future__ import annotations

import pytest

from memory.errors import BadInputError
from tests.memory.pages.test_pushing import draft, make, push, write


def fill(pages):
    write(pages, "a", "## One\n\nfirst\n", reasoning_summary="begun")
    push(pages, message="First")
    write(pages, "a", "## One\n\nfirst\n\n## Two\n\nsecond\n", reasoning_summary="gone on")
    push(pages, message="Second")


def test_c18_evolution_lists_what_changed_in_each_version_and_why(tmp_path):
    pages = make(tmp_path)
    fill(pages)
    pages.forget("a")
    gone, second, first = pages.evolution("a")
    assert (gone.is_removal, second.reasoning_summary, first.reasoning_summary) == (
        True,
        "gone on",
        "begun",
    )
    assert [(one.heading, one.status) for one in second.diff.sections] == [
        ("One", "unchanged"),
        ("Two", "added"),
    ]
    assert (first.diff.from_sha, first.commit.subject) == ("", "First")
    assert len(pages.evolution("a", 1)) == 1


def test_c16_c18_the_last_two_versions_are_compared_with_their_blame(tmp_path):
    pages = make(tmp_path)
    fill(pages)
    second, first = pages.history("a")
    diff = pages.diff("a", has_blame=True)
    assert (diff.from_sha, diff.to_sha) == (first.sha, second.sha)
    introduced = [one.introduced_by and one.introduced_by.subject for one in diff.sections]
    assert introduced == ["First", "Second"]
    blamed = pages.blame("a").sections
    assert [one.changed_by and one.changed_by.subject for one in blamed] == introduced
    draft(pages, "a").write_text(draft(pages, "a").read_text() + "\n## Three\n\nx\n")
    local = pages.diff("a", is_local=True)
    assert [one.status for one in local.sections] == ["unchanged", "unchanged", "added"]
    whole = pages.diff("a", start=first.sha, end=second.sha)
    assert whole.sections == pages.diff("a").sections


@pytest.mark.parametrize("name", ["none", "../x", "", "concept/../a", "a\0", "\ud800"])
def test_a_page_that_is_not_there_is_bad_input(tmp_path, name):
    pages = make(tmp_path)
    fill(pages)
    for ask in (pages.diff, pages.blame, pages.evolution, pages.history, pages.read, pages.forget):
        with pytest.raises(BadInputError):
            ask(name)
