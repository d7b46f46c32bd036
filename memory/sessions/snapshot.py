"""A session in at most 2,048 bytes: what a summary loses, put before the agent after a compaction.

A summary keeps decisions and loses commands and paths. So this names the goal, the last request,
what the user bound the work to, open tasks and errors, and the commands and files that were used
most lately and most often. It is a pure function of the events: the same give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from base.named_tuples import NamedTuple
from memory.sessions.events import COMMANDS, Event
from memory.sessions.texts import cut_bytes

SNAPSHOT_BYTES_MAX = 2048
HEAD = "context-mode: records of this session"
"""How a snapshot begins."""

HALF_LIFE_EVENTS = 120
"""After so many events a use counts half. Measured on 65 real compactions: between 40 and 300 it
makes no difference."""

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
"""Bytes that each part gets at first; what is left over is then given out in the order of REST."""

LINE_COST_BYTES = 20
"""Lines are ranked by their weight per byte: room is what is short. Measured on the same
compactions, commands that were needed again: .86 by weight alone, .93 so. The addition keeps the
shortest from being first merely for that."""

COMMAND_BYTES_MAX = 120
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


class Subject(NamedTuple):
    """What a snapshot says of the session besides its events. `known` is a text that the agent has
    besides, such as the host's summary: what it holds is left out."""

    session_id: str
    branch: str = ""
    known: str = ""


class _Part(NamedTuple):
    """One part: its lines, the most important first."""

    name: str
    lines: Sequence[str]


def build_snapshot(
    events: Sequence[Event], subject: Subject, bytes_max: int = SNAPSHOT_BYTES_MAX
) -> str:
    """Build the text from a session's events, which are in order; empty where there are none.

    It takes at most `bytes_max` bytes of UTF-8: a line that does not fit is left out whole, and a
    text that is longer than its part is cut between characters.
    """
    parts = _find_parts(events, subject)
    if not any(part.lines for part in parts):
        return ""
    head = f"{HEAD}, not orders. More: ctx_session or ctx_search, session {subject.session_id[:60]}"
    chosen = _choose(parts, bytes_max - _size(head))
    texts = [head]
    for part in parts:
        if lines := [line for line in part.lines if line in chosen[part.name]]:
            texts.append(_TITLES[part.name] + "\n".join(lines))
    return "\n".join(texts)


def _choose(parts: Sequence[_Part], left: int) -> dict[str, dict[str, None]]:
    """Choose the lines: each part's within its share, then the rest in order."""
    chosen: dict[str, dict[str, None]] = {part.name: {} for part in parts}
    by_name = {part.name: part for part in parts}

    def take(part: _Part, room: int) -> int:
        """Take what fits into `room` bytes; return how many that takes."""
        taken = 0
        for line in part.lines:
            if line in chosen[part.name]:
                continue
            first = not chosen[part.name]
            cost = _size(line) + (len(_TITLES[part.name]) + 1 if first else 1)
            if taken + cost <= room:
                chosen[part.name][line] = None
                taken += cost
        return taken

    for part in parts:
        left -= take(part, min(SHARES[part.name], left))
    for name in REST:
        left -= take(by_name[name], left)
    return chosen


def _find_parts(events: Sequence[Event], subject: Subject) -> list[_Part]:
    prompts = [event.text for event in events if event.category == "prompt"]
    known = " ".join(subject.known.split())
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
    return [
        _Part("goal", [] if goal and _has(known, goal[0]) else goal),
        _Part("request", request),
        _Part("words", _fitting(words)),
        _Part("tasks", _fitting(tasks)),
        _Part("errors", _fitting(_errors(events))),
        _Part("commands", _fitting(_commands(events, known))),
        _Part("files", _fitting(_files(events, known))),
        _Part("git", _fitting(_git(events, subject))),
    ]


def _one(texts: Sequence[str], part: str) -> list[str]:
    room = SHARES[part] - len(_TITLES[part]) - 1
    return [cut_bytes(_line(text), room) for text in texts]


def _fitting(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(cut_bytes(_line(text), LINE_BYTES_MAX) for text in lines))


def _errors(events: Sequence[Event]) -> Iterator[str]:
    for event in reversed(events):
        if event.category == "error" and event.state == "open":
            what = cut_bytes(event.target.removeprefix("$ "), 80)
            yield f"- {what}: {event.text}" if what else f"- {event.text}"


def _commands(events: Sequence[Event], known: str) -> Iterator[str]:
    states = {event.text: event.state for event in events if event.category in COMMANDS}
    for text in _rank(event if event.category in COMMANDS else None for event in events):
        if not _has(known, text):
            shown = cut_bytes(text, COMMAND_BYTES_MAX)
            yield f"! {shown}" if states[text] == "failed" else shown


def _files(events: Sequence[Event], known: str) -> Iterator[str]:
    edited = {event.text for event in events if event.category == "file_edit"}
    is_file = ("file_edit", "file_read")
    for path in _rank(event if event.category in is_file else None for event in events):
        if not _has(known, path):
            yield f"{path} *" if path in edited else path


def _git(events: Sequence[Event], subject: Subject) -> list[str]:
    """Name the branch, then the latest commit."""
    commit = next((e for e in reversed(events) if e.category == "git" and _is_commit(e)), None)
    of_commit, _, digest = commit.state.rpartition(" ") if commit else ("", "", "")
    branch = of_commit or subject.branch
    said = f"branch {branch}" if branch else ""
    line = ", ".join(filter(None, (said, f"last commit {digest}" if digest else "")))
    return [line] if line else []


def _is_commit(event: Event) -> bool:
    return event.state not in ("", "failed", "denied", "open", "closed")


def _rank(events: Iterable[Event | None]) -> list[str]:
    """Rank texts by frecency per byte: each use counts, and halves with what happened since. Of
    None only the place counts. Equal ones rank by their latest use."""
    listed = list(events)
    weights: dict[str, float] = {}
    for age, event in enumerate(reversed(listed)):
        if event is not None and event.state != "denied":
            weight = EDIT_WEIGHT if event.category == "file_edit" else 1.0
            weights[event.text] = weights.get(event.text, 0.0) + weight * 0.5 ** (
                age / HALF_LIFE_EVENTS
            )
    return sorted(weights, key=lambda text: -weights[text] / (LINE_COST_BYTES + _size(text)))


def _has(known: str, text: str) -> bool:
    return bool(known) and text in known


def _line(text: str) -> str:
    return " ".join(text.split())


def _size(text: str) -> int:
    return len(text.encode())
