"""What a run at a worker left reaches the front as if it had run there; and nothing else does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from executor.model import Result, Status
from executor.project.commit_service import with_commit
from executor.project.rules.names import names_after
from executor.project.store.store import ChangeStore
from executor.request import BUILD
from executor.run.refusals.collecting import with_commit_refusals
from fleet import model
from tests.executor.project.conftest import OLD_NS, fill
from tests.executor.project.test_commit import TREES
from tests.executor.project.viewing import View, python, run, tree
from tests.fleet.returning import Ends

# What a program writes now is stamped, as no two runs write at one moment.
STAMPED = f"""
for d, ds, fs in os.walk('.', topdown=False):
    for p in [d + '/' + n for n in ds + fs]:
        if os.lstat(p).st_mtime_ns > {OLD_NS}:
            os.utime(p, ns=(8, 8_000_000_009), follow_symlinks=False)
"""


@pytest.fixture
def ends(project: Path, tmp_path: Path) -> Ends:
    fill(project)
    return Ends(project, tmp_path / "ends")


# Extended attributes do not travel: what a run does to them stays at the worker.
WITHOUT_ATTRIBUTES = {
    name: code
    for name, code in TREES.items()
    if name != "two files exchanged" and "xattr" not in code
}


@pytest.mark.parametrize("code", WITHOUT_ATTRIBUTES.values(), ids=WITHOUT_ATTRIBUTES.keys())
async def test_what_a_run_there_changes_is_as_if_it_ran_here(ends: Ends, tmp_path: Path, code: str):
    here = tmp_path / "here"
    here.mkdir()
    fill(here)
    run(here, *python(code + STAMPED))
    await ends.send()
    ends.view.run(*python(code + STAMPED))
    completed = await ends.bring_back(ends.hand_over(ends.complete()))
    assert completed.result.not_committed == ()
    assert tree(ends.project) == tree(here)
    assert list(ends.landing.iterdir()) == []


def describe(result: Result) -> tuple[object, ...]:
    """What a result tells of a commit, but for the id of what is kept."""
    left = sorted(result.not_committed, key=lambda one: one.path)
    changed = sorted(result.changed_files, key=lambda one: one.path)
    refused = sorted((one.kind, one.target, one.by) for one in result.refusals)
    return changed, left, refused, result.changes_id is None, result.persists, result.status


LEFT_OUT = {
    "names that tools obey": "os.mkdir('.vscode'); open('.vscode/tasks.json', 'w').write('{}'); open('.envrc', 'w').write('x')",  # noqa: E501
    "names that wait for a person": "open('AGENTS.md', 'w').write('obey'); open('new', 'w').write('n')",  # noqa: E501
    "a link that leads out": "os.symlink('/root/x', 'out'); os.symlink('../../x', 'src/up')",
    "a fifo": "os.mkfifo('fifo'); open('new', 'w').write('n')",
    "a repository": "os.makedirs('r/.git/objects'); open('r/.git/HEAD', 'w').write('ref: refs/heads/m\\n')",  # noqa: E501
    "a hard link to what is obeyed": "open('n', 'w').write('n'); os.link('n', '.envrc')",
    "a folder of what is obeyed": "os.makedirs('d/.vscode'); open('d/.vscode/settings.json', 'w').write('{}')",  # noqa: E501
    "nothing": "pass",
}  # fmt: skip
MEANWHILE = {
    "nobody did anything": "pass",
    "the host wrote to a file": "open('a.txt', 'a').write('host')",
    "the host deleted a file": "os.unlink('a.txt')",
    "the host made the file": "open('new', 'w').write('host')",
    "the host made the same file": "open('new', 'w').write('new')",
    "the host removed the folder": "shutil.rmtree('src')",
    "the host made it a link": "os.unlink('a.txt'); os.symlink('b.txt', 'a.txt')",
    "the host closed the file": "os.chmod('a.txt', 0o600)",
}
AT_WORK = (
    "open('a.txt', 'w').write('run'); open('new', 'w').write('new'); os.unlink('src/deep/y.txt')\n"
    "open('src/more', 'w').write('m'); os.rename('b.txt', 'c.txt')"
)


async def run_both(ends: Ends, code: str, meanwhile: str) -> tuple[Result, Result]:
    """The results of a run here, in a twin of the project, and of the same run at a worker."""
    twin = ends.place / "twin"
    twin.mkdir()
    fill(twin)
    view = View(twin, ends.place / "local")
    view.begin()
    view.run(*python(code + STAMPED))
    run(twin, *python(meanwhile))
    done = view.commit(names_after(()))
    local = with_commit(Result(Status.OK, exit_code=0, profile="build"), done, stage=False)
    await ends.send()
    ends.view.run(*python(code + STAMPED))
    run(ends.project, *python(meanwhile))
    completed = await ends.bring_back(ends.hand_over(ends.complete()))
    assert tree(ends.project, times=False) == tree(twin, times=False)
    return with_commit_refusals(local), completed.result


@pytest.mark.parametrize("code", LEFT_OUT.values(), ids=LEFT_OUT.keys())
async def test_what_is_not_committed_is_told_as_here(ends: Ends, code: str):
    local, remote = await run_both(ends, code, "pass")
    assert describe(remote) == describe(local)
    assert bool(local.not_committed) is (code != "pass")


@pytest.mark.parametrize("meanwhile", MEANWHILE.values(), ids=MEANWHILE.keys())
async def test_what_the_host_changed_meanwhile_stays_and_is_told_as_here(
    ends: Ends, meanwhile: str
):
    local, remote = await run_both(ends, AT_WORK, meanwhile)
    assert describe(remote) == describe(local)
    alike = ("pass", "open('new', 'w').write('new')")
    assert bool(local.conflicts) is (meanwhile not in alike)


async def test_staged_changes_wait_and_are_applied_as_those_of_a_run_here(ends: Ends):
    ends.profile = replace(BUILD, stage=True)
    before = tree(ends.project)
    await ends.send()
    ends.view.run(*python(AT_WORK))
    result = (await ends.bring_back(ends.hand_over(ends.complete()))).result
    assert tree(ends.project) == before
    assert not result.persists
    store = ChangeStore(ends.door.folder)
    applied = store.apply(str(result.changes_id), names=names_after(()))
    assert {(c.path, c.change) for c in applied.changed} >= {
        ("a.txt", "modified"), ("new", "created"), ("c.txt", "renamed"),
    }  # fmt: skip
    assert (ends.project / "a.txt").read_text() == "run"


@pytest.mark.parametrize("meanwhile", MEANWHILE.values(), ids=MEANWHILE.keys())
async def test_what_a_run_of_a_dead_front_changed_waits_for_a_person(ends: Ends, meanwhile: str):
    """The record went with the front."""
    await ends.send()
    ends.view.run(*python(AT_WORK))
    run(ends.project, *python(meanwhile))
    before = tree(ends.project)
    ends.record = None
    result = (await ends.bring_back(ends.hand_over(ends.complete()))).result
    assert tree(ends.project) == before
    assert "its front ended before it" in result.message
    assert not result.persists
    applied = ChangeStore(ends.door.folder).apply(str(result.changes_id), names=names_after(()))
    if "'new', 'w').write('host')" in meanwhile:  # the run created it, too
        assert [one.kind for one in applied.left_out] == ["conflict"]
        assert tree(ends.project) == before
    else:
        assert (ends.project / "a.txt").read_text() == "run"
        assert (ends.project / "new").read_text() == "new"


async def test_a_commit_that_a_front_died_after_is_made_once(ends: Ends):
    await ends.send()
    ends.view.run(*python(AT_WORK))
    delivery = ends.hand_over(ends.complete())
    await ends.bring_back(delivery)
    after = tree(ends.project)
    ends.record = None
    result = (await ends.bring_back(delivery)).result
    assert tree(ends.project) == after
    assert result.not_committed == ()


async def test_a_commit_that_fails_is_told_as_of_a_run_here(ends: Ends):
    await ends.send()
    ends.view.run(*python(AT_WORK))
    before = tree(ends.project)
    ends.door.folder.write_text("no folder")
    result = (await ends.bring_back(ends.hand_over(ends.complete()))).result
    assert (result.status, result.exit_code) == (Status.SANDBOX_ERROR, None)
    assert "none of the run's changes was committed" in result.message
    assert tree(ends.project) == before
    assert list(ends.landing.iterdir()) == []


async def test_more_changes_than_an_outcome_tells_are_told_by_it(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
):
    await ends.send()
    ends.view.run(*python("for n in range(50): open(f'new-{n}', 'w')"))
    monkeypatch.setattr(model, "BYTES_MAX", 10_000)
    result = (await ends.bring_back(ends.hand_over(ends.complete()))).result
    assert result.status is Status.SANDBOX_ERROR
    assert "50 entries" in result.message or "51 entries" in result.message
    assert not (ends.project / "new-1").exists()


async def test_modes_that_do_not_travel_stay_as_they_are_here(ends: Ends):
    modes = {"a.txt": 0o664, "b.txt": 0o600, "run.sh": 0o750, "src": 0o2775, "docs": 0o700}
    for name, mode in modes.items():
        (ends.project / name).chmod(mode)
    await ends.send()
    ends.view.run(
        *python(
            "for f in ('a.txt', 'b.txt', 'run.sh'): open(f, 'a').write('more')\n"
            "open('src/new', 'w'); os.rename('docs/one.md', 'docs/1.md'); os.chmod('hard1', 0o640)"
        )
    )
    result = (await ends.bring_back(ends.hand_over(ends.complete()))).result
    kept = {name: (ends.project / name).stat().st_mode & 0o7777 for name in modes}
    assert kept == modes
    assert (ends.project / "hard1").stat().st_mode & 0o777 == 0o640
    assert ("hard1", "mode") in {(c.path, c.change) for c in result.changed_files}


async def test_what_did_not_travel_is_neither_replaced_nor_shown(ends: Ends):
    """Secrets and folders that are left out: a run that makes its own of that name has no say."""
    (ends.project / ".env").write_text("TOKEN=secret")
    (ends.project / "target").mkdir()
    (ends.project / "target" / "out").write_text("here")
    ends.leave_out = ("target",)
    await ends.send()
    ends.view.run(
        *python(
            "assert not os.path.exists('.env') and not os.path.exists('target')\n"
            "open('.env', 'w').write('x'); os.mkdir('target'); open('target/out', 'w').write('x')\n"
            "open('target/new', 'w').write('x'); os.makedirs('docs/target')\n"
            "open('docs/target/n', 'w')"
        )
    )
    result = (await ends.bring_back(ends.hand_over(ends.complete()))).result
    assert (ends.project / ".env").read_text() == "TOKEN=secret"
    assert [one.name for one in (ends.project / "target").iterdir()] == ["out"]
    assert (ends.project / "target" / "out").read_text() == "here"
    assert (ends.project / "docs" / "target" / "n").exists()
    assert ".env" in {one.path for one in result.not_committed}
