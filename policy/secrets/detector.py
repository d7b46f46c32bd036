"""Finds secrets by all means at once, and replaces them by what kind they are."""

# Without `annotations` of the future, which a class of `typing` compiles: hooks lack the time.
import importlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import AnyStr, Generic, NamedTuple

from policy.secrets.telling_names import any_keyword

Finder = Callable[[bytes], Iterator[tuple[str, int, int]]]


def _any_of(text: bytes) -> Callable[[bytes], bool]:
    marks = text.split(b"|")
    return lambda lowered: any(mark in lowered for mark in marks)


# In order of how much they know: where two find the same text, the first names it. Each is loaded
# when a text holds one of its marks (in lower case): most texts hold none, and compiling all
# expressions takes longer than reading such a text. Tokens compile theirs one by one.
FINDERS: tuple[tuple[str, str, Callable[[bytes], bool]], ...] = (
    ("blocks", "find_private_keys", _any_of(b"-----begin ")),
    ("tokens", "find_tokens", _any_of(b"")),
    ("blocks", "find_url_passwords", _any_of(b"://")),
    ("blocks", "find_header_credentials", _any_of(b"bearer|authorization|x-a|private-token")),
    ("assignments", "find_assignments", any_keyword),
    (
        "command_lines",
        "find_in_command_lines",
        _any_of(
            b"curl |wget |sshpass |mysql|mariadb | login |redis-cli |ldap|smbclient |pass |pass:"
            b"|masterauth |identified by |password '|with password |machine |default\n|default "
            b'|echo |value|$1$|$5$|$6$|$y$|$2a$|$2b$|$2y$|$apr1$|$argon2|cookie: |"auth"|_auth'
        ),
    ),
)


class Secret(NamedTuple):
    """One secret: the value alone, without the name it is given to."""

    kind: str
    start: int
    end: int


class Redacted(NamedTuple, Generic[AnyStr]):
    """A text without its secrets; `secrets` has their places in the text as it was."""

    text: AnyStr
    secrets: tuple[Secret, ...] = ()

    @property
    def kinds(self) -> Mapping[str, int]:
        """How many of each kind."""
        return Counter(secret.kind for secret in self.secrets)


def find_secrets(text: str | bytes) -> tuple[Secret, ...]:
    """The secrets of a text in order, none overlapping another.

    Ranges are bytes of bytes, and characters of str.
    """
    if isinstance(text, bytes):
        return _find(text)
    data = text.encode("utf-8", "surrogatepass")
    found = _find(data)
    return found if len(data) == len(text) else tuple(_in_characters(data, found))


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


def _find(data: bytes) -> tuple[Secret, ...]:
    ranked = [
        (start, rank, end, kind)
        for rank, finder in enumerate(_finders(data.lower()))
        for kind, start, end in finder(data)
        if start < end
    ]
    kept: list[Secret] = []
    for start, _, end, kind in sorted(ranked):
        if kept and start < kept[-1].end:
            first = kept[-1]
            kept[-1] = Secret(first.kind, first.start, max(first.end, end))
        else:
            kept.append(Secret(kind, start, end))
    return tuple(kept)


def _finders(lowered: bytes) -> Iterator[Finder]:
    for module, name, may_find in FINDERS:
        if may_find(lowered):
            yield getattr(importlib.import_module(f"policy.secrets.{module}"), name)


def _in_characters(data: bytes, secrets: tuple[Secret, ...]) -> Iterator[Secret]:
    """The same ranges, counted in characters."""
    characters, at = 0, 0
    for secret in secrets:
        places = []
        for offset in (secret.start, secret.end):
            characters += len(data[at:offset].decode("utf-8", "surrogatepass"))
            at = offset
            places.append(characters)
        yield Secret(secret.kind, *places)
