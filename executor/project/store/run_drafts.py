"""Drafts of pages with texts from runs, recorded until they are pushed as a run's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from base.plain_files import read_plain
from executor.project.rules.names import fold
from executor.project.store.manifest import Change
from executor.project.view.tree import Tree, digest_file

DRAFTS_FOLDER = ".contexo"  # as in ctxmode/config/file_names.py
DRAFT_BYTES_MAX = 1 << 20  # a larger one is not pushed


class RunDrafts:
    """Digests by absolute paths, in one file that only grows, for all projects of a user.

    A path with an empty digest no longer counts as a run's.
    """

    def __init__(self, folder: Path) -> None:
        """Use the folder of stored changes."""
        self._path = folder / "run-drafts"

    def add(self, project: Path, changes: Iterable[Change], contents: Tree) -> None:
        """Record the drafts among changes, before they are applied.

        Raises:
            OSError: the file can't be written.
        """
        found = {}
        for change in changes:
            is_text = change.kind == "file" and change.change not in ("deleted", "mode", "times")
            if is_text and DRAFTS_FOLDER in map(fold, change.path.split("/")):
                found[str(project / change.path)] = "unknown"
                with suppress(OSError):
                    found[str(project / change.path)] = digest_file(contents, change.path)
        self.remember(found)

    def find(self, drafts: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
        """Yield the drafts that a run wrote, and whether they were edited since.

        Raises:
            OSError: the file can't be read.
        """
        known = self._read()
        for path in drafts if known else ():
            with suppress(OSError):
                data = read_plain(path, DRAFT_BYTES_MAX, follow=False)
                is_same = hashlib.sha256(data).hexdigest() in known.values()
                if is_same or str(path) in known:
                    yield path, not is_same

    def forget(self, drafts: Iterable[Path]) -> None:
        """Forget drafts that were pushed or removed.

        Raises:
            OSError: the file can't be written.
        """
        known = self._read()
        self.remember({str(path): "" for path in drafts if str(path) in known})

    def remember(self, digests: Mapping[str, str]) -> None:
        """Add digests by paths.

        Raises:
            OSError: the file can't be written.
        """
        if digests:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # A line end first: if a writer died, the last line may be incomplete.
            text = "".join(f"\n{json.dumps(line)}" for line in digests.items())
            with open(self._path, "a", encoding="ascii") as file:
                file.write(f"{text}\n")

    def _read(self) -> dict[str, str]:
        known: dict[str, str] = {}
        with suppress(FileNotFoundError):
            for line in self._path.read_text("ascii").splitlines():
                with suppress(ValueError):
                    known.update([json.loads(line)])
        return {path: found for path, found in known.items() if found}
