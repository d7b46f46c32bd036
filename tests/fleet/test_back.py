"""What a run at a worker left reaches the front as if it had run there; and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.executor.project.conftest import OLD_NS, fill
from tests.executor.project.test_commit import TREES
from tests.executor.project.viewing import python, run, tree
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
    assert list(ends.landing.folder.iterdir()) == []
