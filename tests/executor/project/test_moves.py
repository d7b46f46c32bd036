"""What a run moved is afterwards as in its view, and nothing of the host's is lost on the way."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from executor.project.apply import staging as steps
from executor.project.store.store import ChangeStore
from tests.executor.project.viewing import View, left, python, tree

pytestmark = pytest.mark.view  # inodes are of the view

MOVES = {
    "a file": ("os.rename('a.txt', 'z.txt')"),
    "a file into another folder": ("os.rename('a.txt', 'docs/z.txt')"),
    "a file into a new folder": (
        "os.makedirs('new/er'); os.rename('a.txt', 'new/er/a.txt'); os.utime('new', ns=(5, 10**18))"
    ),
    "a folder": ("shutil.move('src', 'lib')"),
    "a folder into a new one": ("os.mkdir('new'); shutil.move('src/deep', 'new/deep')"),
    "a folder whose modes are other ones": (
        "shutil.move('docs', 'text'); os.chmod('text', 0o750); os.chmod('text/one.md', 0o640); "
        "os.utime('text/two.md', ns=(7, 10**18))"
    ),
    "a file out of a folder that goes": (
        "os.rename('docs/one.md', 'one.md'); shutil.rmtree('docs')"
    ),
    "two files that change their names round": (
        "os.rename('a.txt', 't'); os.rename('b.txt', 'a.txt'); os.rename('t', 'c.txt')"
    ),
    "a folder in which something is new": (
        "shutil.move('docs', 'text'); pathlib.Path('text/new').write_text('x')"
    ),
    "a file whose folder becomes a file": (
        "os.rename('docs/one.md', 'one.md'); shutil.rmtree('docs'); "
        "pathlib.Path('docs').write_text('x')"
    ),
}


@pytest.mark.parametrize("code", MOVES.values(), ids=MOVES)
def test_it_looks_as_in_the_view(project: Path, tmp_path: Path, code):
    view = View(project, tmp_path / "view", "copy")
    view.begin()
    view.run(*python(code))
    shown = tree(view.place / "copy", top_too=True)
    assert view.commit().left_out == ()
    assert tree(project, top_too=True) == shown


CHANGED = {
    "an edit": lambda p: (p / "src/main.c").write_text("mine"),
    "a new file": lambda p: (p / "src/mine").write_text("mine"),
    "a deletion": lambda p: (p / "src/deep/y.txt").unlink(),
    "the new name is taken": lambda p: (p / "lib").write_text("mine"),
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
@pytest.mark.parametrize("at", ["before", "during"])
def test_what_the_host_changed_meanwhile_stays(
    view: View, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object], at
):
    view.run(*python("shutil.move('src', 'lib')"))
    if at == "before":
        change(view.project)
    else:
        done: list[int] = []

        def step() -> None:
            if not done:
                done.append(1)
                change(view.project)

        monkeypatch.setattr(steps, "step", step)
    outcome = view.commit()
    mine = [p for p in view.project.rglob("*") if p.is_file() and p.read_text() == "mine"]
    assert len(mine) == (0 if change is CHANGED["a deletion"] else 1)
    if change is CHANGED["a new file"]:
        # It stays in the old folder, or went along with that.
        assert (view.project / "lib/main.c").exists() != (view.project / "src/main.c").exists()
    elif change is not CHANGED["a deletion"]:
        assert "conflict" in left(outcome).values()
    if outcome.id and not (view.project / "src").exists():  # the new place was taken: kept instead
        assert "lib/main.c" in {each.path for each in view.store.get(outcome.id).changes}
    else:
        assert "main.c" in {p.name for p in view.project.rglob("*") if p.is_file()}


class EndError(Exception):
    """Stands for the end of the process."""


def test_a_move_that_ends_at_any_step_is_completed_or_taken_back(
    view: View, monkeypatch: pytest.MonkeyPatch
):
    code = (
        "shutil.move('src', 'lib'); os.rename('a.txt', 'docs/a.txt'); os.chmod('lib/main.c', 0o600)"
    )
    before = tree(view.project, times=False)
    for stop in range(100):
        copy = view.place / f"copy{stop}"
        view.place.mkdir(exist_ok=True)
        subprocess.run(["cp", "-a", view.project, copy], check=True)
        own = View(copy, view.place / f"view{stop}")
        own.begin()
        own.run(*python(code))
        at = [0]

        def step(at=at, stop=stop) -> None:
            at[0] += 1
            if at[0] > stop:
                raise EndError

        with monkeypatch.context() as patched:
            patched.setattr(steps, "step", step)
            try:
                own.commit()
            except EndError:
                ended = True
            else:
                ended = False
        ChangeStore(own.place / "changes").recover(copy)
        names = set(tree(copy))
        assert not [name for name in names if ".ctxmode" in name]
        is_done = (copy / "lib").exists()
        if not is_done:
            assert tree(copy, times=False) == before
        else:
            assert (copy / "docs" / "a.txt").read_text() == "a\n"
            assert not (copy / "src").exists()
            assert (copy / "lib" / "main.c").stat().st_mode & 0o777 == 0o600
        if not ended:
            return
    raise AssertionError("it took too many steps")
