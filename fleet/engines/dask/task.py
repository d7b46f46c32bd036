"""What a Dask worker is asked to run: one order, by its digest. All that comes back is plain data.

A scheduler that lacks our modules passes it on, for it goes as a name until a worker calls it.
"""

from __future__ import annotations

import threading
from typing import Any, Final, Protocol

import trio
from distributed import get_worker

FUNCTION: Final = f"{__name__}:execute"


class NoWorkerError(Exception):
    """The process that was given an order is no worker of ours."""


class Here(Protocol):
    """A worker of this process."""

    token: trio.lowlevel.TrioToken

    async def do(self, run_id: str, order: tuple[str, int], timeout_s: float) -> dict[str, Any]:
        """Do one order; see `execute`."""


_HERE: Final[dict[str, Here]] = {}
_LOCK: Final = threading.Lock()


def enter(name: str, here: Here) -> None:
    """Have the Dask worker of a name do its orders here."""
    with _LOCK:
        _HERE[name] = here


def leave(name: str) -> None:
    """Forget a worker."""
    with _LOCK:
        _HERE.pop(name, None)


def execute(run_id: str, order: tuple[str, int], timeout_s: float) -> dict[str, Any]:
    """Do an order, given by hash and size of its sealed bytes, in a thread of a Dask worker.

    The answer has `worker`, and `files` as hash and size by path, or `cause` and `detail`.

    Raises:
        NoWorkerError: this Dask worker is none of ours.
    """
    name = str(get_worker().name)
    here = _HERE.get(name)
    if here is None:
        raise NoWorkerError(
            f"the Dask worker {name} does no orders: start it by context-mode worker --cluster URL"
        )
    return trio.from_thread.run(here.do, run_id, order, timeout_s, trio_token=here.token)
