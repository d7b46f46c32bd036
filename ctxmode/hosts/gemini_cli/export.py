"""Saved conversations with Gemini: files of Gemini CLI's `/chat save` and `/chat share FILE.json`,
its older sessions of one object, and Google Takeout's activity.

A saved chat is an array of `{role, parts}`, as in the API, or an object with it as `history`. It
has no id: its first turns identify it, so that a later save of the same chat is the same session.

Takeout's `MyActivity.json` is an array of records, the newest first: a `title` such as "Prompted …"
and the answer as HTML in `safeHtmlItem`. It has no conversations: records within 30 minutes of the
last are taken as one. Both forms are taken from public readers of real files.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

from base.plain_files import open_plain
from ctxmode.hosts.gemini_cli import transcript
from memory.sessions.importers.importer import Importer, State
from memory.sessions.importers.own import digest_value, never_found, no_roots
from memory.sessions.importers.record_fields import call_record, result_record
from memory.sessions.importers.untrusted_json import (
    fields,
    first_text,
    listed,
    objects,
    one_line,
    parts_text,
    seconds,
    size,
    text,
)
from memory.sessions.importers.whole_json import (
    RefusedError,
    read_array,
    read_json,
)
from memory.sessions.records import MessageRecord, Record, SessionRecord

GAP_S = 30 * 60
HTML_CHARS_MAX = 1 << 20
ACTIVITY_CHARS_MAX = 256 << 20
"""Characters of an activity held in memory, since its newest record comes first."""

_NAMING_TURNS = 2
_HOSTS_WORDS = re.compile(
    r"\s*(?:<(?:session_context|hook_context|state_snapshot)>|This is the Gemini CLI\.)"
)
_SAID = re.compile(
    r"(?:Prompted with: |Asked Gemini: |Asked Bard: |(?:Prompted|Asked|Said|Branched|Answered) )"
)
_NOT_SAID = re.compile(
    r"(?:Created|Used|Added|Gave|Selected|Shared|Deleted|Viewed|Visited|Searched|Edited|Pinned|"
    r"Renamed|Exported|Updated) "
)
_ATTACHED = re.compile(r"\s{0,20}Attached \d{1,6} files?\.?\s{0,20}\Z")
# Not an HTML parser, whose time may grow with the square of an untrusted text.
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]{0,20}|!)[^<>]{0,8192}>")
_HIDDEN = ("script", "style")
_BREAKS = frozenset(("p", "br", "li", "div", "h1", "h2", "h3", "h4", "tr", "pre", "ul", "ol"))


_Activity = tuple[float | None, str, str]
"""The time, the prompt and the answer of a record of an activity."""


def read_saved(path: str, state: State) -> Iterator[Record]:
    """Read a saved chat, an older session, or an activity."""
    with open_plain(path, follow=False) as file:
        is_array = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
    if not is_array:
        value = fields(read_json(path))
        if listed(value.get("history")):
            yield from parse_chat(list(objects(value["history"])))
        elif text(value.get("sessionId")):
            yield from _read_older(value, state)
        else:
            raise RefusedError("it is not a chat of Gemini")
        return
    first = next(read_array(path), {})
    if "role" in first and "parts" in first:
        yield from parse_chat(list(objects(read_json(path))))
    else:
        yield from _read_activity(path, state)


def _read_older(value: Mapping[str, Any], state: State) -> Iterator[Record]:
    """Read a session that is one object, as in older releases."""
    head = {name: one for name, one in value.items() if name != "messages"}
    yield from transcript.parse_line({"projectHash": "", **head}, state)
    for message in objects(value.get("messages")):
        yield from transcript.parse_line(message, state)


def parse_chat(turns: list[Mapping[str, Any]]) -> Iterator[Record]:
    """Read the turns of a saved chat."""
    if not any(listed(turn.get("parts")) for turn in turns):
        return
    yield SessionRecord(f"chat-{digest_value(turns[:_NAMING_TURNS])}")
    for number, turn in enumerate(turns):
        is_model = turn.get("role") == "model"
        for place, part in enumerate(objects(turn.get("parts"))):
            record = _part(part, f"{number}.{place}", is_model=is_model)
            if record is not None:
                yield record._replace(group=str(number) if is_model else record.key)


def _part(part: Mapping[str, Any], key: str, *, is_model: bool) -> MessageRecord | None:
    call, answer = fields(part.get("functionCall")), fields(part.get("functionResponse"))
    if call:
        return call_record(key, key, text(call.get("name")), call.get("args"), text(call.get("id")))
    if answer:
        response = fields(answer.get("response"))
        said = first_text(response, "output", "error") or parts_text(response.get("content"))
        told = said, text(answer.get("id")), None, text(answer.get("name"))
        return result_record(key, *told, failed="error" in response)
    return _said(part, key, is_model=is_model)


def _said(part: Mapping[str, Any], key: str, *, is_model: bool) -> MessageRecord | None:
    said = text(part.get("text"))
    is_image = "image/" in text(fields(part.get("inlineData")).get("mimeType"))
    if part.get("thought") is True:
        return MessageRecord(key, key, "assistant", thinking_bytes=size(said)) if said else None
    if not said and not is_image:
        return None
    if is_model:
        return MessageRecord(key, key, "assistant", said, images=int(is_image))
    if _HOSTS_WORDS.match(said):
        return MessageRecord(key, key, "system", said)
    return MessageRecord(key, key, "user", said, is_prompt=True, images=int(is_image))


def _read_activity(path: str, state: State) -> Iterator[Record]:
    found, chars = list[_Activity](), 0
    for value in read_array(path):
        one = parse_activity(value)
        if one is None:
            state["bad"] = state.get("bad", 0) + (not _is_geminis(value))
            continue
        chars += len(one[1]) + len(one[2])
        if chars > ACTIVITY_CHARS_MAX:
            raise RefusedError("its texts take more than 256 MiB")
        found.append(one)
    if not found:
        raise RefusedError("it has no prompts to Gemini")
    found.sort(key=lambda one: one[0] or 0.0)
    last = float("-inf")
    for number, (said_at, prompt, answer) in enumerate(found):
        at = said_at or 0.0
        key = digest_value([at, prompt])
        if number == 0 or at - last > GAP_S:
            yield SessionRecord(f"activity-{key}", title=one_line(prompt), started_at=said_at)
        last = at
        yield MessageRecord(key, key, "user", prompt, said_at, is_prompt=True)
        if answer:
            yield MessageRecord(f"{key}:answer", f"{key}:answer", "assistant", answer, said_at)


def _is_geminis(value: Mapping[str, Any]) -> bool:
    """Return whether a record is Gemini's: an activity may have others, such as searches."""
    names = [text(value.get("header")), *map(text, listed(value.get("products")))]
    named = [name.lower() for name in names if name]
    return not named or any("gemini" in name or "bard" in name for name in named)


def parse_activity(value: Mapping[str, Any]) -> _Activity | None:
    """Read one record of an activity; None if it is not a prompt. If it is in an unknown language,
    a record with an answer counts."""
    title = text(value.get("title")).strip()
    if not title or not _is_geminis(value) or _NOT_SAID.match(title):
        return None
    answers = (text(one.get("html")) for one in objects(value.get("safeHtmlItem")))
    answer = "\n".join(said for one in answers if (said := strip_html(one)))
    verb = _SAID.match(title)
    if verb is None and not answer:
        return None
    prompt = _ATTACHED.sub("", title[verb.end() if verb else 0 :]).strip()
    return (seconds(value.get("time")), prompt, answer) if prompt else None


def strip_html(page: str) -> str:
    """Return the words of a page, one line for each block."""
    said, at, hidden = list[str](), 0, ""
    page = page[:HTML_CHARS_MAX]
    for tag in _TAG.finditer(page):
        if not hidden:
            said.append(page[at : tag.start()])
        at, name = tag.end(), tag[2].lower()
        if hidden:
            hidden = "" if tag[1] and name == hidden else hidden
        elif name in _HIDDEN and not tag[1]:
            hidden = name
        elif name in _BREAKS:
            said.append("\n")
    said.append("" if hidden else page[at:])
    lines = (" ".join(line.split()) for line in html.unescape("".join(said)).splitlines())
    return "\n".join(line for line in lines if line)


IMPORTER = Importer(
    "gemini", "A saved chat with Gemini", no_roots, never_found, read_file=read_saved
)
