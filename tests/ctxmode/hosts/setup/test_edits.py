"""Edits of other people's files change what they are meant to, and not one other character."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode.hosts.setup import hook_edits, json_edits, toml_edits
from ctxmode.hosts.setup.hook_edits import Owner
from ctxmode.hosts.setup.json_edits import JsonSyntaxError, parse

COMMENTED = """\
// Mine, and dear to me.
{
\t"theme": "dark", // yes
\t/* servers */
\t"mcpServers": {
\t\t"other": {"command": "x", "args": ["//no comment", "/*"]}, // stays
\t},
\t"last": [1, 2,],
}
"""


def test_an_entry_is_added_in_the_files_own_style_and_taken_out_again():
    made = json_edits.put(COMMENTED, ("mcpServers", "ours"), {"command": "c", "args": []})
    added = '\n\t\t"ours": {\n\t\t\t"command": "c",\n\t\t\t"args": []\n\t\t},'
    at = made.index(added)
    assert made[:at] + made[at + len(added) :] == COMMENTED
    assert parse(made).value["mcpServers"]["ours"] == {"command": "c", "args": []}
    assert json_edits.put(made, ("mcpServers", "ours"), {"command": "c", "args": []}) == made
    assert json_edits.drop(made, ("mcpServers", "ours")) == COMMENTED


def test_an_entry_of_ours_that_has_changed_is_replaced_in_place():
    made = json_edits.put(COMMENTED, ("mcpServers", "other"), {"command": "y"})
    assert parse(made).value["mcpServers"] == {"other": {"command": "y"}}
    assert "// stays" in made
    assert made.startswith(COMMENTED[: COMMENTED.index('{"command"')])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{\n}\n", '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("{}", '{"a": {\n  "b": 1\n}}'),
        ('{"x": 1}', '{"x": 1, "a": {\n  "b": 1\n}}'),
        ('{\n    "x": 1\n}\n', '{\n    "x": 1,\n    "a": {\n        "b": 1\n    }\n}\n'),
        ('{\r\n  "x": 1\r\n}\r\n', '{\r\n  "x": 1,\r\n  "a": {\r\n    "b": 1\r\n  }\r\n}\r\n'),
        ("{\n  // empty\n}\n", '{\n  // empty\n  "a": {\n    "b": 1\n  }\n}\n'),
        ('{"a": {}}', '{"a": {"b": 1}}'),
        ('{"a": 7, "a": {"c": 2}}', '{"a": 7, "a": {"c": 2, "b": 1}}'),
    ],
)
def test_what_is_missing_on_the_way_is_made(text, expected):
    made = json_edits.put(text, ("a", "b"), 1)
    assert made == expected
    assert parse(made).value["a"]["b"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1",
        '{"a" 1}',
        "{'a': 1}",
        '{"a": }',
        "nope",
        '{"a": 1} x',
        "[" * 200,
        '{"a": 1 "b": 2}',
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text):
    with pytest.raises(JsonSyntaxError, match="line 1"):
        json_edits.put(text, ("a",), 1)


@pytest.mark.parametrize("text", ["[]", '{"a": []}', '{"a": "x"}', "7"])
def test_what_is_no_object_is_not_made_one(text):
    with pytest.raises(ValueError, match="is not an object"):
        json_edits.put(text, ("a", "b"), 1)


LISTS = '{\n  "hooks": {\n    "Pre": [\n      {"command": "theirs"} // keep\n    ]\n  }\n}\n'
OURS = {"command": "context-mode hook host Pre"}
OWNER = Owner(("context-mode",))


def put_hook(text, owner=OWNER):
    line = f"{' '.join(owner.command)} hook host Pre"
    return hook_edits.put_hook(text, "host", "Pre", {"command": line}, owner)


def test_a_hook_is_added_once_and_taken_out_again():
    made = put_hook(LISTS)
    assert parse(made).value["hooks"]["Pre"] == [{"command": "theirs"}, OURS]
    assert "// keep" in made
    assert put_hook(made) == made
    newer = put_hook(made, Owner(("/new/context-mode",)))
    ours = {"command": "/new/context-mode hook host Pre"}
    assert parse(newer).value["hooks"]["Pre"] == [{"command": "theirs"}, ours]
    assert hook_edits.drop_hooks(made, "host", "Pre", OWNER) == LISTS


def test_what_only_held_ours_goes_with_it():
    made = put_hook("{}")
    assert parse(hook_edits.drop_hooks(made, "host", "Pre", OWNER)).value == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
STYLES = st.sampled_from([None, 1, 2, 4, "\t"])


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4), STYLES, JSON, st.booleans())
def test_any_document_gains_and_loses_just_that(document, style, value, with_comments):
    document.pop("new", None)
    text = json.dumps(document, indent=style)
    if with_comments and style is not None:
        text = re.sub(r"\n", " // c\n", text) + "\n"
    made = json_edits.put(text, ("new",), value)
    assert parse(made).value == document | {"new": value}
    assert parse(json_edits.drop(made, ("new",))).value == document
    for key in document:
        assert parse(json_edits.drop(made, (key,))).value == {
            k: v for k, v in {**document, "new": value}.items() if k != key
        }


TOML = """\
# mine
model = "x"  # good

[mcp_servers.other]
command = "y"

[mcp_servers.other.env]
A = "1"
"""
TABLE = {"command": "context-mode", "args": ["serve"]}
PATH = ("mcp_servers", "context-mode")


def test_a_table_is_added_once_and_taken_out_again():
    made = toml_edits.put_table(TOML, PATH, TABLE)
    assert made.startswith(TOML)
    assert tomllib.loads(made)["mcp_servers"]["context-mode"] == TABLE
    assert toml_edits.put_table(made, PATH, TABLE) == made
    assert toml_edits.drop_table(made, PATH) == TOML


OLD = """\
[mcp_servers.context-mode]
args = [
  "old",  # and longer
]
# mine to know
command = "old"
[mcp_servers.context-mode.env]
B = "2"

# about the next one
"""


def test_an_older_table_of_ours_gets_our_values_and_keeps_what_a_person_added():
    head, _, tail = TOML.partition("[mcp_servers.other]")
    made = toml_edits.put_table(f"{head}{OLD}[mcp_servers.other]{tail}", PATH, TABLE)
    assert tomllib.loads(made)["mcp_servers"]["context-mode"] == TABLE | {"env": {"B": "2"}}
    assert "# about the next one\n[mcp_servers.other]" in made
    assert "# mine to know\n" in made
    assert "old" not in made


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {context-mode = {command = "old"}}\n',
        '[mcp_servers]\ncontext-mode = {command = "old"}\n',
        't = """\n[mcp_servers.context-mode]\ncommand = "o"\n"""\n[mcp_servers.context-mode]\n',
        "broken = [\n",
    ],
)
def test_what_cannot_be_edited_without_harm_is_refused(text):
    with pytest.raises(ValueError, match=r"cannot be edited|Invalid value"):
        toml_edits.put_table(text, PATH, TABLE)


def test_an_empty_file_of_toml_gets_the_table_alone():
    assert toml_edits.put_table("", PATH, TABLE).startswith("[mcp_servers.context-mode]\n")
    assert toml_edits.drop_table(toml_edits.put_table("", PATH, TABLE), PATH) == ""


@pytest.mark.parametrize("text", ["", "# Theirs\n", "# Theirs\n\nmore\n", "a\r\nb\r\n"])
def test_text_between_markers_is_put_replaced_and_taken_out(text):
    made = hook_edits.put(text, "ours\nand more\n")
    assert made.startswith(text.rstrip())
    assert hook_edits.put(made, "ours\nand more\n") == made
    newer = hook_edits.put(made, "newer")
    assert "ours" not in newer
    assert hook_edits.drop(newer) == text
    behind = made + "\ntheirs behind\n"
    assert hook_edits.drop(behind).endswith("theirs behind\n")


def test_a_lone_marker_is_refused():
    with pytest.raises(ValueError, match="one pair"):
        hook_edits.put(f"{hook_edits.BEGIN}\nx\n", "ours")
