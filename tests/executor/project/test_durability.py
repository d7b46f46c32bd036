"""What a commit prepared is on the disk before its journal says that it may be completed."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from executor.project.apply import apply
from executor.project.apply.apply import Journal
from tests.executor.project.viewing import View, python


def test_contents_are_written_out_before_the_journal_is_ready(
    view: View, monkeypatch: pytest.MonkeyPatch
):
    seen: list[str] = []
    synced = apply.sync

    def sync(folder: int) -> bool:
        prepared = [name for name in os.listdir(folder) if name.startswith(".ctxmode-")]
        seen.append(f"{len(prepared)} prepared")
        return synced(folder)

    ready = Journal.ready
    monkeypatch.setattr(apply, "sync", sync)
    monkeypatch.setattr(Journal, "ready", lambda *given: (seen.append("ready"), ready(*given))[1])
    view.run(*python("pathlib.Path('a.txt').write_text('new'); pathlib.Path('c').write_text('c')"))
    assert view.commit().left_out == ()
    assert seen[:2] == ["2 prepared", "ready"]


def test_a_disk_that_hangs_holds_no_commit_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    let_go = threading.Event()

    class Hanging:
        def syncfs(self, folder: int) -> int:
            let_go.wait(60)
            return 0

    top = os.open(tmp_path, os.O_RDONLY)
    try:
        assert apply.sync(top)
        monkeypatch.setattr(apply.ctypes, "CDLL", lambda name: Hanging())
        monkeypatch.setattr(apply, "S_MAX", 0.05)
        assert not apply.sync(top)
    finally:
        let_go.set()
        os.close(top)
