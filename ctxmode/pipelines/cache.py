"""Results of earlier steps, stored under the digest of all their inputs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from base.plain_files import open_plain
from ctxmode.operations.output_folder import RefusedError, open_destination, remove_folder
from ctxmode.pipelines.model import CaseStatus, Outcome, PipelineCase
from executor.project.view import (
    FOLDER_FLAGS,
    PLAIN,
    SETTLED_NS,
    EntryState,
    ProjectSearch,
    Tree,
    digest_file,
    mounts_in,
    state_of,
    walk,
)
from policy import HiddenPaths

ENTRIES_MAX = 500
INPUTS_MAX = 10_000
VIEW_ENTRIES_MAX = 200_000
VIEW_BYTES_MAX = 4 << 30


class CaseCache:
    """Passed cases of one user, with their artifacts, below `folder`."""

    def __init__(self, folder: Path, project: Path, hidden: Sequence[Path] = ()) -> None:
        """Exclude the `hidden` folders from the project view."""
        self._folder = folder
        self._project = project
        self._search = ProjectSearch(project)
        self._search.hide(hidden)
        self._digests: dict[str, tuple[EntryState, str]] = {}
        self._lock = threading.Lock()

    def key(
        self,
        case: PipelineCase,
        terms: Sequence[object],
        needed: Sequence[Outcome],
        denied: HiddenPaths = HiddenPaths(),  # noqa: B008 - it is frozen
    ) -> str:
        """Compute the digest of a step and of everything that it may read.

        `terms` describe the conditions of the run; `denied` is hidden from it. A step
        without `inputs` may read the whole view of the project.

        Raises:
            OSError: an input cannot be read, or the project is too large.
            RequestError: the project cannot be searched.
        """
        step = case.step
        parts: dict[str, Any] = {
            "language": step.language,
            "code": step.code,
            "values": dict(case.values),
            "args": step.args,
            "env": sorted(step.env.items()),
            "artifacts": step.artifacts,
            "expect_exit": step.expect_exit,
            "packages": [[name, self._digest_of(name)] for name in step.packages],
            "profile": step.profile,
            "timeout_s": step.timeout_s,
            "limits": repr(step.limits),
            "terms": [repr(term) for term in terms],
            "needed": [
                [one.name, one.output, [_digest(Path(path)) for path in one.artifacts]]
                for one in needed
            ],
            "inputs": [
                [str(path.relative_to(self._project)), _digest(path)] for path in self._inputs(case)
            ],
        }
        if not step.inputs:
            with self._lock:
                parts["view"] = self._digest_view(denied)
        if step.script is not None:
            parts["script"] = [step.script, _digest(self._project / step.script)]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _digest_view(self, denied: HiddenPaths) -> str:
        """Compute the digest of the project view: paths, kinds, modes and contents."""
        self._search.deny(denied)
        hidden = {*self._search.look().secrets, *mounts_in(str(self._project))}
        # A name may be bytes that are not text.
        seen = hashlib.sha256()
        count = size = 0
        top = os.open(self._project, FOLDER_FLAGS)
        try:
            with Tree(top) as tree:
                for path, info in _list_view(top, hidden):
                    count, size = count + 1, size + info.st_size
                    if count > VIEW_ENTRIES_MAX or size > VIEW_BYTES_MAX:
                        raise OSError("the project is too large")
                    content = self._digest_entry(tree, path, info)
                    row = (path, stat.S_IFMT(info.st_mode), info.st_mode & 0o777, content)
                    seen.update(f"{row!r}\n".encode("utf-8", "surrogateescape"))
        finally:
            os.close(top)
        return seen.hexdigest()

    def _digest_entry(self, tree: Tree, path: str, info: os.stat_result) -> str:
        """Return the digest of an entry; unchanged files are read once."""
        if stat.S_ISLNK(info.st_mode):
            return tree.target(path)
        if not stat.S_ISREG(info.st_mode):
            return ""
        state = state_of(info)
        known = self._digests.get(path)
        if known is not None and known[0] == state:
            return known[1]
        began = time.time_ns()
        try:
            found = digest_file(tree, path)
        except PermissionError:  # a run cannot read it either
            return ""
        if began - info.st_ctime_ns > SETTLED_NS:  # a later change could have the same time
            self._digests[path] = state, found
        return found

    def _digest_of(self, packages: str) -> str | None:
        """Compute the digest of a package list; None if the text is a name, not a file."""
        path = self._project / packages
        return _digest(path) if path.is_file() else None

    def load(self, key: str, artifacts: Path) -> Outcome | None:
        """Load the outcome under a key and copy its artifacts to their place."""
        entry = self._folder / key
        try:
            outcome = Outcome.from_json(json.loads((entry / "outcome.json").read_bytes()))
            remove_folder(artifacts, self._project)
            files = [*self._put(entry / "artifacts", artifacts)] if outcome.artifacts else []
            os.utime(entry)
        except (OSError, RefusedError, ValueError, TypeError, KeyError):
            return None
        return replace(outcome, source="cache", artifacts=tuple(map(str, files)))

    def _put(self, kept: Path, artifacts: Path) -> Iterator[Path]:
        with open_destination(artifacts, self._project) as destination:
            for path in sorted(kept.iterdir()):
                with path.open("rb") as content:
                    yield destination.add(content, path.name)

    def store(self, key: str, outcome: Outcome, artifacts: Path) -> None:
        """Store a passed case; on a full disk nothing is stored."""
        if outcome.verdict is not CaseStatus.PASSED:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial = Path(tempfile.mkdtemp(dir=self._folder, prefix=".partial-"))
            try:
                (partial / "outcome.json").write_text(json.dumps(outcome.to_json()))
                _copy(outcome.artifacts, artifacts, partial / "artifacts")
                partial.rename(self._folder / key)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
            self._trim()
        except OSError:
            return

    def _trim(self) -> None:
        entries = sorted(self._folder.iterdir(), key=lambda path: -path.stat().st_mtime)
        for old in entries[ENTRIES_MAX:]:
            shutil.rmtree(old, ignore_errors=True)

    def _inputs(self, case: PipelineCase) -> Iterator[Path]:
        """Return the files of the step's globs, sorted, without duplicates."""
        found: set[Path] = set()
        for pattern in case.step.inputs:
            found.update(p for p in self._project.glob(case.fill(pattern)) if p.is_file())
            if len(found) > INPUTS_MAX:
                raise OSError(f"more than {INPUTS_MAX:,} inputs")
        yield from sorted(found)


def _copy(paths: Sequence[str], folder: Path, to: Path) -> None:
    """Copy files of one folder, but no links: programs may link to files they cannot read."""
    to.mkdir()
    for path in map(Path, paths):
        with (
            open_plain(path, folder, follow=False) as content,
            (to / path.name).open("xb") as copy,
        ):
            shutil.copyfileobj(content, copy)


def _list_view(top: int, hidden: set[str]) -> Iterator[tuple[str, os.stat_result]]:
    """List the entries of the project view in a stable order. Raise OSError if a folder cannot be
    read."""

    def refuse(path: str) -> None:
        raise OSError(f"cannot list {path}")

    for prefix, _, entries in walk(top, lambda path: path not in hidden, refuse):
        for entry in sorted(entries, key=lambda one: one.name):
            path = prefix + entry.name
            info = entry.stat(follow_symlinks=False)
            if path not in hidden and stat.S_IFMT(info.st_mode) in PLAIN:
                yield path, info


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
