"""Bounding what a run changes of a project, where that lies on disk and no quota bounds it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import trio

from executor.engine.box import Box, Layout
from executor.model import Status
from executor.project.view.record import CHANGED_BYTES_MAX, CHANGES_MAX, INTERVAL_S
from executor.run.progress import RunRecord

# A folder is walked through when the file system has lost this part of what is left to the run,
WALK_AT = 4
WALK_S_MAX = 2.0  # or after this time: someone else may have freed as much meanwhile.


@contextlib.asynccontextmanager
async def watch_room(layout: Layout, cell: Box, progress: RunRecord) -> AsyncIterator[None]:
    """Stop a run that changes more of the project than is committed, if that lies on disk."""
    copy, room = layout.work_copy, cell.layers.get("room")
    if copy is not None and not room:
        bounded = partial(watch, str(copy.folder), beyond=copy.size)
    elif layout.room and room == "on disk":
        bounded = partial(watch, layout.room)
    else:
        yield
        return
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bounded, partial(progress.stop, Status.DISK_LIMIT))
        yield
        nursery.cancel_scope.cancel()


async def watch(
    folder: str,
    stop: Callable[[], Awaitable[None]],
    beyond: Callable[[], tuple[int, int]] | None = None,
) -> None:
    """Call `stop` once there is more in a folder than can be committed; until cancelled.

    `beyond` gives the bytes and entries that are in it at first, and do not count.
    """
    free, free_files = _free(folder)
    left = left_files = own_bytes = own_entries = 0
    walked_at = -WALK_S_MAX
    if beyond is not None:
        own_bytes, own_entries = await trio.to_thread.run_sync(beyond)
        left, left_files, walked_at = CHANGED_BYTES_MAX, CHANGES_MAX, trio.current_time()
    bytes_max, entries_max = own_bytes + CHANGED_BYTES_MAX, own_entries + CHANGES_MAX
    while True:
        now_free, now_files = _free(folder)
        lost = free - now_free > left // WALK_AT or free_files - now_files > left_files // WALK_AT
        if lost or trio.current_time() - walked_at > WALK_S_MAX:
            measure = partial(_measure, folder, bytes_max, entries_max)
            used, entries = await trio.to_thread.run_sync(measure, abandon_on_cancel=True)
            walked_at, free, free_files = trio.current_time(), now_free, now_files
            left, left_files = bytes_max - used, entries_max - entries
            if left < 0 or left_files < 0:
                await stop()
                return
        await trio.sleep(INTERVAL_S)


def _free(folder: str) -> tuple[int, int]:
    """Bytes and files that the file system still has, which takes no time to ask."""
    try:
        space = os.statvfs(folder)
    except OSError:
        return 0, 0
    return space.f_bavail * space.f_frsize, space.f_favail


def _measure(folder: str, bytes_max: int, entries_max: int) -> tuple[int, int]:
    """Bytes on disk and entries below a folder that a program may be writing to."""
    used = entries = 0
    pending = [folder]
    while pending and entries <= entries_max and used <= bytes_max:
        try:
            with os.scandir(pending.pop()) as found:
                for entry in found:
                    info = entry.stat(follow_symlinks=False)
                    entries += 1
                    used += info.st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except OSError:  # gone since, or closed by the program
            continue
    return used, entries
