"""Erasing of a page from the history: commits are rewritten without it, its objects deleted.

This covers all branches, tags and notes. Index pages are removed from all older commits, too, since
they quote the pages. A file next to the objects names the erasing in progress, so that the next
process finishes it after a crash.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from base.plain_files import replace_file
from memory.errors import BadInputError, StoreUnavailableError
from memory.gate import Gate
from memory.pages.git import message_of
from memory.pages.history import add_rewritten
from memory.pages.model import Forgotten, GitError, slug_of
from memory.pages.page_index import CACHE, INDEX, TAGS, make_index_pages
from memory.pages.reading import find_page
from memory.pages.repository import Repository
from memory.pages.writing import check_replaceable

if TYPE_CHECKING:
    from memory.pages.store import Pages

MARKER = "context-mode-erasing"
_NEW = "refs/context-mode/rewritten"
_MARKS = "context-mode-marks"
_ERASED_SUBJECT = "Push pages, of which one was erased"


_Commit = tuple[list[bytes], bytes, list[bytes]]
"""A commit of an export: the lines before its message, the message, and its changes."""


_Ref = tuple[str, str, str]
"""A branch, a tag or another name, with the object it names and the object a tag resolves to."""


def rewrite_without(repository: Repository, path: str) -> int:
    """Rewrite the history of all branches and tags without a page, and delete its objects; return
    the number of changed commits. The caller locks the repository.

    Raises:
        GitError: git failed, or a part of the page remains. The next push continues.
    """
    marker = repository.folder / MARKER
    blobs = _list_blobs(repository, path) | _read_blobs(marker)
    replace_file(marker, "\n".join([path, *sorted(blobs)]).encode())
    _delete_refs(repository, blobs)
    count = _rewrite(repository, path) if blobs else 0
    delete_unreachable(repository)
    left = blobs & _list_objects(repository) - _list_reachable(repository)
    if left or _list_blobs(repository, path):
        message = f"{max(len(left), 1)} versions of {path} could not be deleted: something else "
        raise GitError(f"{message}in {repository.folder} uses them", _left_remedy(repository))
    marker.unlink(missing_ok=True)
    return count


def read_marker(repository: Repository) -> str:
    """Return the path of a page whose erasing is unfinished; empty if none is."""
    try:
        return (repository.folder / MARKER).read_text().partition("\n")[0]
    except FileNotFoundError:
        return ""


def _read_blobs(marker: Path) -> set[str]:
    """Return the contents that an earlier erasing still had to delete."""
    try:
        return set(marker.read_text().split("\n")[1:])
    except FileNotFoundError:
        return set()


def _left_remedy(repository: Repository) -> str:
    command = f"git -C {repository.folder} worktree list"
    return (
        f"List them with `{command}`, remove each with `git -C {repository.folder} worktree "
        "remove --force FOLDER`, then push again, which finishes the erasing."
    )


def _delete_refs(repository: Repository, blobs: set[str]) -> None:
    """Delete own refs, those of remotes, and tags that name a content of the page."""
    for name, _, target in _list_refs(repository):
        if name.startswith(("refs/context-mode/", "refs/remotes/")) or target in blobs:
            repository.git.run("update-ref", "--no-deref", "-d", name)


def _list_refs(repository: Repository, kind: str = "") -> list[_Ref]:
    """List all names, or those that lead to objects of a kind."""
    said = repository.git.run("for-each-ref", "--format=%(refname) %(objectname)").decode()
    rows = [line.split(" ") for line in said.splitlines()]
    ends = repository.git.run(
        "cat-file",
        "--batch-check=%(objectname) %(objecttype)",
        given="".join(f"{sha}^{{}}\n" for _, sha in rows).encode(),
    )
    found = []
    for (name, sha), end in zip(rows, ends.decode().splitlines(), strict=True):
        target, of_kind = end.split(" ")[:2]
        if kind in ("", of_kind):
            found.append((name, sha, target))
    return found


def delete_unreachable(repository: Repository) -> None:
    """Delete everything that the branch does not reach: own other refs, logs, packs, loose objects,
    and files of processes that died."""
    git, folder = repository.git, repository.folder
    _delete_refs(repository, set())
    for name in ("FETCH_HEAD", "ORIG_HEAD", CACHE, _MARKS, *_names(folder, "fast_import_crash_*")):
        (folder / name).unlink(missing_ok=True)
    # Git's own lists of commits and objects would name the deleted ones.
    shutil.rmtree(folder / "objects/info/commit-graphs", ignore_errors=True)
    for pattern in (
        "objects/info/commit-graph",
        "objects/pack/tmp_*",
        "objects/pack/*.keep",
        "objects/*/tmp_obj_*",
    ):
        for one in folder.glob(pattern):
            one.unlink(missing_ok=True)
    git.run("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    git.run("repack", "-a", "-d", "-q")
    git.run("prune", "--expire=now")
    git.run("prune-packed", "-q")


def _names(folder: object, pattern: str) -> list[str]:
    return [one.name for one in folder.glob(pattern)]  # type: ignore[attr-defined]


def _list_blobs(repository: Repository, path: str) -> set[str]:
    """Return the names of a page's contents in all commits of all branches and tags."""
    said = repository.git.run(
        *("log", "--full-history", "-m", "--root", "--raw", "--no-abbrev", "--no-renames"),
        *("--format=", "--all", "--", path),
    )
    found = set(re.findall(rb"[0-9a-f]{40,64}", said.replace(path.encode(), b"")))
    return {one.decode() for one in found if one.strip(b"0")}


def _list_objects(repository: Repository) -> set[str]:
    said = repository.git.run(
        "cat-file", "--batch-all-objects", "--batch-check=%(objectname)", "--unordered"
    )
    return set(said.decode().split())


def _list_reachable(repository: Repository) -> set[str]:
    """Return the objects that all refs reach: another page may have the same text."""
    said = repository.git.run("rev-list", "--objects", "--no-object-names", "--all")
    return set(said.decode().split())


def _rewrite(repository: Repository, path: str) -> int:
    git = repository.git
    refs = _list_refs(repository, "commit")
    if not refs:
        return 0
    stream = git.run(
        *("fast-export", "--no-data", "--reencode=yes", "--show-original-ids"),
        *("--signed-tags=strip", "--tag-of-filtered-object=drop", *(name for name, _, _ in refs)),
    )
    marks: dict[bytes, bytes] = {}
    originals: dict[str, bytes] = {}
    pieces = list[bytes]()
    for head, message, changes in _read_commits(stream):
        mark, original, parents = _look(head)
        kept = [line for line in changes if not _is_of(line, (path, INDEX, TAGS))]
        parents = [marks.get(one, one) for one in parents]
        if not kept and len([one for one in parents if one]) < 2:
            marks[mark] = parents[0] if parents else b""
            originals[original] = marks[mark]
            continue
        marks[mark] = mark
        originals[original] = mark
        is_page = any(_is_of(line, (path,)) for line in changes)
        shown = _hide_subject(message) if is_page else message
        pieces += _write(head, mark, [one for one in parents if one], shown, kept)
    new = {}
    if pieces:
        marks_file = repository.folder / _MARKS
        stream = b"".join([*pieces, b"done\n"])
        git.run(
            *("fast-import", "--quiet", "--done", "--force", f"--export-marks={marks_file}"),
            given=stream,
        )
        lines = marks_file.read_bytes().splitlines()
        new = {line.split(b" ")[0]: line.split(b" ")[1].decode() for line in lines}
    moves = {old: new.get(mark, "") for old, mark in originals.items()}
    add_rewritten(repository, moves)
    _move_refs(repository, refs, moves)
    return sum(before != after for before, after in moves.items())


def _move_refs(repository: Repository, refs: Sequence[_Ref], changes: Mapping[str, str]) -> None:
    """Move all refs to the new commits, or none. A tag with a message loses it: that may quote the
    page, too."""
    orders = []
    for name, sha, target in refs:
        new = changes.get(target, target)
        if not new:
            orders.append(f"delete {name} {sha}\n")
        elif new != target:
            orders.append(f"update {name} {new} {sha}\n")
    repository.git.run("update-ref", "--no-deref", "--stdin", given="".join(orders).encode())


def _read_commits(stream: bytes) -> Iterator[_Commit]:
    """Divide an export into its commits. Data are read by their length, so that no message can be a
    command."""
    at = 0
    current: _Commit | None = None
    while at < len(stream):
        end = stream.find(b"\n", at)
        end = len(stream) if end < 0 else end
        line, at = stream[at:end], end + 1
        if line.startswith((b"commit ", b"reset ", b"tag ")):
            if current:
                yield current
            # Refs are moved by their old commits, not by those of the export.
            current = ([], b"", []) if line.startswith(b"commit ") else None
        elif line.startswith(b"data "):
            size = int(line[5:])
            if current:
                current = (current[0], stream[at : at + size], current[2])
            at += size
        elif current and line.startswith((b"M ", b"D ", b"deleteall")):
            current[2].append(line)
        elif current and line and not line.startswith(b"done"):
            current[0].append(line)
    if current:
        yield current


def _look(head: list[bytes]) -> tuple[bytes, str, list[bytes]]:
    mark, original, parents = b"", "", []
    for line in head:
        word, _, value = line.partition(b" ")
        if word == b"mark":
            mark = value
        elif word == b"original-oid":
            original = value.decode()
        elif word in (b"from", b"merge"):
            parents.append(value)
    return mark, original, parents


def _write(
    head: list[bytes], mark: bytes, parents: list[bytes], message: bytes, kept: list[bytes]
) -> list[bytes]:
    names = [one for one in head if one.startswith((b"author ", b"committer "))]
    links = [
        (b"merge " if number else b"from ") + one
        for number, one in enumerate(dict.fromkeys(parents))
    ]
    # Without a parent, the import's branch must not supply its own.
    begin = [] if links else [b"reset " + _NEW.encode()]
    lines = [*begin, b"commit " + _NEW.encode(), b"mark " + mark, *names]
    data = b"data %d\n" % len(message) + message
    return [b"\n".join([*lines, data, *links, *kept]) + b"\n\n"]


def _hide_subject(message: bytes) -> bytes:
    """Return a message that does not mention the page, with the trailers of the old one."""
    last = message.decode("utf-8", "replace").strip().rpartition("\n\n")[2]
    found = dict(line.split(": ", 1) for line in last.splitlines() if ": " in line)
    return message_of(_ERASED_SUBJECT, found).encode()


def _is_of(change: bytes, paths: tuple[str, ...]) -> bool:
    parts = change.split(b" ", 3 if change.startswith(b"M ") else 1)
    name = parts[-1].decode("utf-8", "replace")
    with suppress(IndexError):
        if name[0] == name[-1] == '"':
            name = name[1:-1]
    return name in paths


NOTES = (
    "copies of the repository that were pulled or pushed elsewhere still have it",
    "drafts in other folders of the project still have it, and so may buffers of sessions",
)


def forget_page(  # noqa: PLR0913 - what the surface decides
    pages: Pages,
    name: str,
    *,
    is_erased: bool = False,
    is_forced: bool = False,
    why: str = "",
    agent: str = "",
) -> Forgotten:
    """Remove a page and its draft by a commit; with erasing, also from the history. A draft with
    unpushed edits is removed only if erased or forced.

    Raises:
        BadInputError: the page does not exist, or its draft has unpushed edits.
    """
    pages.require_ready()
    path = find_page(pages, name)
    if is_erased:
        return _erase(pages, path, agent)
    if not is_forced:
        check_replaceable(pages, path)
    sha = ""
    with pages.repository.lock():
        head = pages.repository.head()
        entries = pages.repository.list_entries(head) if head else {}
        if path in entries:
            fronts = pages.fronts.read_tree(entries)
            fronts.pop(path, None)
            named = slug_of(path) or ("", path)
            gate = Gate(pages.find_secrets)
            sha = pages.repository.commit(
                {path: None, **make_index_pages(fronts)},
                parent=head,
                author=gate.clean(pages.author),
                message=f"Forget {named[0]}/{named[1]}\n\n{gate.clean(why)}".strip(),
                trailers={"Agent": gate.clean(agent)},
            )
    return Forgotten(path, sha, pages.drafts.remove(path))


def finish_erasing(pages: Pages) -> None:
    """Finish an erasing that was killed. The caller locks the repository."""
    if path := read_marker(pages.repository):
        rewrite_without(pages.repository, path)
        pages.fronts.drop()


def _erase(pages: Pages, path: str, agent: str) -> Forgotten:
    named = slug_of(path) or ("", path)
    gate = Gate(pages.find_secrets)
    had_draft = pages.drafts.remove(path)
    pages.drafts.remove_leftovers()
    with pages.repository.lock():
        count = rewrite_without(pages.repository, path)
        pages.fronts.drop()
        head = pages.repository.head()
        fronts = pages.fronts.read_tree(pages.repository.list_entries(head)) if head else {}
        made = make_index_pages(fronts)
        sha = pages.repository.commit(
            made,
            parent=head,
            author=gate.clean(pages.author),
            message=f"Erase {named[0]}/{named[1]}",
            trailers={"Agent": gate.clean(agent)},
        )
    for made_path, text in made.items():
        with suppress(BadInputError, StoreUnavailableError):
            pages.drafts.write(made_path, text)
    return Forgotten(path, sha, had_draft, is_erased=True, commits=count, notes=NOTES)
