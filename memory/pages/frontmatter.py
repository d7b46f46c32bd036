"""The text of a page: its fields in YAML between two lines `---`, and its Markdown (C10).

The Markdown is kept byte for byte, line ends included. Fields are read with any line ends, and
written with line feeds; a byte order mark before them is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from memory.errors import BadInputError
from memory.pages.field_yaml import Fields, Listing, Scalar, Value, read_fields, write_fields
from memory.pages.model import (
    FRONTMATTER_BYTES_MAX,
    PAGE_TYPES,
    SCHEMA,
    Frontmatter,
    Page,
    check_slug,
)
from memory.texts import size_bytes

_TEXTS = ("schema", "slug", "type", "author", "agent", "created", "updated", "parent_sha")
_LISTS = ("sources", "related", "tags")
FIELD_NAMES = (*_TEXTS, *_LISTS, "reasoning_summary")
"""The fields of `ctx.page.v1`, in written order."""

REQUIRED = ("schema", "slug", "type", "author", "created")

_OPENING = re.compile(r"\ufeff?---[ \t]*(?:\r\n|\r|\n|\Z)")
_CLOSING = re.compile(r"(?<=[\r\n])---[ \t]*(?:\r\n|\r|\n|\Z)")
# In written pages, only the line of a known field begins with its name.
_PARENT_LINE = re.compile("^parent_sha: .*\n", re.MULTILINE)
_UPDATED_LINE = re.compile("^updated: .*\n", re.MULTILINE)
_SKELETON = "Begin the page with a line `---`, its fields, and another line `---`."


def split_page(text: str) -> tuple[str, str]:
    """Split a page's text into the YAML of its fields and the Markdown below.

    Raises:
        BadInputError: it does not begin with fields, or they do not end within
            `FRONTMATTER_BYTES_MAX`.
    """
    opening = _OPENING.match(text)
    if not opening:
        raise BadInputError("line 1 of the page must be `---`: it has no fields", _SKELETON)
    limit = opening.end() + FRONTMATTER_BYTES_MAX + 16  # a character has at least a byte
    closing = _CLOSING.search(text, opening.end(), limit)
    if not closing and len(text) <= limit:
        raise BadInputError("the fields that begin in line 1 do not end", _SKELETON)
    # A line cut by the limit may only look like the closing one.
    if closing and closing.end() == limit < len(text):
        closing = None
    fields = text[opening.end() : closing.start()] if closing else text[opening.end() : limit]
    if not closing or size_bytes(fields) > FRONTMATTER_BYTES_MAX:
        raise _too_large()
    return fields, text[closing.end() :]


def parse_page(text: str) -> Page:
    """Read a page.

    Raises:
        BadInputError: its fields cannot be read, or are not those of a page. The message names each
            wrong field and its line.
    """
    yaml, body = split_page(text)
    return Page(_read_front(read_fields(yaml, 2)), body)


def try_parse(text: str) -> Page | None:
    """Read a page; None if it is invalid."""
    try:
        return parse_page(text)
    except BadInputError:
        return None


def render_page(page: Page) -> str:
    """Return a page's text: known fields in their order without empty ones, then unknown ones.

    Raises:
        BadInputError: a field cannot be written, or they take more than `FRONTMATTER_BYTES_MAX`.
    """
    front = page.front
    fields: dict[str, Any] = {}
    for name in FIELD_NAMES:
        value = getattr(front, name)
        if value or name in REQUIRED:
            fields[name] = list(value) if name in _LISTS else value
    for name, value in front.unknown.items():
        if name in FIELD_NAMES:
            message = f"`{name}` is a known field and cannot be among the unknown ones"
            raise BadInputError(message, "Set the known field.")
        fields[name] = value
    written = write_fields(fields)
    if size_bytes(written) > FRONTMATTER_BYTES_MAX:
        raise _too_large()
    return f"---\n{written}---\n{page.body}"


def set_parent(rendered: str, parent: str) -> str | None:
    """Return a text from `render_page` with another `parent_sha`, as if rendered again; None if the
    field does not fit one line of it."""
    end = rendered.index("\n---\n", 3) + 1
    line = _PARENT_LINE.search(rendered, 4, end) or _UPDATED_LINE.search(rendered, 4, end)
    if line is None or rendered[line.end()] == " ":  # the value continues
        return None
    start = line.start() if line[0].startswith("parent_sha") else line.end()
    return f"{rendered[:start]}parent_sha: {parent}\n{rendered[line.end() :]}"


def _read_front(fields: Fields) -> Frontmatter:
    problems: list[str] = []

    def read(name: str, how: Callable[[str, Value, int], Any], empty: Any) -> Any:  # noqa: ANN401
        value = fields.items.get(name)
        if value is None:
            return empty
        try:
            return how(name, value, fields.lines[name])
        except BadInputError as error:
            problems.append(error.message)
            return None

    texts = {name: read(name, _text_of, "") for name in (*_TEXTS, "reasoning_summary")}
    lists = {name: read(name, _texts_of, ()) for name in _LISTS}
    for name in REQUIRED:
        if texts[name] == "":
            problems.append(f"`{name}` is missing{_at(fields.lines.get(name))}")
        elif texts[name] is not None:
            problems += _check_known(name, texts[name], fields.lines[name])
    if problems:
        raise BadInputError("; ".join(problems), _remedy(problems))
    unknown = {name: value.value for name, value in fields.items.items() if name not in FIELD_NAMES}
    return Frontmatter(**texts, **lists, unknown=unknown)


def _check_known(name: str, value: str, line: int) -> list[str]:
    if name == "schema" and value != SCHEMA:
        return [f"`schema`{_at(line)} must be {SCHEMA}, not {value[:80]!r}"]
    if name == "type" and value not in PAGE_TYPES:
        return [f"`type`{_at(line)} must be one of {', '.join(PAGE_TYPES)}, not {value[:80]!r}"]
    if name == "slug":
        try:
            check_slug(value)
        except BadInputError as error:
            return [f"`slug`{_at(line)}: {error.message}. {error.remedy}"]
    return []


def _text_of(name: str, value: Value, line: int) -> str:
    if not isinstance(value, Scalar):
        kind = "a list" if isinstance(value, Listing) else "a mapping"
        raise BadInputError(f"`{name}`{_at(line)} must be a text, not {kind}")
    return "" if value.value is None else value.text


def _texts_of(name: str, value: Value, line: int) -> tuple[str, ...]:
    if isinstance(value, Scalar) and value.value is None:
        return ()
    if not isinstance(value, Listing):
        kind = "a text" if isinstance(value, Scalar) else "a mapping"
        raise BadInputError(f"`{name}`{_at(line)} must be a list, not {kind}")
    texts = []
    for item in value.items:
        if not isinstance(item, Scalar) or item.value is None:
            raise BadInputError(f"`{name}`{_at(item.line)} must be a list of texts")
        texts.append(item.text)
    return tuple(texts)


def _at(line: int | None) -> str:
    return f" (line {line})" if line else ""


def _remedy(problems: list[str]) -> str:
    if any("must be a list" in one for one in problems):
        return "Write a list as `tags: [one, two]`, a text as `author: name`."
    return f"A page needs {', '.join(REQUIRED)}; its types are {', '.join(PAGE_TYPES)}."


def _too_large() -> BadInputError:
    message = f"the fields of the page take more than {FRONTMATTER_BYTES_MAX >> 10} KiB"
    return BadInputError(message, "Close them with `---`, and write long texts below.")
