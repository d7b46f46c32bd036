"""ChatGPT's export: trees of messages, large files, and archives that mean harm (R13)."""

from __future__ import annotations

import json
import struct
import zipfile

import pytest

from memory.sessions.importers import archive
from memory.sessions.importers.chatgpt import IMPORTER, parse_conversation
from memory.sessions.importers.whole_json import RefusedError
from memory.sessions.records import CutRecord, MessageRecord, SessionRecord


def node(name, parent, role="user", said=None, *, kind="text", recipient="all", **more):
    content = {"content_type": kind, "parts": [said if said is not None else name]}
    message = {
        "id": f"m-{name}",
        "author": {"role": role, "name": more.pop("tool", None)},
        "create_time": 1_700_000_000.5,
        "content": more.pop("content", content),
        "recipient": recipient,
        "metadata": more,
    }
    return {"id": name, "parent": parent, "children": [], "message": message}


def conversation(*nodes, current=None, **more):
    mapping = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    for one in nodes:
        mapping[one["id"]] = one
        mapping.get(one["parent"], {}).setdefault("children", []).append(one["id"])
    return {
        "conversation_id": "c-1",
        "title": "A chat",
        "create_time": 1_700_000_000.0,
        "update_time": 1_700_000_100.0,
        "mapping": mapping,
        "current_node": nodes[-1]["id"] if current is None else current,
        **more,
    }


CODE = {"content_type": "code", "language": "python", "text": "print(1)"}
ERROR = {"content_type": "system_error", "text": "no such tool"}
CHAT = (
    node("a", "root", "system", ""),
    node("b", "a", said="How many?"),
    node("c", "b", "assistant", content={"content_type": "thoughts",
         "thoughts": [{"summary": "s", "content": "I think."}]}),
    node("d", "c", "assistant", recipient="python", content=CODE, model_slug="gpt-5"),
    node("e", "d", "tool", tool="python",
         content={"content_type": "execution_output", "text": "1"}),
    node("f", "e", "assistant", recipient="web.run", said='{"q": "x"}'),
    node("g", "f", "tool", tool="web", content=ERROR),
    node("h", "g", "assistant", "One.", model_slug="gpt-5"),
)  # fmt: skip


def messages(value):
    return [one for one in parse_conversation(value) if isinstance(one, MessageRecord)]


def test_r13_a_conversation_is_read_with_its_calls():
    found = messages(conversation(*CHAT))
    assert [(one.role, one.tool, one.text) for one in found] == [
        ("user", "", "How many?"),
        ("assistant", "", ""),
        ("tool_call", "python", ""),
        ("tool_result", "python", "1"),
        ("tool_call", "web.run", ""),
        ("tool_result", "web", "no such tool"),
        ("assistant", "", "One."),
    ]
    assert [one.is_prompt for one in found] == [True, *[False] * 6]
    assert found[1].thinking_bytes
    assert (found[2].params, found[4].params) == ({"input": "print(1)"}, {"q": "x"})
    assert [one.failed for one in found if one.role == "tool_result"] == [False, True]
    assert [one.call_id for one in found[2:6]] == ["m-d", "m-d", "m-f", "m-f"]
    assert found[-1].model == "gpt-5"
    session = next(parse_conversation(conversation(*CHAT)))
    assert (session.id, session.title, session.started_at) == ("c-1", "A chat", 1_700_000_000.0)


def test_only_the_branch_of_the_current_node_is_read_and_the_other_taken_back():
    left = node("x", "root", said="first wording")
    tail = node("y", "x", "assistant", "first answer")
    value = conversation(left, tail, *CHAT)
    assert "first wording" not in [one.text for one in messages(value)]
    cuts = [one for one in parse_conversation(value) if isinstance(one, CutRecord)]
    assert cuts == ["m-x"]
    older = messages(conversation(left, tail, *CHAT, current="y"))
    assert [one.text for one in older] == ["first wording", "first answer"]


@pytest.mark.parametrize("current", ["", "gone", 7, None])
def test_without_a_current_node_the_last_leaf_is_it(current):
    value = conversation(*CHAT)
    value["current_node"] = current
    assert messages(value)[-1].text == "One."


def test_pictures_are_counted_and_hidden_messages_are_no_prompts():
    picture = {
        "content_type": "multimodal_text",
        "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file://x"}, "Look."],
    }
    hidden = node("h", "p", said="be kind", is_visually_hidden_from_conversation=True)
    found = messages(conversation(node("p", "root", content=picture), hidden))
    assert (found[0].images, found[0].text, found[0].is_prompt) == (1, "Look.", True)
    assert (found[1].role, found[1].is_prompt) == ("system", False)


def test_a_tree_that_runs_in_a_circle_ends():
    value = conversation(*CHAT)
    value["mapping"]["b"]["parent"] = "h"
    value["mapping"]["h"]["children"] = ["b"]
    assert messages(value)
    value["current_node"] = ""
    assert messages(value) is not None


HOSTILE = [None, 1, "x", [], {}, [None], {"a": {}}, "\ud800", float("nan"), 10**30, True]


@pytest.mark.parametrize("name", ["mapping", "current_node", "title", "create_time", "id"])
@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_fields_of_any_type_are_read_or_passed_over(name, value):
    list(parse_conversation(conversation(*CHAT) | {name: value}))


@pytest.mark.parametrize("name", ["author", "content", "metadata", "recipient", "create_time"])
@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_messages_of_any_form_are_read_or_passed_over(name, value):
    one = node("a", "root")
    one["message"][name] = value
    list(parse_conversation(conversation(one)))


def read(path):
    state: dict = {}
    return list(IMPORTER.read_file(str(path), state)), state.get("bad", 0)


def test_what_is_malformed_is_counted_and_the_next_read(tmp_path):
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"mapping": 1}, conversation(*CHAT), {}]))
    records, bad = read(path)
    assert len([one for one in records if isinstance(one, SessionRecord)]) == 1
    assert bad == 2


def pack(path, names=("conversations.json",), **options):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, **options) as file:
        for name in names:
            file.writestr(name, json.dumps([conversation(*CHAT)]))
    return path


@pytest.mark.parametrize(
    "names",
    [
        ["conversations.json", "chat.html", "user.json"],
        ["export/conversations.json"],
        ["conversations-000.json", "conversations-001.json"],
    ],
)
def test_r13_an_archive_is_read_where_it_is(tmp_path, names):
    records, _ = read(pack(tmp_path / "export.zip", names))
    parts = sum("conversations" in name for name in names)
    assert len([one for one in records if isinstance(one, SessionRecord)]) == parts
    assert [one.name for one in tmp_path.iterdir()] == ["export.zip"]


def bomb(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("conversations.json", b"[" + b" " * (64 << 20))


def damage(path):
    pack(path)
    data = bytearray(path.read_bytes())
    at = data.find(b"conversations.json") + 18
    data[at : at + 20] = b"\xff" * 20
    path.write_bytes(data)


def encrypt(path):
    pack(path)
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.find(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)


def claim(path, size):
    """Make the archive say that its member has another size."""
    pack(path)
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.find(b"PK\x01\x02") + 24, size)
    path.write_bytes(data)


REFUSED = {
    "a bomb": (bomb, "may be a zip bomb"),
    "a name above": (lambda path: pack(path, ["../conversations.json"]), "path outside"),
    "an absolute name": (lambda path: pack(path, ["/conversations.json"]), "path outside"),
    "another drive": (lambda path: pack(path, ["C:\\conversations.json"]), "path outside"),
    "no conversations": (lambda path: pack(path, ["chat.html"]), "has no conversations.json"),
    "damage": (damage, "damaged"),
    "encryption": (encrypt, "encrypted"),
    "an absurd size": (lambda path: claim(path, 0xFFFFFFF0), "may be a zip bomb"),
    "torn": (lambda path: path.write_bytes(pack(path).read_bytes()[:-40]), "damaged"),
    "only a mark": (lambda path: path.write_bytes(b"PK\x03\x04"), "damaged"),
    "many names": (
        lambda path: pack(path, [f"{n}" for n in range(20)]),
        "more than 10 members",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_archive_that_means_harm_is_refused_in_words(tmp_path, name, monkeypatch):
    monkeypatch.setattr(archive, "MEMBERS_MAX", 10)
    make, said = REFUSED[name]
    path = tmp_path / "export.zip"
    make(path)
    with pytest.raises(RefusedError, match=said):
        read(path)


def test_a_table_of_contents_that_is_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = pack(tmp_path / "export.zip")
    monkeypatch.setattr(archive, "DIRECTORY_BYTES_MAX", 10)
    with pytest.raises(RefusedError, match="table of contents"):
        read(path)
