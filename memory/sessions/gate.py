"""The one way into the store: what passes has no secret, no private part, no unseen character.

Finding secrets is handed in, so that this room needs no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol

CONTEXT_CHARS = 8192
"""How far beyond what is kept a secret is looked for that crosses the edge."""

SHORT_CHARS = 200
"""Names of tools, models and folders come again and again: so short texts are cleaned once."""

DEPTH_MAX = 32
"""How deep the values of a call's arguments are followed; deeper ones are left out."""

ITEMS_MAX = 200
"""How many items of a list or an object are kept."""

# Controls but tab and line feed; zero-width, bidirectional and tag characters; lone surrogates.
_UNSEEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_PRIVATE_BEGIN = "<private>"
_PRIVATE_MARK = re.compile(r"<(/?)private>", re.IGNORECASE)
_LINE_ENDS = re.compile(r"\r\n?")


class SecretSpan(Protocol):
    """Where a secret stands, in characters, and of which kind it is."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def kind(self) -> str: ...


FindSecrets = Callable[[str], Sequence[SecretSpan]]


class Gate:
    """Cleans texts with one finder of secrets."""

    def __init__(self, find_secrets: FindSecrets) -> None:
        self._find_secrets = find_secrets
        self._clean_short = lru_cache(4096)(self._clean)

    def clean(self, text: str) -> str:
        """Return a text as it may be stored."""
        return self._clean_short(text) if len(text) <= SHORT_CHARS else self._clean(text)

    def clean_head(self, text: str, chars_max: int) -> str:
        """Return the beginning of a text as it may be stored; the rest is not looked at."""
        return self.clean(text[: chars_max + CONTEXT_CHARS])[:chars_max]

    def clean_ends(self, text: str, chars_max: int) -> str:
        """Return a text as it may be stored; of a longer one its head and its tail."""
        if len(text) <= chars_max:
            return self.clean(text)
        half = chars_max // 2
        head = self.clean_head(text, half)
        tail = self.clean(text[-half - CONTEXT_CHARS :])[-half:]
        return f"{head}\n[… {len(text) - 2 * half} characters left out …]\n{tail}"

    def clean_value(self, value: Any, chars_max: int, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
        """Return a JSON value as it may be stored: of each text the head, of each list and object
        the first items, and nothing that is nested too deeply."""
        if isinstance(value, str):
            return self.clean_head(value, chars_max)
        if depth >= DEPTH_MAX:
            return None
        if isinstance(value, Mapping):
            return {
                self.clean_head(str(key), SHORT_CHARS): self._clean_named(
                    str(key), item, chars_max, depth + 1
                )
                for key, item in islice(value.items(), ITEMS_MAX)
            }
        if isinstance(value, list | tuple):
            return [self.clean_value(item, chars_max, depth + 1) for item in value[:ITEMS_MAX]]
        return value if value is None or isinstance(value, bool | int | float) else str(value)

    def _clean_named(self, name: str, value: Any, chars_max: int, depth: int) -> Any:  # noqa: ANN401
        """Clean a value, which may be a secret only by the name that it has."""
        if not isinstance(value, str) or len(value) > SHORT_CHARS or len(name) > SHORT_CHARS:
            return self.clean_value(value, chars_max, depth)
        prefix = f"{name} = "
        cleaned = self.clean(prefix + value)
        return cleaned.removeprefix(prefix) if cleaned.startswith(prefix) else self.clean(value)

    def _clean(self, text: str) -> str:
        text = _UNSEEN.sub("", _LINE_ENDS.sub("\n", text))
        if _PRIVATE_BEGIN in text.lower():
            text = _drop_private(text)
        pieces, at = [], 0
        for secret in self._find_secrets(text):
            pieces += [text[at : secret.start], f"[REDACTED:{secret.kind}]"]
            at = secret.end
        return "".join([*pieces, text[at:]])


def _drop_private(text: str) -> str:
    """Drop what stands between private marks; one that is not closed reaches to the end."""
    pieces, at, depth = [], 0, 0
    for mark in _PRIVATE_MARK.finditer(text):
        closes = bool(mark[1])
        if depth == 0:
            pieces.append(text[at : mark.start()])
        depth = max(depth - 1, 0) if closes else depth + 1
        at = mark.end()
    return "".join([*pieces, text[at:]] if depth == 0 else pieces)
