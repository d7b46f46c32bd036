"""A real engine, a base that it has, and groups that no other test and no person knows."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from images import groups
from images.groups import LABEL, Group, repository, toolchains_reference

ABSENT = "not applicable: no container engine answers here; .ci/engine starts one"
NO_IMAGES = "not applicable: no image is current here; context-mode doctor images build"


@pytest.fixture(scope="session")
def api():
    """The client of an engine that answers."""
    docker = pytest.importorskip("docker")
    with warnings.catch_warnings():
        # The SDK leaves a connection that has failed to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        client = None
        with contextlib.suppress(docker.errors.DockerException):
            client = docker.APIClient(version="auto", timeout=600)
        gc.collect()
    if client is None:
        pytest.skip(ABSENT)
    yield client
    client.close()


@pytest.fixture(scope="session")
def base(api) -> str:
    """A Debian-like image that is here: what one of ours is built on."""
    name = toolchains_reference(groups.group("scripting"))
    if not api.images(name=name):
        pytest.skip(NO_IMAGES)
    return name


@pytest.fixture
def new_group(api, tmp_path, monkeypatch) -> Iterator:
    """Makes a group of its own from a Dockerfile's text; its images go with the test."""
    made: list[Group] = []
    monkeypatch.setattr(groups, "_DOCKERFILES", tmp_path)

    def new(dockerfile: str, languages: tuple[str, ...] = ("shell",)) -> Group:
        group = Group(f"test-{uuid.uuid4().hex[:12]}", "Test", languages)
        file = tmp_path / f"{group.name}.Dockerfile"
        file.write_text(dockerfile.replace("NAME", group.name))
        made.append(group)
        return group

    yield new
    for group in made:
        for image in api.images(filters={"label": f"{LABEL}={group.name}"}):
            api.remove_image(image["Id"], force=True)


@pytest.fixture
def plant(api, tmp_path) -> Iterator:
    """Puts an empty image where an earlier build would have left one, under a tag."""
    planted: list[str] = []

    def put(group: Group, tag: str) -> str:
        archive = tmp_path / f"{tag}.tar"
        (tmp_path / "tag").write_text(tag)
        subprocess.run(["tar", "-cf", archive, "-C", tmp_path, "tag"], check=True)
        name = repository(group)
        with Path(archive).open("rb") as content:
            changes = [f"LABEL {LABEL}={group.name}"]
            api.import_image(src=content, repository=name, tag=tag, changes=changes)
        planted.append(f"{name}:{tag}")
        return planted[-1]

    yield put
    for name in planted:
        if api.images(name=name):
            api.remove_image(name, force=True)
