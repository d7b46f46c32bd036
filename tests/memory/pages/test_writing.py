"""Writing a draft: a text that no commit has is replaced only if that is asked for."""

from __future__ import annotations

import pytest

from memory.errors import BadInputError
from tests.memory.pages.test_pushing import draft, make, make_other, push, write

TEXT = "# T\n\n## A\n\nfirst\n"


def never_pushed(tmp_path):
    pages = make(tmp_path)
    write(pages, "a", TEXT)
    return pages


def edited(tmp_path):
    pages = never_pushed(tmp_path)
    push(pages)
    draft(pages, "a").write_text(draft(pages, "a").read_text() + "\nby hand\n")
    return pages


def edited_upon_an_older_version(tmp_path):
    pages = edited(tmp_path)
    other = make_other(tmp_path)
    write(other, "a", "# T\n\n## A\n\ntheirs\n", is_forced=True, parent_sha=pages.log()[0][0].sha)
    push(other)
    return pages


def broken(tmp_path):
    pages = never_pushed(tmp_path)
    draft(pages, "a").write_text("---\nnever closed\n")
    return pages


def no_text(tmp_path):
    pages = never_pushed(tmp_path)
    draft(pages, "a").write_bytes(b"# T\n\xff\n")
    return pages


UNPUSHED = [never_pushed, edited, edited_upon_an_older_version, broken]


@pytest.mark.parametrize("made", UNPUSHED)
@pytest.mark.parametrize("verb", ["write", "forget"])
def test_a_draft_with_edits_that_were_never_pushed_is_kept_unless_forced(tmp_path, made, verb):
    pages = made(tmp_path)
    before = draft(pages, "a").read_bytes()

    def act(*, is_forced):
        if verb == "forget":
            return pages.forget("a", is_forced=is_forced)
        return write(pages, "a", "# New\n", is_forced=is_forced)

    with pytest.raises(BadInputError, match="concept/a has edits that were never pushed") as told:
        act(is_forced=False)
    assert "pages push concept/a" in told.value.remedy
    assert "--force" in told.value.remedy
    assert draft(pages, "a").read_bytes() == before
    act(is_forced=True)
    assert verb == "forget" or "# New" in draft(pages, "a").read_text()
    assert verb == "write" or not draft(pages, "a").exists()


def unchanged(tmp_path):
    pages = never_pushed(tmp_path)
    push(pages)
    return pages


def behind(tmp_path):
    pages = unchanged(tmp_path)
    other = make_other(tmp_path)
    write(other, "a", "# T\n\n## A\n\ntheirs\n", parent_sha=pages.log()[0][0].sha)
    push(other)
    return pages


@pytest.mark.parametrize("made", [make, unchanged, behind])
def test_a_draft_that_a_commit_has_is_written_as_it_is(tmp_path, made):
    pages = made(tmp_path)
    write(pages, "a", "# New\n")
    assert "# New" in draft(pages, "a").read_text()


@pytest.mark.parametrize("made", [never_pushed, edited])
def test_the_same_text_and_fields_alone_lose_nothing(tmp_path, made):
    pages = made(tmp_path)
    whole = draft(pages, "a").read_text()
    body = whole.partition("---\n")[2].partition("---\n")[2]
    write(pages, "a", whole, tags=["one"])
    pages.write("a", fields={"tags": ["two"]})
    text = draft(pages, "a").read_text()
    assert text.endswith(body)
    assert "two" in text


def test_a_draft_that_is_no_text_is_not_replaced(tmp_path):
    pages = no_text(tmp_path)
    with pytest.raises(BadInputError, match="not UTF-8"):
        write(pages, "a", "# New\n", is_forced=True)
    assert draft(pages, "a").read_bytes() == b"# T\n\xff\n"
