"""What a tool gives back, and the replies about programs that were run: text, data, pictures."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxmode.mcp import structured
from ctxmode.render import results
from executor import Background
from executor.model import Artifact, Status
from executor.run.output_routing import Answer

# The pictures that models take, by their first bytes: a program may choose any name.
PICTURE_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
PICTURE_BYTES_MAX = 2 * 1024 * 1024
PICTURES_MAX = 4


@dataclass(frozen=True, slots=True)
class Reply:
    """Text to read, the same as data, and whether it is an error. `produced` counts the bytes of
    text that the call's work brought forth, and that are shown or stored."""

    text: str
    data: dict[str, Any]
    is_error: bool = False
    images: tuple[Mapping[str, str], ...] = ()
    produced: int = 0


def run_reply(answer: Answer) -> Reply:
    """Reply with a finished run."""
    return Reply(
        results.answer_text(answer),
        structured.run(answer),
        structured.is_error(answer.result),
        find_pictures(answer.result.artifacts),
        count_produced_bytes(answer),
    )


def count_produced_bytes(answer: Answer) -> int:
    """Count the bytes that the program printed and that are shown or stored. What was discarded
    was never to be returned; nor was what a run printed until it was stopped for printing too
    much."""
    result, stored = answer.result, {}
    if answer.kept is not None and result.status is not Status.OUTPUT_LIMIT:
        stored = {one.stream: one.bytes_total for one in answer.kept.streams}
    streams = {"stdout": result.stdout, "stderr": result.stderr}
    return sum(
        stored.get(name, stream.bytes_total - stream.bytes_omitted)
        for name, stream in streams.items()
    )


def background_reply(background: Background[Answer]) -> Reply:
    """Reply with a run in the background, and with its answer once it has ended. What it produced
    is counted with the first answer alone."""
    answer = background.answer
    return Reply(
        results.background_text(background),
        structured.background(background),
        bool(background.error) or (answer is not None and structured.is_error(answer.result)),
        find_pictures(answer.result.artifacts) if answer else (),
        count_produced_bytes(answer) if answer and background.is_first else 0,
    )


def find_pictures(artifacts: Sequence[Artifact]) -> tuple[Mapping[str, str], ...]:
    """Return the first few artifacts that are pictures of a size worth sending, as content of the
    protocol."""
    pictures = []
    for artifact in artifacts:
        if artifact.path and artifact.bytes and artifact.bytes <= PICTURE_BYTES_MAX:
            content = Path(artifact.path).read_bytes()
            if media_type := media_type_of(content):
                data = base64.b64encode(content).decode("ascii")
                pictures.append({"type": "image", "data": data, "mimeType": media_type})
    return tuple(pictures[:PICTURES_MAX])


def media_type_of(content: bytes) -> str | None:
    """Return the media type of a picture; None if it is none that we know."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next(
        (kind for start, kind in PICTURE_SIGNATURES.items() if content.startswith(start)), None
    )
