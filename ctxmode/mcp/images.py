"""Pictures that a run hands back, as content that a model can look at."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

from mcp.types import ImageContent

from executor.model import Artifact

# What models take, told by content: a name says nothing about what a program wrote.
SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
BYTES_MAX = 2 * 1024 * 1024
COUNT_MAX = 4


def of(artifacts: Sequence[Artifact]) -> tuple[ImageContent, ...]:
    """Return the first few artifacts that are pictures of a size worth sending."""
    pictures = []
    for artifact in artifacts:
        if artifact.path and artifact.bytes and artifact.bytes <= BYTES_MAX:
            content = Path(artifact.path).read_bytes()
            if media_type := media_type_of(content):
                data = base64.b64encode(content).decode("ascii")
                pictures.append(ImageContent(type="image", data=data, mime_type=media_type))
    return tuple(pictures[:COUNT_MAX])


def media_type_of(content: bytes) -> str | None:
    """Return the media type of a picture; None if it is none that we know."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in SIGNATURES.items() if content.startswith(start)), None)
