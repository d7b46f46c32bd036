"""Files that a run handed back, put where a person asked for them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path

from ctxmode.errors import ContextModeError
from executor.artifacts import safe_name
from executor.keep import Answer
from executor.model import Artifact


def deliver(answer: Answer, folder: Path) -> Answer:
    """Move the artifacts into `folder`; an existing file is never replaced.

    Raises:
        ContextModeError: the folder can't be written.
    """
    try:
        moved = tuple(_moved(artifact, folder) for artifact in answer.result.artifacts)
    except OSError as error:
        raise ContextModeError(
            f"artifacts cannot be put into {folder}: {error.strerror}",
            "Name another folder with --artifacts-dir.",
        ) from error
    return replace(answer, result=replace(answer.result, artifacts=moved))


def _moved(artifact: Artifact, folder: Path) -> Artifact:
    if artifact.path is None:
        return artifact
    folder.mkdir(parents=True, exist_ok=True)
    target = _unused(folder / safe_name(artifact.name))
    shutil.move(artifact.path, target)
    return replace(artifact, path=str(target))


def _unused(path: Path) -> Path:
    if not path.exists():
        return path
    names = (path.with_stem(f"{path.stem}-{number}") for number in count(1))
    return next(name for name in names if not name.exists())
