"""The one estimate of how many model tokens a text costs."""

from __future__ import annotations

BYTES_PER_TOKEN = 4
"""The usual rule of thumb for English and code with byte-pair vocabularies of 100k and more."""


def estimate_tokens(content: str | bytes) -> int:
    """How many tokens `content` costs a model, from its size in UTF-8; never 0 unless empty."""
    size = len(content) if isinstance(content, bytes) else len(content.encode("utf-8", "replace"))
    return -(-size // BYTES_PER_TOKEN)
