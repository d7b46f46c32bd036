"""A process that judges programs for another, which asks one question after the other by a socket.

The kernel ends it at a question that takes too long; so the other knows which one that was.
"""

from __future__ import annotations

import socket
import traceback

from executor.run.judge_messages import JudgeAnswer, JudgeRequest, read_completion
from policy.deadline import SECONDS, confine, decode, encode, limit, take_frame, to_frame
from policy.judging import judge
from policy.rules import Rules


def serve(descriptor: int) -> None:
    """Answer questions until nobody is left to ask any, or one takes too much memory."""
    confine()
    rules, data, asking = Rules(), bytearray(), socket.socket(fileno=descriptor)
    while chunk := asking.recv(1 << 16):
        data += chunk
        while (frame := take_frame(data)) is not None:
            try:
                limit(SECONDS)
                question = decode(JudgeRequest, frame, read_completion)
                rules = rules if question.rules is None else question.rules
                answer = encode(_answer(question, rules))
                limit(0)
            except MemoryError:
                return
            asking.sendall(to_frame(answer))


def _answer(question: JudgeRequest, rules: Rules) -> JudgeAnswer:
    try:
        return judge(question.subject, rules, question.tools), "", ""
    except MemoryError:
        raise
    except Exception as error:
        return None, repr(error), traceback.format_exc()
