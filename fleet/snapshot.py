"""A project as a tree of digests: its files read once, searched for tokens, packed as blobs."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import trio

from base.secrets import find_form, find_secrets, is_secret_path, kind_of
from executor import MIB, CheckedRequest, Request, RequestError
from executor.project.view import (
    SETTLED_NS,
    EntryState,
    ProjectSearch,
    Tree,
    open_tree,
    read_up_to,
    state_of,
)
from executor.run import grant_environment
from fleet.cluster import ClusterSettings
from fleet.model import GRACE_S, OWNER_CHARACTERS_MAX, Order, why_here
from fleet.tree import Digest, Entry, TreeError, digest_of, encode_tree
from fleet.upload_filter import CLOSED, SECRET, Guard, Look, StaysHereError, Terms, look_at
from policy import Rules

SEARCHED_BYTES_MAX: Final = MIB
"""Limit of files searched for tokens: searching takes 40 times as long as a digest."""
READS_MAX = 3
# Errors of opening or reading an entry that is gone, or has been replaced.
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EISDIR})


KnownFile = tuple[Digest, str]
"""The result of reading a file: its digest, and the kind of a token in it, or ""."""


def read_files(
    project: Tree,
    guard: Guard,
    look: Look,
    known: dict[EntryState, KnownFile],
    began_ns: int,
) -> Iterator[Entry]:
    """Yield the files to send, in the order of their paths; files with a token are left out.

    Files that are not known are read and searched. Afterwards `known` has the results for these
    files alone, except those that changed after `began_ns`.

    Raises:
        RequestError: a file changes while it is read.
    """
    settled: dict[EntryState, KnownFile] = {}
    for path, seen in sorted(look.files.items()):
        state, file = seen, known.get(seen)
        if file is None:
            if (found := _read_file(project, guard, look, path)) is None:
                continue
            state, file = found
        if began_ns - state.ctime_ns > SETTLED_NS:
            settled[state] = file
        digest, token = file
        if token:
            look.left_out[path] = token
        else:
            yield Entry(path, digest, bool(state.mode & stat.S_IXUSR))
    known.clear()
    known.update(settled)


def _read_file(
    project: Tree, guard: Guard, look: Look, path: str
) -> tuple[EntryState, KnownFile] | None:
    """Read a file and check that its state stays the same; None if there is no file to send.

    Raises:
        RequestError: the file changes while it is read.
    """
    for _ in range(READS_MAX):
        try:
            descriptor = project.open(path)
        except PermissionError:
            look.left_out[path] = CLOSED
            return None
        except OSError as error:
            if error.errno not in _GONE:
                raise
            return None
        with open(descriptor, "rb", buffering=0):
            info = os.fstat(descriptor)
            if guard.keeps(path, info) or not stat.S_ISREG(info.st_mode):
                look.left_out[path] = SECRET
                return None
            before = state_of(info)
            known = _examine(descriptor, before.size)
            if known[0].size_bytes == before.size and state_of(os.fstat(descriptor)) == before:
                return before, known
    raise RequestError(
        f"{path} changed each of the {READS_MAX} times that it was read",
        "Wait until nothing writes to it, or add its folder to cluster.leave_out.",
    )


def _examine(descriptor: int, expected: int) -> KnownFile:
    """Read an open file, at most a byte more than expected."""
    seen, size, token = hashlib.sha256(), 0, ""
    for piece in read_pieces(descriptor, expected):
        seen.update(piece)
        size += len(piece)
        if expected <= SEARCHED_BYTES_MAX:
            token = find_form(piece)
    return Digest(seen.hexdigest(), size), token


def read_pieces(descriptor: int, expected: int) -> Iterator[bytes]:
    """Read an open file that should have `expected` bytes, and a byte more if there is one.

    A file that is searched for tokens is a single piece.

    Raises:
        OSError: as the kernel reports it.
    """
    left = expected + 1
    while left:
        wanted = min(left, SEARCHED_BYTES_MAX + 1)
        piece = read_up_to(descriptor, wanted)
        yield piece
        left -= len(piece)
        if len(piece) < wanted:
            return


class ChangedError(Exception):
    """A file that differs from the snapshot: a new snapshot is needed."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A project as it was when it was read.

    Attributes:
        encoded: the list of its entries, in `root`'s blob.
        files: for each content the path of one file with it; contents are read again when they are
            sent, and only sent if they are still the same.
    """

    project: str
    encoded: bytes
    files: Mapping[Digest, str]
    left_out: Mapping[str, str]  # paths that are not sent, each with the reason in a word
    root: Digest = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", digest_of(self.encoded))

    @property
    def digests(self) -> tuple[Digest, ...]:
        """Return all its blobs: its list, then files."""
        return (self.root, *self.files)

    def read(self, digest: Digest) -> Iterator[bytes]:
        """Return the content of a blob in pieces.

        The last one is yielded after all is compared. A file searched for tokens is a single piece.

        Raises:
            KeyError: the blob is not in this snapshot.
            ChangedError: the file has changed.
        """
        if digest == self.root:
            yield self.encoded
            return
        path = self.files[digest]
        seen, size, last = hashlib.sha256(), 0, b""
        try:
            with open(self._open(path), "rb", buffering=0) as file:
                for piece in read_pieces(file.fileno(), digest.size_bytes):
                    if last:
                        yield last
                    seen.update(piece)
                    size += len(piece)
                    last = piece
        except OSError as error:
            raise ChangedError(f"{path}: {error.strerror}") from error
        if (seen.hexdigest(), size) != (digest.hash, digest.size_bytes):
            raise ChangedError(f"{path} changed after the snapshot")
        yield last

    def _open(self, path: str) -> int:
        with open_tree(Path(self.project)) as project:
            return project.open(path)


def take(search: ProjectSearch, terms: Terms, known: dict[EntryState, KnownFile]) -> Snapshot:
    """Read the files of a project that are not `known`, and update `known`.

    Raises:
        RequestError: the project is over a limit, or a file changes while it is read.
        StaysHereError: a name is not UTF-8, which a tree of digests cannot hold.
        OSError: the project cannot be listed.
    """
    began = time.time_ns()
    guard = Guard(search)
    with open_tree(search.project) as project:
        look = look_at(project.top, guard, terms)
        entries = [*look.others, *read_files(project, guard, look, known, began)]
    try:
        encoded = encode_tree(entries)
    except TreeError as error:
        raise StaysHereError(str(error)) from error
    contents = {e.digest: e.path for e in entries if e.digest is not None}
    return Snapshot(str(search.project), encoded, contents, look.left_out)


class SharedLooks:
    """Looks one after the other, each shared by all callers that asked before it started.

    So a thousand runs at once cost two looks, and nobody waits for another's thousand.
    """

    def __init__(self, look: Callable[[], Awaitable[Snapshot]]) -> None:
        self._look = look
        self._turn = trio.Lock()
        self._begun = 0
        self._found_by = 0  # the number of the look that found it
        self._found: Snapshot

    async def look(self) -> Snapshot:
        """Return the result of a look that starts from now on.

        Raises:
            Exception: the error of the look; the next caller that waits looks itself.
        """
        begun = self._begun
        async with self._turn:
            if self._found_by <= begun:
                self._begun += 1
                # Others wait for it: a caller that leaves does not cancel it.
                with trio.CancelScope(shield=True):
                    self._found = await self._look()
                self._found_by = self._begun
            return self._found


SHELL_NAMES: Final = frozenset({"PWD", "OLDPWD"})
"""Variables that look like passwords and name a shell's folder."""
NAME_CHARACTERS_SHOWN = 80


def find_reason_to_stay(judged: CheckedRequest, settings: ClusterSettings) -> str:
    """Return why a judged request must not be sent, whatever the project is; "" if it may be."""
    request, profile = judged.request, judged.profile
    if reason := why_here(request, profile):
        return reason
    if judged.packages is not None:
        return "its packages are stored on this machine"
    if not settings.sends_secrets and (secret := find_secret(_with_environment(judged))):
        return f'{secret}, which may not be sent (cluster.secrets = "send" allows it)'
    return ""


def check_travels(judged: CheckedRequest, snapshot: Snapshot) -> None:
    """Check that the request's own files are in the snapshot.

    Raises:
        StaysHereError: a file is not.
    """
    checked = judged
    for path in filter(None, (checked.cwd, checked.script, checked.bind_file)):
        inside = os.path.relpath(path, snapshot.project)
        for left, reason in snapshot.left_out.items():
            if f"{inside}/".startswith(f"{left}/"):
                raise StaysHereError(f"{inside} is not sent: {reason}")


def make_order(
    judged: CheckedRequest, root: Digest, project: Path, run_id: str, wait_s: float
) -> Order:
    """Make a worker's order: the request with paths relative to the project.

    Raises:
        FormError: another machine cannot run it.
    """
    checked = judged
    profile, limits = checked.profile, checked.limits
    cwd = os.path.relpath(checked.cwd, project)
    request = replace(
        _with_environment(judged),
        cwd=None if cwd == "." else cwd,
        path=checked.script and os.path.relpath(checked.script, checked.cwd),
        bind_file=checked.bind_file and os.path.relpath(checked.bind_file, checked.cwd),
        background=False,
        limits=limits,
        timeout_s=None,
    )
    return Order(
        run_id=run_id,
        owner=name_owner(judged, project),
        request=request,
        root=root,
        rules=judged.rules or Rules(),
        profile=replace(profile, env=()),
        limits=limits,
        project=str(project),
        not_after=time.time() + wait_s + limits.wall_s + GRACE_S,
        verdict=judged.verdict,
    )


def name_owner(judged: CheckedRequest, project: Path) -> str:
    """Return the owner of a run: the name of the server's caller, else the project's."""
    name = judged.caller.holder or project.name or "project"
    printable = "".join(one if one.isprintable() else "?" for one in name)
    return printable[:OWNER_CHARACTERS_MAX]


def _with_environment(judged: CheckedRequest) -> Request:
    """Add the variables that the profile passes through: a worker has others."""
    request = judged.request
    passed = {
        name: value
        for name, value in grant_environment(judged.profile).items()
        if name in judged.profile.env
    }
    return replace(request, env={**passed, **request.env})


def find_secret(request: Request) -> str:
    """Return which value of a request is a secret, and why; "" if none is.

    Secret are non-empty values with a secret's name, and values that hold a token, a private key,
    or another secret by its form. The answer never holds the value. The time is proportional to the
    values: 12 MiB, the limit of an order, took 0.7 to 4.4 s, so call it in a thread.
    """
    for name, value in request.env.items():
        if value and name not in SHELL_NAMES and kind_of(name.encode("utf-8", "surrogatepass")):
            return f"env {_shown(name)} has a secret's name"
    for name, content in request.files.items():
        if content and is_secret_path(name):
            return f"file {_shown(name)} has a secret's name"
    for where, given in _values(request):
        if found := find_secrets(given):
            return f"{where} holds a {found[0].kind}"
    return ""


def _values(request: Request) -> Iterator[tuple[str, str | bytes]]:
    """Yield all values that a caller may write freely, with their names."""
    for name, value in request.env.items():
        yield "the name of a variable", name
        yield f"env {_shown(name)}", value
    for name, content in request.files.items():
        yield "the name of a file", name
        yield f"file {_shown(name)}", content
    yield "stdin", request.stdin or b""
    yield "the code", request.code or ""
    yield "an argument", "\n".join(request.args)
    yield "the name of a package", "\n".join(request.packages)
    yield "the name of an artifact", "\n".join(request.artifacts)
    yield "the intent", request.intent or ""


def _shown(name: str) -> str:
    if name.isprintable() and len(name) <= NAME_CHARACTERS_SHOWN:
        return name
    return repr(name[:NAME_CHARACTERS_SHOWN])
