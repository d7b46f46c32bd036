"""A process that judges programs for another, which asks one question after the other by a socket.

The kernel ends it at a question that takes too long; so the other knows which one that was.
"""

from __future__ import annotations

import socket
import traceback
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from base.frames import decode, encode, take_frame, to_frame
from policy import Rules, Subject, Verdict
from policy.deadline import SECONDS, confine, limit

JudgeAnswer = tuple[Verdict | None, str, str]
"""A verdict; or else what was raised instead, by its name and with its story."""


class JudgeRequest(NamedTuple):
    """What `judge` takes; without rules those of the question before hold."""

    subject: Subject
    rules: Rules | None
    tools: Collection[str] | None


def read_completion(_: type, fields: Any) -> object:  # noqa: ANN401 - as JSON has it
    """Make of its fields what a subject bears besides plain values."""
    from runtimes import Completion  # noqa: PLC0415 - few programs bear one

    return Completion(**fields)


def serve(descriptor: int) -> None:
    """Answer questions until nobody is left to ask any, or one takes too much memory."""
    from policy import judge  # noqa: PLC0415 - a server loads these messages without it

    confine()
    rules, data, asking = Rules(), bytearray(), socket.socket(fileno=descriptor)
    while chunk := asking.recv(1 << 16):
        data += chunk
        while (frame := take_frame(data)) is not None:
            try:
                limit(SECONDS)
                question = decode(JudgeRequest, frame, read_completion)
                rules = rules if question.rules is None else question.rules
                answer = encode(_answer(judge, question, rules))
                limit(0)
            except MemoryError:
                return
            asking.sendall(to_frame(answer))


def _answer(judge: Callable[..., Verdict], question: JudgeRequest, rules: Rules) -> JudgeAnswer:
    try:
        return judge(question.subject, rules, question.tools), "", ""
    except MemoryError:
        raise
    except Exception as error:
        return None, repr(error), traceback.format_exc()
