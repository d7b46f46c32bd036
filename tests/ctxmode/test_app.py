"""The composition root: what an operation does besides asking a room."""

from __future__ import annotations

import pytest
import trio

from ctxmode.app import App
from ctxmode.operations.searching import SearchRequest
from executor.run.output_routing import Keep
from kb import SourceSpec


class _CountingKeep(Keep):
    woken = 0

    def wake(self):
        self.woken += 1


@pytest.mark.parametrize(("tail_bytes", "woken"), [(1000, 1), (1_000_000, 0)])
def test_a_search_has_what_another_process_left_queued_indexed(
    config, store, tmp_path, tail_bytes, woken
):
    spool = tmp_path / "spool"
    spool.write_bytes(b"a line of many\n" * 1000)
    spec = SourceSpec("out-1/stdout", "run", kind="text")
    store.add_spool(spec, spool, head_bytes=1000, tail_bytes=tail_bytes)
    keep = _CountingKeep(lambda: store, tmp_path)
    app = App(config, None, keep, None, None)
    answer = trio.run(app.search, SearchRequest(("line",)))
    assert answer.queries[0].hits
    assert keep.woken == woken
