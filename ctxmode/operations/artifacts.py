"""Files that a run handed back, put where a person asked for them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from base.plain_files import open_plain
from ctxmode.errors import ContextModeError
from ctxmode.operations.output_folder import Destination, RefusedError, open_destination
from executor import Artifact
from executor.run import Answer, safe_name

GLOB_CHARACTERS = frozenset("*?[")


def deliver(answer: Answer, folder: Path, project: Path, asked_for: Sequence[str] = ()) -> Answer:
    """Move the artifacts into `folder`; no file is replaced, no link followed, and the result names
    what is refused.

    A pattern of `asked_for` without wildcards names a file: that one may be one which tools obey. A
    ContextModeError says that the folder cannot be written.
    """
    artifacts = answer.result.artifacts
    if not any(artifact.path for artifact in artifacts):
        return answer
    try:
        with open_destination(folder, project) as destination:
            moved = tuple(_move(one, destination, asked_for) for one in artifacts)
    except RefusedError as error:
        moved = tuple(_refuse(one, error) if one.path else one for one in artifacts)
    except OSError as error:
        raise ContextModeError(
            f"artifacts cannot be put into {folder}: {error.strerror}",
            "Name another folder with --artifacts-dir.",
        ) from error
    return replace(answer, result=replace(answer.result, artifacts=moved))


def _move(artifact: Artifact, destination: Destination, asked_for: Sequence[str]) -> Artifact:
    if artifact.path is None:
        return artifact
    kept, name = Path(artifact.path), safe_name(artifact.name)
    is_asked_for = any(_names(pattern, artifact.name) for pattern in asked_for)
    try:
        with open_plain(kept, follow=False) as content:
            target = destination.add(content, name, is_asked_for=is_asked_for)
    except RefusedError as error:
        return _refuse(artifact, error)
    kept.unlink()
    return replace(artifact, path=str(target))


def _refuse(artifact: Artifact, error: RefusedError) -> Artifact:
    return Artifact(artifact.name, reason=str(error))


def _names(pattern: str, name: str) -> bool:
    """Tell whether a pattern is the path of this very file, and no wildcard."""
    if GLOB_CHARACTERS & set(pattern):
        return False
    path = os.path.normpath(pattern)
    return path == name or (path.startswith("/") and path.endswith(f"/{name}"))
