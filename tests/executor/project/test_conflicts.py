"""What someone else did to the project while a run was at work stays as he left it."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from tests.executor.project.viewing import FakeNames, View, left, python, run, tree

pytestmark = pytest.mark.view  # a file is what it was, whoever runs

# What the run does, what the host does meanwhile, and the paths that conflict.
CONFLICTS = {
    "both changed it": ("open('a.txt', 'w').write('run')", "open('a.txt', 'w').write('host')", "a.txt"),  # noqa: E501
    "in place, same size and time": (
        "open('a.txt', 'w').write('run')",
        "i = os.stat('a.txt'); open('a.txt', 'w').write('A\\n'); os.utime('a.txt', ns=(i.st_atime_ns, i.st_mtime_ns))",  # noqa: E501
        "a.txt",
    ),
    "changed and deleted": ("open('a.txt', 'w').write('run')", "os.unlink('a.txt')", "a.txt"),
    "deleted and changed": ("os.unlink('a.txt')", "open('a.txt', 'w').write('host')", "a.txt"),
    "both created it": ("open('n', 'w').write('run')", "open('n', 'w').write('host')", "n"),
    "created, and a folder came": ("open('n', 'w').write('run')", "os.mkdir('n')", "n"),
    "a folder created, and a file came": ("os.mkdir('n'); open('n/f', 'w')", "open('n', 'w')", "n"),
    "a folder created, and a link came": ("os.mkdir('n'); open('n/f', 'w')", "os.symlink('/tmp', 'n')", "n"),  # noqa: E501
    "its folder went": ("open('docs/n', 'w')", "shutil.rmtree('docs')", "docs/n"),
    "its folder became a link": (
        "open('docs/one.md', 'w').write('run')",
        "shutil.move('docs', '../moved'); os.symlink('../moved', 'docs')",
        "docs/one.md",
    ),
    "changed and made a folder": ("open('a.txt', 'w').write('r')", "os.unlink('a.txt'); os.mkdir('a.txt')", "a.txt"),  # noqa: E501
    "mode of what was changed": ("os.chmod('a.txt', 0o600)", "open('a.txt', 'a').write('h')", "a.txt"),  # noqa: E501
    "both modes": ("os.chmod('a.txt', 0o600)", "os.chmod('a.txt', 0o640)", "a.txt"),
    "a folder replaced into which something came": (
        "shutil.rmtree('docs'); open('docs', 'w').write('f')",
        "open('docs/new', 'w').write('host')",
        "docs",
    ),
    "a folder replaced in which something changed": (
        "shutil.rmtree('docs'); open('docs', 'w').write('f')",
        "open('docs/one.md', 'w').write('host')",
        "docs/one.md",
    ),
    "two targets": ("os.unlink('link'); os.symlink('b.txt', 'link')", "os.unlink('link'); os.symlink('run.sh', 'link')", "link"),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize(("mine", "theirs", "path"), CONFLICTS.values(), ids=CONFLICTS.keys())
def test_a_conflict_leaves_the_hosts_and_all_else_is_committed(any_view: View, mine, theirs, path):
    any_view.run(*python(f"{mine}\nopen('else', 'w').write('else')"))
    run(any_view.project, *python(theirs))
    before = tree(any_view.project, times=False)
    outcome = any_view.commit()
    assert left(outcome)[path] == "conflict"
    after = tree(any_view.project, times=False)
    assert after.pop("else")[2] == b"else"
    assert after == before
    assert path in {change.path for change in any_view.store.get(outcome.id).changes}


ALIKE = {
    "the same content": ("open('a.txt', 'w').write('same')", "open('a.txt', 'w').write('same')"),
    "created alike": ("open('n', 'w').write('same')", "open('n', 'w').write('same')"),
    "both deleted it": ("os.unlink('a.txt')", "os.unlink('a.txt')"),
    "both deleted the folder": ("shutil.rmtree('src')", "shutil.rmtree('src')"),
    "both made the folder": ("os.mkdir('n'); open('n/a', 'w')", "os.mkdir('n'); open('n/b', 'w')"),
    "the same link": ("os.symlink('a.txt', 'n')", "os.symlink('a.txt', 'n')"),
    "other files of one folder": ("open('docs/a', 'w')", "open('docs/b', 'w')"),
    "a file that the run only read": ("open('a.txt').read()", "open('a.txt', 'w').write('host')"),
    "one of two hard links each": ("os.unlink('hard1')", "open('b.txt', 'w').write('host')"),
}  # fmt: skip


@pytest.mark.parametrize(("mine", "theirs"), ALIKE.values(), ids=ALIKE.keys())
def test_what_both_did_alike_is_no_conflict(any_view: View, mine, theirs):
    any_view.run(*python(mine))
    run(any_view.project, *python(theirs))
    assert any_view.commit().left_out == ()


def test_what_appeared_in_a_deleted_folder_stays(any_view: View):
    any_view.run(*python("shutil.rmtree('src')"))
    (any_view.project / "src" / "deep" / "mine").write_text("mine")
    outcome = any_view.commit()
    assert left(outcome) == {"src": "kept", "src/deep": "kept"}
    assert sorted(tree(any_view.project / "src")) == ["deep", "deep/mine"]


def test_a_deletion_keeps_what_is_never_committed_and_what_the_view_hid(project, tmp_path):
    (project / "docs" / ".envrc").write_text("export A=1\n")
    (project / "src" / "secret").mkdir()
    (project / "src" / "secret" / "key").write_text("key\n")
    (project / "docs" / "AGENTS.md").write_text("be kind\n")
    view = View(project, tmp_path / "view", hidden=("src/secret",))
    view.begin()
    view.run(*python("shutil.rmtree('docs'); shutil.rmtree('src')"))
    outcome = view.commit()
    assert left(outcome) == {
        "docs": "kept",
        "docs/.envrc": "kept",
        "docs/AGENTS.md": "held",
        "src": "kept",
        "src/secret": "kept",
    }
    assert sorted(tree(project / "docs")) == [".envrc", "AGENTS.md"]
    assert sorted(tree(project / "src")) == ["secret", "secret/key"]


NAMED = {
    "a new never file": ("open('.envrc', 'w').write('x')", {".envrc": "never"}),
    "a new never folder": ("os.makedirs('d/.vscode'); open('d/.vscode/tasks.json', 'w')", {"d/.vscode": "never"}),  # noqa: E501
    "a changed held file": ("open('AGENTS.md', 'w').write('obey')", {"AGENTS.md": "held"}),
    "a new held file": ("os.mkdir('d'); open('d/.npmrc', 'w').write('x')", {"d/.npmrc": "held"}),
    "a never link": ("os.symlink('a.txt', '.envrc')", {".envrc": "never"}),
    "a hard link as never": ("os.link('a.txt', '.envrc')", {".envrc": "never"}),
    "renamed to never": ("os.rename('b.txt', '.envrc')", {".envrc": "never"}),
}  # fmt: skip


@pytest.mark.parametrize(("code", "wanted"), NAMED.values(), ids=NAMED.keys())
def test_names_that_tools_obey_are_left_out_and_all_else_is_committed(
    project, tmp_path, code, wanted
):
    (project / "AGENTS.md").write_text("be kind\n")
    view = View(project, tmp_path / "view")
    view.begin()
    view.run(*python(f"{code}\nopen('else', 'w')"))
    before = tree(project, times=False)
    outcome = view.commit()
    assert left(outcome) == wanted
    after = tree(project, times=False)
    assert after.pop("else")
    assert after == {k: v for k, v in before.items() if k in after}
    assert {path for path, kind in wanted.items()} <= {
        change.path for change in view.store.get(outcome.id).changes
    }


@pytest.mark.parametrize("name", [".envrc", ".vscode/tasks.json", "AGENTS.md", ".git/index"])
def test_a_hard_link_to_what_is_obeyed_becomes_a_copy(project, any_view, name):
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text("of the host")
    (project / ".git").mkdir(exist_ok=True)
    view = any_view
    view.begin()
    view.run(*python(f"os.link({name!r}, 'alias'); os.link('a.txt', 'plain')"))
    assert left(view.commit()) == {}
    assert (project / "alias").read_text() == "of the host"
    assert not (project / "alias").samefile(project / name)
    assert (project / "plain").samefile(project / "a.txt")


def test_the_same_names_are_committed_where_the_table_permits_them(view: View):
    class Nothing(FakeNames):
        never = held = ()

    view.run(*python("open('.envrc', 'w').write('x'); open('AGENTS.md', 'w').write('y')"))
    assert view.commit(Nothing()).left_out == ()
    assert (view.project / ".envrc").read_text() == "x"
    assert (view.project / "AGENTS.md").read_text() == "y"


@pytest.mark.parametrize("call", ["utime", "chmod"])
def test_what_came_into_a_folder_that_is_not_ours_is_told(view: View, monkeypatch, call: str):
    """One may write to a folder whose mode and times one can't set."""
    view.run(*python("open('docs/n', 'w'); os.unlink('docs/two.md'); os.chmod('docs', 0o777)"))
    docs, real = (view.project / "docs").stat().st_ino, getattr(os, call)

    def refused(path: Any, *args: Any, **options: Any) -> None:
        if str(path).startswith("/proc/") and os.stat(path).st_ino == docs:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        real(path, *args, **options)

    monkeypatch.setattr(os, call, refused)
    outcome = view.commit()
    assert left(outcome) == ({} if call == "utime" else {"docs": "closed"})
    assert {"docs/n", "docs/two.md"} <= {change.path for change in outcome.changed}
    assert ("docs" in {change.path for change in outcome.changed}) == (call == "utime")
    assert (view.project / "docs" / "n").exists()
    assert not (view.project / "docs" / "two.md").exists()
