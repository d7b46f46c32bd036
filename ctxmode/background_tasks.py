"""Work of an open project after its answers: indexing, quotas, and the record of sessions."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import trio

from ctxmode.errors import ContextModeError

if TYPE_CHECKING:
    from ctxmode.config.locations import Config
    from ctxmode.operations.session_calls import SessionCalls
    from executor.run import Keep

SESSIONS_FIRST_S = 2.0  # not during the first calls
LAST_CALLS_S_MAX = 1.5
"""Time for an ending server to write calls: hosts kill it two seconds after closing stdin."""


async def keep_to_quota(config: Config, every_s: float = 0) -> None:
    """Enforce the common quota of projects once, or every few seconds."""
    from ctxmode.operations.quotas import step_to_quota_of_all  # noqa: PLC0415 - after the answer

    await step_to_quota_of_all(config)
    while every_s:
        await trio.sleep(every_s)
        await step_to_quota_of_all(config)


async def track_sessions(config: Config, keep: Keep, calls: SessionCalls) -> None:
    """Track agents' sessions when transcripts grow, and every few seconds. `sessions status`
    reports failures, and the next step tries again. A defect is reported and ends only this."""
    await trio.sleep(SESSIONS_FIRST_S)
    from ctxmode.operations.session_tracking import track_step  # noqa: PLC0415 - after the first answer
    from ctxmode.operations.session_watch import News, read_poll_s  # noqa: PLC0415
    from kb import StoreError  # noqa: PLC0415
    from memory.errors import MemoryRoomError  # noqa: PLC0415

    news = News()
    track = partial(trio.to_thread.run_sync, limiter=keep.writing, abandon_on_cancel=True)
    try:
        while True:
            roots: tuple[str, ...] = ()
            with suppress(OSError, ContextModeError, MemoryRoomError, StoreError):
                roots = await track(track_step, config, keep.store, calls)
            poll_s = await trio.to_thread.run_sync(read_poll_s, config)
            await trio.to_thread.run_sync(news.wait, roots, poll_s, abandon_on_cancel=True)
    except Exception as error:
        sys.stderr.write(report_defect(error))
    finally:
        news.stop()


async def end_calls(config: Config, calls: SessionCalls, owner: str | None = None) -> None:
    """Write the waiting calls, even when cancelled, and end the sessions of all or of one owner."""
    if not calls.is_empty:
        from ctxmode.operations.session_tracking import end_calls as end  # noqa: PLC0415 - as above

        with trio.move_on_after(LAST_CALLS_S_MAX, shield=True):
            await trio.to_thread.run_sync(end, config, calls, owner, abandon_on_cancel=True)


async def index_behind(keep: Keep) -> None:
    """Index queued output. A defect is reported and stops indexing, not the runs."""
    try:
        await keep.index_behind()
    except Exception as error:
        sys.stderr.write(report_defect(error))


def report_defect(error: BaseException) -> str:
    from ctxmode import crash_report  # noqa: PLC0415 - only a defect pays for it

    return crash_report.report(error)
