"""A slug names one page in one folder, whatever it is made of (C10, C11)."""

from __future__ import annotations

import pytest

from memory.errors import BadInputError
from memory.pages.drafts import Drafts
from memory.pages.model import check_slug, page_path, slug_of

GOOD = ["a", "_", "0", "A.b-c_d", "x" * 200, "a.md", "a-.", "1.2.3"]
BAD = (
    "",
    ".",
    "-a",
    ".a",
    "..",
    "a..b",
    "../x",
    "a/b",
    "a\\b",
    "x" * 201,
    "a b",
    "a\n",
    "a\0",
    "ä",
    "a\u200b",
    "\ud800",
    "\u0661",
)


@pytest.mark.parametrize("slug", GOOD)
def test_c10_a_slug_is_taken_and_its_page_can_be_written(tmp_path, slug):
    assert check_slug(slug) == slug
    path = page_path("concept", slug)
    assert slug_of(path) == ("concept", slug)
    Drafts(tmp_path).write(path, "x")
    assert Drafts(tmp_path).list_paths() == [path]


@pytest.mark.parametrize("slug", BAD)
def test_c10_what_cannot_name_a_page_is_refused(slug):
    for act in (check_slug, lambda one: page_path("source", one)):
        with pytest.raises(BadInputError) as caught:
            act(slug)
        assert "A-Z" in caught.value.remedy
        caught.value.message.encode()
    assert slug_of(f"wiki/concepts/{slug}.md") is None


def test_c11_each_type_has_its_folder():
    assert {one: page_path(one, "s") for one in ("source", "concept", "entity", "analysis")} == {
        "source": "raw/sessions/s.md",
        "concept": "wiki/concepts/s.md",
        "entity": "wiki/entities/s.md",
        "analysis": "wiki/analyses/s.md",
    }
    with pytest.raises(BadInputError, match="unknown page type"):
        page_path("note", "s")


@pytest.mark.parametrize(
    "path",
    [
        "index.md",
        "wiki/concepts/a",
        "wiki/concepts/b/a.md",
        "concepts/a.md",
        "a/wiki/concepts/a.md",
        "/wiki/concepts/a.md",
        "wiki/concepts/.md",
        "raw/sessions/_pending/a.jsonl",
        "",
    ],
)
def test_c11_no_page_lies_elsewhere(path):
    assert slug_of(path) is None
