"""A watched folder stays in step with the disk."""

from __future__ import annotations

import queue
import tempfile
import threading
from pathlib import Path

import pytest

from kb import Store
from kb.directory import watch
from kb.walking import Selection

DEADLINE_S = 60


@pytest.fixture
def watched(tmp_path: Path):
    """A folder, its store, and the reports on it as they come."""
    root = tmp_path / "project"
    (root / "sub").mkdir(parents=True)
    put(root, "a.txt", "about walruses\n")
    put(root, ".gitignore", "*.log\n")
    reports: queue.Queue = queue.Queue()
    stop = threading.Event()

    def run(store: Store) -> None:
        for report in watch(store, root, Selection(), stop=stop):
            reports.put(report)
        reports.put(None)

    with Store.open(tmp_path / "kb.db") as store:
        thread = threading.Thread(target=run, args=(store,))
        thread.start()
        try:
            yield root, store, lambda: reports.get(timeout=DEADLINE_S)
        finally:
            stop.set()
            thread.join(DEADLINE_S)


def put(root: Path, name: str, text: str) -> None:
    """A file that is never seen half written."""
    made = Path(tempfile.mkdtemp(dir=root.parent)) / "made"
    made.write_text(text)
    made.replace(root / name)


def until(next_report, wanted) -> None:
    """Reports may split what was changed at once: wait until all of it was told."""
    missing = set(wanted)
    while missing:
        report = next_report()
        missing -= {*report.indexed, *report.removed, *(new for _, new in report.renamed)}


def test_what_changes_is_indexed_and_what_goes_is_forgotten(watched):
    root, store, next_report = watched
    assert set(next_report().indexed) == {".gitignore", "a.txt"}
    put(root, "sub/new.md", "# New\n\nabout penguins\n")
    put(root, "a.txt", "about seals\n")
    put(root, "noise.log", "about noise\n")
    until(next_report, {"sub/new.md", "a.txt"})
    assert store.search("penguins")[0].hits
    assert store.search("walruses")[0].hits == ()
    (root / "sub" / "new.md").unlink()
    until(next_report, {"sub/new.md"})
    assert store.search("penguins")[0].hits == ()
    assert store.search("noise")[0].hits == ()


def test_a_changed_ignore_file_looks_at_everything_again(watched):
    root, store, next_report = watched
    next_report()
    put(root, "kept.log", "about noise\n")
    put(root, ".gitignore", "*.tmp\n")
    until(next_report, {"kept.log"})
    assert store.search("noise")[0].hits


def test_it_ends_when_asked_to(tmp_path: Path):
    stop = threading.Event()
    with Store.open(tmp_path / "kb.db") as store:
        (tmp_path / "project").mkdir()
        reports = watch(store, tmp_path / "project", Selection(), stop=stop)
        next(reports)
        stop.set()
        assert next(reports, None) is None
