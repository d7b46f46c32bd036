"""Events of a session: one for each action or fact worth remembering.

Events come from structure (a call's name and arguments, a host's record of a failure) and from the
user's own words. Output texts never make events, except the head of an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from base.named_tuples import NamedTuple
from memory.sessions.cues import find_bindings
from memory.sessions.records import FileAction, MessageRecord
from memory.texts import cut_bytes

PRIORITIES: Mapping[str, int] = {
    **dict.fromkeys(("prompt", "constraint", "decision", "rejected", "task", "error"), 1),
    **dict.fromkeys(("compaction",), 1),
    **dict.fromkeys(("file_edit", "git", "command", "plan"), 2),
    **dict.fromkeys(("file_read", "subagent", "skill", "fetch", "cwd", "env", "denied"), 3),
    **dict.fromkeys(("search", "look", "tool"), 4),
}
"""Priorities from 1, deleted last, to 4. A `look` is a command that only shows something. An error
has 2 once the same command succeeded."""

CLOSED_ERROR_PRIORITY = 2
PROMPT_BYTES_MAX = 512
COMMAND_BYTES_MAX = 300
ERROR_BYTES_MAX = 200
PATH_BYTES_MAX = 400
TASK_BYTES_MAX = 150
TASKS_MAX = 50
EVENTS_OF_CALL_MAX = 400
"""Limit of events per call. Together with as many files of its result they are below the limit of
a session, so that a call does not evict the events that its result refers to."""

COMMANDS = ("command", "git", "look")
"""Categories whose text is a command line."""


Deed = tuple[str, tuple[str, ...], tuple[str, ...]]
"""The action of a tool call: its kind (`command`, `read`, `search`, `edit`, `fetch` or `tool`); its
commands, paths or addresses; and the files that a command's patch names."""

ParseCall = Callable[[str, Any, str], Deed | None]
"""Parser of a call from its tool's name, its arguments and the working directory; None if
unknown."""


class Event(NamedTuple):
    """An action or fact of a session."""

    category: str
    text: str
    target: str = ""  # links events on one thing: a path, or a command
    state: str = ""  # open, closed, failed, denied, or empty
    action: FileAction = ""

    @property
    def priority(self) -> int:
        """Return the priority for eviction; the highest number is evicted first."""
        is_closed = self.category == "error" and self.state == "closed"
        return CLOSED_ERROR_PRIORITY if is_closed else PRIORITIES[self.category]


# First words of commands that change nothing, or prepare another.
_BEFORE = re.compile(r"^(?:\s*(?:cd|pushd)\s+[^;&|\n]+(?:&&|;)\s*|\s*[A-Za-z_]\w*=\S*\s+)+")
_LOOKING_WORDS = """
ls cat head tail less more wc file stat du df find grep egrep fgrep rg ag fd tree pwd echo printf
which type whereis date env printenv ps top free uname whoami id hostname jq sort uniq diff cmp
awk cut column nl od xxd strings realpath readlink basename dirname true sleep
"""
_LOOKING = frozenset(_LOOKING_WORDS.split())
_GIT_LOOKING_WORDS = """
status diff log show blame branch remote rev-parse ls-files ls-tree describe grep reflog shortlog
cat-file config help
"""
_GIT_LOOKING = frozenset(_GIT_LOOKING_WORDS.split())
_ENVIRONMENT = ("export", "source", ".", "unset", "nvm", "pyenv", "conda", "direnv")
_TASK_LISTS = ("todos", "plan", "todoList", "items", "tasks")
PARAMS_READ = frozenset(
    [
        *_TASK_LISTS,
        *("plan", "summary", "description", "subagent_type", "name", "prompt", "message"),
        *("skill", "command", "pattern", "query", "regex", "glob"),
    ]
)
"""Arguments of a call that events may use, besides those of its action."""

_TASK_TOOLS = frozenset(
    ["todowrite", "update_plan", "write_todos", "todo_write", "updateplan", "todo"]
)
_PLAN_TOOLS = frozenset(["exitplanmode", "exit_plan_mode", "plan_exit", "enter_plan_mode"])
_SUBAGENT_TOOLS = frozenset(["task", "agent", "spawn_agent", "delegate_to_agent", "subagent"])
_SKILL_TOOLS = frozenset(["skill", "activate_skill", "load_skill"])
_DONE = frozenset(["completed", "complete", "done", "cancelled", "canceled", "deleted", "finished"])
_ERROR_WORD = re.compile(
    r"error|fail|fatal|panic|exception|traceback|denied|not found|cannot|undefined|assert|invalid",
    re.IGNORECASE,
)
_COMMIT = re.compile(r"^\[([\w./-]{1,80})(?: \(root-commit\))? ([0-9a-f]{7,40})\] ", re.MULTILINE)


def of_prompt(text: str, end: str = "") -> Iterator[Event]:
    """Yield the events of a user's prompt; `end` is its end if the text is its beginning."""
    line = " ".join(text.split())
    if not line:
        return
    yield Event("prompt", cut_bytes(line, PROMPT_BYTES_MAX))
    for kind, sentence in find_bindings(text, end):
        yield Event(kind, sentence, target=sentence)


def of_call(record: MessageRecord, deed: Deed | None) -> Iterator[Event]:
    """Yield the events of a tool call before its result is known. Files reported by the host
    replace those of the arguments."""
    found = _of_tool(record, deed)
    if record.files:
        found = (one for one in found if one.category not in ("file_edit", "tool"))
    yield from islice(found, EVENTS_OF_CALL_MAX)
    yield from of_files(record.files)


def of_files(files: Iterable[tuple[str, FileAction]]) -> Iterator[Event]:
    """Yield an event for each file that a host reports as changed; the last report of a file
    counts."""
    told = dict(islice(files, EVENTS_OF_CALL_MAX))
    yield from (_edit(path, action) for path, action in told.items() if path)


def _of_tool(record: MessageRecord, deed: Deed | None) -> Iterator[Event]:
    name = record.tool.lower()
    params: Mapping[str, Any] = record.params if isinstance(record.params, Mapping) else {}
    if deed is not None:
        yield from _of_deed(record, deed)
    elif name in _TASK_TOOLS:
        yield from _of_task_list(params)
    elif name in _PLAN_TOOLS:
        if text := _first_text(params, "plan", "summary"):
            yield Event("plan", cut_bytes(" ".join(text.split()), TASK_BYTES_MAX))
    elif name in _SUBAGENT_TOOLS:
        text = _first_text(params, "description", "subagent_type", "name", "prompt", "message")
        yield Event("subagent", cut_bytes(" ".join(text.split()), TASK_BYTES_MAX))
    elif name in _SKILL_TOOLS:
        yield Event("skill", cut_bytes(_first_text(params, "skill", "name", "command"), 100))
    elif name:
        yield Event("tool", cut_bytes(record.tool, 100))


def is_task_list(tool: str) -> bool:
    """Return whether a call of this tool has the whole list of tasks."""
    return tool.lower() in _TASK_TOOLS


def of_error(target: str, output: str) -> Event:
    """Build the event of a failed call from its subject and the head of its output."""
    head = cut_bytes(_head_line(output), ERROR_BYTES_MAX)
    return Event("error", head or "it failed", target=target, state="open")


def find_commit(output: str) -> str:
    """Find the branch and the commit that `git commit` reports, such as `main 1a2b3c4`."""
    head = output[:4096]
    found = _COMMIT.search(head) if "] " in head else None
    return f"{found[1]} {found[2][:12]}" if found else ""


def task_event(key: str, text: str, *, is_open: bool) -> Event:
    """Build the event of one task of the agent's list, identified by its key."""
    line = cut_bytes(" ".join(text.split()), TASK_BYTES_MAX)
    return Event("task", line, target=f"task:{key or line}", state="open" if is_open else "closed")


def _of_deed(record: MessageRecord, deed: Deed) -> Iterator[Event]:
    kind, values, edits = deed
    if kind == "command":
        for value in values:
            line = cut_bytes(" ".join(value.split()), COMMAND_BYTES_MAX)
            if line:
                yield Event(_classify(line), line, target=f"$ {line}")
        yield from (_edit(path, "modified") for path in edits)
    elif kind == "edit":
        action = guess_action(record.tool.lower())
        yield from (_edit(path, action) for path in values if path)
    elif kind == "read":
        for value in values:
            if path := cut_bytes(value, PATH_BYTES_MAX):
                yield Event("file_read", path, target=path)
    elif kind == "fetch":
        for value in values[:5]:
            yield Event("fetch", cut_bytes(value, COMMAND_BYTES_MAX), target=value[:200])
    elif kind == "search":
        params = record.params if isinstance(record.params, Mapping) else {}
        pattern = _first_text(params, "pattern", "query", "regex", "glob") or " ".join(values)
        yield Event("search", cut_bytes(pattern, 150))
    else:
        yield Event("tool", cut_bytes(record.tool, 100))


def _edit(path: str, action: FileAction) -> Event:
    shown = cut_bytes(path, PATH_BYTES_MAX)
    return Event("file_edit", shown, target=shown, action=action or "modified")


def _classify(line: str) -> str:
    """Return from a command's first word whether it works on git, only looks, or may change
    things."""
    words = _BEFORE.sub("", line).split()
    if not words:
        return "command"
    first = words[0].rpartition("/")[2]
    if first == "git":
        verb = next((word for word in words[1:] if not word.startswith("-")), "")
        return "look" if verb in _GIT_LOOKING and not _makes_branch(words) else "git"
    if first in _ENVIRONMENT:
        return "env"
    is_plain = not any(mark in line for mark in (">", "&&", ";", "$(", "`", "xargs", "-exec"))
    is_look = first in _LOOKING or (first == "sed" and " -i" not in line)
    return "look" if is_look and is_plain else "command"


def _makes_branch(words: list[str]) -> bool:
    return "branch" in words and len(words) > 2 and not words[-1].startswith("-")


def guess_action(tool: str) -> FileAction:
    """Guess from a tool's name, in lower case, its action on a file."""
    if "delete" in tool or "remove" in tool:
        return "deleted"
    return "created" if tool in ("write", "create", "create_file", "write_file") else "modified"


def _of_task_list(params: Mapping[str, Any]) -> Iterator[Event]:
    listed = next((params[name] for name in _TASK_LISTS if isinstance(params.get(name), list)), ())
    for item in listed[:TASKS_MAX]:
        if isinstance(item, Mapping):
            text = _first_text(item, "content", "step", "title", "description", "text", "task")
            status = str(item.get("status") or item.get("state") or "").lower()
            is_open = status not in _DONE and item.get("completed") is not True
            if text:
                yield task_event("", text, is_open=is_open)


def _first_text(params: Mapping[str, Any], *names: str) -> str:
    return next((v for name in names if isinstance(v := params.get(name), str) and v), "")


def _head_line(output: str) -> str:
    lines = [stripped for line in output[:8192].split("\n") if (stripped := line.strip())]
    if len(lines) > 1 and re.match(r"(?:exit code|process exited)\b", lines[0], re.IGNORECASE):
        del lines[0]
    telling = next((line for line in lines[:60] if _ERROR_WORD.search(line)), None)
    return telling or next(iter(lines), "")
