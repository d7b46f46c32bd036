"""What a run sees of the project and what it can do to it, by profile."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
import trio

from executor import Request, Status
from executor.project.store.store import ChangeStore
from executor.settings import Settings

pytestmark = pytest.mark.tier_a


def listed(result) -> dict[str, str]:
    return {change.path: change.change for change in result.changed_files}


@pytest.fixture
def repository(project: Path) -> Path:
    (project / "kept.txt").write_text("one\n")
    (project / "gone.txt").write_text("two\n")
    (project / "private.txt").write_text("three\n")
    (project / "private.txt").chmod(0o600)
    (project / "folder").mkdir()
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    return project


WORK = "echo more >> kept.txt; rm gone.txt; echo new > folder/made.txt; mkdir empty; cat kept.txt"


async def test_analyze_shows_its_own_writes_and_keeps_none(run, repository: Path):
    result = await run("shell", WORK)
    assert result.stdout.text == "one\nmore\n"
    assert listed(result) == {
        "kept.txt": "modified",
        "gone.txt": "deleted",
        "folder/made.txt": "created",
        "empty/": "created",
    }
    assert (repository / "kept.txt").read_text() == "one\n"
    assert sorted(path.name for path in repository.iterdir()) == [
        ".git", "folder", "gone.txt", "kept.txt", "private.txt",
    ]  # fmt: skip


async def test_build_keeps_what_was_written_and_lists_it(run, repository: Path):
    result = await run("shell", WORK, profile="build")
    assert listed(result) == {
        "kept.txt": "modified",
        "gone.txt": "deleted",
        "folder/made.txt": "created",
        "empty/": "created",
    }
    assert (repository / "kept.txt").read_text() == "one\nmore\n"
    assert (repository / "folder/made.txt").stat().st_uid == repository.stat().st_uid


async def test_files_that_only_their_owner_may_read_are_readable(run, repository: Path):
    result = await run("shell", "cat private.txt; echo x >> private.txt && cat private.txt")
    assert result.stdout.text == "three\nthree\nx\n"
    assert (repository / "private.txt").read_text() == "three\n"


async def test_a_project_below_a_closed_home_is_reached(state_dir, tmp_path):
    from executor import Request, open_engine

    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    (home / "work" / "f").write_text("inside\n")
    (home / "secret").write_text("outside\n")
    home.chmod(0o700)
    async with open_engine(
        project=home / "work", state_dir=state_dir, rules=None, home=home
    ) as opened:
        completed = await opened.run(Request("shell", "cat f; ls -A ..; cat ../secret"))
    assert completed.result.stdout.text == "inside\nwork\n"
    assert "No such file" in completed.result.stderr.text


async def test_git_works_inside(run, repository: Path):
    result = await run("shell", "git log --oneline | wc -l; git status --short; git diff HEAD")
    assert (result.status, result.stdout.text) == (Status.OK, "1\n"), result.stderr.text


async def test_git_works_in_a_worktree(state_dir, repository: Path, tmp_path: Path):
    from executor import Request, open_engine

    tree = tmp_path / "tree"
    subprocess.run(["git", "-C", str(repository), "worktree", "add", "-q", str(tree)], check=True)
    async with open_engine(
        project=tree, state_dir=state_dir, rules=None, home=Path.home()
    ) as opened:
        code = "git log --oneline | wc -l; git status --short; echo x > .git; git log | head -1"
        for profile in ("analyze", "build"):
            result = (await opened.run(Request("shell", code, profile=profile))).result
            assert result.stdout.text.startswith("1\n"), result.stderr.text
    assert (tree / ".git").read_text().startswith("gitdir: ")


async def test_secrets_of_the_project_are_covered(run, repository: Path):
    (repository / ".env").write_text("TOKEN=canary\n")
    (repository / "folder" / "server.pem").write_text("canary\n")
    (repository / ".env.example").write_text("TOKEN=\n")
    read = "cat .env folder/server.pem; mv .env other; cat other; cat .env.example"
    result = await run("shell", read)
    assert result.stdout.text == "TOKEN=\n"
    assert "canary" not in result.stderr.text
    assert (await run("shell", read, profile="build")).stdout.text == "TOKEN=\n"
    assert (repository / ".env").read_text() == "TOKEN=canary\n"


PROTECTED = {
    "an existing hook folder": "echo evil > .git/hooks/pre-commit",
    "the configuration": "git config core.fsmonitor evil",
    "a renamed repository": "mv .git g && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
    "missing editor settings": "mkdir .vscode; echo evil > .vscode/tasks.json",
    "a missing start-up file": "echo evil > .bashrc",
    "a link in its place": "ln -s /tmp/x .mcp.json",
    "a folder moved in": "mkdir t; echo evil > t/settings.json; mv t .claude",
}


@pytest.mark.parametrize("attack", PROTECTED.values(), ids=PROTECTED.keys())
async def test_protected_paths_stay_as_they_were(attack, run, repository: Path):
    def state() -> dict[str, bytes]:
        files = [p for p in repository.rglob("*") if p.is_file() and "index" not in p.name]
        return {str(path): path.read_bytes() for path in files}

    before = state()
    result = await run("shell", f"{attack}\ntrue", profile="build")
    assert result.status is Status.OK
    assert state() == before
    assert not [p for p in repository.rglob("*") if p.is_symlink()]


async def test_what_was_not_committed_is_listed_with_its_reason(run, repository: Path):
    result = await run("shell", "echo evil > .envrc; echo fine > file", profile="build")
    (left,) = result.not_committed
    assert (left.path, left.kind) == (".envrc", "never")
    assert "direnv" in left.reason
    assert listed(result) == {"file": "created"}


async def test_a_hooks_folder_that_is_a_link_stays_one(run, repository: Path, tmp_path: Path):
    (repository / "shared").mkdir()
    hooks = repository / ".git" / "hooks"
    subprocess.run(["rm", "-r", str(hooks)], check=True)
    hooks.symlink_to("../shared")
    result = await run(
        "shell",
        "git status >/dev/null && echo ok; rm .git/hooks; mkdir .git/hooks",
        profile="build",
    )
    assert result.stdout.text == "ok\n"
    assert {left.kind for left in result.not_committed} == {"never"}
    assert hooks.readlink() == Path("../shared")


async def test_a_hostile_tree_is_cleaned_up_and_reported(run, repository: Path):
    nest = "import os\nfor _ in range(3000):\n    os.mkdir('d'); os.chdir('d')\n"
    result = await run("python", nest)
    assert result.status is Status.OK
    assert result.changed_files_omitted > 0
    lock = "mkdir locked; echo x > locked/f; chmod 000 locked"
    assert listed(await run("shell", lock)) == {"locked/": "created", "locked/f": "created"}


async def test_a_cancelled_build_commits_nothing(executor, project: Path, state_dir: Path):
    program = "mkdir .vscode && echo x > .vscode/tasks.json && echo done > seen; sleep 99"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(executor.run, Request("shell", program, profile="build"))
        with trio.fail_after(60):
            while not list(state_dir.glob("rooms/*/*/0/upper/seen")):  # noqa: ASYNC110
                await trio.sleep(0.01)
        nursery.cancel_scope.cancel()
    assert list(project.iterdir()) == []


async def test_what_a_run_ended_at_its_deadline_wrote_is_committed(run, project: Path):
    result = await run("shell", "echo x > made; sleep 99", profile="build", timeout_s=1)
    assert result.status is Status.TIMED_OUT
    assert (project / "made").read_text() == "x\n"


async def test_a_folder_made_anew_has_lost_what_was_in_it(run, repository: Path):
    (repository / "folder" / "old.txt").touch()
    code = "rm -r folder; mkdir folder; touch folder/new"
    wanted = {"folder/new": "created", "folder/old.txt": "deleted"}
    assert listed(await run("shell", code)) == wanted
    assert listed(await run("shell", code, profile="build")) == wanted
    assert [path.name for path in (repository / "folder").iterdir()] == ["new"]


async def test_a_staged_run_reaches_the_project_only_when_it_is_applied(
    run, repository: Path, state_dir: Path
):
    result = await run("shell", WORK, stage=True)
    assert listed(result) == {
        "kept.txt": "modified",
        "gone.txt": "deleted",
        "folder/made.txt": "created",
        "empty/": "created",
    }
    assert (repository / "kept.txt").read_text() == "one\n"
    store = ChangeStore(state_dir / "changes")
    assert result.changes_id
    store.apply(result.changes_id, names=Settings().names)
    assert (repository / "kept.txt").read_text() == "one\nmore\n"
    assert not (repository / "gone.txt").exists()


SPECIAL = """
import os, socket
for name in ("dev.sock", "pipe", ".env"):
    print(name, os.path.lexists(name))
"""


@pytest.mark.parametrize("profile", ["analyze", "build"])
async def test_host_sockets_and_pipes_of_the_project_are_absent(profile, run, project: Path):
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(project, os.O_PATH)  # whose own path may be too long for a socket's
        listener.bind(f"/proc/self/fd/{folder}/dev.sock")
        os.close(folder)
        os.mkfifo(project / "pipe")
        os.mkfifo(project / ".env")
        result = await run("python", SPECIAL, profile=profile)
    assert result.stdout.text == "dev.sock False\npipe False\n.env False\n", result.stderr.text
    assert listed(result) == {}
    assert {"dev.sock", "pipe", ".env"} <= {path.name for path in project.iterdir()}
