"""What stands where a secret would: examples, blanks, references to where the secret really is."""

from __future__ import annotations

import re

# Words that documents and templates put in place of a value (compared in lower case).
_WORDS = re.compile(
    rb"example|placeholder|change[_-]?me|change[_-]?this|replace[_-]?(?:me|with|this)"
    rb"|your[_-]|insert[_-]|dummy|redacted|masked|hidden|sanitized|to[_-]?be[_-]|fixme|foobar"
    rb"|not[_-]?a?[_-]?(?:real|secret)|<[a-z]|my[_-](?:secret|pass|token|key|api)"
    rb"|s3cr3t[_-]?here|[_-]here\b|lorem|sample",
    re.IGNORECASE,
)
# A reference begins like this: shell, make, CI templates, Jinja, printf, Windows, Ruby.
_REFERENCE = re.compile(
    rb"\$|%[({A-Za-z_]|\{\{|\{[A-Za-z_}]|<|#\{|@\{|\[REDACTED|\(\(|&|\*[A-Za-z]|!|env[.:(]"
    rb"|(?:arn|ref|op|vault|ssm|file|https?|secretsmanager|gcp-sm|sops)://?"
    rb"|(?:vault|ssm|secret|sops|env|file|arn:aws):[A-Za-z/]",
    re.IGNORECASE,
)
_BLANK = re.compile(rb"(?:[x*.#_?0-]|\xe2\x80\xa2|\xe2\x80\xa6|\xc2\xb7)*+\Z", re.IGNORECASE)


def is_placeholder(value: bytes) -> bool:
    """Whether a value assigned to a secret's name is no secret."""
    return bool(_REFERENCE.match(value) or _BLANK.match(value) or _WORDS.search(value[:200]))
