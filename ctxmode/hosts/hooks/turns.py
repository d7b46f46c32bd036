"""Turns: prompts and answers go into the project's buffer, if it has `.contexo/`.

`run` checks that before loading this module. Capture runs after the host has its answer, within a
deadline; failures are logged, and the host gets no message.
"""

from __future__ import annotations

import json
import os
import time

from base.named_tuples import NamedTuple
from ctxmode.config.file_names import DRAFTS_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from base.secrets import Secret
    from ctxmode.hosts.hooks.hook_event import Event
    from memory.sessions import Record

    ParseLine = Callable[[Mapping[str, Any], dict[str, object]], Iterator[Record]]

DEADLINE_S = 3.0
ANSWER_WAIT_S = 1.5
ANSWER_POLL_S = 0.1
"""Time limit and interval for checking a transcript that does not have the answer yet."""

TAIL_BYTES = 256 * 1024
"""Size of a transcript's end that is read for an answer if the event does not have it."""

SESSIONS = ("conversation_id", "session_id", "sessionId", "sessionID", "trajectory_id", "taskId")
KEYS = ("prompt_id", "turn_id", "generation_id", "execution_id")
"""Fields that identify a turn, to recognise repeated and continued turns."""

PROMPTS = ("prompt", "user_prompt")
ANSWERS = (
    *("last_assistant_message", "prompt_response", "assistant_response", "response", "text"),
    *("outputText", "result"),
)
CONTEXT_BEGIN, CONTEXT_END = "<hook_context>", "</hook_context>"
INPUT_BEGIN, INPUT_END = "<user_input", "</user_input>"
PARTS = (("tool_info",), ("userPromptSubmit",), ("turn",), ("taskComplete", "taskMetadata"))
"""Paths to objects within an event that hold its fields for some hosts."""


class Turn(NamedTuple):
    """Data of an event about a turn."""

    session: str
    key: str = ""
    prompt: str = ""
    answer: str = ""
    tools: tuple[str, ...] = ()


def read_turn(event: Mapping[str, Any]) -> Turn:
    """Read an event of any host. A subagent's turns count as its parent's work."""
    if _is_subagents(event):
        return Turn("")
    parts = [event, *filter(None, (_find_part(event, way) for way in PARTS))]
    return Turn(
        _text(parts, SESSIONS),
        _text(parts, KEYS),
        unwrap_prompt(_text(parts, PROMPTS)),
        _text(parts, ANSWERS),
        tuple(t for t in _list(event.get("tools")) if isinstance(t, str)),
    )


def capture_turn(hook: Event) -> None:
    """Note a prompt, or record a turn when it ends."""
    from ctxmode.hosts.hooks.hook_event import TimeUpError, limit_time, log  # noqa: PLC0415

    if hook.is_from_cursor:
        return
    told = read_turn(hook.event)
    if not told.session:
        return
    try:
        with limit_time(DEADLINE_S):
            _capture(hook, told)
    except TimeUpError:
        log(hook, "capturing a turn: the deadline passed")
    except Exception as error:
        reason = getattr(error, "strerror", "") or ""
        log(hook, f"capturing a turn: {type(error).__name__} {reason}")


def _capture(hook: Event, told: Turn) -> None:
    from memory.pages import Buffers  # noqa: PLC0415 - only if turns are captured

    buffers = Buffers(os.path.join(hook.project, DRAFTS_FOLDER), find_secrets=_find_secrets)
    if hook.purpose in ("prompt", "asked"):
        buffers.note_prompt(told.session, told.prompt, told.key)
        return
    if hook.purpose == "answered" and not told.answer:
        told = _read_transcript(hook, told, buffers.find_prompted_at(told.session))
    if hook.purpose == "answered" and not told.prompt and "sessionContext" in hook.event:
        from ctxmode.hosts.cline.events import read_texts  # noqa: PLC0415 - only Cline's

        typed = (unwrap_prompt(text) for text in read_texts(hook) if INPUT_BEGIN in text)
        told = told._replace(prompt=next(filter(None, typed), ""))
    buffers.append(
        told.session, key=told.key, user=told.prompt, assistant=told.answer, tools=told.tools
    )


def note_tool(project: str, text: bytes, tool: str) -> None:
    """Note a tool of the current turn."""
    from contextlib import suppress  # noqa: PLC0415

    from ctxmode.hosts.hooks.hook_types import read_json  # noqa: PLC0415
    from memory.pages import Buffers  # noqa: PLC0415

    with suppress(OSError, ValueError, RecursionError):
        session = read_turn(read_json(text)).session
        if session and tool:
            buffers = Buffers(os.path.join(project, DRAFTS_FOLDER), find_secrets=_find_secrets)
            buffers.note_tool(session, tool)


def unwrap_prompt(prompt: str) -> str:
    """Return the user's text: Gemini CLI puts texts of hooks before it, Cline wraps it in an
    element."""
    if not prompt.startswith("<"):
        return prompt
    if INPUT_BEGIN in prompt and INPUT_END in prompt:
        return prompt.partition(INPUT_BEGIN)[2].partition(">")[2].rpartition(INPUT_END)[0]
    _, mark, typed = prompt.rpartition(CONTEXT_END)
    return typed.strip() if mark and prompt.startswith(CONTEXT_BEGIN) else prompt


def _is_subagents(event: Mapping[str, Any]) -> bool:
    """Return whether an event is a subagent's. Cline names every agent and its parent."""
    if "parent_agent_id" in event:
        return bool(event["parent_agent_id"])
    return bool(event.get("agent_id") or event.get("agent_type"))


def _find_part(event: Mapping[str, Any], way: Sequence[str]) -> Mapping[str, Any] | None:
    part: Any = event
    for name in way:
        part = part.get(name) if isinstance(part, dict) else None
    return part if isinstance(part, dict) else None


def _find_secrets(text: str) -> Sequence[Secret]:
    from base.secrets import find_secrets  # noqa: PLC0415 - with the first text

    return find_secrets(text)


def _read_transcript(hook: Event, told: Turn, asked_at: float) -> Turn:
    """Read the last answer from the end of the event's transcript.

    Copilot CLI writes the answer, and even the file, shortly after the turn ends, so this waits for
    both. Answers older than `asked_at` do not belong to the prompt that was noted then.
    """
    from ctxmode.hosts.registry import find_agent, find_importer  # noqa: PLC0415 - few need it

    path = hook.text("transcript_path", "transcriptPath")
    importer = find_importer(agent) if (agent := find_agent(hook.host)) else None
    if importer is None or importer.parse_line is None or not os.path.isabs(path):
        return told
    until = time.monotonic() + ANSWER_WAIT_S
    answer, is_last = "", False
    while (lines := _read_tail(path)) is not None and time.monotonic() < until:
        answer, is_last = _find_answer(lines, importer.parse_line, asked_at)
        if is_last:
            break
        time.sleep(ANSWER_POLL_S)
    return told._replace(answer=answer)


def _find_answer(lines: list[bytes], parse_line: ParseLine, asked_at: float) -> tuple[str, bool]:
    """Return the last answer to the last prompt in a transcript, or an empty text; and whether no
    tool was used after it."""
    from memory.sessions import MessageRecord  # noqa: PLC0415

    answer, is_last, state = "", False, dict[str, object]()
    for line in lines:
        try:
            for record in parse_line(json.loads(line), state):
                if not isinstance(record, MessageRecord):
                    continue
                if record.is_prompt:
                    answer, is_last = "", False
                elif record.role.startswith("tool"):
                    is_last = False
                elif record.role == "assistant" and (record.at or asked_at) >= asked_at:
                    answer, is_last = record.text or answer, bool(record.text) or is_last
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            continue
    return answer, is_last


def _read_tail(path: str) -> list[bytes] | None:
    """Read the lines at the end of a file: none if it is missing, None if it cannot be read."""
    from base.plain_files import open_plain  # noqa: PLC0415

    try:
        with open_plain(path, follow=False) as file:
            size = os.fstat(file.fileno()).st_size
            head = file.readline(TAIL_BYTES)  # it identifies the host and session
            file.seek(max(size - TAIL_BYTES, 0))
            lines = file.read(TAIL_BYTES).split(b"\n")
    except FileNotFoundError:
        return []
    except OSError:
        return None
    return [head, *lines[1:]] if size > TAIL_BYTES else lines


def _text(parts: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    values = (part.get(name) for part in parts for name in names)
    return next((value for value in values if isinstance(value, str) and value), "")


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
