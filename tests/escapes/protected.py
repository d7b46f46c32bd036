"""Attacks on paths that host tools obey later: hooks, configuration, repositories in disguise."""

# ruff: noqa: E501 - programs in other languages keep their lines

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from executor import Limits, Result, Status
from executor.model import MIB
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import (
    Attack,
    Control,
    NotApplicable,
    Stopped,
    Words,
    python,
    shell,
)
from tests.escapes.layers_off import Edit, Packed
from tests.escapes.secrets import _repository, _state
from tests.escapes.server import in_a_server

READ_ONLY_PROJECT = "the project is read-only (Landlock)"

LINKS = python("""
attempt("link a file outside", os.link, "@secret@", "stolen")
attempt("link a system file", os.link, "/usr/bin/env", "env")
attempt("link to its descriptor", os.link, "/proc/self/root@secret@", "stolen")
def by_descriptor():
    fd = os.open("/usr/bin/env", os.O_RDONLY)
    os.link(f"/proc/self/fd/{fd}", "env", follow_symlinks=True)
attempt("link a descriptor", by_descriptor)
attempt("link the script", os.link, sys.argv[0], "script")
attempt("link a protected file", os.link, ".mcp.json", "alias")
os.chdir(os.environ["TMPDIR"])
open("mine", "w").close()
attempt("link one's own", os.link, "mine", "also mine")
""")


def _as_it_was(*but: str) -> Callable[[Arena, Result], None]:
    """The project is as before, down to the last placeholder, but for these and what is below."""

    def check(arena: Arena, _: Result) -> None:
        before, now = json.loads(arena.words["before"]), _state(arena.project)
        kept = {p: w for p, w in now.items() if p.split("/")[0] not in but}
        assert kept == before

    return check


def _linked_by_itself(arena: Arena, result: Result) -> None:
    """A link to what tools obey has become a file of its own, by which nobody writes to it."""
    _as_it_was("alias")(arena, result)
    alias, original = arena.project / "alias", arena.project / ".mcp.json"
    assert not alias.exists() or not alias.samefile(original)


def _changed(*paths: str) -> Callable[[Arena, Result], None]:
    """The control's proof: without the protection these paths do change."""

    def check(arena: Arena, _: Result) -> None:
        before, now = json.loads(arena.words["before"]), _state(arena.project)
        for path in paths:
            assert now.get(path) != before.get(path), f"{path} did not change"

    return check


def _hooks_stand(arena: Arena, _: Result) -> None:
    before, now = json.loads(arena.words["before"]), _state(arena.project)
    for path in before:
        if path.startswith((".git/hooks", ".git/config")):
            assert now.get(path) == before[path], f"{path} is not what it was"
    assert ".git/hooks/pre-commit" not in now


WRITE_PROTECTED = shell("""
put() { mkdir -p "$(dirname "$1")" 2>/dev/null; echo evil 2>/dev/null > "$1" && echo "$1 written" || echo "$1 refused"; }
for path in .git/hooks/pre-commit .git/config .git/config.worktree .git/info/attributes .gitmodules \\
    .git/modules/x/config .bashrc .bash_profile .profile .zshrc .zshenv .gitconfig .ripgreprc .envrc \\
    .mcp.json .claude/settings.json .cursor/mcp.json .vscode/tasks.json .vscode/settings.json \\
    .idea/workspace.xml .husky/pre-commit .ctxmode/config.toml; do put $path; done
git config core.fsmonitor evil 2>/dev/null && echo "git config written"
git config core.hooksPath evil 2>/dev/null
touch .git/config 2>/dev/null; rm -f .mcp.json 2>/dev/null; mv .vscode elsewhere 2>/dev/null
ln -s /tmp/x .profile 2>/dev/null; ln .mcp.json linked 2>/dev/null; ln .git/config linked 2>/dev/null
mkdir -p .idea/locked && chmod 000 .idea; mkdir -p .husky/_ && echo evil > .husky/_/h && chmod 555 .husky/_ .husky
chmod 777 .mcp.json .git/hooks 2>/dev/null; : > .mcp.json 2>/dev/null
mv .mcp.json b 2>/dev/null; mkdir t; echo x > t/settings.json; mv t .gemini 2>/dev/null
mkdir t 2>/dev/null; echo x > t/pre-commit; mv -T t .git/hooks 2>/dev/null; rm -rf t
echo done
""")

EXISTING = (".git/hooks/pre-commit", ".git/config", ".mcp.json", ".vscode/settings.json")

RENAME_PARENT = shell("""
mv .git moved 2>&1 | head -1; mkdir -p .git/hooks 2>/dev/null; echo evil > .git/hooks/pre-commit 2>/dev/null
mv .git/hooks .git/h 2>&1 | head -1
python3 - <<'end' || perl -e 'syscall(316, -100, ".git", -100, "other", 2)'
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
import os
os.makedirs("other/hooks", exist_ok=True)
open("other/hooks/pre-commit", "w").write("evil")
print("exchange", libc.renameat2(-100, b".git", -100, b"other", 2), ctypes.get_errno())
end
rm -rf other
echo done
""")


async def _worktrees_work_and_stay_protected(arena: Arena) -> None:
    """`.git` as a file, `.git/hooks` as a link to somewhere and to nowhere, a submodule."""
    project = arena.project
    with _repository(arena):
        pass
    attack = shell("""
    git status >/dev/null 2>&1; echo "status $?"
    echo evil > .git/hooks/pre-commit; rm -rf .git/hooks; mkdir -p .git/hooks
    echo evil > .git/hooks/pre-commit; rm -f .git; echo "gitdir: /tmp" > .git; mkdir -p .git/hooks
    true
    """)
    for target in ("../shared", "/nowhere/at/all"):
        hooks = project / ".git" / "hooks"
        if hooks.is_symlink():
            hooks.unlink()
        else:
            subprocess.run(["rm", "-r", str(hooks)], check=True)
        (project / "shared").mkdir(exist_ok=True)
        hooks.symlink_to(target)
        before = _state(project)
        result = await arena.run(attack, profile="build")
        assert "status 0" in result.stdout.text
        assert _state(project) == before
    main = arena.tmp_path / "main"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "clone", "-q", str(project), str(main)], check=True)
    subprocess.run(["find", str(project), "-mindepth", "1", "-delete"], check=True)
    subprocess.run([*git, "-C", str(main), "worktree", "add", "-q", str(project)], check=True)
    gitdir = (project / ".git").read_text()
    said = await in_a_server(
        arena,
        "",
        f"""
        result = (await executor.run(Request("shell", {attack.text!r}, profile="build"))).result
        print(result.status.value, result.stdout.text)
        """,
    )
    assert "attack started" in said
    assert "status 0" in said
    assert (project / ".git").read_text() == gitdir
    assert not (main / ".git" / "hooks" / "pre-commit").exists()


def _outcome_of_git(project: Path, proof: Path) -> bool:
    """Whether a person's `git status` in the project runs what a program planted."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(proof.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    for folder in (project, project / "sub"):
        if folder.is_dir():
            subprocess.run(["git", "status"], cwd=folder, env=environment, capture_output=True,
                           check=False)  # fmt: skip
    return proof.exists()


@contextlib.contextmanager
def _proof(arena: Arena) -> Iterator[Words]:
    yield {"proof": str(arena.tmp_path / "proof"), "before": "{}"}


def _git_runs_nothing(arena: Arena, _: Result) -> None:
    assert not _outcome_of_git(arena.project, Path(arena.words["proof"])), (
        "git ran a planted program"
    )


def _git_runs_it(arena: Arena, _: Result) -> None:
    assert _outcome_of_git(arena.project, Path(arena.words["proof"]))


GIT_FILE = shell("""
export GIT_CONFIG_NOSYSTEM=1
mkdir -p gd; git init -q --bare gd 2>/dev/null
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = @project@\\n\\tfsmonitor = "touch @proof@; false"\\n' > gd/config
echo "gitdir: ./gd" > .git
echo planted
""")

BARE = shell("""
export GIT_CONFIG_NOSYSTEM=1
git init -q --bare . 2>/dev/null
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = @project@\\n\\tfsmonitor = "touch @proof@; false"\\n' > config
echo planted
""")

NEW_REPOSITORY = shell("""
export GIT_CONFIG_NOSYSTEM=1
git init -q . 2>/dev/null; git config core.fsmonitor 'touch @proof@; false' 2>/dev/null
printf '#!/bin/sh\\ntouch @proof@\\n' > .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change
echo planted
""")

NESTED_REPOSITORY = shell("""
export GIT_CONFIG_NOSYSTEM=1
git init -q sub && cd sub && git config core.fsmonitor 'touch @proof@; false'
printf '#!/bin/sh\\n' > .git/hooks/pre-commit
echo planted
""")


def _nested_repository_is_held(arena: Arena, result: Result) -> None:
    held = [left.path for left in result.not_committed if left.kind == "held"]
    assert "sub/.git" in held, result.not_committed
    assert not (arena.project / "sub" / ".git").exists()


@contextlib.contextmanager
def _with_subrepository(arena: Arena) -> Iterator[Words]:
    """A repository that has another one checked out inside, as vendored code and submodules are."""
    with _repository(arena) as words:
        sub = arena.project / "sub"
        subprocess.run(["git", "init", "-q", str(sub)], check=True)
        yield {**words, "before": json.dumps(_state(arena.project)),
               "proof": str(arena.tmp_path / "proof")}  # fmt: skip


SUBREPOSITORY_HOOK = shell("""
export GIT_CONFIG_NOSYSTEM=1
cd sub
git config core.fsmonitor 'touch @proof@; false'
mv .git g 2>/dev/null && cp -r g .git && rm -rf g; printf 'evil' > .git/hooks/pre-commit
echo planted
""")

COMMANDING = """'[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tfsmonitor = "touch @proof@; false"\\n'"""

COMMON_FOLDER = shell(f"""
mkdir evil; cp -r .git/objects .git/refs evil
printf {COMMANDING} > evil/config
echo ../evil > .git/commondir
echo planted
""")

LINKED_HOOKS = shell("""
put() { printf '#!/bin/sh\\ntouch @proof@\\n' > $1 && chmod +x $1 && echo "$1 written"; }
put .git/hooks/post-index-change; put tools/hooks/post-index-change; put own/hooks/post-index-change
mv tools t && mkdir -p tools/hooks && put tools/hooks/post-index-change
mv own/hooks own/h && mkdir own/hooks && put own/hooks/post-index-change
cp main.txt m && mv m main.txt
echo planted
""")


@contextlib.contextmanager
def _with_repository(arena: Arena) -> Iterator[Words]:
    with _repository(arena) as words:
        yield {**words, "proof": str(arena.tmp_path / "proof")}


@contextlib.contextmanager
def _with_linked_hooks(arena: Arena) -> Iterator[Words]:
    """Hooks of the project's own, by a link and by what the configuration names."""
    with _repository(arena):
        project = arena.project
        for name in ("tools/hooks", "own/hooks"):
            (project / name).mkdir(parents=True)
            (project / name / "pre-push").write_text("#!/bin/sh\n")
        subprocess.run(["rm", "-r", str(project / ".git" / "hooks")], check=True)
        (project / ".git" / "hooks").symlink_to("../tools/hooks")
        command = ["git", "-C", str(project), "config", "core.hooksPath", "own/hooks"]
        subprocess.run(command, check=True)
        yield {"before": json.dumps(_state(project)), "proof": str(arena.tmp_path / "proof")}


async def _no_repository_comes_bit_by_bit(arena: Arena) -> None:
    """Each run by itself makes nothing that git would obey."""
    arena.words["proof"] = str(arena.tmp_path / "proof")
    (arena.project / "sub").mkdir()
    first = shell("mkdir -p sub/objects sub/refs; echo 'ref: refs/heads/main' > sub/HEAD")
    second = shell(
        f"printf {COMMANDING} | sed 's,bare = .*,&\\n\\tworktree = @project@,' > sub/config"
    )
    for off_now in ((), (off.protection,)):
        for program in (first, second):
            await arena.run(program, off_now, profile="build")
        assert _outcome_of_git(arena.project, Path(arena.words["proof"])) is bool(off_now)


PLANT_AND_FILL = shell("""
echo evil > .envrc; dd if=/dev/zero of=$TMPDIR/x bs=64k 2>/dev/null; echo done
""")
TIGHT = Limits(memory_bytes=64 * MIB, scratch_bytes=256 * MIB, file_bytes=256 * MIB)


def _filled(arena: Arena) -> Status:
    """How a run ends that fills the memory by files: where nothing counts it, by a full folder."""
    return Status.MEMORY_LIMIT if arena.has_cgroup or arena.tier == "C" else Status.OK


async def _supervisor_is_outlived(arena: Arena) -> None:
    """Fill the memory with what is no process's, so that the supervisor is the largest one."""
    for off_now in ((), (off.protection,)):
        result = await arena.run(PLANT_AND_FILL, off_now, profile="build", limits=TIGHT)
        assert (arena.project / ".envrc").exists() is bool(off_now), result.message
        assert result.status is _filled(arena), result.message
        if result.ok and not off_now:
            assert [left.path for left in result.not_committed] == [".envrc"]
        if not off_now and arena.tier == "A":
            scores = await arena.run(shell("cat /proc/self/oom_score_adj"))
            assert int(scores.stdout.text.split()[-1]) >= 700


def _covered(path: str) -> Edit:
    """As if the search for secrets had found one of this name."""

    def edit(packed: Packed, kind: str) -> None:
        if kind == "cell":
            packed.data["project"] |= {"secrets": [path]}

    return edit


async def _no_link_is_followed_by_mounts(arena: Arena) -> None:
    """A host program exchanges a folder for a link while the next run's cell is made."""
    program = shell("cat folder/secret folder/open 2>/dev/null; true")
    await arena.run(program)  # so that the shell is proven to run
    elsewhere, folder = arena.tmp_path / "elsewhere", arena.project / "folder"
    elsewhere.mkdir(mode=0o755)
    (elsewhere / "secret").write_text("of elsewhere")
    folder.symlink_to(elsewhere)
    result = await arena.run(program, (_covered("folder"),))
    assert result.status is Status.SANDBOX_ERROR
    assert "symbolic links" in result.message
    folder.unlink()
    folder.mkdir()
    (folder / "secret").write_text("covered")
    (folder / "open").write_text("its own")
    result = await arena.run(program, (_covered("folder/secret"),))
    assert result.stdout.text.endswith("its own")
    assert "covered" not in result.stdout.text


GIT_CONTROL = Control(("^planted$",), (off.protection,), after=_git_runs_it, status=None)

ATTACKS = (
    Attack(
        "A58",
        "hard links to files outside",
        Stopped(
            "mount boundaries, absent files",
            (
                "^link a file outside ENOENT$",
                "^link a system file (EXDEV|EPERM|EACCES)$",
                "^link to its descriptor (ENOENT|EACCES|EXDEV)$",
                "^link a descriptor E",
                "^link the script (EXDEV|EPERM|EACCES|EROFS)$",
            ),
            after=_linked_by_itself,
            controls=(Control(("^link one's own done$",)),),
        ),
        LINKS,
        profile="build",
        setup=_repository,
        b=Stopped(
            "Landlock; a copy is written to",
            (
                "^link a file outside E(XDEV|ACCES)$",
                "^link a system file E",
                "^link a descriptor E",
            ),
            after=_linked_by_itself,
            controls=(Control(("^link one's own done$",)),),
        ),
    ),
    Attack(
        "A60",
        "write paths that host tools execute or follow: hooks, git and shell configuration, editors, agents",
        Stopped(
            "writes go to a view; files that tools execute are never committed",
            ("^.git/config written$", "^.vscode/tasks.json written$", "^done$"),
            after=_as_it_was("b", "elsewhere", "linked"),
            controls=(Control(("^done$",), (off.protection,), after=_changed(*EXISTING[:2])),),
            by_b="writes go to a copy; files that tools execute are never committed",
        ),
        WRITE_PROTECTED,
        profile="build",
        setup=_repository,
    ),
    Attack(
        "A60 analyze",
        "the same under analyze",
        Stopped(
            "copy-on-write",
            ("^done$",),
            after=_as_it_was(),
            controls=(
                Control(
                    ("^.git/config written$", "^done$"),
                    (off.copy_on_write, off.protection),
                    after=_changed(*EXISTING),
                ),
            ),
        ),
        WRITE_PROTECTED,
        setup=_repository,
        b=Stopped(
            READ_ONLY_PROJECT,
            (
                "^.git/hooks/pre-commit refused$",
                "^.git/config refused$",
                "^.bashrc refused$",
                "^done$",
            ),
            after=_as_it_was(),
            controls=(
                Control(
                    ("^.git/config written$", "^done$"),
                    (off.landlock,),
                    after=_changed(*EXISTING[:3]),
                ),
            ),
        ),
    ),
    Attack(
        "A61",
        "rename the parent of a protected path, or exchange it",
        Stopped(
            "a view is written to; a repository is committed as one unit, hooks never",
            ("^done$",),
            after=_hooks_stand,
            controls=(Control(("^done$",), (off.protection,), after=_changed(".git/config")),),
        ),
        RENAME_PARENT,
        profile="build",
        setup=_repository,
    ),
    Attack(
        "A62",
        ".git as a worktree's file, .git/hooks as a link",
        Stopped("never committed in any form, and every command works"),
        scenario=_worktrees_work_and_stay_protected,
    ),
    Attack(
        "A63",
        "a new repository with hooks inside the project",
        Stopped(
            "held for review, and named",
            ("^planted$",),
            after=_nested_repository_is_held,
            controls=(Control(("^planted$",), (off.protection,), after=_git_runs_it),),
        ),
        NESTED_REPOSITORY,
        profile="build",
        setup=_proof,
    ),
    Attack(
        "X12",
        "a .git file that points at a repository with a command in its configuration",
        Stopped(
            "a new repository is held whole; git's hooks and settings are never committed",
            ("^planted$",),
            after=_git_runs_nothing,
            controls=(GIT_CONTROL,),
        ),
        GIT_FILE,
        profile="build",
        setup=_proof,
    ),
    Attack(
        "X13",
        "the project itself made a bare repository with a command in its configuration",
        Stopped(
            "a new repository is held whole; git's hooks and settings are never committed",
            ("^planted$",),
            after=_git_runs_nothing,
            controls=(GIT_CONTROL,),
        ),
        BARE,
        profile="build",
        setup=_proof,
    ),
    Attack(
        "X14",
        "a new repository, with hooks and commands",
        Stopped(
            "held for review", ("^planted$",), after=_git_runs_nothing, controls=(GIT_CONTROL,)
        ),
        NEW_REPOSITORY,
        profile="build",
        setup=_proof,
    ),
    Attack(
        "X15",
        "the hooks and configuration of a repository inside the project",
        Stopped(
            "never committed, at any depth",
            ("^planted$",),
            after=_git_runs_nothing,
            controls=(GIT_CONTROL,),
        ),
        SUBREPOSITORY_HOOK,
        profile="build",
        setup=_with_subrepository,
    ),
    Attack(
        "X23",
        "tell git that a repository's configuration lies elsewhere (commondir)",
        Stopped(
            "a new repository is held whole; git's hooks and settings are never committed",
            ("^planted$",),
            after=_git_runs_nothing,
            controls=(GIT_CONTROL,),
        ),
        COMMON_FOLDER,
        profile="build",
        setup=_with_repository,
    ),
    Attack(
        "X24",
        "a bare repository that comes into being over two runs",
        Stopped("what makes a folder a repository is held, whatever of it is new"),
        scenario=_no_repository_comes_bit_by_bit,
    ),
    Attack(
        "X25",
        "hooks in a folder of the project that a link or the configuration leads to",
        Stopped(
            "what links and configuration lead to is never committed, either",
            ("^planted$",),
            after=_git_runs_nothing,
            controls=(GIT_CONTROL,),
        ),
        LINKED_HOOKS,
        profile="build",
        setup=_with_linked_hooks,
    ),
    Attack(
        "X27",
        "have the kernel end the supervisor, so that nobody judges the remaining files",
        Stopped(
            "a run is committed only if its supervisor saw it end",
        ),
        scenario=_supervisor_is_outlived,
    ),
    Attack(
        "X28",
        "exchange a folder for a link while the next run's cell is made",
        Stopped("mounts follow no link; a cell that meets one is not made"),
        scenario=_no_link_is_followed_by_mounts,
        b=NotApplicable("nothing is mounted", lambda arena: arena.tier == "B"),
        c=NotApplicable("the engine does the mounting", lambda arena: arena.tier == "C"),
    ),
)
