"""What a program leaves behind to reach what it must not comes to nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
from pathlib import Path

import pytest

from executor.project.apply import staging as steps
from executor.project.store.manifest import CommitError
from tests.executor.project.viewing import View, left, python, run, tree


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "one.md").write_text("outside\n")
    return folder


LEADING_OUT = {
    "absolute": "os.symlink('/etc/passwd', 'l')",
    "relative": "os.symlink('../../outside', 'l')",
    "from a new folder": "os.makedirs('d/e'); os.symlink('../../../x', 'd/e/l')",
    "to the folder above": "os.symlink('..', 'l')",
    "through another new link": "os.symlink('src', 'm'); os.symlink('m/../../x', 'l')",
    "through a link of the project": "os.symlink('out/x', 'l')",
    "by one that comes later": "os.symlink('z/x', 'l'); os.symlink('../..', 'z')",
    "down and up, for a later run": "os.symlink('src/deep/../../../x', 'l')",
    "round in circles": "os.symlink('m', 'l'); os.symlink('l', 'm')",
    "out of a system's tree": "os.symlink('/usr/../etc/passwd', 'l')",
    "to the root": "os.symlink('/', 'l')",
    "a modified link": "os.unlink('link'); os.symlink('/etc', 'link'); os.symlink('/', 'l')",
    "a folder that becomes one": "shutil.rmtree('docs'); os.symlink('/etc', 'docs'); os.symlink('/', 'l')",  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("code", LEADING_OUT.values(), ids=LEADING_OUT.keys())
def test_a_link_that_leads_out_is_refused(project: Path, tmp_path: Path, outside: Path, code):
    (project / "out").symlink_to(outside)
    view = View(project, tmp_path / "view")
    view.begin()
    before = tree(project, times=False)
    view.run(*python(code))
    outcome = view.commit()
    refused = {path for path, kind in left(outcome).items() if kind == "refused"}
    assert {path.split("/")[-1] for path in refused} >= {"l"}
    after = tree(project, times=False)
    assert refused.isdisjoint(path for path in after if path not in before)
    assert {path: after.get(path) for path in before} == before


STAYING = {
    "beside": "os.symlink('a.txt', 'l')",
    "up and inside": "os.symlink('../../a.txt', 'src/deep/l')",
    "absolute, into the project": "os.symlink({project!r} + '/a.txt', 'l')",
    "the system's Python, as in a venv": "os.makedirs('venv/bin'); os.symlink('/usr/bin/env', 'venv/bin/python')",  # noqa: E501
    "a folder of the caller's": "os.symlink({shown!r} + '/x', 'l')",
}


@pytest.mark.parametrize("code", STAYING.values(), ids=STAYING.keys())
def test_a_link_that_stays_is_committed(view: View, tmp_path: Path, code):
    shown = str(tmp_path / "toolchain")
    view.run(*python(code.format(project=str(view.project), shown=shown)))
    outcome = view.commit(shown=(shown,))
    assert outcome.left_out == ()
    assert len(outcome.changed) in (1, 3)


REPLACED = ["docs", "src", "src/deep"]


@pytest.mark.parametrize("folder", REPLACED)
def test_a_folder_that_becomes_a_link_at_any_step_leads_nothing_out(
    view: View, tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, folder
):
    """The host does so, or what another program made of a shared checkout."""
    pristine = tmp_path / "pristine"
    shutil.copytree(view.project, pristine, symlinks=True)
    shutil.copytree(view.project / folder, outside, dirs_exist_ok=True)
    before = tree(outside)
    code = (
        f"import os\nfor d, ds, fs in os.walk({folder!r}):\n"
        "  for f in fs: open(d + '/' + f, 'w').write('run')\n"
        f"  open(d + '/new', 'w').write('run')\n"
        f"os.mkdir({folder!r} + '/made'); open({folder!r} + '/made/x', 'w')"
    )
    for at in range(100):
        shutil.rmtree(view.project)
        shutil.copytree(pristine, view.project, symlinks=True)
        view.begin()
        view.run(*python(code))
        left_over = [at]

        def swap(count=left_over, aside=tmp_path / f"moved-{at}"):
            count[0] -= 1
            if count[0] == -1:
                os.rename(view.project / folder, aside)
                (view.project / folder).symlink_to(outside)

        monkeypatch.setattr(steps, "step", swap)
        with contextlib.suppress(CommitError):
            view.commit()
        assert tree(outside) == before
        if left_over[0] >= 0:
            break
    assert (view.project / folder / "new").read_text() == "run"  # where nobody exchanged it
    assert at > 5


def test_what_is_neither_file_nor_folder_nor_link_is_refused(view: View):
    os.mkfifo(view.upper / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(view.upper)  # a socket's path is short
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
    if os.geteuid() == 0:
        os.mknod(view.upper / "device", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    (view.upper / "file").write_text("x")
    outcome = view.commit()
    assert set(left(outcome).values()) == {"refused"}
    assert {"fifo", "socket"} <= left(outcome).keys()
    assert [change.path for change in outcome.changed] == ["file"]
    assert not (view.project / "fifo").exists()


@pytest.mark.parametrize(("mode", "wanted"), [(0o4755, 0o755), (0o2755, 0o755), (0o755, 0o755)])
def test_bits_that_lend_rights_go(view: View, mode, wanted):
    (view.upper / "tool").write_text("x")
    (view.upper / "tool").chmod(mode)
    (view.upper / "folder").mkdir()
    (view.upper / "folder").chmod(mode | stat.S_ISVTX)
    view.commit()
    for name in ("tool", "folder"):
        assert stat.S_IMODE((view.project / name).stat().st_mode) == wanted


@pytest.mark.parametrize("code", [
    "open('docs/secret', 'w').write('run')",
    "os.unlink('docs/secret')",
    "shutil.rmtree('docs')",
    "shutil.rmtree('docs'); os.mkdir('docs')",
    "shutil.rmtree('docs'); open('docs', 'w')",
    "os.rename('docs/secret', 'open')",
    "os.unlink('docs/secret'); os.mkdir('docs/secret'); open('docs/secret/x', 'w')",
])  # fmt: skip
@pytest.mark.parametrize("is_hidden", [True, False])
def test_what_the_view_hid_stays_as_it_is(project: Path, tmp_path: Path, code, is_hidden):
    (project / "docs" / "secret").write_text("secret")
    view = View(project, tmp_path / "view", hidden=("docs/secret",) if is_hidden else ())
    view.begin()
    # A work copy has nothing there that could be changed, or deleted.
    view.run(*python(f"import contextlib\nwith contextlib.suppress(FileNotFoundError): {code}"))
    outcome = view.commit()
    stays = (project / "docs").is_dir() and (project / "docs" / "secret").is_file()
    stays = stays and (project / "docs" / "secret").read_text() == "secret"
    assert stays == is_hidden
    assert not outcome.left_out or is_hidden
    if view.kind == "overlay":
        assert bool(outcome.left_out) == is_hidden


@pytest.mark.tier_a
@pytest.mark.parametrize("name", ["trusted.overlay.redirect", "trusted.overlay.metacopy"])
def test_an_upper_folder_that_leads_elsewhere_is_not_read(view: View, name):
    if os.geteuid() != 0:
        pytest.skip("not applicable: only root may set these attributes")
    (view.upper / "docs").mkdir()
    os.setxattr(view.upper / "docs", name, b"/etc")
    with pytest.raises(OSError, match="is incomplete"):
        view.commit()
    os.removexattr(view.upper / "docs", name)
    assert view.commit().left_out == ()


def test_what_a_program_calls_as_the_overlay_does_holds_nothing_up(view: View):
    names = [f"user.overlay.{what}" for what in ("redirect", "metacopy", "opaque", "whiteout")]
    view.run(*python(f"[os.setxattr('docs', n, b'y') for n in {names}]; open('docs/n', 'w')"))
    assert view.commit().left_out == ()
    assert sorted(os.listdir(view.project / "docs")) == ["n", "one.md", "two.md"]
    assert os.listxattr(view.project / "docs") == []


def test_a_tree_that_is_too_deep_is_refused_and_all_else_is_committed(view: View):
    code = "open('else', 'w')\nfor _ in range(2000):\n  os.mkdir('d'); os.chdir('d')"
    view.run(*python(code))
    outcome = view.commit()
    assert list(left(outcome).values()) == ["refused"]
    assert "else" in {change.path for change in outcome.changed}
    run(view.place, "rm", "-rf", view.upper.name)


def test_more_than_can_be_applied_is_told_and_nothing_is_applied(view: View):
    view.run(*python("open('n', 'w').truncate(5 << 30); open('m', 'w').write('m')"))
    before = tree(view.project)
    with pytest.raises(CommitError, match="4 GiB") as raised:
        view.commit()
    assert raised.value.hint
    assert tree(view.project) == before


def test_a_project_that_cannot_be_written_is_told_and_nothing_is_applied(
    any_view: View, monkeypatch: pytest.MonkeyPatch
):
    view = any_view
    view.run(*python("open('n', 'w').write('n'); open('docs/m', 'w').write('m')"))
    before = tree(view.project)

    def without_room(real, at):
        def full(*given, **named):
            if "-1" in str(given[at]) and ".ctxmode-" in str(given[at]):
                raise OSError(28, "No space left on device")
            return real(*given, **named)

        return full

    monkeypatch.setattr(os, "open", without_room(os.open, 0))
    monkeypatch.setattr(os, "link", without_room(os.link, 1))  # of one that is moved
    with pytest.raises(CommitError, match="No space left"):
        view.commit()
    monkeypatch.undo()
    assert tree(view.project, times=False) == {
        path: (*state[:4], 0, state[5]) for path, state in before.items()
    }
    assert list((view.store.folder / "journals").rglob("*.*")) == []
