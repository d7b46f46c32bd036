"""Results of well-known functions on constants: joins, formats, decoders, paths."""

from __future__ import annotations

import base64
import codecs
import posixpath
import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote

from policy import marks
from policy.paths import normal

if TYPE_CHECKING:
    from policy.shell.state import ShellState

Value = str | tuple[str, ...]  # a text, or a list of texts; marks stand for what is unknown


def constant(state: ShellState, value: str) -> str:
    """Return a constant from a language's table; `<folder>` is the script's folder."""
    return value.replace("<folder>", posixpath.dirname(state.name) or marks.WORD)


def environment(state: ShellState, name: str) -> str:
    """Return a variable of the environment; unknown if it is not listed."""
    return state.home if name in ("HOME", "user.home") else state.env.get(name, marks.WORD)


def apply(operation: str, arguments: tuple[Value, ...], state: ShellState) -> Value:
    """Return the value of an operation; unknown if its arguments are."""
    if operation in ("home", "cwd"):
        return state.home if operation == "home" else state.cwd
    if operation == "temporary":  # the folder for them stands for one made in it, too
        return state.env.get("TMPDIR", "/tmp")
    if operation == "env":
        name = arguments[0] if arguments else marks.WORD
        return environment(state, name) if isinstance(name, str) else marks.WORD
    if operation == "glob" and arguments and str(arguments[0]).startswith("~/"):
        arguments = (_text(arguments).replace("~", state.home, 1), *arguments[1:])
    if operation == "expanduser":
        path = _text(arguments).replace("~", state.home, 1)
        return _path_joined((*arguments[1:2], path)) if arguments else marks.WORD
    if not arguments and operation not in ("list", "identity", "concat"):
        return marks.WORD
    transform = _TRANSFORMS.get(operation)
    return transform(arguments) if transform is not None else marks.WORD


def reverse(text: str) -> str:
    """Return the text backwards."""
    return text[::-1] if marks.is_known(text) else marks.DECODED


def as_text(value: Value) -> str:
    """Return a value as one text; a list counts as its words."""
    return value if isinstance(value, str) else " ".join(value)


def _text(arguments: tuple[Value, ...], index: int = 0) -> str:
    return as_text(arguments[index]) if index < len(arguments) else ""


def items(value: Value) -> tuple[str, ...]:
    """Return the items of a list; a text is its only one, one that is not known may be any."""
    if isinstance(value, tuple):
        return value
    return (marks.LIST,) if marks.is_only_hole(value) else (value,)


def _identity(arguments: tuple[Value, ...]) -> Value:
    return arguments[0] if arguments else ""


def _list_all(arguments: tuple[Value, ...]) -> tuple[str, ...]:
    """Join `list(x)`, `Arrays.asList(a, b)`, `c(a, b)`: everything in one list."""
    return tuple(item for value in arguments for item in items(value))


def _join_separator_first(arguments: tuple[Value, ...]) -> Value:
    return _text(arguments).join(_list_all(arguments[1:])) if arguments[1:] else marks.LIST


def _join_list_first(arguments: tuple[Value, ...]) -> Value:
    return (_text(arguments, 1) if len(arguments) > 1 else ",").join(items(arguments[0]))


def _join_ruby(arguments: tuple[Value, ...]) -> Value:
    return _text(arguments, 1).join(items(arguments[0]))


def _concatenate(arguments: tuple[Value, ...]) -> Value:
    if any(isinstance(value, tuple) for value in arguments):
        return _list_all(arguments)
    return "".join(map(as_text, arguments))


def _format(arguments: tuple[Value, ...]) -> Value:
    """Fill `%s`, `{}`, `{0}` with the arguments; other fields stay unknown."""
    rest = [i for v in arguments[1:] for i in (v if isinstance(v, tuple) else (v,))]
    position = iter(range(len(rest)))

    def fill(match: re.Match[str]) -> str:
        if match.group() == "%%":
            return "%"
        if match["name"]:
            return marks.WORD
        index = int(match["place"]) if match["place"] else next(position, -1)
        return rest[index] if 0 <= index < len(rest) else marks.WORD

    return _FIELD.sub(fill, _text(arguments))


_FIELD = re.compile(
    r"%%|%[-+0-9.]*[sdvqxr]|\{(?P<place>\d*)(?:[:!][^}]*)?\}|\{(?P<name>[A-Za-z_]\w*)\}"
)


def _replace(arguments: tuple[Value, ...]) -> Value:
    text, old, new = _text(arguments), _text(arguments, 1), _text(arguments, 2)
    if not marks.is_known(text + old + new) or not old or len(arguments) < 3:
        return marks.DECODED
    return text.replace(old, new)


def _replace_php(arguments: tuple[Value, ...]) -> Value:
    old, new, text = (*arguments, "", "", "")[:3]
    return _replace((text, old, new))


def _split(arguments: tuple[Value, ...]) -> Value:
    text, separator = _text(arguments), _text(arguments, 1)
    if not marks.is_known(separator):
        return (marks.LIST,)
    if separator == "" and len(arguments) > 1:
        return tuple(text)
    return tuple(text.split(separator) if separator.strip() else text.split())


def _characters(arguments: tuple[Value, ...]) -> Value:
    try:
        return "".join(chr(int(code, 0)) for code in _list_all(arguments))
    except (ValueError, OverflowError):
        return marks.DECODED


def _bytes(arguments: tuple[Value, ...]) -> Value:
    """Decode `bytes([104, 105])`, and `bytes(text)`."""
    return _characters(arguments) if isinstance(arguments[0], tuple) else arguments[0]


def _decoder(decode: Callable[[str], str]) -> Callable[[tuple[Value, ...]], Value]:
    def transform(arguments: tuple[Value, ...]) -> Value:
        text = _text(arguments)
        if not marks.is_known(text):
            return marks.DECODED
        try:
            return marks.scrub(decode(text)) + marks.DECODED_KNOWN
        except (ValueError, LookupError):
            return marks.DECODED

    return transform


def _from_base64(text: str) -> str:
    padded = "".join(text.split()).replace("-", "+").replace("_", "/") + "=="
    return base64.b64decode(padded).decode("utf-8", "replace")


def _path_joined(arguments: tuple[Value, ...]) -> str:
    path = ""
    for piece in _list_all(arguments):
        path = piece if piece.startswith("/") or not path else f"{path.rstrip('/')}/{piece}"
    if marks.is_known(path):
        return normal(path) if ".." in path else path
    return re.sub(f"^[{marks.WORD}{marks.LIST}](/\\.\\.)+", marks.WORD, path)  # still unknown


def _folder_of(arguments: tuple[Value, ...]) -> Value:
    """Return `dirname(path)`; with a second argument, the path of that name in the same folder."""
    folder = _text(arguments).rpartition("/")[0] or "."
    return _path_joined((folder, *arguments[1:])) if len(arguments) > 1 else folder


_GLOB_PIECE = re.compile(r"\*\*|\*|\?|\[[^]]*\]")
_AS_GLOB = {"**": marks.WORD, "*": marks.GLOB_STAR, "?": marks.GLOB_ONE}


def _glob(arguments: tuple[Value, ...]) -> Value:
    """Return `glob("folder/*.txt")`: every path that fits the pattern."""
    pattern = _path_joined(arguments)
    return (_GLOB_PIECE.sub(lambda piece: _AS_GLOB.get(piece.group(), marks.GLOB_SET), pattern),)


def _glob_below(arguments: tuple[Value, ...]) -> Value:
    """Return `folder.rglob("*.txt")`: the same at any depth."""
    return _glob((arguments[0], "**", *arguments[1:]))


def _list_paths(arguments: tuple[Value, ...]) -> Value:
    """Return `folder.iterdir()`: every path in a folder."""
    return (f"{_text(arguments).rstrip('/')}/{marks.WORD}",)


def _repeat(arguments: tuple[Value, ...]) -> Value:
    count = _text(arguments, 1)
    known = count.isdigit() and int(count) < 1000
    return _text(arguments) * int(count) if known else marks.LIST


def _decode_any(arguments: tuple[Value, ...]) -> Value:
    """Decode `Buffer.from(text, "base64")`, `codecs.decode(text, "rot13")` by the second text."""
    how = _text(arguments, 1).lower().replace("-", "").replace("_", "")
    by_name = {"base64": "base64", "hex": "hex", "rot13": "rot13", "base64url": "base64"}
    if how in ("", "utf8", "utf", "latin1", "ascii"):
        return _identity(arguments)
    return _TRANSFORMS[by_name[how]](arguments) if how in by_name else marks.DECODED


def _unpack(arguments: tuple[Value, ...]) -> Value:
    """Unpack; `pack("H*", text)` has the template first, `codes.pack("C*")` last."""
    if len(arguments) < 2:
        return marks.DECODED
    first, second = _text(arguments), _text(arguments, 1)
    if first in ("H*", "h*"):
        return _TRANSFORMS["hex"](arguments[1:])
    if first in _CODE_TEMPLATES:
        return _characters(arguments[1:])
    if second in _CODE_TEMPLATES:
        return _characters(arguments[:1])
    return _TRANSFORMS["base64"](arguments) if second[:1] == "m" else marks.DECODED


_CODE_TEMPLATES = frozenset(("C*", "c*", "U*", "W*"))

_TRANSFORMS: dict[str, Callable[[tuple[Value, ...]], Value]] = {
    "identity": _identity, "filter": _identity, "list": _list_all, "concat": _concatenate,
    "paste": lambda arguments: " ".join(map(as_text, arguments)),
    "join": _join_separator_first, "join_list": _join_list_first, "join_ruby": _join_ruby,
    "format": _format,
    "join_or_path": lambda arguments: (
        _join_ruby(arguments) if isinstance(arguments[0], tuple) else _path_joined(arguments)
    ),
    "replace": _replace, "replace_php": _replace_php, "split": _split, "characters": _characters,
    "bytes": _bytes, "lower": lambda arguments: _text(arguments).lower(),
    "upper": lambda arguments: _text(arguments).upper(),
    "strip": lambda arguments: _text(arguments).strip(),
    "reverse": lambda arguments: (
        arguments[0][::-1] if isinstance(arguments[0], tuple) else reverse(_text(arguments))
    ),
    "repeat": _repeat, "path": _path_joined, "folder": _folder_of,
    "lines": lambda arguments: tuple(_text(arguments).splitlines()), "glob": _glob,
    "glob_below": _glob_below, "listing": _list_paths, "base64": _decoder(_from_base64),
    "hex": _decoder(lambda text: bytes.fromhex(text).decode("utf-8", "replace")),
    "rot13": _decoder(lambda text: codecs.decode(text, "rot13")), "unquote": _decoder(unquote),
    "decode": _decode_any, "unpack": _unpack, "fetch": lambda arguments: marks.FETCHED,
    "unknown": lambda arguments: marks.DECODED,
}  # fmt: skip
