"""Replaces secrets by what kind they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import AnyStr, Generic, NamedTuple

from base.secrets.detector import Secret, find_secrets


class Redacted(NamedTuple, Generic[AnyStr]):
    """A text without its secrets."""

    text: AnyStr
    secrets: tuple[Secret, ...] = ()  # places in the text as it was

    @property
    def kinds(self) -> Mapping[str, int]:
        """How many of each kind."""
        return Counter(secret.kind for secret in self.secrets)


def redact(text: AnyStr) -> Redacted[AnyStr]:
    """The text with `[REDACTED:kind]` in place of each secret. Redacting again changes nothing."""
    secrets = find_secrets(text)
    if not secrets:
        return Redacted(text)
    pieces, at = [], 0
    for secret in secrets:
        pieces += [text[at : secret.start], _mark(secret.kind, text)]
        at = secret.end
    pieces.append(text[at:])
    return Redacted(text[:0].join(pieces), secrets)


def _mark(kind: str, like: AnyStr) -> AnyStr:
    mark = f"[REDACTED:{kind}]"
    return mark if isinstance(like, str) else mark.encode()
