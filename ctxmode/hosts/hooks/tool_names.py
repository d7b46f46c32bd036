"""What hosts call their tools and their arguments, and which tools are ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ctxmode.hosts.hooks.calls import CallKind, ToolCall


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Ours, so that a rule's redirect can be told from one to a tool that no server here has.
OWN_TOOLS = _words(
    """ctx_execute ctx_execute_file ctx_background ctx_batch_execute ctx_index ctx_search ctx_purge
    ctx_stats ctx_doctor ctx_fetch_and_index ctx_changes"""
)

# By kind: tools as Claude Code, Codex, Gemini CLI, Cursor, both Copilots and OpenCode name them,
# in lower case, and the arguments that say what they are about.
NAMES: Mapping[CallKind, frozenset[str]] = {
    "command": _words(
        """bash shell run_shell_command run_in_terminal run_terminal_cmd run_terminal_command
        exec_command execute_bash local_shell container.exec unified_exec terminal
        runinterminal"""
    ),
    "read": _words(
        """read read_file view fs_read readfile read_many_files view_image cat notebookread
        get_file_contents"""
    ),
    "search": _words(
        """grep glob ls grep_search file_search search_file_content search_files find_files
        list_directory list_dir list read_folder codebase_search rg ripgrep glob_file_search
        semantic_search find"""
    ),
    "edit": _words(
        """edit write multiedit notebookedit write_file replace create create_file editfiles
        replace_string_in_file multi_replace_string_in_file insert_edit_into_file apply_patch
        edit_file create_directory delete_file patch search_replace fs_write delete
        edit_notebook_file"""
    ),
    "fetch": _words("webfetch web_fetch fetch fetch_webpage read_url_content"),
}
_KINDS = {name: kind for kind, names in NAMES.items() for name in names}
# Searches that show names alone, so that what they look for is a pattern of names, not a text.
_BY_NAME = _words("glob file_search find_files glob_file_search search_files find")
_SHOWING_NAMES = _BY_NAME | _words("ls list_directory list_dir list read_folder")
_FOLDERS = ("path", "dir_path", "directory", "target_directory", "absolute_path", "folder")
_GLOBS = ("glob", "glob_pattern", "include", "include_pattern", "includePattern", "file_pattern")
_ALTERNATIVES_MAX = 64
_ARGUMENTS: Mapping[CallKind, tuple[str, ...]] = {
    "command": ("command", "cmd"),
    "read": (
        *("file_path", "filePath", "path", "absolute_path", "paths", "include", "target_file"),
        "notebook_path",
    ),
    "edit": ("file_path", "filePath", "path", "notebook_path", "target_file", "files", "dirPath"),
    "fetch": ("url", "urls", "prompt"),
}
_PATCH_MARKS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
_PARTS = frozenset(("offset", "limit", "start_line", "end_line", "startLine", "endLine"))


def tool_call(
    name: str, given: object, cwd: object, *, has_our_tools: bool = True
) -> ToolCall | None:
    """The call of a tool under any host's name; None if it is nothing that rules speak of.

    Arguments and a folder of a form that none has count as none.
    """
    given = given if isinstance(given, Mapping) else {}
    cwd = cwd if isinstance(cwd, str) and "\0" not in cwd else ""
    kind = _KINDS.get(name.lower())
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
    whole = not any(_is_place(given[key]) for key in _PARTS.intersection(given))
    return ToolCall(kind, name, values, where, whole, has_our_tools, given)


def _values(kind: CallKind, name: str, given: Mapping[str, Any]) -> Iterator[str]:
    for key in _ARGUMENTS[kind]:
        value = given.get(key)
        if kind == "command" and isinstance(value, list) and all(map(_is_text, value)):
            import shlex  # noqa: PLC0415 - few hosts hand over words

            yield shlex.join(value)  # words, as they would be started without a shell
        elif isinstance(value, str):
            yield from _urls(value) if kind == "fetch" else [value]
        elif isinstance(value, list):
            for item in value:
                path = item.get("path", item.get("filePath")) if isinstance(item, dict) else item
                if isinstance(path, str):
                    yield from _urls(path) if kind == "fetch" else [path]
    if kind == "edit" and "patch" in name.lower():
        yield from _parse_patch(given)


def _parse_search(name: str, given: Mapping[str, Any]) -> Iterator[str]:
    """The folder that is searched, `.` if none is named, and what of it by the patterns of names.
    Each pattern lacks the stars at its end, which stand for all in a folder."""
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
    """Whether it ends with a segment of stars alone."""
    return not glob.rstrip("/").rpartition("/")[2].strip("*")


def _alternatives(glob: str) -> list[str]:
    """A pattern with each of the words that it has in braces."""
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


def _parse_patch(given: Mapping[str, Any]) -> Iterator[str]:
    """The files that a patch in the notation of apply_patch names."""
    for value in given.values():
        for line in value.splitlines() if isinstance(value, str) else ():
            for mark in _PATCH_MARKS:
                if line.startswith(mark):
                    yield line[len(mark) :].strip()


def _urls(text: str) -> Iterator[str]:
    """The URLs of a text, or all of it if it is one."""
    for word in text.split():
        at = max(word.find("http://"), word.find("https://"))
        if at >= 0:
            yield word[at:].rstrip(".,;:!?)]}>\"'")
        elif "://" in word and text == word:
            yield word


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_place(value: object) -> bool:
    """Whether it is a number of lines, so that a part of a file is asked for."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10**9
