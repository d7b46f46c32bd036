"""Cleaning of texts before they are stored: removes secrets, private parts, invisible characters.

The finder of secrets is a parameter, so that this room needs no other room.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, islice

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks load this when a turn ends, and `typing` takes 5 ms
    from typing import Any, TypeAlias

    from base.secrets import Secret

CONTEXT_CHARS = 8192
"""Characters after the stored part that are searched for a secret that crosses the edge."""

SHORT_CHARS = 200
"""Names of tools, models and folders repeat, so texts up to this length are cleaned once."""

DEPTH_MAX = 32
"""Deepest level of a call's arguments that is stored; deeper values become None."""

NAMED_CHARS = 4096
"""Longest text that is checked as the value of its name, or as the words of a command line."""

REDACTED = "[REDACTED]"
_MARK_BEGIN = "[REDACTED"
ITEMS_MAX = 200
"""Most items of a list or an object that are stored."""

KEY_BLOCK_CHARS = 65_536
"""Longest distance before a tail at which a private key's block may begin."""

# Controls except tab and line feed; zero-width, bidirectional, variation and tag characters,
# fillers; lone surrogates. This and the expressions below are compiled on first use: compiling
# costs a hook a millisecond.
_UNSEEN = (
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
_UNSEEN_ASCII = bytes({*range(0x20), 0x7F} - {0x09, 0x0A})
# Terminal colours and window titles: removed whole, since a part would keep a secret split.
_ESCAPES = (
    "(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    "|\x1b\\][^\x07\x1b\x9c\n]{0,2048}(?:\x07|\x1b\\\\|\x9c)"
)
_PRIVATE_BEGIN = "<private>"
_PRIVATE_MARK = r"(?i)<(/?)private>"
_NAMELESS = frozenset(["value", "default", "data", "content", "text"])
_NAMES = ("name", "key", "variable")
_PATH_BEGINS = ("/", "./", "../", "~/")
_LINE_ENDS = r"\r\n?"


def count_redactions(before: str, after: str) -> int:
    """Return how many secrets the second text has replaced that the first has not."""
    return max(after.count(_MARK_BEGIN) - before.count(_MARK_BEGIN), 0)


FindSecrets: TypeAlias = "Callable[[str], Sequence[Secret]]"


class Gate:
    """Cleaner of texts with one finder of secrets."""

    def __init__(self, find_secrets: FindSecrets) -> None:
        self._find_secrets = find_secrets
        self._clean_short = lru_cache(4096)(self._clean)

    def clean(self, text: str) -> str:
        """Return the text, cleaned for storing."""
        return self._clean_short(text) if len(text) <= SHORT_CHARS else self._clean(text)

    def clean_head(self, text: str, chars_max: int) -> str:
        """Return the beginning of a text, cleaned for storing; the rest is not examined."""
        if len(text) <= SHORT_CHARS:
            return self.clean(text)[:chars_max]
        plain = self._make_plain_head(text, chars_max + CONTEXT_CHARS)
        return self._redact(plain, 0, chars_max)[:chars_max]

    def clean_path(self, text: str, chars_max: int) -> str:
        """Return a path, cleaned for storing. Each part is also cleaned alone, since it may be
        shown without the parts before it."""
        path = self.clean_head(text, chars_max)
        if "=" not in path and ":" not in path:
            return path
        return "/".join(map(self.clean, path.split("/")))

    def clean_ends(self, text: str, chars_max: int) -> str:
        """Return a text, cleaned for storing; only head and tail if it is longer than
        `chars_max`."""
        plain = self._make_plain(text)
        if len(plain) <= chars_max:
            return self._redact(plain, 0, len(plain))
        half = chars_max // 2
        head = self._redact(plain[: half + CONTEXT_CHARS], 0, half)[:half]
        begin = len(plain) - half
        window = _find_window(plain, max(begin - CONTEXT_CHARS, 0))
        tail = self._redact(plain[window:], begin - window, len(plain) - window)[-half:]
        return f"{head}\n[… {begin - half} characters left out …]\n{tail}"

    def clean_value(  # noqa: PLR0911 - a line for each kind of JSON
        self,
        value: Any,  # noqa: ANN401
        chars_max: int,
        depth: int = 0,
        name: str = "",
    ) -> Any:  # noqa: ANN401
        """Return a JSON value, cleaned for storing: the head of each text, the first items of each
        list and object, nothing nested too deeply. The `name` of a value may make it a secret."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            text = str(value)
            return value if self._clean_named(name, text, chars_max) == text else REDACTED
        if isinstance(value, str):
            return self._clean_named(name, value, chars_max)
        if depth >= DEPTH_MAX:
            return None
        if isinstance(value, Mapping):
            return {
                self.clean_head(str(key), SHORT_CHARS): self.clean_value(
                    item, chars_max, depth + 1, _name_of(str(key), value, name)
                )
                for key, item in islice(value.items(), ITEMS_MAX)
            }
        if isinstance(value, list | tuple):
            items = [self.clean_value(one, chars_max, depth + 1, name) for one in value[:ITEMS_MAX]]
            return self._clean_words(items)
        return self._clean_named(name, str(value), chars_max)

    def _clean_named(self, name: str, value: str, chars_max: int) -> str:
        """Clean a text alone, and as the value of its name."""
        if name and len(name) <= SHORT_CHARS and len(value) <= NAMED_CHARS and "\n" not in value:
            before, after = (f"{name} = ", "") if '"' in value else (f'"{name}": "', '"')
            cleaned = self.clean(before + value + after)
            if cleaned.startswith(before) and cleaned.endswith(after):
                value = cleaned[len(before) : len(cleaned) - len(after)]
        if value.startswith(_PATH_BEGINS) and len(value) <= NAMED_CHARS:
            return self.clean_path(value, chars_max)
        return self.clean_head(value, chars_max)

    def _clean_words(self, items: list[Any]) -> list[Any]:
        """Clean the words of a command line: the word before may make a word a secret."""
        if len(items) < 2 or not all(isinstance(one, str) for one in items):
            return items
        if sum(map(len, items)) > NAMED_CHARS:
            return items
        starts = list(accumulate((len(one) + 1 for one in items), initial=0))
        for secret in reversed(self._find_secrets(" ".join(items))):
            for index, word in enumerate(items):
                start, end = secret.start - starts[index], secret.end - starts[index]
                if start < len(word) and end > 0:
                    mark = f"[REDACTED:{secret.kind}]"
                    items[index] = word[: max(start, 0)] + mark + word[max(end, 0) :]
        return items

    def _clean(self, text: str) -> str:
        plain = self._make_plain(text)
        return self._redact(plain, 0, len(plain))

    def _make_plain(self, text: str) -> str:
        """Make a text plain. Redact first, since removing characters may hide where a secret
        begins."""
        plain = _make_plain(text)
        return plain if plain == text else _make_plain(self._redact(text, 0, len(text)))

    def _make_plain_head(self, text: str, chars: int) -> str:
        """Return the first `chars` characters of the plain text. Removed characters make it
        shorter, so more is read; the rest of the text is not drawn in."""
        size = chars
        while True:
            plain = self._make_plain(text[:size])
            if len(plain) >= chars or size >= len(text):
                return plain[:chars] if size < len(text) else plain
            size *= 2

    def _redact(self, plain: str, start: int, end: int) -> str:
        """Return the text between two places, with each secret that overlaps it replaced."""
        pieces, at = [], start
        for secret in self._find_secrets(plain):
            if secret.start < end and secret.end > at:
                pieces += [plain[at : max(secret.start, at)], f"[REDACTED:{secret.kind}]"]
                at = secret.end
        return "".join([*pieces, plain[at : max(at, end)]])


def _make_plain(text: str) -> str:
    """Remove invisible characters and private parts. Most texts have none, and searching for one
    character takes a thousandth of the time of an expression."""
    if "\r" in text:
        text = re.sub(_LINE_ENDS, "\n", text)
    if "\x1b" in text or "\x9b" in text:
        text = re.sub(_ESCAPES, "", text)
    if text.isascii():
        text = text.encode().translate(None, _UNSEEN_ASCII).decode()
    else:
        text = re.sub(_UNSEEN, "", text)
    return drop_private(text)


def _find_window(plain: str, start: int) -> int:
    """Return where the search for secrets starts: earlier if a key's block may be open there."""
    begin = plain.rfind("-----BEGIN", max(start - KEY_BLOCK_CHARS, 0), start)
    return start if begin < 0 or plain.find("-----END", begin, start) >= 0 else begin


def _name_of(key: str, value: Mapping[Any, Any], outer: str) -> str:
    """Return the name that describes a value: its key, a name in the same object, or the outer
    name."""
    if key.lower() not in _NAMELESS:
        return key
    beside = next((one for one in map(value.get, _NAMES) if isinstance(one, str)), "")
    return beside or outer or key


def drop_private(text: str) -> str:
    """Drop the text between private marks; an unclosed mark reaches to the end."""
    if _PRIVATE_BEGIN not in text.lower():
        return text
    pieces, at, depth = [], 0, 0
    for mark in re.finditer(_PRIVATE_MARK, text):
        closes = bool(mark[1])
        if depth == 0:
            pieces.append(text[at : mark.start()])
        depth = max(depth - 1, 0) if closes else depth + 1
        at = mark.end()
    return "".join([*pieces, text[at:]] if depth == 0 else pieces)
