"""What steps gave before, kept under the digest of all that they were made of."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from base.plain_files import open_plain
from ctxmode.operations.output_folder import RefusedError, open_destination, remove_folder
from ctxmode.pipelines.model import CaseStatus, Outcome, PipelineCase

ENTRIES_MAX = 500
INPUTS_MAX = 10_000


class CaseCache:
    """Passed cases of one user, with their artifacts, below `folder`."""

    def __init__(self, folder: Path, project: Path) -> None:
        self._folder = folder
        self._project = project

    def key(self, case: PipelineCase, toolchain: object, needed: Sequence[Outcome]) -> str:
        """Compute the digest of the step, its script and inputs, its toolchain, and what it needs;
        OSError if an input cannot be read."""
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
            "toolchain": repr(toolchain),
            "needed": [
                [one.name, one.output, [_digest(Path(path)) for path in one.artifacts]]
                for one in needed
            ],
            "inputs": [
                [str(path.relative_to(self._project)), _digest(path)] for path in self._inputs(case)
            ],
        }
        if step.script is not None:
            parts["script"] = [step.script, _digest(self._project / step.script)]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _digest_of(self, packages: str) -> str | None:
        """Compute the digest of a file that lists packages; None if it is no file but a name."""
        path = self._project / packages
        return _digest(path) if path.is_file() else None

    def load(self, key: str, artifacts: Path) -> Outcome | None:
        """Load the outcome under a key, with its artifacts copied to their place."""
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
        """Keep a case that has passed; a full disk keeps nothing."""
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
        """Find the files of the step's globs, each once, in order."""
        found: set[Path] = set()
        for pattern in case.step.inputs:
            found.update(p for p in self._project.glob(case.fill(pattern)) if p.is_file())
            if len(found) > INPUTS_MAX:
                raise OSError(f"more than {INPUTS_MAX:,} inputs")
        yield from sorted(found)


def _copy(paths: Sequence[str], folder: Path, to: Path) -> None:
    """Copy files of one folder: a program may have put a link there, to what it can't read."""
    to.mkdir()
    for path in map(Path, paths):
        with (
            open_plain(path, folder, follow=False) as content,
            (to / path.name).open("xb") as copy,
        ):
            shutil.copyfileobj(content, copy)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
