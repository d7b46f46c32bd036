"""Names of hosts' tools and of their arguments."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import groupby

from ctxmode.hosts.hooks.hook_types import CallKind, ToolCall

_SHELLS = frozenset(("bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh"))
_PROMPTS = frozenset((
    *("python", "python2", "python3", "ipython", "node", "bun", "deno", "irb", "pry", "php", "R"),
    *("lua", "luajit", "julia", "ghci", "iex", "erl", "perl", "ruby", "sqlite3", "psql", "mysql"),
))  # fmt: skip
_NAMES = _SHELLS | _PROMPTS
# They start the program that their arguments name.
_STARTERS = frozenset(("exec", "command", "env", "sudo", "nohup", "setsid", "time", "nice"))
_SEPARATORS = frozenset((";", "&&", "||", "&", "(", ")"))


def begins_prompt(command: str) -> bool:
    """Return whether a shell command starts a shell or interpreter that waits at its prompt.

    Such a command has only options, none of them with a program, and its stdin is not redirected.
    """
    if not any(os.path.basename(word) in _NAMES for word in command.replace(";", " ").split()):
        return False
    import shlex  # noqa: PLC0415 - few commands name one

    words = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    words.commenters = ""
    try:
        parts = groupby(words, _SEPARATORS.__contains__)
        return any(_is_prompt(list(part)) for is_end, part in parts if not is_end)
    except ValueError:  # an open quote, which the rules handle
        return False


def _is_prompt(words: list[str]) -> bool:
    if any(word[:1] in ("|", "<") for word in words):
        return False
    while words and ("=" in words[0] or words[0] in _STARTERS or words[0].startswith("-")):
        words = words[1:]
    name = os.path.basename(words[0]) if words else ""
    if name not in _NAMES:
        return False
    return "-i" in words or not any(_gives_program(word, name) for word in words[1:])


def _gives_program(word: str, name: str) -> bool:
    """Return whether an argument is a program, its file, or an option that has one."""
    if not word.startswith(("-", "+")) or word == "-":
        return True
    if word.startswith("--"):
        return word in ("--version", "--help", "--eval", "--print", "--command")
    return any(letter in word[1:] for letter in ("c" if name in _SHELLS else "cemprV"))


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeGuard


def _read_words(table: Mapping[CallKind, str]) -> dict[CallKind, tuple[str, ...]]:
    return {key: tuple(words.split()) for key, words in table.items()}


# Names of tools by kind, in lower case, as in Claude Code, Codex, Gemini CLI, Cursor, both Copilots
# and OpenCode; and the arguments with their subjects.
with open(f"{__file__.rpartition('.')[0]}.json", "rb") as _file:  # a hook has no time for pathlib
    _DATA: Mapping[str, Any] = json.load(_file)
_KINDS = {name: kind for kind, names in _read_words(_DATA["names"]).items() for name in names}
# Searches by name: their query is a pattern of names, not a text.
_BY_NAME = frozenset(_DATA["by_name"].split())
_SHOWING_NAMES = _BY_NAME.union(_DATA["showing_names"].split())
# Text typed into a running shell (`chars`) is a command, like the command that starts it.
_ARGUMENTS = _read_words(_DATA["arguments"])
_FOLDERS = ("path", "dir_path", "directory", "target_directory", "absolute_path", "folder")
_GLOBS = ("glob", "glob_pattern", "include", "include_pattern", "includePattern", "file_pattern")
_ALTERNATIVES_MAX = 64
_PATHS = ("path", "filePath", "file_path", "url")
_PATCH_MARKS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
_PATCHES = ("input", "patch", "patchText", "diff")
# A patch within a command, and the `cd` folder just before it.
_PATCH_BEGIN = "*** Begin Patch"
_PATCHING = r"(?:\bcd\s+(?P<folder>'[^']*'|\"[^\"]*\"|[^\s;&|]+)\s*&&\s*)?apply_?patch\b"
_PARTS = frozenset(("offset", "limit", "start_line", "end_line", "startLine", "endLine"))


def tool_call(
    name: str, given: object, cwd: object, *, has_our_tools: bool = True
) -> ToolCall | None:
    """Build the call of a tool from any host's name; None if no rule can apply to it.

    Arguments and folders of an unknown form are ignored.
    """
    kind = _KINDS.get(name.lower())
    if isinstance(given, str | list):  # some tools take one argument without a name
        given = {_PATCHES[0] if kind == "edit" else _ARGUMENTS[kind][-1]: given} if kind else {}
    given = given if isinstance(given, Mapping) else {}
    cwd = cwd if isinstance(cwd, str) and "\0" not in cwd else ""
    if kind is None:
        if "mcp" not in name.lower():
            return None
        return ToolCall("tool", name, (name,), cwd, True, has_our_tools, given)
    if kind == "search":
        values = tuple(dict.fromkeys(_parse_search(name.lower(), given)))
        is_shown = name.lower() not in _SHOWING_NAMES
        return ToolCall(kind, name, values, cwd, is_shown, has_our_tools, given)
    values = tuple(dict.fromkeys(_values(kind, name, given)))
    if not values:
        return None
    folder = next(
        (g for key in ("workdir", "cwd", "dir_path") if _is_text(g := given.get(key))), ""
    )
    where = f"{cwd.rstrip('/')}/{folder}" if folder and cwd and folder[0] != "/" else folder or cwd
    whole = not _is_part(given) and not all(map(_is_part, _list_files(given) or [given]))
    edits = tuple(_edits_within(values)) if kind == "command" else ()
    return ToolCall(kind, name, values, where, whole, has_our_tools, given, edits)


def server_tool(name: str, separator: str, given: object, cwd: object) -> ToolCall | None:
    """Build the call of a server's tool whose name is joined by a separator that both parts may
    contain: every way to split it is judged. None if there is no separator."""
    parts = name.split(separator)
    ways = (
        f"mcp__{separator.join(parts[:at])}__{separator.join(parts[at:])}"
        for at in range(1, len(parts))
    )
    found = tool_call(f"mcp__{name}", given, cwd) if len(parts) > 1 else None
    return found._replace(values=tuple(ways)) if found else None


def is_known(name: str) -> bool:
    """Return whether a name is that of a host's tool."""
    return name.lower() in _KINDS


def _values(kind: CallKind, name: str, given: Mapping[str, Any]) -> Iterator[str]:
    if kind == "command":
        yield from _commands(given)
        return
    for key in _ARGUMENTS[kind]:
        for item in _items(given.get(key)):
            named = (
                next(filter(_is_text, map(item.get, _PATHS)), None) if _is_object(item) else item
            )
            if isinstance(named, str):
                yield from _urls(named) if kind == "fetch" else [named]
    if kind == "edit":
        is_patch = "patch" in name.lower()
        texts = given.values() if is_patch else map(given.get, _PATCHES)
        for text in texts:
            yield from _parse_patch(text)


def _commands(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield shell commands. A list of texts is the words of one command, except in `commands`; an
    object has a command and its words."""
    for key in _ARGUMENTS["command"]:
        value = given.get(key)
        for item in _items(value) if key == "commands" else [value]:
            if isinstance(item, str):
                words = given.get("args") if key == "command" else None
                yield _join([item, *words]) if _is_words(words) else item
            elif _is_words(item):
                yield _join(item)
            elif _is_object(item):
                yield from _commands(item)


def _is_words(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _join(words: list[str]) -> str:
    """Join words of a command that is started without a shell."""
    import shlex  # noqa: PLC0415 - few hosts send words

    return shlex.join(words)


def _items(value: object) -> list[Any]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _list_files(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List the files that a call names with their lines, one object each."""
    items = [item for key in ("files", "operations") for item in _items(given.get(key))]
    return [item for item in items if _is_object(item)]


def _is_part(given: Mapping[str, Any]) -> bool:
    return any(_is_place(given[key]) for key in _PARTS.intersection(given))


def _edits_within(commands: tuple[str, ...]) -> Iterator[str]:
    """Yield the files of patches that commands pass to apply_patch: Codex extracts such a patch and
    applies it itself."""
    for command in commands:
        head, begin, patch = command.partition(_PATCH_BEGIN)
        if begin and "patch" in head:
            import re  # noqa: PLC0415 - few commands hold a patch

            *_, last = (None, *re.finditer(_PATCHING, head))
            if last:
                folder = (last["folder"] or "").strip("'\"")
                yield from (f"{folder}/{p}" if folder else p for p in _parse_patch(patch))


def _parse_search(name: str, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the searched folder (default: `.`), and its paths by name patterns. Stars at the end of
    a pattern, which match everything in a folder, are removed."""
    folder = next((given[key] for key in _FOLDERS if _is_text(given.get(key)) and given[key]), ".")
    yield folder
    for key in (*_GLOBS, *(("pattern", "query", "globPattern") if name in _BY_NAME else ())):
        globs = given.get(key)
        for glob in globs if isinstance(globs, list) else [globs]:
            for path in _alternatives(glob) if isinstance(glob, str) else ():
                trimmed = path.removeprefix("!").rstrip("*/") if _is_open(path) else path
                whole = trimmed if trimmed.startswith(("/", "~")) else f"{folder}/{trimmed}"
                yield whole.rstrip("/") or "/"


def _is_open(glob: str) -> bool:
    """Return whether a pattern ends with a segment of only stars."""
    return not glob.rstrip("/").rpartition("/")[2].strip("*")


def _alternatives(glob: str) -> list[str]:
    """Expand the braces of a pattern."""
    waiting, found = [glob], list[str]()
    while waiting and len(found) + len(waiting) <= _ALTERNATIVES_MAX:
        pattern = waiting.pop()
        end = pattern.find("}")
        start = pattern.rfind("{", 0, max(end, 0))
        if start < 0:
            found.append(pattern)
            continue
        words = pattern[start + 1 : end].split(",")
        waiting += [pattern[:start] + word + pattern[end + 1 :] for word in words]
    return found + waiting


def _parse_patch(text: object) -> Iterator[str]:
    """Yield the files of a patch in the notation of apply_patch."""
    for line in text.splitlines() if isinstance(text, str) else ():
        for mark in _PATCH_MARKS:
            if line.startswith(mark):
                yield line[len(mark) :].strip()


def _urls(text: str) -> Iterator[str]:
    """Yield the URLs in a text, or the text itself if it is a URL."""
    for word in text.split():
        at = max(word.find("http://"), word.find("https://"))
        if at >= 0:
            yield word[at:].rstrip(".,;:!?)]}>\"'")
        elif "://" in word and text == word:
            yield word


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_place(value: object) -> bool:
    """Return whether a value is a line number, so that only part of a file is requested."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10**9
