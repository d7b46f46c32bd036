"""Repositories of all kinds are afterwards as git leaves them, and what controls them as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor import Request, RequestError, Result, Status
from executor.project.store.store import ChangeStore
from executor.settings import Settings
from tests.executor.project.git_work import S_MAX, STATE, as_settings, shell, work_tree

pytestmark = pytest.mark.view  # git leaves the same to everyone

BEGIN = """
git config user.name somebody; git config user.email somebody@example.org
mkdir -p src/deep docs; for n in 1 2 3 4; do echo $n > src/$n; echo $n > docs/$n; done
echo a > a; git add .; git commit -qm first
git checkout -qb other; echo other > src/1; git commit -qam other
git checkout -q main; echo b > b; git add b; git commit -qm second
"""
FIXED = "export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'\n"
CHECKS = "git fsck --full --strict 2>&1 || true; cat .git/config; ls .git/hooks"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    shell(tmp_path, f"git init -q -b main {folder}")
    shell(folder, BEGIN)
    return folder


@pytest.fixture
def build(run):
    async def build_one(code: str) -> Result:
        code = f"{FIXED}{as_settings()}set -e\n{code}"
        result = await run("shell", code, profile="build", timeout_s=S_MAX)
        assert result.status is Status.OK, result.message + result.stdout.text + result.stderr.text
        return result

    return build_one


COMMIT = "echo new >> src/1; echo new > new; git add -A; git commit -qm new"
SWITCH = "git checkout -q other; git checkout -q -b more; echo m > m; git add m; git commit -qm m"
# How the host has made it, and what a run does.
KINDS = {
    "packed objects and references": ("git gc -q --prune=now", COMMIT),
    "a sparse checkout": ("git sparse-checkout set --cone src", COMMIT),
    "a sparse index": ("git sparse-checkout set --cone --sparse-index src", SWITCH),
    "a sparse checkout that widens": (
        "git sparse-checkout set --no-cone src",
        "git checkout -q other",
    ),
    "an untracked cache": ("git update-index --untracked-cache; git status -s", COMMIT),
    "a split index": ("git update-index --split-index; echo 1 > a; git add a", COMMIT),
    "an index of version 4": ("git update-index --index-version 4", SWITCH),
    "maintenance": ("true", f"{COMMIT}; git maintenance run --task=gc --task=commit-graph --quiet"),
    "loose objects collected": ("true", f"{COMMIT}; git maintenance run --task=loose-objects --quiet"),  # noqa: E501
    "packed anew": ("git gc -q", f"{COMMIT}; git repack -adq; git prune-packed"),
    "a list of several packs": ("git repack -q", f"{COMMIT}; git repack -q; "
                                "git multi-pack-index write --no-progress"),
    "a graph of commits": ("git commit-graph write --reachable --no-progress", COMMIT),
    "notes": ("true", "git notes add -m n"),
    "a reflog that expires": ("true", f"{COMMIT}; git reflog expire --expire=now --all; git gc -q --prune=now"),  # noqa: E501
    "a head of another name": ("git symbolic-ref HEAD refs/heads/odd/./x 2>/dev/null || "
                               "git symbolic-ref HEAD refs/heads/odd/x", COMMIT),
    "a head that leads to a tag's name": ("git update-ref refs/x/y HEAD; git symbolic-ref HEAD refs/x/y",  # noqa: E501
                                          "echo n > n; git add n"),
    "attributes and a filter": ("echo '*.txt text eol=crlf' > .gitattributes; git add .; git commit -qm at",  # noqa: E501
                                "printf 'a\\r\\nb\\r\\n' > t.txt; git add t.txt; git commit -qm t"),
    "names of all sorts": ("true", "printf x > 'a b'; printf x > $'tab\\there'; printf x > $'\\xff\\xfe'; "  # noqa: E501
                           "git add -A; git commit -qm names; git branch 'ünï/çödé'"),
    "a subtree and a merge": ("true", "git checkout -q -b side; git mv docs papers; git commit -qm p; "  # noqa: E501
                              "git checkout -q main; git merge -q -m m side; git merge -q -m o other"),  # noqa: E501
    "an empty folder that goes": ("true", "git rm -rq docs; git commit -qm gone"),
    "a file becomes a folder": ("true", "git rm -q a; mkdir a; echo x > a/x; git add a; git commit -qm x"),  # noqa: E501
    "a folder becomes a link": ("true", "git rm -rq docs; ln -s src docs; git add docs; git commit -qm l"),  # noqa: E501
    "large files' pointers": (
        "printf '*.bin filter=lfs diff=lfs merge=lfs -text\\n' > .gitattributes; "
        "printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%064d\\nsize 5\\n' 1 > x.bin; "  # noqa: E501
        "git add .; git commit -qm lfs", COMMIT),
}  # fmt: skip


@pytest.mark.parametrize(("begin", "work"), KINDS.values(), ids=KINDS)
async def test_it_is_afterwards_as_git_leaves_it(begin, work, build, project: Path, tmp_path: Path):
    twin = tmp_path / "twin"
    shell(project, FIXED + begin)
    shell(tmp_path, f"cp -a {project} {twin}")
    result = await build(work)
    shell(twin, FIXED + work)
    assert result.not_committed == ()
    assert work_tree(project) == work_tree(twin)
    assert shell(project, STATE) == shell(twin, STATE)
    assert shell(project, CHECKS) == shell(twin, CHECKS)
    assert "missing" not in shell(project, CHECKS)


@pytest.mark.parametrize("kind", ["openpgp", "ssh"])
async def test_a_commit_that_is_to_be_signed_fails_and_says_what_helps(kind, run, project: Path):
    shell(project, f"git config commit.gpgsign true; git config gpg.format {kind}; "
                   "git config user.signingkey ~/.ssh/id_none.pub")  # fmt: skip
    state = shell(project, STATE)
    code = f"{FIXED}{as_settings()}echo n > n; git add n; git commit -qm n"
    result = await run("shell", code, profile="build", timeout_s=S_MAX)
    assert result.status is not Status.OK
    (refusal,) = (one for one in result.refusals if one.target == "a key to sign with")
    assert "sign on the host" in refusal.remedy
    assert shell(project, "git log -1 --format=%s") == "second\n"
    result = await run("shell", f"{code} --no-gpg-sign", profile="build", timeout_s=S_MAX)
    assert result.status is Status.OK
    assert shell(project, "git log -1 --format=%s") == "n\n"
    assert shell(project, STATE) != state


async def test_a_repository_with_many_refs_takes_a_commit(build, project: Path):
    shell(project, "h=$(git rev-parse HEAD); for n in $(seq 5000); do "
                   "echo create refs/heads/many/$n $h; done | git update-ref --stdin")  # fmt: skip
    result = await build(f"{COMMIT}; git branch -qD many/7; git branch one")
    assert result.not_committed == ()
    assert shell(project, "git for-each-ref | wc -l; git log -1 --format=%s") == "5002\nnew\n"
    shell(project, "git pack-refs --all")
    result = await build("git branch -qD many/8; git tag t")
    assert result.not_committed == ()
    assert shell(project, "git for-each-ref | wc -l; git fsck --strict") == "5002\n"


async def test_what_two_calls_of_a_session_say_vouches_for_nothing(executor, project: Path):
    async def call(code: str) -> Result:
        request = Request("shell", code, profile="build", session="s", timeout_s=S_MAX)
        return (await executor.run(request)).result

    first = await call("echo obey me > t; git hash-object -w t; rm t")
    assert first.not_committed == ()
    second = await call("echo obey me > AGENTS.md")
    assert [(left.path, left.kind) for left in second.not_committed] == [("AGENTS.md", "held")]
    assert not (project / "AGENTS.md").exists()


async def test_a_lock_left_behind_holds_nobody_up(build, project: Path):
    result = await build("touch .git/index.lock .git/HEAD.lock; echo x > x")
    assert result.not_committed == ()
    shell(project, "git add x; git commit -qm x")


IDENTITY = "git config user.name x; git config user.email x@example.org"
SHALLOW = {
    "shallow": "git clone -q --depth 1 file://{0} {1}",
    "shared": "git clone -q --shared {0} {1}",
    "shared, with a branch outside": "git clone -q --shared {0} {1}",
    "partial": "git -C {0} config uploadpack.allowFilter true; "
    "git clone -q --filter=blob:none file://{0} {1}",
}


@pytest.mark.parametrize("kind", SHALLOW)
async def test_a_clone_that_lacks_objects_takes_a_commit(
    kind, build, project: Path, tmp_path: Path
):
    origin = tmp_path / "origin"
    shell(tmp_path, f"cp -a {project} {origin}; {SHALLOW[kind].format(origin, 'clone')}")
    shell(project, f"find . -mindepth 1 -delete; cp -a {tmp_path}/clone/. .")
    if kind.startswith("shared"):  # what lies outside no run sees
        shell(project, "git repack -adq")
    if kind.endswith("outside"):
        far = shell(origin, f"{IDENTITY}; git commit-tree -m far main^{{tree}}")
        shell(project, f"git update-ref refs/heads/far {far}")
    shell(project, IDENTITY)
    shell(tmp_path, f"cp -a {project} twin")
    code = "echo x > x; git add x; git commit -qm x; git status --porcelain"
    result = await build(code)
    assert result.not_committed == ()
    shell(tmp_path / "twin", FIXED + code)
    assert shell(project, "git status --porcelain; git log -1 --format=%s") == "x\n"
    assert shell(project, CHECKS) == shell(tmp_path / "twin", CHECKS)


async def test_what_a_partial_clone_lacks_is_not_fetched(build, project: Path, tmp_path: Path):
    origin, canary, script = (tmp_path / name for name in ("origin", "canary", "upload-pack"))
    script.write_text(f'#!/bin/sh\ntouch {canary}\nexec git-upload-pack "$@"\n')
    script.chmod(0o755)
    shell(tmp_path, f"cp -a {project} {origin}; {SHALLOW['partial'].format(origin, 'clone')}")
    shell(project, f"find . -mindepth 1 -delete; cp -a {tmp_path}/clone/. .")
    shell(project, f"git config remote.origin.uploadpack {script}; {IDENTITY}")
    result = await build("echo x > x; echo y > y; git add x y; git commit -qm x")
    assert result.not_committed == ()
    assert shell(project, "git log -1 --format=%s") == "x\n"
    assert not canary.exists()
    shell(project, "git show origin/other:src/1")
    assert canary.exists(), "the control: git fetches what it lacks"


async def test_a_folder_that_took_the_projects_place_is_not_committed_to(
    run, build, project: Path, tmp_path: Path
):
    await build("echo x > x")
    shell(tmp_path, f"mv {project} aside; cp -a aside {project}")
    with pytest.raises(RequestError, match="place"):
        await run("shell", "echo y > y", profile="build")
    assert not (project / "y").exists()


async def test_a_submodule_is_a_repository_of_its_own(build, project: Path, tmp_path: Path):
    shell(tmp_path, f"git clone -q {project} origin")
    shell(
        project,
        "git -c protocol.file.allow=always submodule add -q ../origin sub; git commit -qm s",
    )
    result = await build("cd sub; git checkout -q -b t; echo x > x; git add x; "
                         "git -c user.name=x -c user.email=x commit -qm x; cd ..; git commit -qam moved")  # fmt: skip  # noqa: E501
    assert result.not_committed == ()
    assert shell(project, "git status --porcelain; git -C sub status --porcelain") == ""
    assert shell(project, "git -C sub log -1 --format=%s; git submodule status") != ""
    shell(project, "git fsck --full --strict; git -C sub fsck --full --strict")
    result = await build(
        "git -C sub config core.fsmonitor evil; echo x > .git/modules/sub/hooks/update"
    )
    assert {left.kind for left in result.not_committed} == {"never"}
    assert "evil" not in (project / ".git/modules/sub/config").read_text()
    assert not (project / ".git/modules/sub/hooks/update").exists()


@pytest.mark.tier_a  # elsewhere the copy has another path than these repositories were told
async def test_a_submodule_that_a_run_fetches_can_be_fetched_by_the_host(build, project: Path):
    shell(project, "git init -q --bare -b main origin.git; git push -q ./origin.git main")
    allowed = "git -c protocol.file.allow=always"
    shell(project, f"{allowed} submodule add -q file://{project}/origin.git sub; git commit -qm s; "
                   "git submodule --quiet deinit -f sub; rm -rf .git/modules/sub")  # fmt: skip
    result = await build(f"{allowed} submodule --quiet update --init; cat sub/a")
    assert result.stdout.text == "a\n"
    assert result.not_committed
    shell(project, f"{allowed} submodule --quiet update --init; git -C sub fsck --strict")
    assert "sub" not in shell(project, "git status --porcelain")


@pytest.mark.tier_a
async def test_a_worktree_of_the_host_inside_is_worked_in(build, project: Path):
    shell(project, "echo w > .git/info/exclude; git worktree add -q w other")
    result = await build("cd w; echo x > x; git add x; git commit -qm x")
    assert result.not_committed == ()
    assert shell(project, "git -C w status --porcelain; git log -1 --format=%s other") == "x\n"
    shell(project, "git fsck --full --strict")


HOSTILE = {
    "a reference that leads up": "mkdir -p .git/refs/heads; git rev-parse HEAD > '.git/refs/heads/..x'; "  # noqa: E501
    "printf '%s refs/heads/../../x\\n' $(git rev-parse HEAD) > .git/packed-refs",
    "a reference with a strange name": "git rev-parse HEAD > '.git/refs/heads/-x'; "
    "git rev-parse HEAD > '.git/refs/heads/a;touch owned'; git rev-parse HEAD > '.git/refs/heads/$(id)'",  # noqa: E501
    "a head that leads elsewhere": "echo 'ref: ../../../etc/passwd' > .git/HEAD",
    "an object of nonsense": "mkdir -p .git/objects/00; head -c 1000 /dev/urandom > .git/objects/00/"  # noqa: E501
    "00000000000000000000000000000000000000",
    "an index of nonsense": "head -c 1000 /dev/urandom > .git/index",
    "an index with a control file": "cp .git/index i; o=$(git hash-object -w a); "
    "git update-index --add --cacheinfo 100644,$o,.GIT/config 2>/dev/null || true; rm i",
    "a tree with a control file": "o=$(echo '[core] fsmonitor = evil' | git hash-object -w --stdin); "  # noqa: E501
    "t=$(printf '100644 blob %s\\tconfig\\n' $o | git mktree); "
    "t=$(printf '040000 tree %s\\t.git\\n' $t | git mktree --missing) && "
    "git update-ref refs/heads/evil $(git commit-tree -m x $t) || true",
}


@pytest.mark.parametrize("work", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_repository_changes_no_control_file(work, build, project: Path):
    names = (
        "find .git -name config -o -path '*/hooks*' -o -name 'commondir' -o -name attributes | sort"
    )
    before = shell(project, f"cat .git/config; {names}; ls -a .")
    await build(work)
    assert shell(project, f"cat .git/config; {names}; ls -a .") == before
    assert not (project / "owned").exists()
    shell(project, "git status >/dev/null 2>&1 || true; git -c core.fsmonitor=false branch || true")
    assert not (project / "owned").exists()


async def test_a_new_repository_waits_whole(build, project: Path):
    result = await build("git init -q new; cd new; echo x > x; git add x; "
                         "git -c user.name=x -c user.email=x commit -qm x")  # fmt: skip
    assert [(left.path, left.kind) for left in result.not_committed] == [("new/.git", "held")]
    assert not (project / "new" / ".git").exists()
    shell(project, "git fsck --full --strict; git status --porcelain")


NEW = ("git init -q -b main new", "git clone -q --no-hardlinks . new",
       "git init -q --bare -b main new; git push -q new main")  # fmt: skip
COMMIT_THERE = (
    "cd new; [ -e HEAD ] || { echo x > x; git add x; "
    "git -c user.name=x -c user.email=x commit -qm x; git config core.fsmonitor evil; }"
)


@pytest.mark.parametrize("make", NEW)
async def test_a_new_repository_is_made_where_a_person_takes_it(
    make, build, project: Path, state_dir: Path
):
    result = await build(f"{make}; {COMMIT_THERE}")
    assert {left.kind for left in result.not_committed} == {"held"}
    store = ChangeStore(state_dir / "changes")
    assert result.changes_id
    done = store.apply(result.changes_id, names=Settings().names)
    assert done.left_out == ()
    assert shell(project, "git -C new log -1 --format=%s") in ("x\n", "second\n")
    assert shell(project, "git -C new status --porcelain 2>&1 || true") in (
        "", "fatal: this operation must be run in a work tree\n")  # fmt: skip
    assert "evil" not in shell(project, "git -C new config --list; git -C new fsck --strict")
