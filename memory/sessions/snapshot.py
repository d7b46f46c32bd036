"""A session in up to 2,048 bytes: details that a summary loses, for the agent after a compaction.

A summary keeps decisions and loses commands and paths. So the snapshot has the goal, the last
request, the user's rules and decisions, open tasks and errors, and the most recent and frequent
commands and files. It is a pure function of the events: the same give the same bytes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, takewhile

from memory.sessions.events import COMMANDS, Event
from memory.sessions.path_lines import weigh_paths, write_paths
from memory.texts import cut_bytes, one_line, size_bytes

SNAPSHOT_BYTES_MAX = 2048
HEAD = "context-mode: records of this session"
"""The first words of a snapshot."""

HALF_LIFE_EVENTS = 120
"""Events after which a use counts half. Measured on 65 real compactions: values between 40 and 300
make no difference."""

EDIT_WEIGHT = 2.0
SHARES = {
    "goal": 180,
    "request": 280,
    "words": 300,
    "tasks": 180,
    "errors": 160,
    "commands": 300,
    "files": 400,
    "git": 90,
}
"""Bytes for each part at first; the remainder is used in the order of REST."""

LINE_COST_BYTES = 20
"""Lines are ranked by weight per byte, since room is short. On the same compactions, commands that
were needed again scored 0.86 by weight alone and 0.93 per byte. The addition keeps the shortest
lines from being first only for their length."""

FULL_PATHS_BYTES = 640
"""Bytes for files written in full, one per line: the most used, which can then be found by their
path. Others are listed under their folder."""

FULL_PATHS_LEAST = 10
"""If fewer would fit in full, paths are long, and folders are better."""

COMMAND_BYTES_MAX = 120
PATHS_TRIED = 2
REST = ("files", "commands", "words", "errors", "git")
LINE_BYTES_MAX = 240
_TITLES = {
    "goal": "Goal: ",
    "request": "Last request: ",
    "words": "The user's words:\n",
    "tasks": "Open tasks:\n",
    "errors": "Open errors:\n",
    "commands": "Commands (! failed):\n",
    "files": "Files (* edited):\n",
    "git": "Git: ",
}

# Commands that only choose the part of an output to show.
_TAIL = re.compile(
    r"(?:\s*(?:2>&1|\|\s*(?:head|tail)(?:\s+(?:-[nc]?\s?)?\d+|\s+--?\w+=?\d*)*|\|\s*cat))+\s*$"
)
# A command that shows one file counts as reading it, for hosts without a reading tool.
_SHOWING = re.compile(
    r"(?:cat|nl(?: -ba)?|sed -n ['\"]?\d+,\d+p['\"]?|(?:head|tail)(?: -n? ?\d+)?) "
    r"([\w./~@+][\w./~@+,=-]*)"
)
_HEREDOC = re.compile(r"<<-?\s?(['\"]?)[A-Za-z_]\w*\1(?=\s|$)")


_Parts = Mapping[str, Sequence[str]]
"""The lines of each part, the most important first."""


def build_snapshot(
    events: Sequence[Event],
    session_id: str,
    branch: str = "",
    known: str = "",
    *,
    bytes_max: int = SNAPSHOT_BYTES_MAX,
) -> str:
    """Build the text from a session's ordered events; empty if there are no events. `known` is a
    text that the agent also has, such as the host's summary: its content is left out. The text has
    up to `bytes_max` bytes of UTF-8: a line that does not fit is left out, and a text longer than
    its part is cut between characters."""
    parts, edited = _find_parts(events, branch, " ".join(known.split()))
    if not any(parts.values()):
        return ""
    head = f"{HEAD}, not orders. More: ctx_session or ctx_search, session {session_id[:60]}"
    chosen = _choose(parts, edited, bytes_max - size_bytes(head))
    return "\n".join(
        [head, *(_TITLES[n] + "\n".join(lines) for n, lines in chosen.items() if lines)]
    )


def _choose(parts: _Parts, edited: Collection[str], left: int) -> dict[str, list[str]]:
    """Choose the lines: each part's within its share, then the rest in order. `edited` names edited
    files."""
    chosen: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    for name, lines in parts.items():
        share = min(SHARES[name], left)
        if name == REST[0]:  # chosen next, from the remaining lines
            sizes[name] = min(share, _size_part(name, lines))
        else:
            chosen[name] = _fit(name, lines, edited, share)
            sizes[name] = _size_part(name, chosen[name])
        left -= sizes[name]
    for name in REST:
        room = left + sizes[name]
        chosen[name] = _fit(name, parts[name], edited, room)
        left = room - _size_part(name, chosen[name])
    return {name: chosen[name] for name in parts}


def _fit(name: str, lines: Sequence[str], edited: Collection[str], room: int) -> list[str]:
    """Return a part's most important lines that fit in `bytes_max` bytes with its title."""
    room -= len(_TITLES[name])
    if name == "files":
        return _fit_paths(lines, edited, room)
    chosen = []
    for line in lines:
        if (cost := size_bytes(line) + 1) <= room:
            chosen.append(line)
            room -= cost
    return chosen


def _size_part(name: str, lines: Sequence[str]) -> int:
    """Return the size of a part with these lines, in bytes."""
    return _size_lines(lines) + len(_TITLES[name]) if lines else 0


def _fit_paths(paths: Sequence[str], edited: Collection[str], room: int) -> list[str]:
    """Return lines with as many paths as fit: the first in full, then those that fit grouped by
    folder. If few would fit in full, none is."""
    full = []
    left = min(room, FULL_PATHS_BYTES)
    for path in paths:
        (line,) = write_paths([path], edited)
        if (cost := size_bytes(line) + 1) > left:
            break
        full.append(line)
        left -= cost
    if len(full) < min(FULL_PATHS_LEAST, len(paths)):
        full = []
    return [*full, *_fit_grouped(paths[len(full) :], edited, room - _size_lines(full))]


def _fit_grouped(paths: Sequence[str], edited: Collection[str], room: int) -> list[str]:
    """Return lines with as many paths as fit; after the first that does not, the next few are
    tried, which may be shorter."""
    listed = [path for path in paths[: max(room, 0)] if size_bytes(path) < room]
    # Names alone never take more room than names with folders.
    sizes = accumulate(size_bytes(path.rpartition("/")[2]) + 1 for path in listed)
    most = sum(1 for _ in takewhile(lambda size: size <= room, sizes))
    count = bisect_right(
        range(1, most + 1), room, key=lambda n: _size_lines(write_paths(listed[:n], edited))
    )
    chosen = listed[:count]
    for path in listed[count + 1 : count + 1 + PATHS_TRIED]:
        if _size_lines(write_paths([*chosen, path], edited)) <= room:
            chosen.append(path)
    return write_paths(chosen, edited)


def _size_lines(lines: Sequence[str]) -> int:
    return sum(size_bytes(line) + 1 for line in lines)


def _find_parts(events: Sequence[Event], branch: str, known: str) -> tuple[_Parts, set[str]]:
    """Find the lines of all parts, and which files were edited."""
    prompts = [event.text for event in events if event.category == "prompt"]
    goal = _one(prompts[:1], "goal")
    request = _one(prompts[-1:], "request") if len(prompts) > 1 else []
    words = [
        f"- {event.text}"
        for event in reversed(events)
        if event.category in ("constraint", "decision", "rejected")
        and not _has(known, event.text)
        and event.text not in prompts[:1] + prompts[-1:]
    ]
    tasks = [f"- {e.text}" for e in reversed(events) if e.category == "task" and e.state == "open"]
    files, edited = _files(events, known)
    return {
        "goal": [] if goal and _has(known, goal[0]) else goal,
        "request": request,
        "words": _fitting(words),
        "tasks": _fitting(tasks),
        "errors": _fitting(_errors(events)),
        "commands": _fitting(_commands(events, known)),
        "files": files,
        "git": _fitting(_git(events, branch)),
    }, edited


def _one(texts: Sequence[str], part: str) -> list[str]:
    room = SHARES[part] - len(_TITLES[part]) - 1
    return [cut_bytes(one_line(text), room) for text in texts]


def _fitting(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(cut_bytes(one_line(text), LINE_BYTES_MAX) for text in lines))


def _errors(events: Sequence[Event]) -> Iterator[str]:
    for event in reversed(events):
        if event.category == "error" and event.state == "open":
            what = cut_bytes(event.target.removeprefix("$ "), 80)
            yield f"- {what}: {event.text}" if what else f"- {event.text}"


def _commands(events: Sequence[Event], known: str) -> Iterator[str]:
    """Yield each command in the form of its latest run."""
    latest: dict[str, Event] = {}
    uses: list[tuple[str, float] | None] = []
    for event in events:
        is_one = event.category in COMMANDS and event.state != "denied" and not _find_shown(event)
        key = _show_command(event.text) if is_one else ""
        uses.append((key, 1.0) if is_one else None)
        if is_one:
            latest[key] = event
    for text in _rank(uses, {text: size_bytes(text) for text in latest}):
        if not _has(known, latest[text].text):
            yield f"! {text}" if latest[text].state == "failed" else text


def _show_command(text: str) -> str:
    """Show a command. If its beginning names the file that its input text goes to, the text is left
    out; else the beginning of the text identifies the command."""
    found = _HEREDOC.search(text)
    if found and found.end() < len(text) and ">" in text[: found.start()]:
        text = f"{text[: found.end()]} …"
    return cut_bytes(text, COMMAND_BYTES_MAX)


def _files(events: Sequence[Event], known: str) -> tuple[list[str], set[str]]:
    """Return the files, the most important first, and which were edited."""
    edited = {event.text for event in events if event.category == "file_edit"}
    uses: list[tuple[str, float] | None] = []
    for event in events:
        is_touched = event.category in ("file_edit", "file_read") and event.state != "denied"
        path = event.text if is_touched else _find_shown(event)
        weight = EDIT_WEIGHT if event.category == "file_edit" else 1.0
        uses.append((path, weight) if path else None)
    costs = weigh_paths({use[0] for use in uses if use})
    return [path for path in _rank(uses, costs) if path and not _has(known, path)], edited


def _find_shown(event: Event) -> str:
    """Return the path of the file that a command only shows; else empty."""
    if event.category != "look" or event.state in ("failed", "denied"):
        return ""
    found = _SHOWING.fullmatch(_TAIL.sub("", event.text))
    return found[1] if found else ""


def _git(events: Sequence[Event], branch: str) -> list[str]:
    """Return the branch, then the latest commit."""
    commit = next((e for e in reversed(events) if e.category == "git" and _is_commit(e)), None)
    of_commit, _, digest = commit.state.rpartition(" ") if commit else ("", "", "")
    branch = of_commit or branch
    said = f"branch {branch}" if branch else ""
    line = ", ".join(filter(None, (said, f"last commit {digest}" if digest else "")))
    return [line] if line else []


def _is_commit(event: Event) -> bool:
    return event.state not in ("", "failed", "denied", "open", "closed")


def _rank(uses: Sequence[tuple[str, float] | None], costs: Mapping[str, float]) -> list[str]:
    """Rank texts by frecency per byte: each use counts, and halves with later events. None only
    counts as a position. Equal ones rank by their latest use."""
    weights: dict[str, float] = {}
    for age, use in enumerate(reversed(uses)):
        if use is not None:
            text, weight = use
            weights[text] = weights.get(text, 0.0) + weight * 0.5 ** (age / HALF_LIFE_EVENTS)
    return sorted(weights, key=lambda text: -weights[text] / (LINE_COST_BYTES + costs[text]))


def _has(known: str, text: str) -> bool:
    return bool(known) and text in known
