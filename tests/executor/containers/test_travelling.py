"""Projects that can't be mounted travel: there as an archive, back as what was changed."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from executor import LocalEngine, Request, Result, Settings, Status, open_engine
from policy import HiddenPaths
from tests.executor.project.git_work import shell

pytestmark = pytest.mark.xdist_group("containers")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """No overlay's options can name this path: the project travels, as to a remote engine."""
    folder = tmp_path / "a,b"
    folder.mkdir()
    (folder / "data.txt").write_text("old\n")
    (folder / ".env").write_text("TOKEN=hidden\n")
    (folder / "sub").mkdir()
    return folder


@pytest.fixture
async def executor(engine: object, project: Path, state_dir: Path) -> AsyncIterator[LocalEngine]:
    settings = Settings(isolation="container")
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=Path.home(), settings=settings
    ) as opened:
        yield opened


async def outcome(executor: LocalEngine, code: str, **more: object) -> Result:
    return (await executor.run(Request("shell", code, **more))).result


async def test_analyze_works_on_a_copy_that_lacks_the_secrets(executor: LocalEngine, project: Path):
    layer = executor.isolation.layers["copy_on_write"]
    assert "travels" in layer.detail
    code = "cat data.txt; cat .env; echo new > made; echo more >> data.txt; rm -r sub"
    result = await outcome(executor, code)
    assert result.stdout.text == "old\n"
    changes = {(change.path, change.change) for change in result.changed_files}
    assert changes >= {("made", "created"), ("data.txt", "modified"), ("sub", "deleted")}
    assert sorted(os.listdir(project)) == [".env", "data.txt", "sub"]
    assert (project / "data.txt").read_text() == "old\n"


async def test_build_commits_what_was_changed_and_nothing_that_tools_obey(
    executor: LocalEngine, project: Path
):
    code = "echo new > made; rm data.txt; echo x > .envrc; ln -s made link; mkdir d; echo y > d/e"
    result = await outcome(executor, code, profile="build")
    assert result.status is Status.OK, result.message
    assert sorted(os.listdir(project)) == [".env", "d", "link", "made", "sub"]
    assert (project / "made").read_text() == "new\n"
    assert (project / "d" / "e").read_text() == "y\n"
    assert (project / "made").stat().st_uid == project.stat().st_uid
    assert [(left.path, left.kind) for left in result.not_committed] == [(".envrc", "never")]
    assert (project / ".env").read_text() == "TOKEN=hidden\n"


async def test_a_repository_takes_a_commit(executor: LocalEngine, project: Path):
    settings = "git config user.name x; git config user.email x@example.org"
    shell(project, f"git init -q -b main; {settings}; git add data.txt; git commit -qm one")
    code = "git add data.txt; git commit -qm two; git branch other"
    result = await outcome(executor, f"echo new > data.txt; {code}", profile="build")
    assert (result.status, result.not_committed) == (Status.OK, ()), result.stderr.text
    log = "git log --format=%s; git status --porcelain -uno; git fsck --strict; git branch"
    assert shell(project, log) == "two\none\n* main\n  other\n"


@pytest.mark.parametrize("profile", ["analyze", "build"])
async def test_what_rules_deny_to_read_does_not_travel(
    executor: LocalEngine, project: Path, profile: str
):
    (project / "private").mkdir()
    (project / "private" / "a.txt").write_text("inside\n")
    denied = (str(project / "private"), str(project / "data.txt"))
    executor._runner.placement.search.deny(HiddenPaths(denied))
    result = await outcome(executor, "cat data.txt private/*; ls", profile=profile)
    assert result.stdout.text == "sub\n"
    assert (project / "private" / "a.txt").read_text() == "inside\n"


async def test_a_session_that_would_write_to_the_project_is_refused(executor: LocalEngine):
    result = await outcome(executor, "echo x", profile="build", session="s")
    assert result.status is Status.SANDBOX_UNAVAILABLE
    assert "projects travel to the one in use" in result.message


@pytest.mark.skipif(os.geteuid() != 0, reason="not applicable: only root mounts for containers")
@pytest.mark.parametrize("may_mount", [True, False])
async def test_a_project_travels_where_root_may_not_mount(
    engine: object, tmp_path: Path, state_dir: Path, monkeypatch, may_mount
):
    if not may_mount:
        monkeypatch.setattr("base.process.holds", lambda *_: False)
    plain = tmp_path / "plain"
    plain.mkdir()
    settings = Settings(isolation="container")
    async with open_engine(
        project=plain, state_dir=state_dir, rules=None, home=Path.home(), settings=settings
    ) as opened:
        assert ("travels" in opened.isolation.layers["copy_on_write"].detail) is not may_mount
        result = await outcome(opened, "echo new > made", profile="build")
    assert (result.status, os.listdir(plain)) == (Status.OK, ["made"]), result.message
