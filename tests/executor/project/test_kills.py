"""A commit that is killed at any step is completed or taken back by the next start."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from executor.project.apply import staging as steps_taken
from executor.project.store.manifest import CommitError
from tests.executor.project.viewing import View, python, tree

MUCH = """
shutil.rmtree('src/deep')
open('src/main.c', 'w').write('changed')
os.makedirs('new/er'); open('new/er/f', 'w').write('f'); open('new/g', 'w').write('g')
os.unlink('b.txt'); open('c.txt', 'w').write('c')
shutil.rmtree('docs'); open('docs', 'w').write('no folder')
os.unlink('a.txt'); os.mkdir('a.txt'); open('a.txt/x', 'w').write('x')
os.chmod('run.sh', 0o700)
os.link('c.txt', 'new/linked')
os.symlink('c.txt', 'l')
"""
STEPS_MAX = 200


def commit_in_child(view: View, prepare: Callable[[], None]) -> bool:
    """Commit in a child, after it has prepared what kills it; whether it came to the end before."""
    child = os.fork()
    if child == 0:
        try:
            prepare()
            view.commit()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return not os.WIFSIGNALED(status)


def commit_and_die(view: View, steps: int) -> bool:
    """Commit in a child that kills itself at a step; whether it came to the end before."""

    def prepare() -> None:
        left = [steps]

        def step() -> None:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        steps_taken.step = step

    return commit_in_child(view, prepare)


def restore(view: View, pristine: Path) -> None:
    """Have the project be as it was, down to its inodes' times: a copy that is recorded anew."""
    shutil.rmtree(view.project)
    shutil.copytree(pristine, view.project, symlinks=True)
    shutil.rmtree(view.store.folder, ignore_errors=True)


def test_a_commit_killed_at_any_step_is_all_or_nothing(view: View, tmp_path: Path):
    pristine = tmp_path / "pristine"
    shutil.copytree(view.project, pristine, symlinks=True)
    restore(view, pristine)
    outcomes = []
    before = tree(view.project, times=False)
    for steps in range(STEPS_MAX):
        restore(view, pristine)
        view.begin()  # a commit that dies takes what it has moved out of the view with it
        view.run(*python(MUCH))
        finished = commit_and_die(view, steps)
        view.store.recover(view.project)
        after = tree(view.project, times=False)
        assert not [path for path in after if "ctxmode" in path]
        assert os.listdir(view.store.journals(view.project)) == []
        outcomes.append(after)
        if finished:
            break
    else:
        pytest.fail("it never came to its end")
    complete = outcomes[-1]
    assert complete != before
    assert [outcome for outcome in outcomes if outcome not in (before, complete)] == []
    assert len([outcome for outcome in outcomes if outcome == before]) > 10
    assert len([outcome for outcome in outcomes if outcome == complete]) > 10
    assert (view.project / "docs").read_text() == "no folder"
    assert (view.project / "a.txt" / "x").read_text() == "x"


def test_a_recovery_that_is_killed_is_recovered_from(view: View, tmp_path: Path):
    view.run(*python(MUCH))
    for steps in range(STEPS_MAX):
        if commit_and_die(view, steps + 25):
            break
    view.store.recover(view.project)
    assert (view.project / "docs").read_text() == "no folder"


def test_a_recovery_leaves_what_the_host_did_since(view: View):
    view.run(*python("open('a.txt', 'w').write('run'); open('b.txt', 'w').write('run')"))
    for steps in range(STEPS_MAX):  # until it is ready, and nothing of it is in place yet
        assert not commit_and_die(view, steps)
        if list(view.store.journals(view.project).glob("*.ready")):
            break
        view.store.recover(view.project)
    (view.project / "a.txt").write_text("host")
    view.store.recover(view.project)
    assert (view.project / "a.txt").read_text() == "host"
    assert (view.project / "b.txt").read_text() == "run"
    assert not [path for path in tree(view.project) if "ctxmode" in path]


def test_a_journal_of_another_version_is_told_and_stays(view: View):
    view.run(*python("open('a.txt', 'w').write('run')"))
    journal = view.store.journals(view.project) / "a.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text('["put", "a.txt", "file", null, ".ctxmode-1", -1, -1, null, 0]\n')
    with pytest.raises(CommitError, match=f"cannot read {journal.with_suffix('')}:"):
        view.commit()
    assert journal.exists()
    assert (view.project / "a.txt").read_text() == "a\n"
    journal.unlink()
    assert view.commit().left_out == ()


def test_a_journal_that_was_left_at_its_ends_is_cleared(view: View):
    folder = view.store.journals(view.project)
    view.run(*python("open('a.txt', 'w').write('run')"))
    for steps in range(STEPS_MAX):
        assert not commit_and_die(view, steps)
        if ready := list(folder.glob("*.ready")):
            break
        view.store.recover(view.project)
    ready[0].with_suffix(".preparing").write_text(ready[0].read_text())  # not yet taken away
    (folder / "b.new").write_text("[{")
    (folder / "c.pack1").write_text("")
    view.store.recover(view.project)
    assert os.listdir(folder) == []
    assert (view.project / "a.txt").read_text() == "run"


def test_what_was_prepared_is_taken_away_however_deep_or_closed(tmp_path: Path):
    top = tmp_path / "prepared"
    deep = Path(top, *["d"] * 120)
    deep.mkdir(parents=True)
    (deep / "f").touch()
    (top / "link").symlink_to(tmp_path.parent)
    for folder in (deep, top):
        folder.chmod(0)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        steps_taken.remove("prepared", descriptor)
        steps_taken.remove("none", descriptor)
    finally:
        os.close(descriptor)
    assert os.listdir(tmp_path) == []
    assert tmp_path.parent.exists()
