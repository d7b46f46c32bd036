"""What a run elsewhere printed, told as if it came now."""

from __future__ import annotations

from typing import Final

import trio

from executor.engine.engine import Completed, OnOutput

_PIECE_BYTES: Final = 256 * 1024


async def tell_output(completed: Completed, on_output: OnOutput) -> None:
    """Tell the whole of both streams, stdout first: in which order they came is not known.

    Raises:
        OSError: a spool can't be read.
    """
    streams = (
        ("stdout", completed.result.stdout, completed.stdout_spool),
        ("stderr", completed.result.stderr, completed.stderr_spool),
    )
    for name, stream, spool in streams:
        data = stream.head.encode()
        if spool is not None:
            data = await trio.to_thread.run_sync(spool.read)
        for at in range(0, len(data), _PIECE_BYTES):
            on_output(name, data[at : at + _PIECE_BYTES])
