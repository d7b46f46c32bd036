"""What a tool gives back, and the replies about programs that were run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp.types import ImageContent

from ctxmode.mcp import images, structured
from ctxmode.render import results
from executor import Background
from executor.model import Result
from executor.run.output_routing import Answer


@dataclass(frozen=True, slots=True)
class Reply:
    """Text to read, the same as data, and whether it is an error. `produced` counts the bytes of
    text that the call's work brought forth, shown or not."""

    text: str
    data: dict[str, Any]
    is_error: bool = False
    images: tuple[ImageContent, ...] = ()
    produced: int = 0


def run_reply(answer: Answer) -> Reply:
    """Reply with a finished run."""
    return Reply(
        results.answer_text(answer),
        structured.run(answer),
        structured.is_error(answer.result),
        images.of(answer.result.artifacts),
        count_printed_bytes(answer.result),
    )


def count_printed_bytes(result: Result) -> int:
    """Count the bytes that the program printed, shown or not."""
    return result.stdout.bytes_total + result.stderr.bytes_total


def background_reply(background: Background[Answer]) -> Reply:
    """Reply with a run in the background, and with its answer once it has ended."""
    answer = background.answer
    return Reply(
        results.background_text(background),
        structured.background(background),
        bool(background.error) or (answer is not None and structured.is_error(answer.result)),
        images.of(answer.result.artifacts) if answer else (),
        count_printed_bytes(answer.result) if answer else 0,
    )
