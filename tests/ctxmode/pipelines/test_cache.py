"""The key under which a case is stored: it changes with everything that the step may read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxmode.pipelines.cache import CaseCache
from ctxmode.pipelines.model import PipelineCase, PipelineStep
from policy import HiddenPaths

STEP = PipelineStep("a", "shell", 1, code="cat data.txt")
CASE = PipelineCase(STEP)
READS_ONE = PipelineCase(PipelineStep("a", "shell", 1, code="cat data.txt", inputs=("data.txt",)))

Change = Callable[[Path], object]
SEEN: dict[str, Change] = {
    "content": lambda project: (project / "data.txt").write_text("two"),
    "content of the same size and time": lambda project: _write_back_in_time(project / "data.txt"),
    "a new file": lambda project: (project / "new.txt").touch(),
    "a file that is gone": lambda project: (project / "deep" / "other.txt").unlink(),
    "a new folder": lambda project: (project / "empty").mkdir(),
    "a mode": lambda project: (project / "data.txt").chmod(0o755),
    "where a link leads": lambda project: _point(project / "link", "deep/other.txt"),
    "a name": lambda project: (project / "data.txt").rename(project / "renamed.txt"),
    "a name that is no text": lambda project: Path(f"{project}/\udcff").touch(),
}
UNSEEN: dict[str, Change] = {
    "a time": lambda project: os.utime(project / "data.txt", (1, 1)),
    "a secret": lambda project: (project / ".env").write_text("KEY=2"),
    "what a rule denies": lambda project: (project / "denied" / "x").write_text("2"),
    "reports": lambda project: (project / "reports" / "report.json").write_text("{}"),
    "a FIFO": lambda project: os.mkfifo(project / "pipe"),
}


def _write_back_in_time(path: Path) -> None:
    before = path.stat()
    path.write_text("eno")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _point(link: Path, target: str) -> None:
    link.unlink()
    link.symlink_to(target)


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    for name in ("deep", "denied", "reports"):
        (folder / name).mkdir(parents=True)
    (folder / "data.txt").write_text("one")
    (folder / "deep" / "other.txt").write_text("other")
    (folder / "link").symlink_to("data.txt")
    (folder / ".env").write_text("KEY=1")
    (folder / "denied" / "x").write_text("1")
    return folder


@pytest.fixture
def key(project, tmp_path):
    """Compute the key of a case as the project is now."""
    denied = HiddenPaths((str(project / "denied"),))
    cache = CaseCache(tmp_path / "cache", project, (project / "reports",))
    return lambda case, *terms: cache.key(case, terms, (), denied)


@pytest.mark.parametrize("change", SEEN)
def test_a_step_without_inputs_is_keyed_by_all_that_it_sees(project, key, change):
    before = key(CASE)
    assert key(CASE) == before
    SEEN[change](project)
    assert key(CASE) != before


@pytest.mark.parametrize("change", UNSEEN)
def test_what_a_step_does_not_see_is_not_in_its_key(project, key, change):
    before = key(CASE)
    UNSEEN[change](project)
    assert key(CASE) == before


def test_a_step_with_inputs_is_keyed_by_these_alone(project, key):
    before = key(READS_ONE)
    (project / "deep" / "other.txt").write_text("changed")
    assert key(READS_ONE) == before
    (project / "data.txt").write_text("changed")
    assert key(READS_ONE) != before


def test_the_conditions_of_a_run_are_in_its_key(key):
    assert key(CASE, "tier A") != key(CASE, "tier B")


def test_a_project_that_is_too_large_has_no_key(key, monkeypatch):
    monkeypatch.setattr("ctxmode.pipelines.cache.VIEW_ENTRIES_MAX", 2)
    with pytest.raises(OSError, match="too large"):
        key(CASE)
