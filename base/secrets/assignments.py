"""Values given to names that suggest a secret: settings, YAML, JSON, XML, code, command lines.

Only the value is the secret. A name alone proves little, so the value must look like one: not an
expression, a type, a reference to where the secret is stored, a placeholder, or prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from base.secrets.readings import Expression, Reading
from base.secrets.secret_names import has_keyword, names
from base.secrets.tokens import is_placeholder

VALUE_BYTES_MAX = 4096
LINE_START_BYTES_MAX = 100
BEFORE_SIGN_BYTES_MAX = 47

# The name's own end, a type annotation if any, the sign, a string prefix, and the quote.
_SEPARATOR = Expression(
    rb"""(?:\\?["'`]?\]?)(?:[ ]{0,4}:[ ]{0,4}[A-Za-z_][\w.\[\]|]{0,40}[ ]{0,4}(?==))?[ \t]{0,40}+"""
    rb"""(?P<sign>=>|:=|\?=|=(?!=)|:(?!:)|>(?=[^\s<>]{1,400}</)|,(?=[ \t]{0,8}["']))"""
    rb"""(?P<gap>[ \t]{0,40}+)(?:[bBrRuUfF]{1,2}(?=["']))?(?P<quote>\\?"{1,3}|\\?'{1,3}|`)?"""
)
# What that allows before a sign or an annotation, and how those begin.
_BEFORE_SIGN = b"\\\"'`] \t"
_SIGNS = (b"=", b":", b"?", b">", b",")
_OPTION_GAP = Expression(rb"[ \t]{1,8}[\"']?")
_WORD = Expression(rb"[^\s\"'`,;<]{1,512}+")
_SETTING = Expression(rb"[^\s\"'`;]{1,4096}+")
_LINE = Expression(rb"[^\r\n]{1,4096}+")
_LINE_START = Expression(
    rb"[ \t]{0,80}(?:export |set |setenv |ENV |ARG |declare -x |- |\+|> ?|[0-9]{1,6}[:|] ?)?"
    rb"[ \t]{0,8}"
)
_CODE = Expression(rb"[(){}\[\]<>|\\]|->|::|&&|=")
_IDENTIFIER = Expression(rb"[A-Za-z_$][\w$]*+(?:[.][A-Za-z_$][\w$]*+)*+[.]?\Z")
# Types, kinds and states after a colon or sign, which are not values.
_NO_VALUES = frozenset(
    b"string str bytes text int integer number any none null nil true false yes no bool boolean"
    b" undefined required optional varchar char object void unknown default password secret token"
    b" username user key value hash binary data file stdin prompt keyring basic bearer digest oauth"
    b" oauth2 enabled disabled always never inherit empty unset missing invalid valid present"
    b" absent test"
    # Where a system looks up its users (nsswitch.conf), how PAM and git proceed.
    b" files compat db sss systemd nis nisplus ldap winbind hesiod altfiles extrausers"
    b" sufficient requisite include substack prompted interactive store cache osxkeychain"
    b" libsecret wincred manager manager-core".split()
)
# A path: an absolute one of at least two parts, or one from a folder that is named.
_PATH = Expression(
    rb"(?:~[\w.-]{0,40}|\.{1,2}|[A-Za-z]:|file:)?"
    rb"(?>(?:[/\\]{1,2}[\w .@+%~:,-]{1,255}){1,64})[/\\]?\Z"
)
_FILE = Expression(
    rb"[\w./~@+-]{1,200}\.(?:pem|key|crt|cer|json|ya?ml|toml|txt|cfg|conf|ini|env|p12|jks|pub|asc"
    rb"|gpg|sock|db|log|properties|xml|html?|[jt]sx?|py|rb|go|rs|java|sh|md|php|cs|css)(?::[0-9:]{1,9})?\Z"
)
# `^1.7.0`, `7.3.1-beta.2`, `>=2`: names of packages often contain such words.
_VERSION = Expression(
    rb"(?:[\^~v]|[<>=]=?)?[0-9]{1,4}(?:\.[0-9]{1,9}){1,3}(?:[-+.]?(?:alpha|beta|rc|dev|post|pre|a|b)"
    rb"[.-]?[0-9]{0,4})?\Z"
)
# Words, with a short number after one: `db-creds-v2`, `variable123`, `ServiceAccount2`.
_NUMBERED = rb"(?>(?:[A-Z]?[a-z]{1,24}|[A-Z]{1,24}){1,8})(?:v?[0-9]{1,4})?|v?[0-9]{1,4}"
_WORDS = Expression(
    rb"(?:(?>(?:[A-Z]?[a-z]{2,24}|[A-Z]{2,24}){1,8})(?:v?[0-9]{1,4})?|v?[0-9]{1,4})"
    rb"(?>(?:[-_./: ](?:" + _NUMBERED + rb")){0,12})\Z"
)
_MIXED_BYTES_MIN = 8
_NEIGHBOUR = Expression(
    rb"(?:\A|[;,?&\s\"'])(?:server|data source|host(?:addr|name)?|uid|user(?:name|[ ]?id)?|database"
    rb"|dbname|initial catalog|port|driver|endpoint|domain)[ ]?=[ ]?[^\s;,=(]",
    re.IGNORECASE,
)
_NEIGHBOUR_BYTES = 120
_UPPER_NAME = Expression(rb"[A-Z][A-Z0-9_]*+\Z")


def find_assignments(reading: Reading) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of each value that a name suggests to be secret."""
    data = reading.data
    for kind, start, end in names(reading):
        value = _value_behind(data, start, end, kind)
        # A shell's current and previous folder: `PWD=/…`, `OLDPWD=/…`.
        may_be_folder = data[start:end].lower().endswith((b"pwd", b"cwd"))
        if value and not (may_be_folder and _PATH.match(data[slice(*value)])):
            yield kind, *value


def _value_behind(data: bytes, start: int, end: int, kind: str) -> tuple[int, int] | None:
    is_option = b"--" in data[max(start - 2, 0) : start + 2]
    separator = _SEPARATOR.match(data, end) if _may_assign(data, end) else None
    if separator is None:
        gap = _OPTION_GAP.match(data, end) if is_option else None
        return _option_value(data, gap.end(), kind) if gap else None
    if separator["quote"]:
        return _quote(data, separator, kind)
    begins_line = _begins_line(data, start)
    if separator["sign"] == b":" and begins_line:
        value = _of_line(data, separator.end(), kind)
        return value if separator["gap"] or (value and _is_odd(data[slice(*value)])) else None
    if separator["sign"] == b"=" and (begins_line or _is_variable(data, start, end, separator)):
        return _setting(data, start, separator, kind)
    may_be_plain = (is_option and separator["sign"] == b"=") or (
        kind == "password"
        and (separator["sign"] == b">" or (separator["sign"] == b"=" and _is_field(data, start)))
    )
    return _word(data, separator.end(), kind, may_be_plain=may_be_plain)


def _may_assign(data: bytes, end: int) -> bool:
    """Return whether a sign may follow: for prose, which has none, nothing is compiled."""
    following = data[end : end + BEFORE_SIGN_BYTES_MAX + 1].lstrip(_BEFORE_SIGN)
    return following.startswith(_SIGNS)


def _is_variable(data: bytes, start: int, end: int, separator: re.Match[bytes]) -> bool:
    """Return whether it is `NAME=value` before a command, among its arguments, or in a list."""
    before = data[max(start - 1, 0) : start]
    return (
        not separator["gap"]
        and before in (b" ", b"\t", b'"', b"'", b";", b"[")
        and _UPPER_NAME.match(data[start:end]) is not None
    )


def _is_field(data: bytes, start: int) -> bool:
    """Return whether it is a field of an address, a form or a connection string."""
    before = data[max(start - 2, 0) : start]
    if before[-1:] in (b"?", b"&") or data[start - 1 : start + 1] == b":_":  # of .npmrc
        return True
    if before == b", " or (before.strip() == before != b"" and before[-1:] not in b";,'\""):
        return False
    return _has_neighbour(data, start)


def _has_neighbour(data: bytes, start: int) -> bool:
    first = max(data.rfind(b"\n", 0, start) + 1, start - _NEIGHBOUR_BYTES)
    last = data.find(b"\n", start)
    last = min(len(data) if last < 0 else last, start + _NEIGHBOUR_BYTES)
    return _NEIGHBOUR.search(data, first, last) is not None


def _begins_line(data: bytes, start: int) -> bool:
    """Return whether only text that may open a setting is before it on its line."""
    earliest = max(start - LINE_START_BYTES_MAX, 0)
    line = max(data.rfind(b"\n", earliest, start), data.rfind(b"\r", earliest, start)) + 1
    if line == 0 and earliest > 0:
        return False
    return _LINE_START.compiled.fullmatch(data, line, start) is not None


def _quote(data: bytes, separator: re.Match[bytes], kind: str) -> tuple[int, int] | None:
    """Find a text in quotes, on one line unless the quotes are triple."""
    quote, start = separator["quote"], separator.end()
    last = start + VALUE_BYTES_MAX
    end = data.find(quote, start, last)
    while end > start and data[end - 1] == 0x5C and len(quote) == 1:  # an escaped quote
        end = data.find(quote, end + 1, last)
    if end < 0 or (len(quote) < 3 and data.find(b"\n", start, end) >= 0):
        return None
    value = data[start:end]
    if not may_be_value(value, kind) or (b" " in value and not _is_mixed(value)):
        return None
    # After a comma comes an argument or a message.
    if separator["sign"] == b",":
        return (start, end) if _is_random(value, kind) and not _WORDS.match(value) else None
    return (start, end) if kind == "password" or _is_random(value, kind) else None


def _of_line(data: bytes, at: int, kind: str) -> tuple[int, int] | None:
    """Find `password: hunter2` of YAML, to the end of its line or to a comment."""
    line = _LINE.match(data, at)
    if line is None:
        return None
    value = line[0].partition(b" #")[0].rstrip()
    if value.endswith((b'"', b"'")) and value.count(value[-1:]) == 1:  # the text's around it
        value = value[:-1]
    if not may_be_value(value, kind) or b" " in value or _CODE.search(value.rstrip(b"=")):
        return None
    if value.endswith((b",", b";")):
        return None
    is_password = kind == "password" and (
        _has_digit(value) or value.islower() or not _IDENTIFIER.match(value)
    )
    return (at, at + len(value)) if is_password or _is_random(value, kind) else None


def _setting(
    data: bytes, start: int, separator: re.Match[bytes], kind: str
) -> tuple[int, int] | None:
    """Find `NAME=value` of an environment, `db.password = value` of properties."""
    match = _SETTING.match(data, separator.end())
    if match is None or match[0].endswith(b","):
        return None
    value = match[0]
    if _CODE.search(value.rstrip(b"=")) or not may_be_value(value, kind):
        return None
    if data[start : start + 1].isupper() and not separator["gap"]:
        return match.span()
    is_name = _IDENTIFIER.match(value) and (b"." in value or has_keyword(value))
    is_password = kind == "password" and not is_name and _has_digit(value) and len(value) >= 6
    return match.span() if is_password or (_is_random(value, kind) and not is_name) else None


def _word(data: bytes, at: int, kind: str, *, may_be_plain: bool) -> tuple[int, int] | None:
    """Find a value inside a line: `--password=value`, `?token=value`, `<password>value<`."""
    match = _WORD.match(data, at)
    if match is None:
        return None
    value = match[0].partition(b"&")[0].rstrip(b")]}>.")
    if _CODE.search(value.rstrip(b"=")) or not may_be_value(value, kind):
        return None
    is_dotted = b"." in value and _IDENTIFIER.match(value)
    if not may_be_plain and (is_dotted or not _is_random(value, kind)):
        return None
    return at, at + len(value)


def _option_value(data: bytes, at: int, kind: str) -> tuple[int, int] | None:
    """Find `--password hunter2`: any word may follow an option, so it must be odd."""
    match = _WORD.match(data, at)
    if match is None or match[0].startswith(b"-") or not may_be_value(match[0], kind):
        return None
    return match.span() if _is_odd(match[0]) and not _CODE.search(match[0]) else None


def may_be_value(value: bytes, kind: str) -> bool:
    """Return whether a value is long enough and not a placeholder, type, path, file, version or
    name of a secret."""
    if len(value) < 4 or value.lower() in _NO_VALUES or is_placeholder(value):
        return False
    if _is_path(value) or _VERSION.match(value) or (_FILE.match(value) and kind != "password"):
        return False
    return _has_digit(value) or not has_keyword(value)


def _is_path(value: bytes) -> bool:
    """Return whether it is a path, and does not look like base64."""
    if not value.startswith((b"/", b"~", b".", b"\\")) and value[1:2] != b":":
        return False
    if _PATH.match(value) is None:
        return False
    parts = re.split(rb"[/\\]", value)
    if value.startswith(b"/") and len([part for part in parts if part]) < 2:
        return False
    return not any(map(_is_mixed_up, parts))


def _is_mixed_up(part: bytes) -> bool:
    """Return whether small and capital letters and digits are mixed, unlike in a file name."""
    if len(part) < _MIXED_BYTES_MIN or b"." in part or b"-" in part:
        return False
    return _has_digit(part) and part.lower() != part != part.upper() and not _WORDS.match(part)


def _is_odd(value: bytes) -> bool:
    return _has_digit(value) and not value.isdigit() and len(value) >= 6


def _has_digit(value: bytes) -> bool:
    return any(0x30 <= byte <= 0x39 for byte in value)


def _is_mixed(value: bytes) -> bool:
    """Return whether a text with spaces is a passphrase, by digits, capitals and length."""
    return _has_digit(value) and any(0x41 <= byte <= 0x5A for byte in value) and len(value) >= 12


def _is_random(value: bytes, kind: str) -> bool:
    """Return whether it looks machine-made, or like one that follows a password's rules."""
    if b" " in value or len(value) < 8 or not _has_digit(value):
        return False
    if kind != "password" and _WORDS.match(value):
        return False
    return not value.isdigit() and len(set(value)) >= 6
