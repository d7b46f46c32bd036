"""Claude Code: one file of lines per session, below `~/.claude/projects/FOLDER/`.

FOLDER is the working directory with `-` for every character other than letters and digits.
Subagents have separate files, `SESSION/subagents/agent-*.jsonl`. Seen with 2.1.330.

A `user` record is a prompt only if the user typed it: results of tools, text inserted by the host,
summaries and command envelopes are not. Records of one `message.id` are one response, each with its
tokens so far: the largest count is used. A response without a request's id is identified by its
message's id alone, as gateways send it.

A user who rewinds to before a prompt types another one with the same parent: the earlier prompt and
all after it are then deleted. A `summary` may be of another session, unless it names one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from base.digests import blake2b
from base.host_homes import find_place
from memory.sessions.importers.importer import Ground, Importer, State, Transcript
from memory.sessions.importers.record_fields import (
    call_record,
    list_project_files,
    result_record,
    usage_record,
)
from memory.sessions.importers.untrusted_json import count as _count
from memory.sessions.importers.untrusted_json import fields, listed, objects, seconds, size
from memory.sessions.importers.untrusted_json import text as _text
from memory.sessions.records import (
    CompactionRecord,
    CutRecord,
    MessageRecord,
    Record,
    Role,
    SessionRecord,
    TaskRecord,
)

# The beginnings of texts that a host inserts as the user's.
_NO_PROMPT = re.compile(
    r"\s*(?:<(?:local-command|command-|bash-|user-memory)|\[Request interrupted|Caveat:|"
    r"This session is being continued from a previous)"
)
# The marks of texts that it adds to the user's words.
_HOST_PART = re.compile(
    r"<(system-reminder|ide_\w{1,40}|task-notification|user-prompt-submit-hook|session-start[\w-]{0,20}|"
    r"teammate-message|cross-session-message|channel)\b[^<>]{0,500}>"
)
_HOST_PARTS_MAX = 50
_DENIED = re.compile(
    r"(?:The user doesn't want to (?:proceed|take this action)|Permission to use|"
    r"\w+:\w+ hook error|.{0,200}hook (?:blocking )?error|Claude requested permissions)"
)
_ID_CHARS_MAX = 100
_PROMPTS_KNOWN = 1000  # rewinding goes no further back
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b")
_SUBAGENTS = {"Task": ("subagent_type",), "Agent": ("subagent_type",)}
_SKILLS = {"Skill": ("skill",)}
_TOKENS = (
    *("input_tokens", "output_tokens"),
    *("cache_read_input_tokens", "cache_creation_input_tokens", ""),
)


def projects_folder(ground: Ground) -> str:
    """Return the folder that holds a folder for each project."""
    base = find_place("~/.claude", ground.home, ground.environ)
    return ground.root or os.path.join(base, "projects")


def find_transcripts(ground: Ground) -> Iterator[Transcript]:
    """Yield the transcripts of folders that may be the project's, or one of its subfolders'."""
    places = "*.jsonl", "*/subagents/*.jsonl"
    for path, names in list_project_files(ground, projects_folder(ground), *places):
        yield Transcript(path, names[0].removesuffix(".jsonl") if len(names) == 1 else "")


def parse_line(value: Mapping[str, Any], state: State) -> Iterator[Record]:
    """Read one record of a transcript."""
    kind = value.get("type")
    if kind in ("custom-title", "ai-title", "summary", "agent-name"):
        yield from _title(value, state)
        return
    if kind not in ("user", "assistant", "system", "attachment"):
        return
    session = _text(value.get("sessionId")) or _text(state.get("of"))
    if not session:
        return
    at = seconds(value.get("timestamp"))
    yield from _begin(value, session, at, state)
    if kind == "system":
        yield from _system(value, at)
    elif kind == "attachment":
        yield from _queued(value, at)
    elif kind == "assistant":
        yield from _assistant(value, at)
    else:
        yield from _user(value, at, state)


def _begin(
    value: Mapping[str, Any], session: str, at: float | None, state: State
) -> Iterator[Record]:
    """Yield the session of the following records if it or its data changed. A sidechain is the
    session of a subagent."""
    agent = _text(value.get("agentId"))
    is_side = value.get("isSidechain") is True
    own = f"{session}/{agent or 'sidechain'}" if is_side else session
    folder, branch, version = (_text(value.get(name)) for name in ("cwd", "gitBranch", "version"))
    known = _digest([own, folder, branch, version])
    if known == state.get("known"):
        return
    state["known"], state["of"] = known, session
    yield SessionRecord(
        own,
        parent_id=session if is_side else "",
        relation="subagent" if is_side else "",
        agent_version=version,
        working_directory=folder,
        git_branch="" if branch == "HEAD" else branch,
        started_at=at,
    )


def _title(value: Mapping[str, Any], state: State) -> Iterator[Record]:
    names = ("customTitle", "aiTitle", "summary", "title")
    title = next((text for name in names if (text := _text(value.get(name)))), "")
    of = "" if value.get("type") == "summary" else _text(state.get("of"))
    session = _text(value.get("sessionId")) or of
    if title and session and value.get("type") != "agent-name":
        state.pop("known", None)  # the next record names its session again
        yield SessionRecord(session, title=title)


def _system(value: Mapping[str, Any], at: float | None) -> Iterator[Record]:
    if value.get("subtype") != "compact_boundary":
        return
    figures = fields(value.get("compactMetadata"))
    yield CompactionRecord(
        _key(value),
        at,
        _text(figures.get("trigger")),
        "",
        _count(figures.get("preTokens")),
        _count(figures.get("postTokens")),
    )


def _queued(value: Mapping[str, Any], at: float | None) -> Iterator[Record]:
    """Yield a prompt that was typed while a tool ran."""
    it = value.get("attachment")
    if not isinstance(it, Mapping) or it.get("type") != "queued_command":
        return
    text = _typed([_text(it.get("prompt")) or "".join(_texts(it.get("prompt")))])
    is_prompt = it.get("commandMode", "prompt") == "prompt" and value.get("isMeta") is not True
    if is_prompt and value.get("isSidechain") is not True and text:
        key = _key(value)
        yield MessageRecord(key, key, "user", text, at, is_prompt=True)


def _assistant(value: Mapping[str, Any], at: float | None) -> Iterator[Record]:
    message = value["message"]
    uuid, response = _key(value), _text(message.get("id"))
    model = _text(message.get("model"))
    if value.get("isApiErrorMessage") is True:
        return
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for index, block in enumerate(listed(blocks)):
        yield from _block(fields(block), f"{uuid}:{index}", response or uuid, at, model)
    yield from _usage(value, message, at, model)


def _block(
    block: Mapping[str, Any], key: str, group: str, at: float | None, model: str
) -> Iterator[Record]:
    kind = block.get("type")
    if kind == "text" and _text(block.get("text")):
        yield MessageRecord(key, group, "assistant", _text(block["text"]), at, model=model)
    elif kind in ("thinking", "redacted_thinking"):
        text = _text(block.get("thinking")) or _text(block.get("data"))
        yield MessageRecord(key, group, "assistant", "", at, model=model, thinking_bytes=size(text))
    elif kind in ("tool_use", "server_tool_use"):
        name, call_id = _text(block.get("name")), _text(block.get("id"))
        called = name, block.get("input"), call_id, at, model
        yield call_record(key, group, *called, subagents=_SUBAGENTS, skills=_SKILLS)


def _usage(
    value: Mapping[str, Any], message: Mapping[str, Any], at: float | None, model: str
) -> Iterator[Record]:
    usage = message.get("usage")
    response = _text(message.get("id"))
    if isinstance(usage, Mapping) and response and model != "<synthetic>":
        request = _text(value.get("requestId"))
        own = f"{response}:{request}" if request else response
        yield usage_record(own, model, at, usage, _TOKENS, response, has_cache_within=False)


def _user(value: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    content = value["message"].get("content")
    uuid = _key(value)
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = list(objects(blocks))
    if value.get("isCompactSummary") is True:
        # Its parent is the boundary's record, which has the figures.
        boundary = _text(value.get("parentUuid")) or uuid
        yield CompactionRecord(boundary, at, summary="\n".join(_texts(blocks)))
        return
    results = [block for block in blocks if block.get("type") == "tool_result"]
    for index, block in enumerate(results):
        yield from _result(value, block, f"{uuid}:{index}", at, state)
    text = "\n".join(_texts(blocks))
    images = sum(block.get("type") == "image" for block in blocks)
    if not text.strip() and (results or not images):
        return
    typed = _typed(list(_texts(blocks)))
    is_prompt = (
        not results
        and (bool(typed) or not text.strip())
        and value.get("isMeta") is not True
        and value.get("isVisibleInTranscriptOnly") is not True
        and value.get("isSidechain") is not True  # a subagent is prompted by its parent
    )
    if is_prompt:  # before the prompt itself: a cut deletes all that was written until then
        yield from _rewind(value, uuid, state)
    role: Role = "user" if is_prompt else "system"
    said = typed if is_prompt else text
    yield MessageRecord(uuid, uuid, role, said, at, is_prompt, images=images)


def _rewind(value: Mapping[str, Any], uuid: str, state: State) -> Iterator[Record]:
    """Delete an earlier prompt with the same parent."""
    parent = _text(value.get("parentUuid"))
    if not parent or len(uuid) > _ID_CHARS_MAX:
        return
    prompts = state.setdefault("prompts", {})
    if (earlier := prompts.pop(of := _digest(parent), "")) and earlier != uuid:
        yield CutRecord(earlier)
    prompts[of] = uuid
    if len(prompts) > _PROMPTS_KNOWN:
        del prompts[next(iter(prompts))]


def _typed(texts: list[str]) -> str:
    """Return the part of some texts that the user typed; empty if a host wrote them."""
    said = []
    for text in map(_drop_host_parts, texts):
        if not _NO_PROMPT.match(text):
            said.append(text)
        elif not text.lstrip().startswith("[Request interrupted"):
            return ""
    return "\n".join(filter(str.strip, said))


def _drop_host_parts(text: str) -> str:
    """Drop the host's insertions. A part ends at its last mark, since its content, such as a file,
    may have such marks, too; an unclosed part reaches to the end."""
    for _ in range(_HOST_PARTS_MAX):
        if (begin := _HOST_PART.search(text)) is None:
            return text
        end = text.rfind(mark := f"</{begin[1]}>", begin.end())
        text = text[: begin.start()] + ("" if end < 0 else text[end + len(mark) :])
    return ""


def _result(
    value: Mapping[str, Any], block: Mapping[str, Any], key: str, at: float | None, state: State
) -> Iterator[Record]:
    content = block.get("content")
    text = content if isinstance(content, str) else "\n".join(_texts(content))
    told = value.get("toolUseResult")
    failed = block.get("is_error") is True
    is_denied = failed and bool(_DENIED.match(text))
    code = _EXIT_CODE.match(text) if failed else None
    yield result_record(
        key,
        text,
        _text(block.get("tool_use_id")),
        at,
        failed=failed,
        ended=int(code[1]) if code else None,
        is_denied=is_denied,
        images=sum(one.get("type") == "image" for one in objects(content)),
    )
    if isinstance(told, Mapping) and not failed:
        yield from _tasks(told)


def _tasks(told: Mapping[str, Any]) -> Iterator[Record]:
    """Yield the reports of TaskCreate and TaskUpdate: a task, or a change of its state."""
    task, change = told.get("task"), told.get("statusChange")
    if isinstance(task, Mapping) and (number := task.get("id")) is not None:
        yield TaskRecord(str(number)[:100], _text(task.get("subject")), is_open=True)
    elif isinstance(change, Mapping) and (number := told.get("taskId")) is not None:
        is_open = change.get("to") not in ("completed", "deleted", "cancelled")
        yield TaskRecord(str(number)[:100], is_open=is_open)


def _texts(blocks: object) -> Iterator[str]:
    if isinstance(blocks, str):
        yield blocks
    for block in objects(blocks):
        if isinstance(text := block.get("text"), str):
            yield text


def _key(value: Mapping[str, Any]) -> str:
    """Return the identity of a record: its id, or its content."""
    return _text(value.get("uuid")) or _digest(value)


def _digest(value: object) -> str:
    data = json.dumps(value, sort_keys=True).encode()
    return blake2b(data, digest_size=16).hexdigest()


IMPORTER = Importer(
    "claude_code",
    "Claude Code",
    lambda ground: iter([projects_folder(ground)]),
    find_transcripts,
    parse_line,
    keys_are_global=True,
)
