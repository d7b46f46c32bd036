"""The YAML of a page's fields: texts are kept exactly, and unlimited growth is refused.

Values are read from the parser's events, so that nesting does not become recursion. Without quotes,
a number is one only in the form it would be written in; `true`, `false` and `null` have their
meaning. All else is text: dates, `yes`, `12:30` and `1.10` stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from memory.errors import BadInputError

DEPTH_MAX = 16
"""Most levels of nested lists and mappings."""

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,299}")
_FLOAT = re.compile(r"-?[0-9]{1,30}\.[0-9]{1,30}(?:e[+-][0-9]{1,3})?")
_NULLS = ("", "~", "null", "Null", "NULL")
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_TAGS = (None, "!", "tag:yaml.org,2002:str")
# Line breaks and characters that YAML escapes: emitters differ in them, except in double quotes.
_UNUSUAL = re.compile(
    "[^ -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufdff\ufe00-\ufefe\uff00-\uffef\U00010000-\U0010ffff]"
)
_BLOCK = re.compile(r"(?:(?=[^\s])[^\r\n]*\S\n+)+")
_WIDTH = 1 << 20


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value other than a list or a mapping, as it is written."""

    text: str
    is_plain: bool
    line: int

    @property
    def value(self) -> str | int | float | bool | None:
        return _value_of(self.text) if self.is_plain else self.text


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of values."""

    items: list[Value]
    line: int

    @property
    def value(self) -> list[Any]:
        return [item.value for item in self.items]


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping of names to values, in written order."""

    items: dict[str, Value]
    lines: dict[str, int]
    line: int

    @property
    def value(self) -> dict[str, Any]:
        return {name: item.value for name, item in self.items.items()}


Value = Scalar | Listing | Fields


def read_fields(text: str, line: int = 1) -> Fields:
    """Read the fields of a page from YAML that begins at a given line.

    Raises:
        BadInputError: it is not a mapping, or has aliases, anchors, tags, duplicate names, or
            nesting beyond `DEPTH_MAX`. The message names the line.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _bad(line, "has a lone surrogate", "Remove it.") from None
    try:
        root = _build(yaml.parse(text, Loader=_PARSER), line)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        at = line + mark.line if mark else line + text.count("\n", 0, _position(error))
        told = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
        raise _bad(
            at, f"is not valid YAML: {told}"[:200], "Quote texts that contain `: ` or `#`."
        ) from None
    if root is None:
        return Fields({}, {}, line)
    if not isinstance(root, Fields):
        raise _bad(
            root.line, "must be `name: value`", "Write a name and a colon before each value."
        )
    return root


def write_fields(fields: Mapping[str, Any]) -> str:
    """Return fields as YAML that reads as the same, one below the other.

    Raises:
        BadInputError: a value is not a text, number, truth value, null, or a list or mapping of
            these.
    """
    if not fields:
        return ""
    plain = {name: _check_value(name, value, 1) for name, value in fields.items()}
    try:
        written: str = yaml.dump(
            plain,
            Dumper=_Dumper,
            default_flow_style=False,
            allow_unicode=True,
            sort_keys=False,
            width=_WIDTH,
        )
    except UnicodeEncodeError:
        raise BadInputError("a field has a lone surrogate", "Remove it.") from None
    return written


class _Builder:
    """Builder of values from events."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.root: Value | None = None
        self._open: list[Listing | Fields] = []
        self._name: str | None = None
        self._names: list[str | None] = []

    def add(self, value: Value) -> None:
        if not self._open:
            self.root = value
            return
        parent = self._open[-1]
        if isinstance(parent, Listing):
            parent.items.append(value)
        elif self._name is None:
            self._take_name(parent, value)
        else:
            parent.items[self._name] = value
            self._name = None

    def enter(self, value: Listing | Fields) -> None:
        if len(self._open) >= DEPTH_MAX:
            message = f"is nested deeper than {DEPTH_MAX} lists and mappings"
            raise _bad(value.line, message, "Reduce the nesting.")
        if self._open and isinstance(self._open[-1], Fields) and self._name is None:
            raise _bad(
                value.line, "has a name that is not a text", "Write a text before the colon."
            )
        name = self._name
        self.add(value)
        self._names.append(name)
        self._open.append(value)
        self._name = None

    def leave(self) -> None:
        self._open.pop()
        self._names.pop()
        self._name = None

    def _take_name(self, parent: Fields, value: Value) -> None:
        assert isinstance(value, Scalar)  # `enter` refused everything else
        if value.text in parent.lines:
            first = parent.lines[value.text]
            message = f"has {value.text[:80]!r} again (first in line {first})"
            raise _bad(value.line, message, "Remove one of the two.")
        parent.lines[value.text] = value.line
        self._name = value.text


def _build(events: Iterable[Any], first: int) -> Value | None:
    builder, documents = _Builder(first), 0
    for event in events:
        line = first + event.start_mark.line
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _bad(line, "begins a second document", "Close the fields with a line `---`.")
        elif isinstance(event, yaml.NodeEvent):
            _take_node(builder, event, line)
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            builder.leave()
    return builder.root


def _take_node(builder: _Builder, event: Any, line: int) -> None:  # noqa: ANN401 - untyped library
    if event.anchor is not None:
        raise _bad(line, f"has an anchor or alias ({event.anchor[:80]})", "Write the value itself.")
    if event.tag not in _TAGS:
        raise _bad(line, f"has a tag ({event.tag[:80]})", "Remove it.")
    if isinstance(event, yaml.ScalarEvent):
        is_plain = event.style in (None, "") and event.tag is None
        builder.add(Scalar(event.value, is_plain, line))
    elif isinstance(event, yaml.SequenceStartEvent):
        builder.enter(Listing([], line))
    else:
        builder.enter(Fields({}, {}, line))


def _value_of(text: str) -> str | int | float | bool | None:
    if text in _NULLS:
        return None
    if text in _TRUTHS:
        return _TRUTHS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and _float_text(float(text)) == text:
        return float(text)
    return text


def _float_text(number: float) -> str:
    """Return a number in the form of YAML 1.1, which requires a point."""
    text = repr(number)
    return text.replace("e", ".0e", 1) if "e" in text and "." not in text else text


def _check_value(name: str, value: Any, depth: int) -> Any:  # noqa: ANN401 - what YAML holds
    if depth > DEPTH_MAX:
        message = f"the field {name[:80]!r} is nested deeper than {DEPTH_MAX} lists and mappings"
        raise BadInputError(message, "Reduce the nesting.")
    if isinstance(value, str | bool) or value is None:
        return value
    if isinstance(value, int | float) and isinstance(_value_of(_number_text(value)), int | float):
        return value
    if isinstance(value, list | tuple):
        return [_check_value(name, item, depth + 1) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _check_value(name, item, depth + 1) for key, item in value.items()}
    message = f"the field {name[:80]!r} has a value that pages cannot store"
    raise BadInputError(message, "Use texts, numbers, true, false, or lists and mappings of them.")


def _number_text(number: float) -> str:
    if isinstance(number, int):
        return str(number) if number.bit_length() < 1000 else "too large"
    return _float_text(number)


class _Dumper(_DUMPER):  # type: ignore[misc]  # untyped library
    """Writer of YAML that quotes no text unless readers with dates would misread it."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as the library has it
        first: [(tag, pattern) for tag, pattern in rows if not tag.endswith(":timestamp")]
        for first, rows in _DUMPER.yaml_implicit_resolvers.items()
    }

    def ignore_aliases(self, data: object) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> Any:  # noqa: ANN401 - untyped library
    style = None
    if _UNUSUAL.search(text):
        is_block = _BLOCK.fullmatch(text) and not _UNUSUAL.search(text.replace("\n", ""))
        style = "|" if is_block else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _represent_float(dumper: Any, number: float) -> Any:  # noqa: ANN401 - untyped library
    return dumper.represent_scalar("tag:yaml.org,2002:float", _float_text(number))


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(float, _represent_float)


def _position(error: Exception) -> int:
    at = getattr(error, "position", 0)
    return at if isinstance(at, int) else 0


def _bad(line: int, what: str, remedy: str) -> BadInputError:
    return BadInputError(f"line {line} of the page {what}", remedy)
