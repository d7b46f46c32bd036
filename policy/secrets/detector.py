"""Finds secrets by all means at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from base.named_tuples import NamedTuple
from policy.secrets.readings import Reading, list_readings
from policy.secrets.telling_names import any_keyword

CUT_BYTES = 8192
"""How far around a cut a secret is looked for."""
Finder = Callable[[Reading], Iterator[tuple[str, int, int]]]


def _any_of(text: bytes) -> Callable[[Reading], bool]:
    marks = text.split(b"|")
    return lambda reading: reading.has_any(marks)


# In order of how much they know: where two find the same text, the first names it. Each is loaded
# when a text holds one of its marks (in lower case): most texts hold none, and compiling all
# expressions takes longer than reading such a text. Tokens compile theirs one by one. Marks that
# are in many texts come first.
FINDERS: tuple[tuple[str, str, Callable[[Reading], bool]], ...] = (
    ("blocks", "find_private_keys", _any_of(b"-----begin ")),
    ("tokens", "find_tokens", _any_of(b"")),
    ("blocks", "find_url_passwords", _any_of(b"://")),
    ("blocks", "find_header_credentials", _any_of(b"bearer|authorization|x-a|private-token")),
    ("assignments", "find_assignments", any_keyword),
    (
        "command_lines",
        "find_in_command_lines",
        _any_of(
            b"value|default |echo |machine |default\n|curl |wget |sshpass |mysql|mariadb | login "
            b"|redis-cli |ldap|smbclient |pass |pass:|masterauth |identified by |password '"
            b'|with password |$1$|$5$|$6$|$y$|$2a$|$2b$|$2y$|$apr1$|$argon2|cookie: |"auth"|_auth'
        ),
    ),
)


class Secret(NamedTuple):
    """One secret: the value alone, without the name it is given to."""

    kind: str
    start: int
    end: int


def find_secrets(text: str | bytes) -> tuple[Secret, ...]:
    """The secrets of a text in order, none overlapping another.

    Ranges are bytes of bytes, and characters of str.
    """
    if isinstance(text, bytes):
        return _find(text)
    data = text.encode("utf-8", "surrogatepass")
    found = _find(data)
    return found if len(data) == len(text) else tuple(_in_characters(data, found))


def find_divided(data: bytes, at: int) -> tuple[int, int]:
    """Return where a secret begins and ends that a cut would divide; the cut twice if none. Half of
    one is not found, and gives half of it away."""
    first = max(at - CUT_BYTES, 0)
    for secret in _find(data[first : at + CUT_BYTES]):
        if first + secret.start < at < first + secret.end:
            return first + secret.start, first + secret.end
    return at, at


def find_form(data: bytes) -> str:
    """Return the kind of a token or private key, by its form alone; "" if a text has none."""
    for reading in list_readings(data):
        for _, finder in _finders(reading, FINDERS[:2]):
            for kind, _, _ in finder(reading):
                return kind
    return ""


def _find(data: bytes) -> tuple[Secret, ...]:
    ranked = [
        (*reading.locate(start, end), rank, kind)
        for reading in list_readings(data)
        for rank, finder in _finders(reading)
        for kind, start, end in finder(reading)
        if start < end
    ]
    kept: list[Secret] = []
    for start, end, _, kind in sorted(ranked, key=lambda found: (found[0], found[2])):
        if kept and start < kept[-1].end:
            first = kept[-1]
            kept[-1] = Secret(first.kind, first.start, max(first.end, end))
        else:
            kept.append(Secret(kind, start, end))
    return tuple(kept)


def _finders(
    reading: Reading, among: Sequence[tuple[str, str, Callable[[Reading], bool]]] = FINDERS
) -> Iterator[tuple[int, Finder]]:
    for rank, (module, name, may_find) in enumerate(among):
        if may_find(reading):
            path = f"policy.secrets.{module}"
            __import__(path)  # `importlib` takes a hook a millisecond
            yield rank, getattr(sys.modules[path], name)


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
