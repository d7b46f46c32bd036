"""Cleaning of pages: secrets before a commit, invisible characters before an agent reads (C20).

Secrets are removed from each field, by name and value, and from the body; joiners of letters stay.
A page is divided into fields first: with secrets replaced, its text might not be YAML any longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from memory.errors import BadInputError
from memory.gate import FindSecrets, drop_private
from memory.pages.model import Frontmatter, Page

# Controls except tab and line feed; zero-width space and BOM; bidirectional marks, embeddings,
# overrides, isolates and their deprecated variants; tags, which spell out invisible ASCII. ZWNJ and
# ZWJ (U+200C, U+200D) stay: scripts and emoji need them.
_HIDDEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u206f\ufeff"
    "\U000e0000-\U000e007f]+"
)
_LINE_END = re.compile("\r\n?")
_SURROGATE = re.compile("[\ud800-\udfff]")

_FREE = ("author", "agent", "created", "updated", "sources", "related", "tags")
_FREE_NAMES = (*_FREE, "reasoning_summary", "unknown")
DEPTH_MAX = 64


def sanitize(text: str) -> str:
    """Return a text that is safe for an agent to read. A carriage return is a control, too: with or
    without its line feed, it becomes a line feed, so that lines stay separate. A lone surrogate,
    which cannot be encoded, becomes U+FFFD."""
    text = _HIDDEN.sub("", _LINE_END.sub("\n", text))
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def redact(text: str, find_secrets: FindSecrets) -> tuple[str, int]:
    """Return a text with each secret replaced by its kind, and the number of secrets."""
    pieces, at = [], 0
    found = find_secrets(text)
    for secret in found:
        pieces += [text[at : secret.start], f"[REDACTED:{secret.kind}]"]
        at = secret.end
    return "".join([*pieces, text[at:]]), len(found)


def clean_page(page: Page, find_secrets: FindSecrets) -> tuple[Page, int]:
    """Return a page with its secrets replaced, and the number of secrets.

    Raises:
        BadInputError: its slug is a secret, or a secret spans several fields.
    """
    front = page.front
    if redact(front.slug, find_secrets)[1]:
        message = "the page's slug looks like a secret and would be visible in paths and the index"
        raise BadInputError(message, "Rename the page, and replace the secret where it is used.")
    front, in_fields = _clean_front(front, find_secrets)
    body, in_body = redact(page.body, find_secrets)
    return Page(front, body), in_fields + in_body


def drop_private_parts(page: Page) -> Page:
    """Return a page without the text between `<private>` marks, which stays in the draft."""
    changes: dict[str, Any] = {}
    for name in _FREE_NAMES:
        value = getattr(page.front, name)
        kept = _map_texts(value, lambda _, text: drop_private(text), name)
        if kept != value:
            changes[name] = kept
    body = drop_private(page.body)
    if not changes and body == page.body:
        return page
    return Page(replace(page.front, **changes), body)


def _clean_front(front: Frontmatter, find_secrets: FindSecrets) -> tuple[Frontmatter, int]:
    if not redact(_join(front), find_secrets)[1]:
        return front, 0
    count = 0

    def clean(name: str, text: str) -> str:
        nonlocal count
        text, found = redact(text, find_secrets)
        count += found
        # Some values are secrets only because of their names.
        before, after = (f"{name} = ", "") if '"' in text else (f'"{name}": "', '"')
        named, found = redact(before + text + after, find_secrets)
        if found and named.startswith(before) and named.endswith(after):
            text, count = named[len(before) : len(named) - len(after)], count + found
        return text

    changes = {name: _map_texts(getattr(front, name), clean, name) for name in _FREE_NAMES}
    front = replace(front, **changes)
    if redact(_join(front), find_secrets)[1]:
        message = "a secret spans several fields of the page"
        raise BadInputError(message, "Remove it by hand.")
    return front, count


def _join(front: Frontmatter) -> str:
    """Return the fields as lines, to examine all of them at once."""
    lines = []
    for field in fields(front):
        if field.name in _FREE_NAMES:
            lines += [f"{name}: {text}" for name, text in _texts(getattr(front, field.name))]
    return "\n".join(lines)


def _texts(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    if isinstance(value, Mapping):
        for key, item in value.items():
            if depth < DEPTH_MAX:
                yield from _texts(item, str(key), depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            if depth < DEPTH_MAX:
                yield from _texts(item, name, depth + 1)
    elif value is not None and not isinstance(value, bool):
        yield name, str(value)


def _map_texts(value: Any, change: Any, name: str, depth: int = 0) -> Any:  # noqa: ANN401
    """Return a value with each of its texts changed; a number only if its text changes."""
    if value is None or isinstance(value, bool) or depth > DEPTH_MAX:
        return value
    if isinstance(value, str):
        return change(name, value)
    if isinstance(value, Mapping):
        return {
            change("", key) if isinstance(key, str) else key: _map_texts(
                item, change, str(key), depth + 1
            )
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        changed = [_map_texts(item, change, name, depth + 1) for item in value]
        return tuple(changed) if isinstance(value, tuple) else changed
    text = str(value)
    changed_text = change(name, text)
    return value if changed_text == text else changed_text
