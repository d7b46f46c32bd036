"""Answers of tasks: sent by their workers as events of the scheduler, else gathered by Dask.

A gathered answer is asked for once the task is known to have ended: half as long again as the
way of the task itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final

from distributed import Future, wait

from fleet.errors import UnreachableError

CLOSE_S: Final = 5.0
QUIET_S: Final = 10.0
"""After so long without a word it is looked whether the scheduler is there still."""


class Answers:
    """The answers to one client, used in its loop."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - a `Client`, which is untyped
        """Listen. Dask drops what it keeps of a topic that has a client's name, once that is gone.

        Its own events of this client come there, too.
        """
        self.client = client
        self._expected: dict[str, asyncio.Future[Any]] = {}
        self.client.subscribe_topic(self.client.id, self._hear)

    def expect(self, run_id: str) -> None:
        """Keep the answer of a run that is submitted now."""
        self._expected[run_id] = asyncio.get_running_loop().create_future()

    def _hear(self, event: tuple[float, Any]) -> None:
        """Take a worker's answer from an event, which anybody in the cluster can send."""
        message = event[1]
        if not isinstance(message, dict) or not isinstance(run_id := message.get("run"), str):
            return
        expected = self._expected.get(run_id)
        if expected is not None and not expected.done():
            expected.set_result(message.get("answer"))

    async def close(self) -> None:
        """Leave the scheduler, which may be gone."""
        with contextlib.suppress(Exception):
            self.client.unsubscribe_topic(self.client.id)  # or its event of this end fails
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.client.close(timeout=CLOSE_S), CLOSE_S)

    async def wait(self, future: Future[Any]) -> Any:  # noqa: ANN401 - checked where it is taken
        """Wait for the answer of a run's task. Dask reports some ends of connections to nobody, so
        that the client's state is looked at now and then.

        Raises:
            UnreachableError: the connection to the scheduler is lost.
            Exception: how the task failed, as Dask says it.
        """
        run_id = str(future.key)
        if run_id not in self._expected:
            self.expect(run_id)
        try:
            while self.client.status == "running":
                with contextlib.suppress(TimeoutError):
                    return await asyncio.wait_for(self._first(future), QUIET_S)
        finally:
            self._expected.pop(run_id, None)
        if future.status == "cancelled":
            return await future
        raise UnreachableError("the connection to the scheduler is lost")

    async def _first(self, future: Future[Any]) -> Any:  # noqa: ANN401
        answer, ended = self._expected[str(future.key)], asyncio.ensure_future(_end(future))
        try:
            await asyncio.wait({answer, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        return answer.result() if answer.done() else await future


async def _end(future: Future[Any]) -> None:
    """Wait for a task's end; how it ended is seen when its answer is asked for."""
    untyped: Any = wait
    with future.client.as_current():  # or it looks for another's
        ended = untyped([future])
    with contextlib.suppress(Exception):
        await ended
