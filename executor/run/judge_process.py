"""A process that judges programs for another, which asks one question after another by a socket.

The kernel ends it at a question that takes too long, so the asker knows which one that was.
"""

from __future__ import annotations

import socket
import traceback
from collections.abc import Callable, Collection
from typing import Any

from base.frames import decode, encode, take_frame, to_frame
from policy import Rules, Subject, Verdict
from policy.deadline import SECONDS, confine, limit

JudgeAnswer = tuple[Verdict | None, str, str]
"""A verdict, or the name and the traceback of the exception that was raised instead."""
JudgeRequest = tuple[Subject, Rules | None, Collection[str] | None]
"""A subject, and the rules and tools that `judge` takes; None keeps the rules from before."""


def read_completion(_: type, fields: Any) -> object:  # noqa: ANN401 - as JSON has it
    """Make an object of its fields, for the attributes of a subject that are not plain values."""
    from runtimes import Completion  # noqa: PLC0415 - few programs bear one

    return Completion(**fields)


def serve(descriptor: int) -> None:
    """Answer questions until the asker is gone, or a question takes too much memory."""
    from policy import judge  # noqa: PLC0415 - a server loads these messages without it

    confine()
    rules, data, asking = Rules(), bytearray(), socket.socket(fileno=descriptor)
    while chunk := asking.recv(1 << 16):
        data += chunk
        while (frame := take_frame(data)) is not None:
            try:
                limit(SECONDS)
                subject, new_rules, tools = decode(JudgeRequest, frame, read_completion)
                rules = rules if new_rules is None else new_rules
                answer = encode(_answer(judge, (subject, rules, tools)))
                limit(0)
            except MemoryError:
                return
            asking.sendall(to_frame(answer))


def _answer(judge: Callable[..., Verdict], question: JudgeRequest) -> JudgeAnswer:
    try:
        return judge(*question), "", ""
    except MemoryError:
        raise
    except Exception as error:
        return None, repr(error), traceback.format_exc()
