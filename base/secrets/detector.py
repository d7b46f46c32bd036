"""Search for secrets by all means at once, and their replacement by their kinds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from base.named_tuples import NamedTuple
from base.secrets.readings import SHORT_BYTES, Reading, list_readings
from base.secrets.secret_names import MARKS

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks import this module
    from typing import AnyStr

CUT_BYTES = 8192
"""The distance around a cut in which a secret is looked for."""
Finder = Callable[[Reading], Iterator[tuple[str, int, int]]]


# In order of precision: if two find the same text, the first names it. Each is loaded when a text
# holds one of its marks (in lower case): most texts hold none, and compiling all expressions takes
# longer than reading such a text. Tokens compile theirs one by one. Marks that are in many texts
# come first.
FINDERS: tuple[tuple[str, str, tuple[bytes, ...]], ...] = (
    ("blocks", "find_private_keys", (b"-----begin ",)),
    ("tokens", "find_tokens", (b"",)),
    ("blocks", "find_url_passwords", (b"://",)),
    (
        "blocks",
        "find_header_credentials",
        (b"bearer", b"authorization", b"x-a", b"private-token"),
    ),
    ("assignments", "find_assignments", MARKS),
    (
        "command_lines",
        "find_in_command_lines",
        (
            *(b"value", b"default ", b"echo ", b"machine ", b"default\n", b"curl ", b"wget "),
            *(b"sshpass ", b"mysql", b"mariadb ", b" login ", b"redis-cli ", b"ldap", b"pass "),
            *(b"smbclient ", b"pass:", b"masterauth ", b"identified by ", b"password '", b"$1$"),
            *(b"with password ", b"$5$", b"$6$", b"$y$", b"$2a$", b"$2b$", b"$2y$", b"$apr1$"),
            *(b"$argon2", b"cookie: ", b'"auth"', b"_auth"),
        ),
    ),
)


class Secret(NamedTuple):
    """One secret: the value alone, without the name it is given to."""

    kind: str
    start: int
    end: int


def find_secrets(text: str | bytes) -> tuple[Secret, ...]:
    """Find the secrets of a text in order, none overlapping another. Ranges are bytes of bytes, and
    characters of str."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    ranked: list[tuple[int, int, int, str]] = []
    for reading in list_readings(data):
        for rank, (module, name, marks) in enumerate(FINDERS):
            sought = marks if len(reading.data) <= SHORT_BYTES else reading.select(marks)
            if any(map(reading.lowered.__contains__, sought)):
                path = f"base.secrets.{module}"
                __import__(path)  # `importlib` takes a hook a millisecond
                finder: Finder = getattr(sys.modules[path], name)
                for kind, start, end in finder(reading):
                    if start < end:
                        first, last = reading.locate(start, end)
                        ranked.append((first, rank, last, kind))
    kept: list[Secret] = []
    for start, _, end, kind in sorted(ranked):
        if kept and start < kept[-1].end:
            first_one = kept[-1]
            kept[-1] = Secret(first_one.kind, first_one.start, max(first_one.end, end))
        else:
            kept.append(Secret(kind, start, end))
    return tuple(kept if len(data) == len(text) else _in_characters(data, kept))


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


def find_divided(data: bytes, at: int) -> tuple[int, int]:
    """Return where a secret begins and ends that a cut would divide; the cut twice if none. Half a
    secret would not be found, and would be revealed."""
    first = max(at - CUT_BYTES, 0)
    for secret in find_secrets(data[first : at + CUT_BYTES]):
        if first + secret.start < at < first + secret.end:
            return first + secret.start, first + secret.end
    return at, at


def find_form(data: bytes) -> str:
    """Return the kind of a token or private key, by its form alone; "" if a text has none."""
    from base.secrets.blocks import find_private_keys  # noqa: PLC0415 - it loads this package
    from base.secrets.tokens import find_tokens  # noqa: PLC0415

    for reading in list_readings(data):
        for kind, _, _ in (*find_private_keys(reading), *find_tokens(reading)):
            return kind
    return ""


def _in_characters(data: bytes, secrets: Sequence[Secret]) -> Iterator[Secret]:
    """Yield the same ranges, counted in characters."""
    characters, at = 0, 0
    for secret in secrets:
        places = []
        for offset in (secret.start, secret.end):
            characters += len(data[at:offset].decode("utf-8", "surrogatepass"))
            at = offset
            places.append(characters)
        yield Secret(secret.kind, *places)
