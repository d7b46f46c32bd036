"""An export holds every page as it was pushed last (C18)."""

from __future__ import annotations

import pytest

from memory.errors import BadInputError
from memory.pages.repository import Repository
from memory.pages.store import export_pages


def test_an_export_holds_every_page_and_overwrites_nothing(tmp_path):
    repository = Repository(tmp_path / "p.git", environ={})
    repository.init()
    pages = {"index.md": "i\n", "wiki/concepts/a b.md": "ü\r\n", "gone.md": "x"}
    for files in (pages, {"gone.md": None}):
        head = repository.head()
        repository.commit(files, parent=head, author="Ada", message="m", trailers={})
    folder = tmp_path / "out"
    assert export_pages(repository, folder) == ("index.md", "wiki/concepts/a b.md")
    assert (folder / "wiki/concepts/a b.md").read_bytes() == "ü\r\n".encode()
    assert not (folder / "gone.md").exists()
    for taken in (folder, folder / "index.md"):
        with pytest.raises(BadInputError):
            export_pages(repository, taken)
