"""Replacement of secrets by their kinds."""

from __future__ import annotations

from typing import AnyStr

from base.secrets.detector import Secret, find_secrets


def redact(text: AnyStr) -> tuple[AnyStr, tuple[Secret, ...]]:
    """Return the text with `[REDACTED:kind]` instead of each secret, and the secrets' places in the
    original text. Redacting again changes nothing."""
    secrets = find_secrets(text)
    if not secrets:
        return text, ()
    pieces, at = [], 0
    for secret in secrets:
        pieces += [text[at : secret.start], _mark(secret.kind, text)]
        at = secret.end
    pieces.append(text[at:])
    return text[:0].join(pieces), secrets


def _mark(kind: str, like: AnyStr) -> AnyStr:
    mark = f"[REDACTED:{kind}]"
    return mark if isinstance(like, str) else mark.encode()
