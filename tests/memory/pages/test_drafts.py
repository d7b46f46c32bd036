"""Drafts are plain files below `.contexo/`: nothing else is read, and no link is written through
(C11)."""

from __future__ import annotations

import os

import pytest

from memory.errors import BadInputError
from memory.pages.drafts import Drafts
from memory.pages.model import FOLDERS, PAGE_BYTES_MAX

PATH = "wiki/concepts/a.md"


def test_c11_a_draft_is_read_back_listed_and_removed(tmp_path):
    drafts = Drafts(tmp_path)
    assert (drafts.read(PATH), drafts.list_paths(), drafts.remove(PATH)) == (None, [], False)
    texts = {PATH: "ü\r\n", "raw/sessions/s.md": "", f"wiki/analyses/{'x' * 200}.md": "3"}
    for path, text in texts.items():
        drafts.write(path, "old")
        drafts.write(path, text)
    assert drafts.list_paths() == sorted(texts)
    assert {path: drafts.read(path) for path in texts} == texts
    assert (tmp_path / ".contexo" / PATH).read_bytes() == "ü\r\n".encode()
    assert (drafts.remove(PATH), drafts.read(PATH)) == (True, None)


def test_c11_the_folders_are_made_where_they_are_missing(tmp_path):
    drafts = Drafts(tmp_path)
    for _ in range(2):
        drafts.make_folders()
    made = {str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*")}
    assert made == {".contexo", ".contexo/raw", ".contexo/wiki"} | {
        f".contexo/{one}" for one in FOLDERS.values()
    }


@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "folder"])
def test_what_is_no_plain_file_is_neither_read_nor_replaced(tmp_path, kind):
    drafts, outside = Drafts(tmp_path), tmp_path / "outside.md"
    outside.write_text("secret")
    drafts.write("wiki/concepts/b.md", "b")
    place = tmp_path / ".contexo" / PATH
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(outside if kind == "link" else tmp_path / "none.md")
    assert PATH in drafts.list_paths()
    with pytest.raises(BadInputError):
        drafts.read(PATH)
    with pytest.raises(BadInputError):
        drafts.write(PATH, "new")
    assert outside.read_text() == "secret"
    assert sorted(os.listdir(place.parent)) == ["a.md", "b.md"]


@pytest.mark.parametrize("link", [".contexo", ".contexo/wiki", ".contexo/wiki/concepts"])
def test_a_folder_that_is_a_link_is_not_followed(tmp_path, link):
    outside = tmp_path / "outside"
    (outside / "wiki" / "concepts").mkdir(parents=True)
    (outside / "concepts").mkdir()
    project = tmp_path / "project"
    (project / link).parent.mkdir(parents=True)
    (project / link).symlink_to(outside)
    drafts = Drafts(project)
    for act in (lambda: drafts.read(PATH), lambda: drafts.write(PATH, "x"), drafts.list_paths):
        with pytest.raises(BadInputError):
            act()
    assert [one for one in outside.rglob("*") if one.is_file()] == []


@pytest.mark.parametrize("path", ["../a.md", "", "/etc/passwd", "wiki//a", "a\0b", "\ud800.md"])
def test_a_path_that_leads_elsewhere_is_refused(tmp_path, path):
    drafts = Drafts(tmp_path)
    with pytest.raises(BadInputError):
        drafts.read(path)
    with pytest.raises(BadInputError):
        drafts.write(path, "x")


def test_a_draft_that_is_too_large_or_no_text_is_told(tmp_path):
    drafts = Drafts(tmp_path)
    drafts.write(PATH, "x" * PAGE_BYTES_MAX)
    for text in ("x" * (PAGE_BYTES_MAX + 1), "\ud800"):
        with pytest.raises(BadInputError):
            drafts.write(PATH, text)
    assert drafts.read(PATH) == "x" * PAGE_BYTES_MAX
    for data in (b"x" * (PAGE_BYTES_MAX + 1), b"\xff\xfe"):
        (tmp_path / ".contexo" / PATH).write_bytes(data)
        with pytest.raises(BadInputError):
            drafts.read(PATH)
