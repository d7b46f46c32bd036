"""A folder is kept in step while it changes, by the system's notices of what changed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from kb.directory import DirectoryReport, OnProgress, index_selection
from kb.ignoring import IGNORE_FILES
from kb.store import Store
from kb.walking import Selection

DEBOUNCE_MS = 400
"""How long changes are gathered, so that a checkout of a thousand files is one pass."""

STEP_MS = 50
"""How long silence must last before what was gathered is indexed."""

NOTICE_MS = 200
"""How long it may take until `stop` is seen."""

_IGNORE_NAMES = frozenset(Path(name).name for name in IGNORE_FILES)


def watch(  # noqa: PLR0913
    store: Store,
    root: Path,
    selection: Selection,
    *,
    stop: threading.Event,
    session: str | None = None,
    on_progress: OnProgress | None = None,
) -> Iterator[DirectoryReport]:
    """Index `root` wholly, then whatever changes in it, until `stop` is set: one report a pass.

    Blocks between passes, in the thread that iterates. Where an ignore file changes, all of `root`
    is looked at again.

    Raises:
        NotADirectoryError: `root` is no folder.
        StoreError: a file could not be stored.
    """
    root = root.resolve()
    # The watch begins before the first pass, so that nothing falls between the two.
    changes = import_module("watchfiles").watch(
        root,
        watch_filter=None,
        debounce=DEBOUNCE_MS,
        step=STEP_MS,
        stop_event=stop,
        raise_interrupt=True,
        yield_on_timeout=True,
        rust_timeout=NOTICE_MS,
    )
    next(changes, None)
    only: set[Path] | None = None
    while not stop.is_set():
        report = index_selection(
            store, root, selection, only=only, session=session, on_progress=on_progress
        )
        if only is None or report.changed:
            yield report
        batch = next((batch for batch in changes if batch), None)
        if batch is None:
            return
        paths = {Path(path) for _, path in batch}
        only = None if any(path.name in _IGNORE_NAMES for path in paths) else paths
