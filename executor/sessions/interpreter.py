"""The server's end of an interpreter that a session keeps: programs go in, exit codes come out.

What runs in the interpreter can reach its two channels, and answer for it. That fools nobody but
the session it runs in: each answer must carry the token of its own call, and any other ends the
session. What a program prints never passes here.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

import trio

ANSWER_BYTES_MAX = 64
_ANSWER = re.compile(rb"([0-9a-f]+) (\d{1,3})\n")


class ForgedAnswerError(Exception):
    """What came from the interpreter is no answer to this call."""


@dataclass(frozen=True, slots=True)
class InterpreterProgram:
    """One program for an interpreter. An empty `folder` or `bound` means none.

    `name` is what tracebacks call it; `bound` is the file whose content becomes FILE_CONTENT.
    """

    code: str
    name: str
    folder: str = ""
    bound: str = ""
    args: tuple[str, ...] = ()

    def frame(self, token: str) -> bytes:
        """The request as the drivers read it: a line of sizes and then the fields."""
        texts = (self.folder, self.bound, self.name, self.code, *self.args)
        contents = [text.encode(errors="surrogateescape") for text in texts]
        header = " ".join([token, *(str(len(content)) for content in contents)])
        return b"".join([header.encode(), b"\n", *contents])


@dataclass(slots=True)
class SessionDescriptors:
    """The descriptors of a run in a session, and for an interpreter those of its two channels."""

    run: int
    outputs: Mapping[str, trio.lowlevel.FdStream]
    requests: trio.lowlevel.FdStream | None = None
    answers: trio.lowlevel.FdStream | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    async def ask(self, program: InterpreterProgram) -> int | None:
        """Have a program run: its exit code, or None if the interpreter ended with it.

        Raises:
            ForgedAnswerError: something else was answered.
        """
        assert self.requests is not None
        assert self.answers is not None
        token = secrets.token_hex(8)
        try:
            await self.requests.send_all(program.frame(token))
            return await self._answer(self.answers, token.encode())
        except trio.BrokenResourceError:
            return None

    async def _answer(self, answers: trio.lowlevel.FdStream, token: bytes) -> int | None:
        line = b""
        while not line.endswith(b"\n") and len(line) <= ANSWER_BYTES_MAX:
            chunk = await answers.receive_some(ANSWER_BYTES_MAX)
            if not chunk:
                return None
            line += chunk
        answer = _ANSWER.fullmatch(line)
        if answer is None or answer[1] != token or int(answer[2]) > 255:
            raise ForgedAnswerError
        return int(answer[2])

    def close(self) -> None:
        for stream in (*self.outputs.values(), self.requests, self.answers):
            if stream is not None:
                stream.close()
