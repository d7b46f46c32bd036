"""The drafts below `.contexo/`: their files, and their preparation for a commit.

Files are opened without following links, and replaced whole. All problems of all drafts are
reported together.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from base.plain_files import new_file_mode, open_plain, replace_file
from memory.errors import BadInputError, StoreUnavailableError
from memory.gate import FindSecrets
from memory.pages.buffer_files import enter_folder
from memory.pages.cleaning import clean_page, drop_private_parts, redact, sanitize
from memory.pages.frontmatter import parse_page, render_page
from memory.pages.model import (
    DRAFTS_FOLDER,
    FOLDERS,
    PAGE_BYTES_MAX,
    BadPagesError,
    Page,
    PageType,
    Problem,
    slug_of,
)
from memory.pages.page_index import Front, describe_page
from memory.pages.section_merging import MERGE_MARKS
from memory.texts import size_bytes

_SUFFIX = ".md"

_SHA = re.compile(r"[0-9a-f]{7,64}")
_SHOWN_MAX = 50
_MERGE_REMEDY = (
    "Replace each conflict by a merged text, without the lines "
    f"`{MERGE_MARKS[0]}`, `{MERGE_MARKS[1]}` and `{MERGE_MARKS[2]}`."
)


class Drafts:
    """The drafts of a project. Paths are those of the repository, such as `wiki/concepts/x.md`."""

    def __init__(self, project: Path, hides: Callable[[str], bool] = lambda _: False) -> None:
        """Initialize from the project, and a function that says if rules deny reading an absolute
        path."""
        self.folder = project / DRAFTS_FOLDER
        self._hides = hides

    def make_folders(self) -> None:
        """Make the folders of all types of pages.

        Raises:
            BadInputError: a link or a file is in the way.
            StoreUnavailableError: they cannot be made.
        """
        with self._translated(""), suppress(FileExistsError):
            os.mkdir(self.folder, 0o755)
        for below in FOLDERS.values():
            with self._translated(below), self._open_folder(f"{below}/x", make=True):
                pass

    def read(self, path: str) -> str | None:
        """Return a draft's text; None if it is missing.

        Raises:
            BadInputError: it is a link, not a regular file, too large, not UTF-8, or denied by a
                rule.
        """
        if self._hides(f"{self.folder}/{path}"):
            raise self._bad(
                path, "cannot be read: a rule denies it", "List the rules: context-mode policy list"
            )
        with self._translated(path):
            try:
                with self._open_folder(path) as place, open_plain(place, follow=False) as file:
                    data = file.read(PAGE_BYTES_MAX + 1)
            except FileNotFoundError:
                return None
        if len(data) > PAGE_BYTES_MAX:
            raise self._bad(path, f"is larger than {PAGE_BYTES_MAX >> 20} MiB", "Divide it.")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            message = f"is not UTF-8 (byte {error.start})"
            raise self._bad(path, message, "Save it as UTF-8.") from None

    def write(self, path: str, text: str) -> None:
        """Write a draft; readers get either the old text or the new one.

        Raises:
            BadInputError: a link or another kind of file is in the way, or it is too large.
            StoreUnavailableError: it cannot be written.
        """
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise self._bad(path, "has a lone surrogate", "Remove it.") from None
        if len(data) > PAGE_BYTES_MAX:
            raise self._bad(path, f"is larger than {PAGE_BYTES_MAX >> 20} MiB", "Divide it.")
        with self._translated(path), self._open_folder(path, make=True) as place:
            with suppress(FileNotFoundError):
                if not stat.S_ISREG(os.lstat(place).st_mode):
                    raise OSError(errno.ELOOP, "it is not a regular file")
            # A short temporary name: the longest slug leaves no room for more.
            replace_file(place, data, mode=0o644 & new_file_mode(), prefix=".")

    def remove(self, path: str) -> bool:
        """Remove a draft; return whether there was one."""
        with self._translated(path):
            try:
                with self._open_folder(path) as place:
                    os.unlink(place)
            except FileNotFoundError:
                return False
        return True

    def remove_leftovers(self) -> None:
        """Remove the unfinished texts of writers that died."""
        for below in FOLDERS.values():
            opened = self._open_folder(f"{below}/x")
            with self._translated(below), suppress(FileNotFoundError), opened as place:
                for one in os.scandir(os.path.dirname(place)):
                    if one.name.startswith(".") and one.name.endswith(".new"):
                        os.unlink(one.path)

    def list_paths(self) -> list[str]:
        """Return the paths of all drafts, sorted, whatever kind of file each is.

        Raises:
            BadInputError: a folder of drafts is a link or a file.
        """
        found = []
        for below in FOLDERS.values():
            with self._translated(below), suppress(FileNotFoundError):
                with self._open_folder(f"{below}/x") as place:
                    names = os.listdir(os.path.dirname(place))
                found += [
                    f"{below}/{name}"
                    for name in names
                    if name.endswith(_SUFFIX) and not name.startswith(".")
                ]
        return sorted(found)

    @contextmanager
    def _open_folder(self, path: str, *, make: bool = False) -> Iterator[str]:
        """Open a draft's folder step by step, since a part may become a link; yield the draft's
        path in it."""
        *parents, name = path.split("/")
        path.encode()  # no page path has a lone surrogate
        if any(part in ("", ".", "..") or "\0" in part for part in (*parents, name)):
            raise OSError(errno.EINVAL, "invalid page path")
        if make:
            for depth, part in enumerate((DRAFTS_FOLDER, *parents)):
                above = enter_folder(self.folder.parent, *(DRAFTS_FOLDER, *parents)[:depth])
                with above as folder, suppress(FileExistsError):
                    os.mkdir(f"{folder}/{part}", 0o755)
        with enter_folder(self.folder.parent, DRAFTS_FOLDER, *parents) as folder:
            yield f"{folder}/{name}"

    @contextmanager
    def _translated(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except (ValueError, UnicodeEncodeError):
            raise self._bad(path, "is not a page path", "Choose another slug.") from None
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EPERM, errno.EDQUOT):
                message = f"{DRAFTS_FOLDER}/{path} cannot be opened: {error.strerror}"
                raise StoreUnavailableError(message) from error
            message = f"is a link or not a regular file ({error.strerror})"
            raise self._bad(path, message, "Replace it by a plain file or folder.") from error

    @staticmethod
    def _bad(path: str, what: str, remedy: str) -> BadInputError:
        return BadInputError(f"{DRAFTS_FOLDER}/{path[:200]!r} {what}".replace("'", ""), remedy)


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft that was read."""

    path: str
    text: str  # redactions of its file
    page: Page  # without secrets
    committed: Page  # without secrets and private parts
    front: Front  # description of `committed`
    redactions: int = 0

    @property
    def type(self) -> PageType:
        return self.page.front.type

    @property
    def slug(self) -> str:
        return self.page.front.slug


def read_drafts(
    drafts: Drafts, paths: Iterable[str], find_secrets: FindSecrets
) -> tuple[list[Draft], list[Problem]]:
    """Return the drafts at paths, and the problems of those that cannot be read."""
    read, problems = list[Draft](), list[Problem]()
    for path in paths:
        try:
            draft = read_draft(drafts, path, find_secrets)
        except BadInputError as error:
            message = sanitize(redact(error.message, find_secrets)[0])
            problems.append((path, BadInputError(message, error.remedy)))
        else:
            if draft is not None:
                read.append(draft)
    return read, problems


def read_draft(drafts: Drafts, path: str, find_secrets: FindSecrets) -> Draft | None:
    """Return the draft at a path; None if it is missing.

    Raises:
        BadInputError: it cannot be committed.
    """
    named = slug_of(path)
    if named is None:
        message = "its name is not a valid slug"
        raise BadInputError(message, "Rename the file: use letters, digits, `_`, `-` and `.`.")
    text = drafts.read(path)
    if text is None:
        return None
    check_marks(text)
    page = parse_page(text)
    _check_place(page, *named)
    return prepare_draft(path, text, page, find_secrets)


def prepare_draft(path: str, text: str, page: Page, find_secrets: FindSecrets) -> Draft:
    """Return a page as a draft: checked, without secrets and private parts.

    Raises:
        BadInputError: it cannot be committed.
    """
    _check_parent(page)
    cleaned, redactions = clean_page(page, find_secrets)
    committed, public = cleaned, drop_private_parts(cleaned)
    if public is not cleaned:
        # The texts around a removed private part may form a secret together.
        committed, further = clean_page(public, find_secrets)
        redactions += further
    if redactions or public is not cleaned:
        committed = parse_page(render_page(committed))
    if size_bytes(text) > PAGE_BYTES_MAX:
        raise BadInputError(f"it is larger than {PAGE_BYTES_MAX >> 20} MiB", "Divide it.")
    return Draft(path, text, cleaned, committed, describe_page(committed), redactions)


def check_marks(text: str) -> None:
    """Refuse a text with an unfinished merge. A line `=======` alone may belong to a heading.

    Raises:
        BadInputError: a line is one of the marks around a conflict.
    """
    marks = (MERGE_MARKS[0], MERGE_MARKS[2])
    if any(mark in text for mark in marks):
        for number, line in enumerate(text.splitlines(), 1):
            if line.rstrip() in marks:
                message = f"line {number} is a mark of an unfinished merge: `{line.rstrip()}`"
                raise BadInputError(message, _MERGE_REMEDY)


def bad_pages(problems: Sequence[Problem]) -> BadPagesError:
    """Build the error that reports all problems."""
    lines = [f"{DRAFTS_FOLDER}/{path}: {error.message}" for path, error in problems[:_SHOWN_MAX]]
    if len(problems) > _SHOWN_MAX:
        lines.append(f"… and {len(problems) - _SHOWN_MAX} more")
    count = f"{len(problems)} pages have problems" if len(problems) > 1 else "a page has a problem"
    remedies = " ".join(dict.fromkeys(filter(None, (error.remedy for _, error in problems))))
    message = "\n  ".join([f"{count}; nothing was committed:", *lines])
    return BadPagesError(message, remedies[:1000] or "Fix them, then push again.", problems)


def with_fields(page: Page, **changes: object) -> Page:
    """Return a page with some fields changed."""
    return replace(page, front=replace(page.front, **changes))  # type: ignore[arg-type]


def _check_place(page: Page, page_type: PageType, slug: str) -> None:
    front = page.front
    if front.slug != slug:
        message = f"its field `slug` is {front.slug[:80]!r}, but its file is named {slug[:80]!r}"
        raise BadInputError(message, "Make both the same.")
    if front.type != page_type:
        message = f"its field `type` is {front.type}, but it is in {FOLDERS[page_type]}"
        raise BadInputError(message, f"Move it to {FOLDERS[front.type]}, or change the field.")


def _check_parent(page: Page) -> None:
    parent = page.front.parent_sha
    if parent and not _SHA.fullmatch(parent):
        message = f"its field `parent_sha` is {parent[:80]!r}, not a commit"
        raise BadInputError(
            message, "Set it to the commit that the draft is based on, or remove it."
        )
