"""Replies about programs that were run: at their end, or while they go on."""

from __future__ import annotations

from ctxmode.mcp import images, structured
from ctxmode.mcp.reply import Reply
from ctxmode.render import results
from executor import Background
from executor.model import Result
from executor.run.output_routing import Answer


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
    """How many bytes the program printed, shown or not."""
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
