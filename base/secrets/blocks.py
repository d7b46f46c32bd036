"""Private keys in their armour, passwords in URLs, credentials in HTTP headers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from base.secrets.readings import Expression, Reading
from base.secrets.tokens import is_filler, is_placeholder

# RFC 7468 (PKCS #8, PKCS #1, SEC 1), RFC 9580 (PGP), PROTOCOL.key of OpenSSH. Between two lines of
# the body may be escaped breaks (as in JSON), quotes, comments or indentation.
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
    """Yield the body of each private key without its armour; also of one that is cut off."""
    for key in _KEY.compiled.finditer(reading.data):
        begin = key.end("body") - len(key["body"].lstrip(b"\r\n\t \"'+,>#*|;/"))
        yield "private-key", begin, key.end("body")


def find_url_passwords(reading: Reading) -> Iterator[tuple[str, int, int]]:
    """Yield the password of every `scheme://user:password@host`."""
    for match in _AUTHORITY.compiled.finditer(reading.data):
        password, sign, host = match[2].rpartition(b"@")
        if (
            sign
            and host[:1].isalnum() | (host[:1] in (b"[", b"$", b"{", b"%"))
            and not (is_placeholder(password) or password.lower() in _COMMON_EXAMPLES)
        ):
            yield "url-password", match.start(2), match.start(2) + len(password)


def find_header_credentials(reading: Reading) -> Iterator[tuple[str, int, int]]:
    """Yield the credentials in HTTP headers, in any notation."""
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
