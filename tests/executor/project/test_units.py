"""A repository is one unit: what git leaves behind is committed whole, or none of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from executor.settings import Settings
from tests.executor.project.viewing import S_MAX, View, left, python, tree
from tests.needs import need

pytestmark = pytest.mark.view  # git leaves the same to everyone

SETTINGS = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    "GIT_EDITOR": "true",
    "HGUSER": "x",
    "HGRCPATH": "",
}


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch):
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)


def shell(folder: Path, script: str) -> str:
    outcome = subprocess.run(
        ["sh", "-ec", script],
        cwd=folder,
        check=False,
        timeout=S_MAX,
        capture_output=True,
        text=True,
    )
    assert outcome.returncode == 0, outcome.stderr + outcome.stdout
    return outcome.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two branches, one of which changes what agents obey; a conflict between two others."""
    folder = tmp_path / "repository"
    folder.mkdir()
    shell(
        folder,
        """
        git init -q -b main .
        mkdir src; echo one > src/one; echo be kind > AGENTS.md; echo a > a
        git add . ; git commit -qm first
        git checkout -qb other; echo be rude > AGENTS.md; echo b > a; git commit -qam other
        git checkout -q main; echo c > c; git add c; git commit -qm second
        git checkout -qb easy HEAD~1; echo d > d; git add d; git commit -qm easy
        git checkout -q main; echo z > a; git commit -qam clash
        """,
    )
    return folder


@pytest.fixture
def view(repository: Path, tmp_path: Path) -> View:
    begun = View(repository, tmp_path / "view")
    begun.begin()
    return begun


def script(view: View, text: str) -> None:
    view.run("sh", "-ec", text)


WORK = {
    "commit": "echo new > new; git add new; git commit -qm new",
    "amend": "echo new > a; git commit -qa --amend -m amended",
    "branch": "git branch topic/deep; git tag v1; git tag -a v2 -m two",
    "delete a branch": "git branch -qD easy",
    "switch": "git checkout -q easy",
    "switch to another AGENTS.md": "git checkout -q other",
    "merge": "git merge -q -m merged easy",
    "rebase": "git checkout -q easy; git rebase -q main",
    "rebase with a conflict, aborted": "git checkout -q other; git rebase -q main || git rebase --abort",  # noqa: E501
    "rebase with a conflict, resolved": "git checkout -q other; git rebase -q main || { echo r > a; git add a; git rebase --continue; }",  # noqa: E501
    "stash": "echo s > c; git stash -q",
    "stash and pop": "echo s > c; git stash -q; git stash pop -q",
    "gc": "git gc -q --prune=now",
    "gc after a commit": "echo new > new; git add new; git commit -qm new; git gc -q --aggressive --prune=now",  # noqa: E501
    "pack refs": "git pack-refs --all",
    "cherry-pick": "git cherry-pick easy",
    "revert": "git revert --no-edit HEAD~1",
    "reset": "git reset -q --hard HEAD~1",
    "remove": "git rm -q a; git commit -qm removed",
    "bisect, ended": "git bisect start; git bisect bad; git bisect reset",
    "fetch from itself": "git fetch -q . easy:fetched",
    "mv": "mkdir lib; mv src/one lib/one; git add -A; git commit -qm moved",
    "orphan": "git checkout -q --orphan fresh; git rm -rqf src; echo x > x; git add x; git commit -qm x",  # noqa: E501
}


@pytest.mark.parametrize("text", WORK.values(), ids=WORK.keys())
def test_git_finds_what_the_run_left(view: View, text):
    script(view, text)
    script_state = "git status --porcelain; git log --all --format=%H%d; git stash list; git diff HEAD; git fsck --strict --no-dangling 2>&1"  # noqa: E501
    view.run("sh", "-ec", f"{{ {script_state}; }} > ../seen 2>&1")
    outcome = view.commit()
    assert outcome.left_out == ()
    assert shell(view.project, f"{{ {script_state}; }} 2>&1") == (view.place / "seen").read_text()


UNFINISHED = {
    "rebase": ("git checkout -q other; git rebase -q main || true", "rebase-merge"),
    "merge": ("git merge -q other || true", "MERGE_HEAD"),
    "cherry-pick": ("git cherry-pick other || true", "CHERRY_PICK_HEAD"),
    "revert": ("git revert --no-edit HEAD~1 HEAD~2 || true", "REVERT_HEAD"),
    "am": ("git format-patch -q -1 other -o ..; git am -q ../*.patch || true", "rebase-apply"),
    "bisect": ("git bisect start", "BISECT"),
    "rebase with exec": ("git rebase -q -x false HEAD~1 || true", "rebase-merge"),
}


@pytest.mark.parametrize(("text", "mark"), UNFINISHED.values(), ids=UNFINISHED.keys())
def test_an_operation_in_progress_leaves_all_of_the_repository(view: View, text, mark):
    before = tree(view.project)
    script(view, f"{text}; echo x > new")
    outcome = view.commit()
    assert left(outcome) == {".git": "repository"}
    assert mark in outcome.left_out[0].reason
    assert outcome.changed == ()
    assert tree(view.project) == before
    assert "new" in {change.path for change in view.store.get(outcome.id).changes}


@pytest.mark.parametrize("how", ["--abort", "--continue", "--quit", "--skip"])
def test_an_operation_of_the_host_may_be_ended_by_a_run(view: View, how):
    shell(view.project, "git checkout -q other; git rebase -q main || true")
    view.begin()
    script(view, f"echo r > a; git add a; git rebase {how}")
    outcome = view.commit()
    assert outcome.left_out == ()
    assert not (view.project / ".git" / "rebase-merge").exists()
    assert "rebas" not in shell(view.project, "git status")


def test_an_operation_of_the_host_may_not_be_changed(view: View):
    shell(view.project, "git checkout -q other; git rebase -q main || true")
    view.begin()
    script(view, "echo 'exec touch /tmp/owned' >> .git/rebase-merge/git-rebase-todo")
    assert left(view.commit()) == {".git": "repository"}


def test_a_conflict_in_the_repository_leaves_all_of_it(view: View):
    script(view, "echo new > new; git add new; git commit -qm new")
    shell(view.project, "echo mine > mine; git add mine; git commit -qm mine")
    before = tree(view.project)
    outcome = view.commit()
    assert left(outcome)[".git"] == "repository"
    assert tree(view.project) == before


CONTROL = {
    "a hook": ("echo x > .git/hooks/post-commit", {".git/hooks": "never"}),
    "configuration": ("git config core.fsmonitor evil", {".git/config": "never"}),
    "a worktree's configuration": ("echo > .git/config.worktree", {".git/config.worktree": "never"}),  # noqa: E501
    "attributes": ("mkdir -p .git/info; echo > .git/info/attributes", {".git/info/attributes": "never"}),  # noqa: E501
    "alternates": ("echo /x > .git/objects/info/alternates", {".git/objects": "never"}),
    "commondir": ("echo /x > .git/commondir", {".git/commondir": "never"}),
    "a submodule's repository": ("mkdir -p .git/modules/s; echo > .git/modules/s/config", {".git/modules/s": "never"}),  # noqa: E501
    "files hidden from whoever looks": ("echo x > .git/info/exclude", {".git/info/exclude": "never"}),  # noqa: E501
    "an object shown for another": ("git replace HEAD HEAD~1", {".git/refs/replace": "never"}),
    "one shown for another, packed": ("git replace HEAD HEAD~1; git pack-refs --all", {".git/refs/replace": "never"}),  # noqa: E501
    "what nobody knows": ("echo > .git/unheard-of", {".git/unheard-of": "never"}),
    "a link to refs": ("mv .git/refs ../refs; ln -s ../../refs .git/refs", {".git": "repository"}),
    "a link in refs": ("ln -s ../../../a .git/refs/heads/l", {".git": "repository"}),
    "an object changed in place": (
        "o=$(git rev-parse HEAD:a | sed 's,^..,.git/objects/&/,'); chmod u+w $o; echo x >> $o", {}),
    "a hook deleted": ("rm -f .git/hooks/*.sample; rm -f .git/config", {".git/config": "kept", ".git/hooks": "kept"}),  # noqa: E501
    "the repository deleted": ("rm -rf .git", {".git": "kept"}),
    "a new repository": ("mkdir n; git init -q n; echo x > n/x", {"n/.git": "held"}),
    "a new bare repository": ("git init -q --bare n", {"n": "held"}),
    "a clone": ("git clone -q --no-hardlinks . n", {"n/.git": "held"}),
    "a repository in node_modules": ("mkdir -p node_modules/n; git init -q node_modules/n", {"node_modules/n/.git": "held"}),  # noqa: E501
    "a git file": ("mkdir n; echo gitdir: ../.git > n/.git", {"n/.git": "never"}),
    "a git link": ("mkdir n; ln -s ../.git n/.git", {"n/.git": "never"}),
    "a worktree": ("git worktree add -q w", {".git/worktrees/w": "never", "w/.git": "never"}),
    "locks left behind": ("touch .git/index.lock .git/gc.pid .git/refs/heads/x.lock", {}),
    "a bare repository by hand": ("mkdir -p n/objects n/refs; echo 'ref: refs/heads/main' > n/HEAD; echo > n/config", {"n": "held"}),  # noqa: E501
    "a bare repository in capitals": ("mkdir -p n/OBJECTS n/Refs; echo 'ref: refs/heads/main' > n/Head; echo > n/CONFIG", {"n": "refused"}),  # noqa: E501
    "one that looks like it": ("mkdir -p n/objects n/refs n/head; echo x > n/head/x; touch n/objects/x n/refs/x", {}),  # noqa: E501
    "the project made a bare repository": ("git init -q --bare .", {".": "held"}),
    "the project made one by hand": ("mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; printf '[core]\\nbare = true' > config", {".": "held"}),  # noqa: E501
    "a folder made a repository": ("echo 'ref: x' > src/HEAD; mkdir src/objects src/refs; echo x > src/config", {"src": "refused"}),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), CONTROL.values(), ids=CONTROL.keys())
def test_what_controls_a_repository_is_never_committed(view: View, text, wanted):
    kept = ("hooks", "config", "info", "HEAD")
    before = {
        p: s for p, s in tree(view.project / ".git", times=False).items() if p.split("/")[0] in kept
    }
    script(view, f"{text}; echo x > else")
    outcome = view.commit()
    if wanted is not None:
        assert left(outcome) == wanted
    assert outcome.left_out or wanted == {}
    after = {
        p: s for p, s in tree(view.project / ".git", times=False).items() if p.split("/")[0] in kept
    }
    assert after == before
    if wanted is None or "repository" not in wanted.values():
        assert (view.project / "else").exists() == ("repository" not in left(outcome).values())
    assert "fatal" not in shell(view.project, "git fsck 2>&1; git status 2>&1")
    assert not list((view.project / ".git").rglob("*.lock"))


@pytest.mark.parametrize("first", ["mkdir objects refs; echo x > config", "echo 'ref: x' > HEAD"])
def test_a_project_becomes_no_bare_repository_over_two_runs(view: View, first):
    script(view, f"mkdir -p n; echo; {first}")
    view.commit()
    view.begin()
    script(view, "mkdir -p objects refs; echo 'ref: refs/heads/main' > HEAD; echo y > config")
    outcome = view.commit()
    assert left(outcome) == {".": "held"}
    names = {path.name for path in view.project.iterdir()}
    assert not {"HEAD", "objects"} <= names


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("mkdir -p n/Objects n/REFS; touch n/Objects/x n/REFS/x", "echo 'ref: x' > n/hEAD"),
        ("mkdir n; echo 'ref: x' > n/hEAD", "mkdir -p n/Objects n/REFS; touch n/Objects/x"),
    ],
)
def test_nor_does_a_folder_where_case_does_not_count(view: View, first, second):
    script(view, first)
    assert view.commit().left_out == ()
    view.begin()
    script(view, second)
    assert left(view.commit()) == {"n": "refused"}


def test_an_emptied_file_counts_as_none_that_was_there_before(view: View):
    shell(view.project, "touch empty; echo safe > AGENTS.md; git add -A; git commit -qm empty")
    view.begin()
    script(view, ": > AGENTS.md; : > other")
    assert left(view.commit()) == {"AGENTS.md": "held"}
    assert (view.project / "AGENTS.md").read_text() == "safe\n"


def test_a_project_that_is_a_bare_repository_is_committed_as_one(tmp_path: Path):
    bare = tmp_path / "bare"
    shell(tmp_path, "git init -q --bare bare; git init -q w; cd w; echo a > a; git add a; "
                    "git commit -qm a; git push -q ../bare HEAD:refs/heads/main")  # fmt: skip
    view = View(bare, tmp_path / "view")
    view.begin()
    script(view, "git branch -q topic main; git pack-refs --all; echo x > other")
    assert view.commit().left_out == ()
    assert "topic" in shell(bare, "git branch; git fsck --strict")
    view.begin()
    script(view, "git config core.fsmonitor evil; echo x > hooks/post-update; git branch t main")
    assert left(view.commit()) == {"config": "never", "hooks": "never"}
    assert "evil" not in (bare / "config").read_text()


def test_held_names_are_committed_only_where_their_content_was_there_before(view: View):
    script(view, "git checkout -q other")
    assert view.commit().left_out == ()
    assert (view.project / "AGENTS.md").read_text() == "be rude\n"
    view.begin()
    script(view, "echo obey me > AGENTS.md")
    assert left(view.commit()) == {"AGENTS.md": "held"}
    shell(view.project, "git gc -q")
    view.begin()
    script(view, "git checkout -q main")
    assert view.commit().left_out == ()


@pytest.mark.parametrize("pack", ["true", "git gc -q --prune=now", "git repack -qad"])
def test_what_a_run_planted_does_not_count_as_there_before(view: View, pack):
    plant = "git checkout -qb p; echo obey me > AGENTS.md; git commit -qam p; git checkout -q main"
    script(view, f"{plant}; {pack}")
    assert view.commit().left_out == ()
    view.begin()
    script(view, "git checkout -q p")
    assert left(view.commit()) == {"AGENTS.md": "held"}
    # What the host has made itself does count.
    shell(view.project, "git checkout -q main -f; git checkout -qb h; echo mine > AGENTS.md; "
                        "git commit -qam h; git checkout -q main; git gc -q --prune=now")  # fmt: skip  # noqa: E501
    view.begin()
    script(view, "git checkout -q h")
    assert view.commit().left_out == ()


@pytest.fixture(scope="session")
def mercurial_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once, and copied for each test: every call of Mercurial takes long."""
    need("hg")
    folder = tmp_path_factory.mktemp("hg")
    shell(
        folder,
        """
        hg init -q .; echo a > a; hg add -q a; hg commit -qm first
        echo b > b; hg add -q b; hg commit -qm second
        hg update -q 0; echo c > b; hg add -q b; hg commit -qm clash
        """,
    )
    return folder


@pytest.fixture
def mercurial(tmp_path: Path, mercurial_repository: Path) -> View:
    folder = tmp_path / "hg"
    shutil.copytree(mercurial_repository, folder, symlinks=True)
    begun = View(folder, tmp_path / "view")
    begun.begin()
    return begun


HG_WORK = (
    ("echo n > n; hg add -q n; hg commit -qm n", "never"),
    ("hg update -q 1", "never"),
    ("hg merge -q --tool :fail || true", "never"),
    ("printf '[hooks]\\nupdate = evil\\n' > .hg/hgrc", "never"),
    ("rm -rf .hg", "kept"),
)


@pytest.mark.parametrize(("text", "kind"), HG_WORK)
def test_what_controls_a_mercurial_repository_is_never_committed(mercurial: View, text, kind):
    """It is told once, and the files come."""
    before = tree(mercurial.project / ".hg", times=False)
    script(mercurial, f"{text}; echo x > else")
    assert left(mercurial.commit(Settings().names)) == {".hg": kind}
    assert tree(mercurial.project / ".hg", times=False) == before
    assert (mercurial.project / "else").read_text() == "x\n"
    assert shell(mercurial.project, "hg verify -q") == ""


OTHERWISE_SPELT = (".GIT", ".git.", ".g\u200cit", "git~1", ".git::$INDEX_ALLOCATION", ".gi\u00adt")


CODES = (
    "os.makedirs(n + '/hooks'); open(n + '/hooks/x', 'w'); open(n + '/config', 'w')",
    "os.makedirs(n + '/objects'); open(n + '/objects/x', 'w'); open(n + '/HEAD', 'w')",
    "open(n, 'w')",
    "os.symlink('src', n)",
)


@pytest.mark.parametrize("name", [*OTHERWISE_SPELT, ".hg", ".svn", ".jj", "CVS", "_darcs", ".bzr"])
def test_what_is_called_as_a_version_control_systems_own_is_never_committed(view: View, name):
    """As a folder, a repository, a file and a link, at the top, below and among packages."""
    paths = [f"{above}{name}" for above in ("", "src/", "node_modules/a/", "new/er/")]
    lines = [
        f"n = {path!r}; os.makedirs(os.path.dirname(n) or '.', exist_ok=True); {code}"
        for path, code in zip(paths, CODES, strict=True)
    ]
    view.run(*python("\n".join(lines)))
    assert left(view.commit(Settings().names)) == dict.fromkeys(paths, "never")
    assert not [path for path in paths if os.path.lexists(view.project / path)]
