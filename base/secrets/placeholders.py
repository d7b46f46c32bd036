"""Placeholders of secrets: examples, blanks, references to where the secret really is."""

from __future__ import annotations

import re

from base.secrets.readings import Expression

# Words that documents and templates use instead of a value (compared in lower case).
_WORDS = Expression(
    rb"example|placeholder|change[_-]?me|change[_-]?this|replace[_-]?(?:me|with|this)"
    rb"|your[_-]|insert[_-]|dummy|redacted|masked|hidden|sanitized|to[_-]?be[_-]|fixme|foobar"
    rb"|not[_-]?a?[_-]?(?:real|secret)|<[a-z]|my[_-](?:secret|pass|token|key|api)"
    rb"|s3cr3t[_-]?here|[_-]here\b|lorem|sample",
    re.IGNORECASE,
)
_PARTS = (
    *(b"example", b"placeholder", b"change", b"replace", b"your", b"insert", b"dummy", b"redacted"),
    *(b"masked", b"hidden", b"sanitized", b"be", b"fixme", b"foobar", b"not", b"<", b"my", b"here"),
    *(b"lorem", b"sample"),
)
"""Each of those words has one of these parts."""

# A reference begins like this: shell, make, CI templates, Jinja, printf, Windows, Ruby.
_REFERENCE = Expression(
    rb"\$|%[({A-Za-z_]|\{\{|\{[A-Za-z_}]|<|#\{|@\{|\[REDACTED|\(\(|&|\*[A-Za-z]|!|env[.:(]"
    rb"|(?:arn|ref|op|vault|ssm|file|https?|secretsmanager|gcp-sm|sops)://?"
    rb"|(?:vault|ssm|secret|sops|env|file|arn:aws):[A-Za-z/]",
    re.IGNORECASE,
)
_REFERENCE_SIGNS = tuple(bytes([sign]) for sign in b"$%{<#@[(&*!")
_REFERENCE_LETTERS = tuple(bytes([letter]) for letter in b"aefhorsvg")
_BLANK = Expression(rb"(?:[x*.#_?0-]|\xe2\x80\xa2|\xe2\x80\xa6|\xc2\xb7)*+\Z", re.IGNORECASE)

_BLANKS = b"xX*.#_?0-\xe2\x80\xa2\xa6\xc2\xb7"


def is_placeholder(value: bytes) -> bool:
    """Return whether a value assigned to a secret's name is not a secret."""
    return _is_reference(value) or _is_blank(value) or _has_words(value[:200])


# Each looks first for plain text that its expression requires: most values have none.
def _is_reference(value: bytes) -> bool:
    if not value.startswith(_REFERENCE_SIGNS):
        is_letter = value[:1].lower() in _REFERENCE_LETTERS
        if not (is_letter and (b":" in value or b"." in value or b"(" in value)):
            return False
    return _REFERENCE.match(value) is not None


def _is_blank(value: bytes) -> bool:
    return not value.strip(_BLANKS) and _BLANK.match(value) is not None


def _has_words(value: bytes) -> bool:
    lowered = value.lower()
    return any(part in lowered for part in _PARTS) and _WORDS.search(value) is not None
