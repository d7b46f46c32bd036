"""Queries that no setting was chosen on: other packages, by the same kind of rules.

The command pages of Git by their one-line descriptions, PostgreSQL's pages by the entries of its
index, Django's functions by the first sentences of their docstrings. What a query was taken from is
removed from the documents first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from benchmarks.kb_corpora import Document, QuerySet, Target, docstrings, sample

PACKAGES = ("git-doc", "postgresql-doc-15", "python3-django")

_GIT_NAME = re.compile(r"^NAME\n-+\n([^\n]+(?:\n(?!\n)[^\n]+)*)\n", re.MULTILINE)
_INDEX_ENTRY = re.compile(r'<dt[^>]*>([^<]{6,}), <a class="indexterm" href="([^"#]+)[^"]*">')
_WHOLE = 1 << 40
"""Beyond the end of any document: a page is asked for, wherever in it the answer stands."""


def held_out_sets(folder: Path) -> list[QuerySet]:
    """All of them, of packages unpacked below `folder`."""
    return [git_pages(folder), postgres_index(folder), django_code(folder)]


def git_pages(folder: Path) -> QuerySet:
    """The description in a command page's NAME section asks for the page."""
    documents: list[Document] = []
    targets: list[Target] = []
    for path in sorted((folder / "git-doc/usr/share/doc/git-doc").glob("git*.txt")):
        text = path.read_text()
        named = _GIT_NAME.search(text)
        if named is not None:
            query = " ".join(named.group(1).partition(" - ")[2].split())
            text = text[: named.start()] + text[named.end() :]
            if len(query.split()) >= 3:
                targets.append(Target(query, path.name, 0, _WHOLE))
        documents.append(Document(path.name, text.encode()))
    return QuerySet("git", tuple(documents), sample(targets))


def postgres_index(folder: Path) -> QuerySet:
    """An entry of the back-of-book index, of more than one word, asks for the page it points to."""
    root = folder / "postgresql-doc-15/usr/share/doc/postgresql-doc-15/html"
    entries = _INDEX_ENTRY.findall((root / "bookindex.html").read_text())
    targets = (
        Target(words, page, 0, _WHOLE)
        for entry, page in entries
        if " " in (words := " ".join(unescape(entry).split()))
    )
    return QuerySet("postgres", tuple(_pages(root)), sample(targets))


def _pages(root: Path) -> Iterator[Document]:
    for path in sorted(root.glob("*.html")):
        if path.name != "bookindex.html":
            yield Document(path.name, path.read_bytes())


def django_code(folder: Path) -> QuerySet:
    """The first sentence of a docstring asks for its function, as in `pycode`."""
    return docstrings("djcode", folder / "python3-django/usr/lib/python3/dist-packages/django")
