"""Passwords without a name that suggests one: options of certain commands, netrc, SQL, and names
and values in separate fields.

Each form is looked for only around its mark, plain text that can be searched for fast. The search
stays within its line, except for the forms that take two.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from base.named_tuples import NamedTuple
from base.secrets.readings import Reading
from base.secrets.secret_names import kind_of

_VALUE = rb"""(?:"(?P<double>[^"\r\n]{1,200})"|'(?P<single>[^'\r\n]{1,200})'"""
_VALUE += rb"""|(?P<value>[^\s"'`|;&<>()]{1,200}+))"""
_NAMES = rb"""["']?(?:name|key)["']?\s{0,2}[:=]\s{0,2}["']?(?P<name>[\w.:-]{3,80}+)["']?"""

_BEFORE = b"\"' \t\r\n\v\f"
"""Characters that `_NAMES` allows between a mark and its sign."""


class Form(NamedTuple):
    """A way to write a password, which is the group `value`, `single` or `double`."""

    marks: tuple[bytes, ...]  # in lower case; where to look
    expression: bytes  # matched from a mark on
    kind: str = "password"  # empty: by its `name`
    is_word_allowed: bool = True  # whether a plain word can be one, and not only an odd text
    needs: bytes = b""  # other text that is required, in lower case
    follows: tuple[bytes, ...] = ()  # one of these must follow a mark, quote and blanks


def _option(commands: str, option: bytes) -> Form:
    """Return a command's option, with its value after it on the same line."""
    marks = tuple(f"{command} ".encode() for command in commands.split())
    return Form(
        marks, rb" ?[\w-]{5,10} [^\r\n]{0,120}?(?<=\s)" + option + _VALUE, needs=option[:2].lower()
    )


_HASH = (
    rb"\$(?:(?:1|apr1)\$[./\w]{1,8}\$[./\w]{22}"
    rb"|[56]\$(?:rounds=\d{4,9}\$)?[./\w]{1,16}\$[./\w]{43,86}"
    rb"|y\$[./\w]{1,20}\$[./\w]{1,40}\$[./\w]{43}|2[aby]\$\d\d\$[./\w]{53}"
    rb"|argon2(?:id|i|d)\$v=\d{1,3}\$m=\d{1,9},t=\d{1,5},p=\d{1,5}"
    rb"\$[+/\w]{8,90}\$[+/\w]{16,180})(?![./\w])"
)
_COOKIE = rb"[\w.-]{0,40}?(?:sess|sid|auth|token|jwt|login)[\w.-]{0,40}="
_ECHO = rb"\w{4} (?:-n )?[\"']?"
_PIPED = rb"(?P<value>[^\s\"'`|]{4,200}+)[\"']? ?\| ?"

FORMS = (
    Form(
        (b"curl ", b"wget "),
        rb"\w{4} [^\r\n]{0,120}?(?<=\s)(?:-u|-U|--user|--proxy-user)[ =]?"
        rb"""["']?[^\s:"'`$]{1,100}:(?P<value>[^\s"'`$]{2,200}+)""",
        needs=b"-u",
    ),
    Form((b"sshpass ",), rb"\w{7} {1,4}-p ?" + _VALUE, needs=b"-p"),
    _option("mysql mysqldump mysqladmin mariadb", rb"-p"),
    _option("redis-cli", rb"-a "),
    _option("ldapsearch ldapadd ldapmodify ldapwhoami", rb"-w "),
    _option("smbclient", rb"-U ?[^\s%]{1,100}%"),
    Form(
        (b" login ",),
        rb" \w{5} [^\r\n]{0,120}?(?<=\s)-p[ =]" + _VALUE,
        is_word_allowed=False,
        needs=b"-p",
    ),
    Form((b"-passin pass:", b"-passout pass:", b"-pass pass:"), rb"-\w{4,7} pass:" + _VALUE),
    Form(
        (b"-storepass ", b"-keypass ", b"-srcstorepass ", b"-deststorepass "),
        rb"-\w{7,13} " + _VALUE,
    ),
    Form((b"requirepass ", b"masterauth "), rb"\w{10,11} {1,8}" + _VALUE, is_word_allowed=False),
    Form(
        (b"identified by ", b" with password ", b" password '"),
        rb"[ \w]{7,14}[ ]'(?P<single>[^'\r\n]{2,200})'",
    ),
    Form(
        (b"machine ", b"default\n", b"default "),
        rb"(?:machine\s{1,4}\S{1,200}|default)\s{1,8}login\s{1,4}\S{1,200}\s{1,8}"
        rb"password\s{1,4}" + _VALUE,
        needs=b"password",
    ),
    Form((b"echo ",), _ECHO + _PIPED + rb"sudo (?:-\w{1,8} ){0,4}?-\w{0,8}S", needs=b"sudo"),
    Form(
        (b"echo ",), _ECHO + rb"[\w-]{1,40}:" + _PIPED + rb"(?:sudo )?chpasswd", needs=b"chpasswd"
    ),
    Form(
        (b"name", b"key"),
        _NAMES + rb"""[\s,]{1,40}["']?value["']?\s{0,2}[:=]\s{0,2}"""
        rb"""(?:"(?P<double>[^"\r\n<>]{4,400})"|'(?P<single>[^'\r\n<>]{4,400})'"""
        rb"""|(?P<value>[^\s"'<>{}]{4,400}+)(?=\s|\Z))""",
        kind="",
        needs=b"value",
        follows=(b":", b"="),
    ),
    Form(
        (b"$",),
        rb"(?P<value>" + _HASH + rb")",
        "password-hash",
        follows=(*(b"1$", b"5$", b"6$", b"y$", b"2a$", b"2b$", b"2y$"), b"apr1", b"argo"),
    ),
    Form(
        (b"cookie: ",),
        rb"cookie: (?:[^\r\n]{0,400}?[ ;])??" + _COOKIE + rb"(?P<value>[^\s;,\"']{16,4096}+)",
        "http-credential",
    ),
    Form(
        (b'"auth"', b":_auth", b"\n_auth"),
        rb"""["\s:]?_?auth"?\s{0,4}[:=]\s{0,4}"?(?P<value>[A-Za-z0-9+/]{6,1000}+={0,2})""",
        "basic-credential",
    ),
)


def find_in_command_lines(reading: Reading) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of each password that only its form shows."""
    data, lowered = reading.data, reading.lowered
    for form in FORMS:
        if form.needs and form.needs not in lowered:
            continue
        for mark, at in reading.find_all(form.marks):
            # Names and keys are all over a program; most have no value.
            following = lowered[at + len(mark) : at + len(mark) + 4].lstrip(_BEFORE)
            if form.follows and not following.startswith(form.follows):
                continue
            if found := _match_at(form, mark, data, at):
                yield found


def _match_at(form: Form, mark: bytes, data: bytes, at: int) -> tuple[str, int, int] | None:
    if at and mark[:1].isalpha() and data[at - 1 : at].isalnum():
        return None
    match = _compile(form.expression).match(data, at)
    if match is None:
        return None
    group = next(g for g in ("value", "single", "double") if match.groupdict().get(g) is not None)
    kind = form.kind or kind_of(match["name"])
    if not kind or not _is_secret(form, kind, match[group]):
        return None
    return kind if kind != "basic-credential" else "http-credential", *match.span(group)


def _is_secret(form: Form, kind: str, value: bytes) -> bool:
    from base.secrets.assignments import may_be_value  # noqa: PLC0415 - they import each other

    if kind == "basic-credential":
        return _is_basic(value)
    if kind == "password-hash":
        return True
    if not may_be_value(value, kind):
        return False
    has_digit = any(48 <= byte < 58 for byte in value)
    if kind == "http-credential" or not form.is_word_allowed:
        return has_digit
    return kind == "password" or (has_digit and len(value) >= 8)


def _is_basic(value: bytes) -> bool:
    """Return whether it is `user:password` in base64."""
    import base64  # noqa: PLC0415 - few texts have a field of this name
    import binascii  # noqa: PLC0415

    try:
        plain = base64.b64decode(value, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return False
    user, sign, password = plain.partition(":")
    return bool(user and sign and password) and plain.isprintable()


@functools.cache
def _compile(expression: bytes) -> re.Pattern[bytes]:
    return re.compile(expression, re.IGNORECASE)
