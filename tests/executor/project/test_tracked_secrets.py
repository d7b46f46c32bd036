"""Secrets that git knows are hidden from a run, and git's work is as if they were not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from executor import Request, Result, Status
from tests.executor.project.git_work import S_MAX, STATE, as_settings, shell, work_tree

pytestmark = pytest.mark.view  # an index says the same to everyone

BEGIN = """
git config user.name somebody; git config user.email somebody@example.org
mkdir -p tests/certs; echo KEY > tests/certs/server.key; echo PASSWORD=1 > .env; echo a > a
git add -f .; git commit -qm first
git checkout -qb other; echo PASSWORD=2 > .env; git commit -qam other
git checkout -qb none main; git rm -q --cached .env; git commit -qm none
git checkout -qf main; echo b > b; git add b; git commit -qm second
"""
SECRETS = (".env", "tests/certs/server.key")


@pytest.fixture(
    params=[
        pytest.param("-b main", id="SHA-1"),
        pytest.param("-b main --object-format=sha256", id="SHA-256", marks=pytest.mark.once),
    ]
)
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path / "project"
    shell(tmp_path, f"git init -q {request.param} {folder}")
    shell(folder, BEGIN)
    return folder


@pytest.fixture
def build(run):
    async def build_one(code: str) -> Result:
        code = f"{as_settings()}set -e\n{code}"
        return await run("shell", code, profile="build", timeout_s=S_MAX)

    return build_one


WORK = {
    "nothing": 'test -z "$(git status --porcelain)"',
    "all changes": "echo c > c; echo b >> a; git add -A; git commit -qm new",
    "all changes of known files": "echo b >> a; git commit -qam new",
    "a moved file": "git mv a c; git commit -qm moved",
    "a stash": "echo more >> a; git stash -q; git stash pop -q",
    "a reset": "echo more >> a; git reset -q --hard main~1",
    "a rebase": "git checkout -q other; git rebase -q main",
    "a rebase of files beside": "echo c > c; git add c; git commit -qm c; git rebase -q other",
    "a merge": "git merge -q -m merged other",
    "a switch": "git checkout -q other",
    "a switch and back": "git checkout -q other; git checkout -q main",
    "a cherry-pick": "git cherry-pick other >/dev/null",
    "a refreshed index": "git update-index -q --refresh; git gc -q --prune=now",
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
async def test_git_works_as_if_it_saw_them(work, build, project: Path, twin: Path):
    fixed = "export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'\n"
    result = await build(fixed + work)
    assert result.status is Status.OK, result.stderr.text
    shell(twin, fixed + work)
    assert result.not_committed == ()
    assert work_tree(project) == work_tree(twin)
    assert shell(project, STATE) == shell(twin, STATE)
    shell(project, "git fsck --full --strict")


async def test_they_are_not_read(build, project: Path):
    (project / ".env").write_text("PASSWORD=3, which git does not know\n")
    result = await build("cat .env tests/certs/server.key || true; chmod a+r .env; cat .env")
    assert "PASSWORD" not in result.stdout.text
    assert "KEY" not in result.stdout.text
    assert result.stderr.text.count("denied") == len(SECRETS)
    assert [left.kind for left in result.not_committed] == ["refused"]  # and no mode of it
    result = await build("cp a x; cat x")  # what is no secret can be read
    assert result.stdout.text == "a\n"


@pytest.mark.parametrize("version", [2, 4])
async def test_one_that_the_host_has_changed_stays_so(version, build, project: Path):
    (project / ".env").write_text("PASSWORD=3\n")
    shell(project, f"git update-index --index-version {version}")
    result = await build("echo b >> a; git commit -qam new; git stash list; git status --porcelain")
    assert (result.status, result.stdout.text) == (Status.OK, "")
    assert shell(project, "git status --porcelain; git show --format= --name-only") == (
        " M .env\na\n"
    )
    assert (project / ".env").read_text() == "PASSWORD=3\n"
    # A switch would replace what is nowhere else: the run's version waits, the host's stays.
    result = await build("git checkout -q other; cat .env")
    assert result.stdout.text == "PASSWORD=2\n"
    assert [(left.path, left.kind) for left in result.not_committed] == [(".env", "refused")]
    assert (project / ".env").read_text() == "PASSWORD=3\n"


async def test_one_that_another_branch_lacks_stays(build, project: Path):
    result = await build("git checkout -q none")
    assert [(left.path, left.kind) for left in result.not_committed] == [(".env", "kept")]
    assert (project / ".env").read_text() == "PASSWORD=1\n"
    assert shell(project, "git status --porcelain; git symbolic-ref --short HEAD") == (
        "?? .env\nnone\n"
    )


async def test_what_stands_in_for_one_reaches_no_other_name(build, project: Path):
    result = await build("git mv tests moved; cp -a moved copied || true; mv .env plain")
    assert {left.kind for left in result.not_committed} == {"refused", "kept"}
    assert not (project / "plain").exists()
    assert not [path for top in ("moved", "copied") for path in (project / top).rglob("server.key")]
    assert (project / "tests" / "certs" / "server.key").read_text() == "KEY\n"
    assert (project / ".env").read_text() == "PASSWORD=1\n"


async def test_those_of_a_submodule_are_known_by_its_own_index(build, project: Path, tmp_path):
    shell(tmp_path, f"git clone -q {project} other")
    allowed = "git -c protocol.file.allow=always"
    shell(project, f"{allowed} submodule add -q ../other sub; git commit -qm sub")
    result = await build("cd sub; git status --porcelain; git add -A; cat .env || true")
    assert (result.status, result.stdout.text) == (Status.OK, "")
    assert shell(project, "git -C sub status --porcelain; git status --porcelain") == ""


async def test_a_session_goes_on_with_them(executor, project: Path):
    async def call(code: str) -> str:
        request = Request(
            "shell", f"{as_settings()}{code}", profile="build", session="s", timeout_s=S_MAX
        )
        result = (await executor.run(request)).result
        assert result.status is Status.OK, result.stderr.text
        return result.stdout.text

    assert await call("echo x >> a; git commit -qam x; git status --porcelain") == ""
    shell(project, "git status --porcelain; echo h > h; git add h; git commit -qm h")
    os.utime(project)
    assert await call("git status --porcelain; git add -A; git commit -qm y --allow-empty") == ""
    assert await call("git status --porcelain; git checkout -q other; cat .env") == "PASSWORD=2\n"
    assert shell(project, "git status --porcelain; git symbolic-ref --short HEAD") == "other\n"
