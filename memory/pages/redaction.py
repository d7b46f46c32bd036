"""Taking secrets out of a page's text, and nothing else: unseen characters cannot hide one."""

from __future__ import annotations

import re

from memory.gate import FindSecrets

# What joins letters in scripts and signs stays in a page, but must not divide a secret.
_UNSEEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)


def redact(text: str, find_secrets: FindSecrets) -> tuple[str, int]:
    """Return a text with each secret replaced by its kind, and how many there were."""
    shown = [at for at, char in enumerate(text) if not _UNSEEN.match(char)] if _has(text) else None
    plain = text if shown is None else "".join(text[at] for at in shown)
    pieces, at, count = [], 0, 0
    for secret in find_secrets(plain):
        start, end = secret.start, secret.end
        if shown is not None and start < end:
            start, end = shown[start], shown[end - 1] + 1
        if start < at:
            at = max(at, end)  # it overlaps with the one before
            continue
        pieces += [text[at:start], f"[REDACTED:{secret.kind}]"]
        at, count = end, count + 1
    return "".join([*pieces, text[at:]]), count


def _has(text: str) -> bool:
    return _UNSEEN.search(text) is not None
