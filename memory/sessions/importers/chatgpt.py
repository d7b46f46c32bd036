"""ChatGPT's export: `conversations.json`, or the archive that contains it.

The file is an array of conversations, each a tree of messages by id, `mapping`: an edited prompt or
another answer begins a branch. The branch that the user saw last ends at `current_node`. Large
exports are split into `conversations-000.json` and so on. The form is taken from public readers of
real exports; the company documents none.

Messages on an abandoned branch are deleted if an earlier export had them. A message of the
assistant to a `recipient` other than `all` calls a tool; messages of the role `tool` are results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from base.plain_files import open_plain
from memory.sessions.importers.archive import is_archive, open_members
from memory.sessions.importers.importer import Importer, State
from memory.sessions.importers.own import never_found, no_roots
from memory.sessions.importers.untrusted_json import (
    fields,
    first_text,
    listed,
    objects,
    one_line,
    params,
    seconds,
    size,
    text,
)
from memory.sessions.importers.whole_json import read_json, read_open_array
from memory.sessions.records import CutRecord, MessageRecord, Record, SessionRecord

MEMBERS = r"conversations(?:[-_]?\d{1,6})?\.json"
_EXPECTED_ERRORS = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)
_HIDDEN = ("user_editable_context", "model_editable_context")
_THINKING = ("thoughts", "reasoning_recap")


def read_conversations(path: str, state: State) -> Iterator[Record]:
    """Read all conversations of a file or an archive."""
    if is_archive(path):
        for member in open_members(path, MEMBERS):
            for value in read_open_array(member):
                yield from _read(value, state)
        return
    with open_plain(path, follow=False) as file:
        is_one = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{"
        file.seek(0)
        if is_one:
            yield from _read(fields(read_json(path)), state)
            return
        for value in read_open_array(file):
            yield from _read(value, state)


def _read(value: Mapping[str, Any], state: State) -> Iterator[Record]:
    """Read one conversation; a malformed one is counted and skipped."""
    try:
        records = list(parse_conversation(value))
    except _EXPECTED_ERRORS:
        records = []
    if not records:
        state["bad"] = state.get("bad", 0) + 1
    yield from records


def parse_conversation(value: Mapping[str, Any]) -> Iterator[Record]:
    """Read one conversation: its session, its deletions, and the messages of its branch."""
    nodes = fields(value.get("mapping"))
    own = first_text(value, "conversation_id", "id")
    if not own or not nodes:
        return
    metadata = {
        name: found
        for name in ("gizmo_id", "conversation_template_id", "default_model_slug")
        if (found := text(value.get(name)))
    }
    yield SessionRecord(
        own,
        title=one_line(text(value.get("title"))),
        started_at=seconds(value.get("create_time")),
        metadata=metadata,
        last_at=seconds(value.get("update_time")),
    )
    branch = find_branch(nodes, text(value.get("current_node")))
    yield from _list_left(nodes, branch)
    call = "", ""  # id and tool of the call whose result comes next
    for node_id in branch:
        message = fields(fields(nodes[node_id]).get("message"))
        if not message:
            continue
        record = _parse_message(node_id, message, call)
        if record is None:
            continue
        if record.role == "tool_call":
            call = record.call_id, record.tool
        elif record.role == "tool_result":
            call = "", ""
        yield record


def find_branch(nodes: Mapping[str, Any], current: str) -> list[str]:
    """Return the ids from the root to the current node; without one, to the last leaf."""
    if current not in nodes:
        current = _find_last_leaf(nodes)
    branch: dict[str, None] = {}
    while current in nodes and current not in branch:
        branch[current] = None
        current = text(fields(nodes[current]).get("parent"))
    return list(reversed(branch))


def _find_last_leaf(nodes: Mapping[str, Any]) -> str:
    roots = [one for one in nodes if text(fields(nodes[one]).get("parent")) not in nodes]
    at = next(iter(roots or nodes), "")
    seen = set[str]()
    while at not in seen:
        seen.add(at)
        children = [one for one in _children(nodes[at]) if one in nodes and one not in seen]
        at = children[-1] if children else at
    return at


def _children(node: object) -> list[str]:
    return [one for one in listed(fields(node).get("children")) if isinstance(one, str)]


def _list_left(nodes: Mapping[str, Any], branch: list[str]) -> Iterator[CutRecord]:
    """Yield the first messages of the abandoned branches."""
    of_branch = set(branch)
    for node_id in branch:
        for child in _children(nodes[node_id]):
            if child in nodes and child not in of_branch:
                yield CutRecord(_key(child, fields(fields(nodes[child]).get("message"))))


def _key(node_id: str, message: Mapping[str, Any]) -> str:
    return first_text(message, "id") or node_id


def _parse_message(
    node_id: str, message: Mapping[str, Any], call: tuple[str, str]
) -> MessageRecord | None:
    author, content = fields(message.get("author")), fields(message.get("content"))
    metadata = fields(message.get("metadata"))
    role, kind = text(author.get("role")), text(content.get("content_type"))
    said, images = _content(content)
    record = MessageRecord(
        _key(node_id, message),
        _key(node_id, message),
        "system",
        said,
        seconds(message.get("create_time")),
        model=text(metadata.get("model_slug")),
        images=images,
    )
    is_hidden = (
        kind in _HIDDEN
        or metadata.get("is_visually_hidden_from_conversation") is True
        or metadata.get("is_user_system_message") is True
    )
    if role == "tool":
        return _result(record, text(author.get("name")), kind, metadata, call)
    if kind in _THINKING:
        return record._replace(role="assistant", text="", thinking_bytes=max(size(said), 1))
    recipient = text(message.get("recipient"))
    if role == "assistant" and recipient not in ("", "all"):
        given = params(said)
        return record._replace(
            role="tool_call",
            text="",
            tool=recipient,
            params=given if isinstance(given, Mapping) else {"input": said},
            call_id=record.key,
        )
    if not said.strip() and not images:
        return None
    if not is_hidden and role == "user":
        return record._replace(role="user", is_prompt=True)
    return record._replace(role="system" if is_hidden or role != "assistant" else "assistant")


def _result(
    record: MessageRecord,
    name: str,
    kind: str,
    metadata: Mapping[str, Any],
    call: tuple[str, str],
) -> MessageRecord:
    status = text(fields(metadata.get("aggregate_result")).get("status"))
    return record._replace(
        role="tool_result",
        tool=name or call[1],
        call_id=call[0],
        failed=kind == "system_error" or status.startswith("failed"),
    )


def _content(content: Mapping[str, Any]) -> tuple[str, int]:
    """Return a message's text and its number of pictures."""
    said, images = list[str](), 0
    for part in listed(content.get("parts")):
        if isinstance(part, str):
            said.append(part)
            continue
        images += "image" in text(fields(part).get("content_type"))
        said.append(first_text(fields(part), "text", "result"))
    for thought in objects(content.get("thoughts")):
        said.append(first_text(thought, "content", "summary"))
    said.append(first_text(content, "text", "result", "content"))
    said += [first_text(content, name) for name in ("user_profile", "user_instructions")]
    return "\n".join(one for one in said if one), images


IMPORTER = Importer(
    "chatgpt", "ChatGPT's export", no_roots, never_found, read_file=read_conversations
)
