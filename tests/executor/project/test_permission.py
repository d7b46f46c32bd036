"""What this user may not write in the project is named; all else is committed."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from base import process
from executor import Request
from executor.project.plan.conflicts import CommitRules
from executor.project.plan.planning import plan
from tests.executor.project.conftest import fill
from tests.executor.project.git_work import shell
from tests.executor.project.viewing import FakeNames, PlainReader, View, left, python, run, tree
from tests.needs import need

NAMES = FakeNames()
OPENED = (
    "os.chmod({folder!r}, 0o755)\n{code}\nif os.path.isdir({folder!r}): os.chmod({folder!r}, 0o555)"
)
GIT = "export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null\n" + "".join(
    f"export GIT_{who}_{what}=x\n" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
)

needs_ordinary = pytest.mark.skipif(
    os.geteuid() == 0, reason="not applicable: root may write in every folder"
)


def begin(project: Path, tmp_path: Path, kind: str) -> View:
    view = View(project, tmp_path / "view", kind)
    view.begin()
    return view


@pytest.fixture(params=[pytest.param("overlay", marks=pytest.mark.tier_a), "copy"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


# What a run does in the folder `docs`, after it has made it writable, and what is not applied.
IN_READ_ONLY = {
    "a new file": ("open('docs/n', 'w').write('n')", {"docs/n": "closed"}),
    "a changed file": ("open('docs/one.md', 'a').write('n')", {"docs/one.md": "closed"}),
    "a deleted file": ("os.unlink('docs/one.md')", {"docs/one.md": "closed"}),
    "a new folder": ("os.mkdir('docs/d'); open('docs/d/f', 'w')", {"docs/d": "closed"}),
    "a new link": ("os.symlink('one.md', 'docs/l')", {"docs/l": "closed"}),
    "a file that becomes a folder": (
        "os.unlink('docs/one.md'); os.mkdir('docs/one.md'); open('docs/one.md/f', 'w')",
        {"docs/one.md": "closed"},
    ),
    "a file moved out": ("os.rename('docs/one.md', 'moved')", {"docs/one.md": "closed"}),
    "a file moved into it": ("os.rename('a.txt', 'docs/a.txt')", {"docs/a.txt": "closed"}),
    "a deleted tree": (
        "shutil.rmtree('docs')",
        {"docs/one.md": "closed", "docs/two.md": "closed", "docs": "kept"},
    ),
}


@needs_ordinary
@pytest.mark.parametrize(("code", "wanted"), IN_READ_ONLY.values(), ids=IN_READ_ONLY)
def test_a_read_only_folder_closes_nothing_else(project, tmp_path, kind, code, wanted):
    (project / "docs").chmod(0o555)
    view = begin(project, tmp_path, kind)
    before = tree(project / "docs")
    view.run(*python(OPENED.format(folder="docs", code=code) + "\nopen('else', 'w').write('e')"))
    outcome = view.commit()
    assert left(outcome) == wanted
    assert tree(project / "docs") == before
    assert (project / "else").read_text() == "e"
    (reason,) = {each.reason for each in outcome.left_out if each.kind == "closed"}
    assert "`chmod u+wx docs`" in reason
    # What it says helps.
    assert view.store.apply(outcome.id, names=NAMES).changed == ()
    (project / "docs").chmod(0o755)
    assert left(view.store.apply(outcome.id, names=NAMES)) == {}
    live = tmp_path / "live"
    live.mkdir()
    fill(live)
    run(live, *python(f"{code}\nopen('else', 'w').write('e')"))
    (project / "docs").chmod(0o755)
    if "docs" in wanted:  # a folder that stayed then is no change that waits
        (project / "docs").rmdir()
    assert tree(project, times=False) == tree(live, times=False)


@needs_ordinary
def test_of_a_staged_run_nothing_is_applied_beside_a_read_only_folder(project, tmp_path, kind):
    view = begin(project, tmp_path, kind)
    view.run(*python("open('docs/n', 'w'); open('else', 'w')"))
    name = view.commit(stage=True).id
    (project / "docs").chmod(0o555)
    before = tree(project)
    outcome = view.store.apply(name, names=NAMES)
    assert (left(outcome), outcome.changed, outcome.id) == ({"docs/n": "closed"}, (), name)
    assert tree(project) == before
    (project / "docs").chmod(0o755)
    assert left(view.store.apply(name, names=NAMES)) == {}


@needs_ordinary
@pytest.mark.parametrize("folder", [".git", ".git/refs/heads", ".git/objects"])
def test_a_read_only_folder_of_a_repository_leaves_all_of_it(project, tmp_path, kind, folder):
    run(project, "sh", "-ec", f"{GIT} git init -q -b main .; git add a.txt; git commit -qm one")
    view = begin(project, tmp_path, kind)
    view.run("sh", "-ec", f"{GIT} echo n > n; git add n; git commit -qm two")
    (project / folder).chmod(0o555)
    state = "git for-each-ref; git log --format=%s; git status --porcelain"
    before = shell(project, state)
    outcome = view.commit()
    assert left(outcome) == {".git": "repository", "n": "conflict"}
    assert "ermission" in outcome.left_out[0].reason
    assert shell(project, state) == before
    (project / folder).chmod(0o755)
    assert left(view.store.apply(outcome.id, names=NAMES)) == {}
    run(project, "sh", "-ec", f"{GIT} git fsck --strict; git log --format=%s | grep -x two")


@pytest.mark.skipif(os.geteuid() != 0, reason="not applicable: only root commits for others")
@pytest.mark.parametrize("stage", [False, True])
def test_what_git_writes_is_the_projects_owners(project: Path, tmp_path: Path, stage: bool):
    tmp_path.chmod(0o755)
    run(project, "sh", "-ec", f"{GIT} git init -q -b main .; git add a.txt; git commit -qm one")
    run(project, "chown", "-R", "1234:1235", ".")
    for folder in project.parents[:4]:
        folder.chmod(folder.stat().st_mode | 0o011)
    view = begin(project, tmp_path, "copy")
    work = "echo n > n; git add n; git commit -qm two; git branch x; echo s > n; git stash -q"
    view.run("sh", "-ec", f"{GIT} {work}; git init -q new; cd new; git commit -qm c --allow-empty")
    outcome = view.commit(stage=stage)
    assert left(outcome) == ({} if stage else {"new/.git": "held"})
    applied = view.store.apply(outcome.id, names=NAMES)
    assert applied.left_out == ()
    assert shell(project, "find . ! -user 1234 -o ! -group 1235") == ""
    run(project, "chown", "-R", "0:0", ".")
    said = shell(project, "git fsck --strict; git log --format=%s; git -C new log --format=%s")
    assert said == "two\none\nc\n"


@contextlib.contextmanager
def immutable(path: Path) -> Iterator[None]:
    need("chattr")

    def change(attribute: str) -> bool:
        command = ["chattr", attribute, path]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0

    if os.geteuid() != 0 or not change("+i"):
        pytest.skip("not applicable: this user or this file system has no immutable files")
    try:
        yield
    finally:
        change("-i")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a.txt", "open('a.txt', 'w').write('run')"),
        ("a.txt", "os.unlink('a.txt')"),
        ("docs", "open('docs/n', 'w').write('run')"),
        ("docs", "os.unlink('docs/one.md')"),
    ],
)
def test_what_is_immutable_even_for_root_closes_nothing_else(project, tmp_path, kind, path, code):
    view = begin(project, tmp_path, kind)
    view.run(*python(f"{code}; open('else', 'w')"))
    with immutable(project / path):
        view.record_again()
        before = tree(project)
        outcome = view.commit()
        assert set(left(outcome).values()) == {"closed"}
        assert [c.path for c in outcome.changed if c.change != "times"] == ["else"]
        assert {p: s for p, s in tree(project).items() if p != "else"} == before
    assert left(view.store.apply(outcome.id, names=NAMES)) == {}


@pytest.mark.parametrize(("code", "is_left"), [
    ("os.chmod('a.txt', 0o600)", True),
    ("os.chmod('docs', 0o700)", True),
    ("os.utime('a.txt', ns=(5, 5))", False),  # a time says nothing alone
    ("open('a.txt', 'w').write('run')", False),
])  # fmt: skip
def test_only_its_owner_may_set_an_entry(view, monkeypatch: pytest.MonkeyPatch, code, is_left):
    view.run(*python(code))
    changes = view.changes()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    monkeypatch.setattr(process, "holds", lambda *asked: False)
    try:
        planned = plan(
            changes, CommitRules(NAMES), view.store.brought(), PlainReader.of(view.place)
        )
    finally:
        os.close(changes.contents)
    assert [each.kind for each in planned.left_out] == ["closed"] * is_left


@needs_ordinary
async def test_a_build_commits_all_but_what_lies_in_a_read_only_folder(run, project: Path):
    (project / "docs").chmod(0o555)
    code = "echo else > else; ! echo n > docs/n; chmod u+w docs; echo n > docs/n; chmod u-w docs"
    result = await run("shell", f"set -e; {code}", profile="build")
    assert result.ok, result
    assert [(each.path, each.kind) for each in result.not_committed] == [("docs/n", "closed")]
    assert "`chmod u+wx docs`" in result.not_committed[0].reason
    assert result.changes_id
    assert (project / "else").read_text() == "else\n"
    assert sorted(os.listdir(project / "docs")) == ["one.md", "two.md"]


@needs_ordinary
async def test_a_build_beside_closed_entries_leaves_them_and_commits_all_else(run, project: Path):
    (project / "closed").write_text("closed")
    (project / "folder").mkdir()
    (project / "folder" / "f").write_text("f")
    for name in ("closed", "folder"):
        (project / name).chmod(0)
    result = await run("shell", "! cat closed; ! ls folder; echo else > else", profile="build")
    assert result.ok, result
    assert result.not_committed == ()
    assert (project / "else").read_text() == "else\n"
    assert {(project / name).stat().st_mode & 0o777 for name in ("closed", "folder")} == {0}


@pytest.mark.tier_a  # a session in build has none but tier A
async def test_what_a_session_closes_to_itself_is_committed_and_stays_closed(executor, project):
    async def call(code: str) -> str:
        request = Request("shell", code, profile="build", session="s", timeout_s=60)
        result = (await executor.run(request)).result
        assert result.not_committed == ()
        return result.stdout.text

    await call("echo secret > mine; chmod 0 mine; mkdir own; echo f > own/f; chmod 0 own")
    for name in ("mine", "own"):
        assert (project / name).stat().st_mode & 0o777 == 0
    assert await call("stat -c %a mine own; echo else > else") == "0\n0\n"
    assert (project / "else").read_text() == "else\n"
    for name in ("mine", "own"):
        assert (project / name).stat().st_mode & 0o777 == 0


# What a file system or a rule of the host says of one path, though its folder can be written.
REFUSED = {
    "a link where there are none": (
        ("symlink", ".ctxmode-", errno.EPERM),
        "os.symlink('a.txt', 'l')",
        {"l": "closed"},
    ),
    "a file that is too large": (
        ("open", "/docs", errno.EFBIG),
        "open('docs/n', 'w').write('n')",
        {"docs/n": "closed"},
    ),
    "a folder that a rule forbids": (
        ("mkdir", ".ctxmode-", errno.EACCES),
        "os.mkdir('d'); open('d/f', 'w')",
        {"d": "closed"},
    ),
    "a name that is none there": (
        ("open", "odd:name", errno.EINVAL),
        "os.mkdir('d'); open('d/f', 'w'); open('d/odd:name', 'w')",
        {"d/odd:name": "closed"},
    ),
}


@pytest.mark.parametrize(("refusal", "code", "wanted"), REFUSED.values(), ids=REFUSED)
def test_one_path_that_the_host_refuses_closes_nothing_else(
    any_view: View, monkeypatch: pytest.MonkeyPatch, refusal, code, wanted
):
    any_view.run(*python(f"{code}; open('src/else', 'w').write('e')"))
    with monkeypatch.context() as patch:
        refuse(patch, any_view.project, *refusal)
        outcome = any_view.commit()
    assert left(outcome) == wanted
    after = set(tree(any_view.project))
    assert "src/else" in after
    assert after.isdisjoint(wanted)
    assert not [path for path in after if "ctxmode" in path]
    assert ("d/f" in after) == ("d/odd:name" in wanted)
    assert left(any_view.store.apply(outcome.id, names=NAMES)) == {}
    assert wanted.keys() <= tree(any_view.project).keys()


def refuse(patch: pytest.MonkeyPatch, project: Path, call: str, part: str, error: int) -> None:
    """Have a call of the system fail that makes an entry of such a name in the project.

    A file is opened there, or linked to.
    """
    makes = getattr(os, call)
    link = os.link

    def check(name: object, folder: int | None) -> None:
        if folder is not None:
            place = os.readlink(f"/proc/self/fd/{folder}")
            if place.startswith(str(project)) and part in f"{place}/{name}":
                raise OSError(error, os.strerror(error))

    def refusing(*given, dir_fd=None, **more):
        if call != "open" or given[1] & os.O_CREAT:
            check(given[-1] if call == "symlink" else given[0], dir_fd)
        return makes(*given, dir_fd=dir_fd, **more)

    def refusing_links(first, second, *, dst_dir_fd=None, **more):
        check(second, dst_dir_fd)
        return link(first, second, dst_dir_fd=dst_dir_fd, **more)

    patch.setattr(os, call, refusing)
    if call == "open":
        patch.setattr(os, "link", refusing_links)


def test_a_ref_that_the_host_refuses_leaves_all_of_its_repository(
    project: Path, tmp_path: Path, kind: str
):
    run(project, "sh", "-ec", f"{GIT} git init -q -b main .; git add a.txt; git commit -qm one")
    view = begin(project, tmp_path, kind)
    view.run("sh", "-ec", f"{GIT} echo n > n; git add n; git commit -qm two")
    state = "git log --format=%s; git status --porcelain; git for-each-ref"
    before = shell(project, state)
    lock = project / ".git/refs/heads/main.lock"
    lock.touch()
    outcome = view.commit()
    assert left(outcome)[".git"] == "repository"
    assert outcome.changed == ()
    assert not (project / "n").exists()
    assert shell(project, state) == before
    lock.unlink()
    assert left(view.store.apply(outcome.id, names=NAMES)) == {}
    run(project, "sh", "-ec", f"{GIT} git fsck --strict; git log --format=%s | grep -x two")


def test_a_hard_link_that_the_host_refuses_becomes_a_copy(
    any_view: View, monkeypatch: pytest.MonkeyPatch
):
    any_view.run(*python("os.link('a.txt', 'same'); open('n', 'w').write('n'); os.link('n', 'm')"))

    def refusing(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))  # as for another user's file

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", refusing)
        outcome = any_view.commit()
    assert outcome.left_out == ()
    for one, other in (("a.txt", "same"), ("n", "m")):
        texts = {(any_view.project / name).read_text() for name in (one, other)}
        assert len(texts) == 1
        assert not (any_view.project / one).samefile(any_view.project / other)
