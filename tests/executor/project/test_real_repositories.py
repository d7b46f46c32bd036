"""What git does in `build` is on the host as if it had been done there, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor import Request, Result, Status
from executor.project.store.store import ChangeStore
from executor.settings import Settings
from tests.executor.project.git_work import S_MAX, STATE, as_settings, contents, shell, work_tree

BEGIN = """
git init -q -b main
git config user.name somebody
git config user.email somebody@example.org
mkdir -p src/deep; for n in 1 2 3 4 5 6 7 8; do echo $n > src/$n; echo $n > src/deep/$n; done
echo be kind > AGENTS.md; echo a > a; echo "repos: []" > .pre-commit-config.yaml
git add . ; git commit -qm first
git checkout -qb other; echo be rude > AGENTS.md; echo "repos: [a]" > .pre-commit-config.yaml
git mv src/deep lib; git commit -qam other
git checkout -qb clash main; echo z > a; git commit -qam clash
git checkout -q main; echo c > c; git add c; git commit -qm second
echo b > a; git commit -qam third
git checkout -qb easy main~2; echo d > d; git add d; git commit -qm easy
git checkout -q main
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    shell(folder, BEGIN)
    return folder


@pytest.fixture
def build(run):
    async def build_one(code: str, status: Status = Status.OK) -> Result:
        code = f"{as_settings()}set -e\n{code}"
        result = await run("shell", code, profile="build", timeout_s=S_MAX)
        assert result.status is status, result.message + result.stdout.text + result.stderr.text
        return result

    return build_one


WORK = {
    "a commit": "echo new > new; git add new; echo b >> a; git commit -qam new",
    "an amended commit": "echo new > a; git commit -qa --amend -m amended",
    "a moved folder": "git mv src lib; git commit -qm moved",
    "a moved folder that waits to be committed": "git mv src/deep deeper",
    "a branch": "git checkout -qb topic/one; echo new > new; git add new; git commit -qm new",
    "a tag": "git tag -a v1 -m one; git tag v2 main~1",
    "a switch to a branch": "git checkout -q other",
    "a switch and back": "git checkout -q other; git checkout -q main",
    "a detached head": "git checkout -q main~1",
    "a rebase": "git checkout -q easy; git rebase -q main",
    "an interactive rebase": "GIT_SEQUENCE_EDITOR='sed -i 1!s/pick/fixup/' git rebase -qi main~2",
    "a conflict that is resolved": "git checkout -q clash; git rebase -q main 2>/dev/null || true; "
    "echo resolved > a; git add a; git rebase --continue >/dev/null",
    "a cherry-pick": "git cherry-pick easy >/dev/null",
    "a revert": "git revert --no-edit HEAD >/dev/null",
    "a stash": "echo more >> a; echo untracked > u; git stash -qu",
    "a stash that is taken back": "echo more >> a; git stash -q; git stash pop -q",
    "a merge": "git merge -q -m merged easy",
    "a merge by moving on": "git checkout -q -b behind main~1; git merge -q --ff-only main",
    "a merge with other instructions": "git merge -q -m merged other",
    "a reset": "git reset -q --hard main~1",
    "a deleted branch": "git branch -qD clash",
    "a collection": "git gc -q --prune=now",
    "a collection after work": "git checkout -q other; echo new > new; git add new; "
    "git commit -qm new; git branch -D easy -q; git gc -q --aggressive --prune=now",
    "packed references": "git pack-refs --all --prune",
    "a clean-up": "rm -rf src; git checkout -q -- src; echo x > junk; git clean -qfd",
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
async def test_a_repository_is_afterwards_as_git_leaves_it(work, build, project: Path, twin: Path):
    fixed = "export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'\n"
    result = await build(fixed + work)
    shell(twin, fixed + work)
    assert result.not_committed == ()
    assert result.changes_id is None
    assert work_tree(project) == work_tree(twin)
    assert shell(project, STATE) == shell(twin, STATE)
    assert "missing" not in shell(project, "git fsck --full --strict 2>&1")
    assert not list(project.glob(".git/**/*.lock"))
    shell(project, "git checkout -q -f main; echo later > later; git add .; git commit -qm later")


async def test_instructions_are_afterwards_as_their_branch_has_them(build, project: Path):
    for branch, said, setting in (("other", "rude", "[a]"), ("main", "kind", "[]")):
        result = await build(f"git checkout -q {branch}")
        assert result.not_committed == ()
        assert (project / "AGENTS.md").read_text() == f"be {said}\n"
        assert (project / ".pre-commit-config.yaml").read_text() == f"repos: {setting}\n"
        assert shell(project, "git status --porcelain") == ""


async def test_instructions_of_a_new_commit_wait_for_a_person(
    build, project: Path, state_dir: Path
):
    result = await build("echo be bad > AGENTS.md; echo n > n; git add .; git commit -qam bad")
    assert [left.path for left in result.not_committed] == ["AGENTS.md"]
    assert (project / "AGENTS.md").read_text() == "be kind\n"
    assert shell(project, "git status --porcelain; git log -1 --format=%s") == " M AGENTS.md\nbad\n"

    result = await build("git checkout -q -- AGENTS.md")  # what a run brought in is not known
    assert [left.path for left in result.not_committed] == ["AGENTS.md"]
    assert (project / "AGENTS.md").read_text() == "be kind\n"
    assert result.changes_id

    ChangeStore(state_dir / "changes").apply(
        result.changes_id, ["AGENTS.md"], names=Settings().names
    )
    assert shell(project, "git status --porcelain; git fsck --full --strict") == ""


LEFT_OPEN = {
    "a rebase": ("git checkout -q clash; git rebase -q main || true", "git rebase --abort"),
    "a merge": ("git merge -q clash >/dev/null || true", "git merge --abort"),
    "a cherry-pick": ("git cherry-pick clash >/dev/null || true", "git cherry-pick --abort"),
    "a revert": ("git revert --no-edit clash >/dev/null || true", "git revert --abort"),
    "a stop at each commit": (
        "GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -qi main~2",
        "git rebase --abort",
    ),
    "mails that do not apply": (
        "git format-patch -q -1 clash --stdout > $TMPDIR/m; git am -q $TMPDIR/m >/dev/null || true",
        "git am --abort",
    ),
    "a search": ("git bisect start -q main main~2 >/dev/null", "git bisect reset >/dev/null"),
}


@pytest.mark.parametrize(("work", "ending"), LEFT_OPEN.values(), ids=LEFT_OPEN)
async def test_an_operation_left_in_progress_changes_nothing_and_says_what_to_do(
    work, ending, build, project: Path
):
    before, state = contents(project), shell(project, STATE)
    result = await build(work)
    assert contents(project) == before
    assert shell(project, STATE) == state
    assert result.changes_id or "bisect" in work  # which moved nothing yet
    told = " ".join(left.reason for left in result.not_committed)
    assert "in progress" in told
    assert "--abort" in told
    shell(project, "git fsck --full --strict; git commit -q --allow-empty -m later")


@pytest.mark.parametrize(("work", "ending"), LEFT_OPEN.values(), ids=LEFT_OPEN)
async def test_an_operation_ended_in_the_same_run_leaves_all_as_before(
    work, ending, build, project: Path
):
    before = work_tree(project)
    branches = "git for-each-ref; git status --porcelain; git stash list"
    state = shell(project, branches)
    result = await build(f"{work}\n{ending}\ngit checkout -q main")
    assert result.not_committed == ()
    assert result.changes_id is None
    assert work_tree(project) == before
    assert shell(project, branches) == state
    assert shell(project, "git symbolic-ref HEAD") == "refs/heads/main\n"
    shell(project, "git fsck --full --strict; git commit -q --allow-empty -m later")


async def test_what_waits_of_a_rebase_can_be_applied_and_ended_on_the_host(
    build, project: Path, state_dir: Path
):
    result = await build("git checkout -q clash; git rebase -q main || true")
    assert result.changes_id
    applied = ChangeStore(state_dir / "changes").apply(result.changes_id, names=Settings().names)
    assert applied.left_out == (), applied.left_out
    said = shell(project, "git status")
    assert "both modified:   a" in said
    assert "rebase in progress" not in said
    shell(project, "git checkout -q -f main")
    assert shell(project, "git status --porcelain") == ""
    shell(project, "git fsck --full --strict")


async def test_a_new_repository_waits_as_a_whole(build, project: Path):
    result = await build("mkdir new; cd new; git init -q; echo x > x; git add .")
    assert result.changes_id
    assert not (project / "new/.git").exists()
    assert shell(project, "git -C . status --porcelain") in ("", "?? new/\n")


async def test_a_session_goes_on_from_what_the_host_has_committed_meanwhile(
    executor, project: Path
):
    async def call(code: str) -> Result:
        request = Request("shell", code, profile="build", session="s", timeout_s=S_MAX)
        return (await executor.run(request)).result

    assert (await call("git status --porcelain")).status is Status.OK
    shell(project, "echo host > host; git add host; git commit -qm host")
    result = await call("git log -1 --format=%s; echo new > new; git add new; git commit -qm run")
    assert result.stdout.text.startswith("host\n")
    assert result.not_committed == ()
    assert shell(project, "git log -2 --format=%s") == "run\nhost\n"
    assert shell(project, "git status --porcelain") == ""
    shell(project, "git fsck --full --strict")
