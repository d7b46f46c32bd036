"""Keys and tokens that issuers made recognisable, and texts that only stand for a secret.

A form of token is a row, with its source. It begins with plain text that can be searched for fast.
Nothing follows an unbounded repetition in an expression, so none can be made to try over and over.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Iterator

from base.named_tuples import NamedTuple
from base.secrets.readings import Expression, Reading, split_words
from base.wordlist import read_rows

_SEEN_BYTES = 1024
"""The length of a token that is checked before the costlier search for its beginning."""

KINDS_OF_BYTES_MIN = 6
"""A token of fewer different bytes than this is `xxxx…`, not a key."""

_HEAD_BYTES = 3
TOKEN_BYTES_MAX = 25_000
"""The length of a run after an anchor that is checked: three parts of a JSON web token."""


class TokenForm(NamedTuple):
    """One kind of token: one of its anchors, and the text after it."""

    kind: str
    anchors: tuple[bytes, ...]  # the colon at the start of one is never secret
    expression: bytes  # only the group `value` is secret, if there is one
    source: str
    not_behind: bytes = rb"\w"  # what may not precede an anchor that begins with a letter


def _form(
    kind: str, anchors: str, expression: str, source: str, not_behind: str = r"\w"
) -> TokenForm:
    starts = tuple(anchors.encode().split())
    return TokenForm(kind, starts, expression.encode(), source, not_behind.encode())


TOKEN_FORMS = tuple(_form(*row) for row in read_rows(__file__, "token_forms.txt"))


def find_tokens(reading: Reading) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of each token, by form and not by place."""
    data = reading.data
    # Few anchors have a beginning that some word has; after a gap it is within one.
    heads = set(map(operator.itemgetter(slice(_HEAD_BYTES)), reading.words))
    for form, anchor, head, word in _anchors():
        if (
            head
            and not (head in heads and word in reading.vocabulary)
            and not (reading.has_gaps and word[1:] in reading.vocabulary)
        ):
            continue
        expression, not_before, not_behind = _compile_form(form)
        is_word, at = anchor[:1].isalpha(), data.find(anchor)
        while at >= 0:
            end = at + len(anchor)
            if (
                # A token may begin and end where something was taken out of the text.
                not (at and is_word and not_behind.match(data, at - 1))
                or (
                    reading.has_gaps
                    and expression.match(data, end, end + _SEEN_BYTES)
                    and reading.has_gap(at)
                )
            ) and (match := expression.match(data, end, end + TOKEN_BYTES_MAX)):
                behind = match.end()
                is_cut = not_before and not_before.match(data, behind)
                if not is_filler(data[at:behind]) and (
                    not is_cut or (reading.has_gaps and reading.has_gap(behind))
                ):
                    end = behind
                    is_part = "value" in expression.groupindex
                    start = match.start("value") if is_part else at + anchor.startswith(b":")
                    yield form.kind, start, match.end("value" if is_part else 0)
            at = data.find(anchor, end)


@functools.cache
def _anchors() -> list[tuple[TokenForm, bytes, bytes, bytes]]:
    """Return all anchors, each with the head of its first word, and that word between blanks. Both
    are empty if it may be within a word, or is less than a word's beginning."""
    found = []
    for form in TOKEN_FORMS:
        for anchor in form.anchors:
            word = next(iter(split_words(anchor)), b"")
            if not anchor[:1].isalpha() or (word == anchor and len(word) < _HEAD_BYTES):
                word = b""
            end = b"" if word == anchor else b" "
            found.append((form, anchor, word[:_HEAD_BYTES], b" " + word + end))
    return found


def is_filler(token: bytes) -> bool:
    """Return whether a token of a known form is only an example of that form."""
    if len(set(token[-20:])) < KINDS_OF_BYTES_MIN:
        return True
    return b"EXAMPLE" in token or b"example" in token or b"xxxxx" in token.lower()


# Compiling all of them takes longer than reading most texts, and few forms ever occur.
@functools.cache
def _compile_form(
    form: TokenForm,
) -> tuple[re.Pattern[bytes], re.Pattern[bytes] | None, re.Pattern[bytes]]:
    """Return the expressions of a token, and of text forbidden after and before it."""
    expression, not_before = form.expression, b""
    if expression.endswith(rb"\b"):
        expression, not_before = expression[:-2], rb"\w"
    elif not expression.startswith(b"(?!") and b"(?!" in expression:
        expression, _, not_before = expression[:-1].partition(b"(?!")
    return (
        re.compile(expression),
        re.compile(not_before) if not_before else None,
        re.compile(form.not_behind),
    )


# Words that documents and templates use instead of a value (compared in lower case).
_EXAMPLE_WORDS = Expression(
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
    return any(part in lowered for part in _PARTS) and _EXAMPLE_WORDS.search(value) is not None
