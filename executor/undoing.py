"""Putting a project's protected paths back where the cell that should have done it is lost.

A supervisor puts them back when everything that ran is dead. A program may bring about that its
supervisor does not live to, or not in time: by memory, or by how much there is to look through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import trio

from executor.box import Box
from executor.description import pack_before
from executor.errors import SandboxError
from executor.model import Limits
from executor.placement import Layout

if TYPE_CHECKING:
    from executor.runner import Job, OpenBox

UNDO_S_MAX = 60.0


async def make_good(open_box: OpenBox, job: Job, layout: Layout, lost: Box) -> Sequence[str]:
    """What was put back in place of this cell, by another one; nothing if it did so itself.

    Raises:
        SandboxError: they could not be put back.
    """
    before = lost.before
    if before is None:
        return ()
    with trio.CancelScope(shield=True, deadline=trio.current_time() + UNDO_S_MAX):
        lost.end()
        await lost.ended()  # and all that ran in it
        unguarded = replace(job, limits=Limits(), warm=False, guarded=False)
        async with open_box(unguarded, layout) as (other, _):
            return await _undo(other, before)
    raise SandboxError("what the run made of protected paths could not be put back in time")


async def _undo(box: Box, before: Mapping[str, Any]) -> Sequence[str]:
    await box.order(b"undo", pack_before(before))
    message = await box.message()
    if "undone" not in message:
        raise SandboxError(str(message.get("error", "its supervisor was killed")))
    return list(message["undone"])
