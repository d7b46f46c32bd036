"""Finds secrets by all means at once."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence

from base.named_tuples import NamedTuple
from base.secrets.placeholders import is_placeholder
from base.secrets.readings import SHORT_BYTES, Expression, Reading, list_readings
from base.secrets.telling_names import MARKS
from base.secrets.tokens import is_filler

# RFC 7468 (PKCS #8, PKCS #1, SEC 1), RFC 9580 (PGP), PROTOCOL.key of OpenSSH. What stands between
# two lines of the body may be written out (`\n` in JSON), quoted, commented or indented.
_ARMOUR = rb"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_BETWEEN = rb"""(?:[\s"'+,>#*|\\/;]|(?<=\\)[nrt]){1,80}"""
_HEADERS = rb"(?:" + _BETWEEN + rb"[A-Z][A-Za-z-]{1,30}:[^\r\n\\]{0,200}){0,8}"
_KEY = Expression(
    _ARMOUR + _HEADERS + rb"(?P<body>" + _BETWEEN + rb"[A-Za-z0-9+/=]{32,}+"
    rb"(?>(?:" + _BETWEEN + rb"[A-Za-z0-9+/=]{24,}+)*)"
    rb"(?:" + _BETWEEN + rb"[A-Za-z0-9+/=]{1,200}+(?=" + _BETWEEN + rb"-----END |"
    + _BETWEEN + rb"=[A-Za-z0-9+/]{4}))?"
    rb"(?:" + _BETWEEN + rb"=[A-Za-z0-9+/]{4})?)"
)  # fmt: skip

# The last @ of the authority ends the password, as people write them unencoded.
_AUTHORITY = Expression(rb"""://([^\s/?#"'`<>\\:@]{0,256}+):([^\s/"'`<>\\]{1,512}+)""")
_COMMON_EXAMPLES = frozenset(b"pass passwd password pwd secret pw token user username".split())

# RFC 9110, 11.6: Authorization, Proxy-Authorization; the schemes of RFC 6750 and RFC 7617.
_SCHEME = Expression(
    rb"(?P<scheme>bearer|basic|token|api-?key|jwt|ssws|genie-?key)[ \t]{1,8}"
    rb"(?P<value>[A-Za-z0-9._~+/-]{8,4096}+={0,2})",
    re.IGNORECASE,
)
_HEADER_SIGN = Expression(rb"""["']?\s{0,4}[:=,]\s{0,4}["']?""")
_HEADER_NAMES = (b"authorization", b"x-api-key", b"x-auth-token", b"private-token")
_HEADER_VALUE = Expression(rb"[A-Za-z0-9._~+/-]{16,4096}+={0,2}")
_BEARER = Expression(rb"(?<!\w)bearer[ \t]{1,8}(?P<value>[A-Za-z0-9._~+/-]{16,4096}+={0,2})", re.I)


def find_private_keys(reading: Reading) -> Iterator[tuple[str, int, int]]:
    """The body of each private key, armour left standing; also of one that is cut off."""
    for key in _KEY.compiled.finditer(reading.data):
        begin = key.end("body") - len(key["body"].lstrip(b"\r\n\t \"'+,>#*|;/"))
        yield "private-key", begin, key.end("body")


def find_url_passwords(reading: Reading) -> Iterator[tuple[str, int, int]]:
    """The password of every `scheme://user:password@host`."""
    for match in _AUTHORITY.compiled.finditer(reading.data):
        password, sign, host = match[2].rpartition(b"@")
        if (
            sign
            and host[:1].isalnum() | (host[:1] in (b"[", b"$", b"{", b"%"))
            and not (is_placeholder(password) or password.lower() in _COMMON_EXAMPLES)
        ):
            yield "url-password", match.start(2), match.start(2) + len(password)


def find_header_credentials(reading: Reading) -> Iterator[tuple[str, int, int]]:
    """What authorises in HTTP headers, in whatever notation they are written."""
    data = reading.data
    for name, at in reading.find_all(_HEADER_NAMES):
        if (header := _HEADER_SIGN.match(data, at + len(name))) is None:
            continue
        match = _SCHEME.match(data, header.end())
        if match is None and not name.startswith(b"a"):
            match = _HEADER_VALUE.match(data, header.end())
            span = match.span() if match else None
        else:
            span = match.span("value") if match else None
        if span and _is_credential(data[slice(*span)]):
            yield "http-credential", *span
    for _, at in reading.find_all((b"bearer",)):
        match = _BEARER.match(data, at)
        if (
            match
            and _is_credential(match["value"])
            and any(48 <= byte < 58 for byte in match["value"])
        ):
            yield "http-credential", *match.span("value")


def _is_credential(value: bytes) -> bool:
    return not is_placeholder(value) and not is_filler(value)


CUT_BYTES = 8192
"""How far around a cut a secret is looked for."""
Finder = Callable[[Reading], Iterator[tuple[str, int, int]]]


# In order of how much they know: where two find the same text, the first names it. Each is loaded
# when a text holds one of its marks (in lower case): most texts hold none, and compiling all
# expressions takes longer than reading such a text. Tokens compile theirs one by one. Marks that
# are in many texts come first.
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
    """The secrets of a text in order, none overlapping another.

    Ranges are bytes of bytes, and characters of str.
    """
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


def find_divided(data: bytes, at: int) -> tuple[int, int]:
    """Return where a secret begins and ends that a cut would divide; the cut twice if none. Half of
    one is not found, and gives half of it away."""
    first = max(at - CUT_BYTES, 0)
    for secret in find_secrets(data[first : at + CUT_BYTES]):
        if first + secret.start < at < first + secret.end:
            return first + secret.start, first + secret.end
    return at, at


def find_form(data: bytes) -> str:
    """Return the kind of a token or private key, by its form alone; "" if a text has none."""

    from base.secrets.tokens import find_tokens  # noqa: PLC0415

    for reading in list_readings(data):
        for kind, _, _ in (*find_private_keys(reading), *find_tokens(reading)):
            return kind
    return ""


def _in_characters(data: bytes, secrets: Sequence[Secret]) -> Iterator[Secret]:
    """The same ranges, counted in characters."""
    characters, at = 0, 0
    for secret in secrets:
        places = []
        for offset in (secret.start, secret.end):
            characters += len(data[at:offset].decode("utf-8", "surrogatepass"))
            at = offset
            places.append(characters)
        yield Secret(secret.kind, *places)
