"""Fronts: page data for index pages and comparisons, read once per content.

Each push builds the index of pages and the index of tags from them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, fields, replace

from base.plain_files import replace_file
from memory.pages.frontmatter import try_parse
from memory.pages.git import one_line
from memory.pages.model import FOLDERS, PAGE_TYPES, Page, PageType, slug_of
from memory.pages.repository import Repository

CACHE = "context-mode-fronts.json"
_VERSION = 2
_CACHE_BYTES_MAX = 64 << 20
_TITLE_CHARS_MAX = 200
_SUMMARY_CHARS_MAX = 300
_TAGS_MAX = 64
_READ_AT_ONCE = 200
_HEADING = re.compile(r"^#[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)

INDEX, TAGS = "index.md", "tags.md"
_HEADINGS: Mapping[PageType, str] = {
    "concept": "Concepts",
    "entity": "Entities",
    "source": "Sources",
    "analysis": "Analyses",
}
_MARKS = re.compile(r"([\\`*_\[\]<>|#~&])")


@dataclass(frozen=True, slots=True)
class Front:
    """The data that a page gives about itself."""

    key: str  # digest of all but `parent_sha`, `updated` and `sources`, which a push writes
    type: str = ""  # empty if the page cannot be read
    slug: str = ""
    title: str = ""
    summary: str = ""
    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    parent_sha: str = ""
    updated: str = ""


def describe_page(page: Page) -> Front:
    """Return the front of a page."""
    front = page.front
    compared = asdict(replace(front, parent_sha="", updated="", sources=()))
    told = json.dumps([compared, page.body], sort_keys=True, default=str)
    heading = _HEADING.search(page.body[:4096])
    return Front(
        key=hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest(),
        type=front.type,
        slug=front.slug,
        title=one_line(heading[1], _TITLE_CHARS_MAX) if heading else front.slug,
        summary=one_line(front.reasoning_summary, _SUMMARY_CHARS_MAX),
        tags=tuple(dict.fromkeys(one_line(tag, 100) for tag in front.tags[:_TAGS_MAX])),
        sources=front.sources,
        parent_sha=front.parent_sha,
        updated=front.updated,
    )


def describe_text(text: str) -> Front:
    """Return the front of the text of a page."""
    page = try_parse(text)
    if page is None:
        return Front(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())
    return describe_page(page)


def are_same(draft: Front, pushed: Front) -> bool:
    """Return whether a draft has the same content as a version in the repository. A killed push may
    have added sources to the version, and not yet to the draft."""
    if draft.key != pushed.key:
        return False
    mine, theirs = set(draft.sources), set(pushed.sources)
    return mine == theirs or (mine < theirs and draft.parent_sha == pushed.parent_sha)


class Fronts:
    """The fronts of the pages of a repository, by the names of their contents."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known: dict[str, Front] = {}
        self._commit = ""
        self._entries: Mapping[str, str] = {}
        self._is_loaded = False

    def read(self, blobs: Iterable[str]) -> Mapping[str, Front]:
        """Return the fronts of contents; a content that is not text counts as unreadable."""
        self._load()
        wanted = [blob for blob in dict.fromkeys(blobs) if blob]
        missing = [blob for blob in wanted if blob not in self._known]
        for start in range(0, len(missing), _READ_AT_ONCE):
            some = missing[start : start + _READ_AT_ONCE]
            for blob, text in zip(some, self._repository.read_objects(some), strict=True):
                self._known[blob] = Front(blob) if text is None else describe_text(text)
        return {blob: self._known[blob] for blob in wanted}

    def read_tree(self, tree: Mapping[str, str]) -> dict[str, Front]:
        """Return the fronts of all pages of a commit, by path."""
        pages = {path: blob for path, blob in tree.items() if slug_of(path)}
        read = self.read(pages.values())
        return {path: read[blob] for path, blob in pages.items()}

    def list_entries(self, commit: str) -> Mapping[str, str]:
        """Return the files of a commit, given by its full name; empty without a commit."""
        self._load()
        if commit and commit != self._commit:
            self._entries = self._repository.list_entries(commit)
            self._commit = commit
        return self._entries if commit else {}

    def save(self, commit: str, tree: Mapping[str, str], fronts: Mapping[str, Front]) -> None:
        """Store the files of the newest commit and the fronts of its pages for the next process. A
        failure only costs time."""
        self._load()
        self._commit = commit
        self._entries = dict(sorted(tree.items()))
        told = {tree[path]: front for path, front in fronts.items()}
        self._known.update(told)
        rows = {blob: astuple(front) for blob, front in told.items()}
        kept = {"version": _VERSION, "commit": commit, "tree": dict(tree), "fronts": rows}
        with suppress(OSError, ValueError):
            data = json.dumps(kept).encode()
            replace_file(self._repository.folder / CACHE, data)

    def drop(self) -> None:
        """Forget everything, also the stored data."""
        self._known.clear()
        self._commit, self._entries = "", {}
        self._is_loaded = True
        (self._repository.folder / CACHE).unlink(missing_ok=True)

    def _load(self) -> None:
        if self._is_loaded:
            return
        self._is_loaded = True
        with suppress(OSError, ValueError, TypeError, RecursionError, AttributeError, LookupError):
            with open(self._repository.folder / CACHE, "rb") as file:
                told = json.loads(file.read(_CACHE_BYTES_MAX))
            if told["version"] == _VERSION:
                read = {blob: _front(row) for blob, row in told["fronts"].items()}
                self._known.update(read)
                tree = {str(path): str(blob) for path, blob in told["tree"].items()}
                self._entries = dict(sorted(tree.items()))
                self._commit = str(told["commit"])


def _front(row: list[object]) -> Front:
    values = [tuple(map(str, one)) if isinstance(one, list) else str(one) for one in row]
    return Front(**dict(zip((one.name for one in fields(Front)), values, strict=True)))  # type: ignore[arg-type]


def make_index_pages(fronts: Mapping[str, Front]) -> dict[str, str]:
    """Return the texts of `index.md` and `tags.md`. Equal pages give equal bytes."""
    return {INDEX: _make_index(fronts), TAGS: _make_tags(fronts)}


def _make_index(fronts: Mapping[str, Front]) -> str:
    pieces = ["# Index\n"]
    for page_type in PAGE_TYPES:
        below = f"{FOLDERS[page_type]}/"
        paths = sorted(path for path in fronts if path.startswith(below) and slug_of(path))
        if paths:
            pieces.append(f"\n## {_HEADINGS[page_type]}\n\n")
            pieces += [f"- {_link(path, fronts[path])}{_summary(fronts[path])}\n" for path in paths]
    return "".join(pieces)


def _make_tags(fronts: Mapping[str, Front]) -> str:
    tagged: dict[str, list[str]] = {}
    for path in sorted(fronts):
        for tag in filter(None, dict.fromkeys(fronts[path].tags)):
            tagged.setdefault(tag, []).append(path)
    pieces = ["# Tags\n"]
    for tag in sorted(tagged, key=lambda one: (one.casefold(), one)):
        pieces.append(f"\n## {_escape(tag)}\n\n")
        pieces += [f"- {_link(path, fronts[path])}\n" for path in tagged[tag]]
    return "".join(pieces)


def _link(path: str, front: Front) -> str:
    named = slug_of(path)
    return f"[{_escape(front.title or (named[1] if named else path))}]({path})"


def _summary(front: Front) -> str:
    return f": {_escape(front.summary)}" if front.summary else ""


def _escape(text: str) -> str:
    """Return a text as Markdown displays it, without links, headings or marks."""
    return _MARKS.sub(r"\\\1", text)
