"""An executor whose programs run in containers. Tests that use the engine run one after another."""

from __future__ import annotations

import contextlib
import gc
import os
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import docker
import pytest
from docker.errors import DockerException

import images
from executor import LocalEngine, Settings, open_engine

SOCKET = Path("/var/run/docker.sock")


def why_not(*languages: str) -> str:
    """Why containers of these languages can't be had here; empty if they can."""
    if "DOCKER_HOST" not in os.environ and SOCKET.exists() and not os.access(SOCKET, os.W_OK):
        return "not applicable: this user may not use the engine"
    with warnings.catch_warnings():
        # The SDK leaves a connection that has failed to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        reason = _asked(*languages)
        gc.collect()
    return reason


def _asked(*languages: str) -> str:
    try:
        wanted = {images.reference(images.group_for(language)) for language in languages}
        with contextlib.closing(docker.from_env(timeout=30).api) as api:
            missing = [name for name in wanted if not api.images(name=name)]
    except PermissionError:
        return "not applicable: this user may not use the engine"
    except (DockerException, OSError) as error:
        denied = "Permission denied" in str(error)
        return "not applicable: this user may not use the engine" if denied else f"{error}"
    return f"not built: {', '.join(missing)}" if missing else ""


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.APIClient]:
    """The engine, with the image of python and shell."""
    if reason := why_not("python", "shell"):
        pytest.skip(reason)
    with contextlib.closing(docker.from_env(timeout=60).api) as api:
        yield api


@pytest.fixture
async def executor(
    engine: docker.APIClient, project: Path, state_dir: Path
) -> AsyncIterator[LocalEngine]:
    settings = Settings(isolation="container")
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=Path.home(), settings=settings
    ) as opened:
        yield opened
