"""Names of other systems' tools, listed for ours and understood."""

import json

import pytest

from ctxmode.commands.serve import _choose_tools
from ctxmode.errors import UsageError
from ctxmode.mcp import names, server, tools
from ctxmode.mcp.tools import list_offered

CTXONE = names.replace_tools(list_offered(), ["ctxone"])
CALLS = {
    "remember": {"fact": "Deploys need staging.", "importance": "high", "context": "ops",
                 "tags": ["ops"], "ref": "main"},
    "recall": {"topic": "deploy", "budget": 300, "ref": "main"},
    "search": {"query": "deploy", "ref": "main"},
    "prime": {"source": "RULES", "sections": [{"title": "A", "body": "One."}]},
    "forget": {"path": "/memory/a/b", "reason": "over", "ref": "main"},
    "ls": {"prefix": "/memory", "ref": "main"},
    "context": {"project": "web", "ref": "main"},
    "get": {"path": "/memory/a/b", "ref": "main"},
    "log": {"ref": "main"},
    "blame": {"path": "/memory/a/b", "ref": "main"},
    "why_did_we": {"decision": "use staging"},
    "branches": {},
    "branch": {"name": "try", "from": "main"},
    "diff": {"ref_a": "main", "ref_b": "try"},
    "merge": {"source": "try", "target": "main"},
    "summarize_session": {"session_id": "s1", "key_points": ["All is done."], "decisions": ["No."]},
}  # fmt: skip


def test_the_names_stand_in_the_place_of_our_tool():
    assert "ctx_memory" not in CTXONE
    assert [name for name in list_offered() if name != "ctx_memory"] == [
        name for name in CTXONE if name.startswith("ctx_")
    ]
    assert list_offered() == names.replace_tools(list_offered(), [])


def test_every_name_is_listed_with_arguments_of_its_own():
    rows = {row["name"]: row for row in server.list_tools(CTXONE, "")["tools"]}
    assert set(CALLS) == {name for name in rows if not name.startswith("ctx_")}
    for name, call in CALLS.items():
        assert set(call) <= set(rows[name]["inputSchema"]["properties"]), name
        assert "action" not in rows[name]["inputSchema"]["properties"]


@pytest.mark.parametrize("name", CALLS)
def test_a_call_by_a_known_name_is_a_valid_call_of_ours(name):
    known = names.BY_NAME[name]
    valid = tools.load(known.tool).arguments.validate(known.translate(CALLS[name]))
    assert valid.action == known.given["action"]


@pytest.mark.parametrize(
    ("name", "given", "own"),
    [
        ("summarize_session", CALLS["summarize_session"], {
            "scope": "session", "category": "checkpoint", "key": "/sessions/s1/summary",
            "text": "- All is done.\n\nDecisions:\n- No.",
        }),
        ("summarize_session", {"summary": "Done."}, {
            "scope": "session", "category": "checkpoint", "text": "Done.",
        }),
        ("summarize_session", {"key_points": [1]}, {
            "scope": "session", "category": "checkpoint", "text": [1],
        }),
        ("prime", CALLS["prime"] | {"pinned": True}, {"key": "RULES", "text": "# A\n\nOne."}),
        ("prime", {"sections": [{"title": "A"}]}, {"text": [{"title": "A"}]}),
        ("prime", {"sections": 7}, {"text": 7}),
        ("context", {"project": "web"}, {"key": "/memory/projects/web"}),
        ("why_did_we", {"decision": "use staging"}, {"text": "use staging"}),
        ("diff", {"ref_a": "main", "ref_b": "try"}, {"branch": "main", "id": "try"}),
        ("log", {"limit": 5}, {}),
    ],
)  # fmt: skip
def test_x14_what_a_name_is_given_becomes_what_ours_takes(name, given, own):
    known = names.BY_NAME[name]
    assert known.translate(given) == own | {"action": known.given["action"]}


def test_a_name_cannot_be_made_to_do_something_else():
    told = names.BY_NAME["get"].translate({"action": "forget", "path": "x"})
    assert told == {"action": "show", "id": "x"}


def test_each_row_is_of_a_tool_and_a_system_that_there_are():
    for one in names.NAMES:
        assert one.tool in tools.NAMES
        assert one.system in names.SYSTEMS
    assert len(names.BY_NAME) == len(names.NAMES)
    assert not set(names.BY_NAME) & set(tools.NAMES)


def test_serve_takes_the_names_beside_chosen_tools(config):
    assert tuple(_choose_tools("ctx_search,ctx_memory", config, ["ctxone"]))[:2] == (
        "ctx_search",
        "remember",
    )
    with pytest.raises(UsageError, match="ctxtwo"):
        _choose_tools(None, config, ["ctxtwo"])


def test_what_is_listed_is_plain_json():
    assert json.loads(json.dumps(server.list_tools(CTXONE, "")))


CONTEXO = names.replace_tools(list_offered(pages=True), ["contexo"])
CONTEXO_CALLS = {
    "ctx_write_page": {
        "slug": "retries", "type": "concept", "body": "## Why", "tags": ["http"],
        "related": [], "sources": ["s1"], "reasoning_summary": "So.", "agent": "claude",
    },
    "ctx_push": {"feature": "http", "message": "Retries", "distill_done": True,
                 "source_slug": "s1", "no_distill": False, "type": "concept"},
    "ctx_pull": {"full": True},
    "ctx_status": {},
    "ctx_history": {"slug": "retries", "limit": 5},
    "ctx_diff": {"slug": "retries", "from": "a1", "to": "b2", "type": "concept", "blame": True},
    "ctx_evolution": {"slug": "retries", "blame": False},
    "ctx_capture_session": {},
}  # fmt: skip
NOT_LISTED = {"full", "blame"}


def test_c19_contexos_names_stand_in_the_place_of_our_tool():
    assert "ctx_pages" not in CONTEXO
    assert set(CONTEXO_CALLS) == set(CONTEXO) - set(list_offered())
    assert names.replace_tools(list_offered(), ["contexo"]) == list_offered()


@pytest.mark.parametrize("name", CONTEXO_CALLS)
def test_c19_a_call_by_one_of_them_is_a_valid_call_of_ours(name):
    known = names.BY_NAME[name]
    (row,) = server.list_tools([name], "")["tools"]
    listed = set(row["inputSchema"]["properties"])
    assert set(CONTEXO_CALLS[name]) <= listed | NOT_LISTED
    assert "action" not in listed
    valid = tools.load("ctx_pages").arguments.validate(known.translate(CONTEXO_CALLS[name]))
    assert valid.action == known.given["action"]


def test_c19_fields_of_a_page_go_where_ours_has_them():
    own = names.BY_NAME["ctx_write_page"].translate(CONTEXO_CALLS["ctx_write_page"])
    assert own["text"] == "## Why"
    assert own["fields"]["tags"] == ["http"]
    assert own["fields"]["reasoning_summary"] == "So."
    assert names.BY_NAME["ctx_push"].translate({"feature": "http"})["tag"] == "http"
    assert names.BY_NAME["ctx_capture_session"].translate({}) == {
        "action": "write",
        "type": "source",
    }


def test_pages_are_listed_where_they_are_begun(config):
    assert "ctx_pages" not in _choose_tools(None, config)
    assert "ctx_pages" in _choose_tools("ctx_pages", config)
    (config.project / ".contexo").mkdir()
    assert "ctx_pages" in _choose_tools(None, config)
    assert "ctx_push" in _choose_tools(None, config, ["contexo"])


def test_pages_of_a_further_project_are_listed_too(config, tmp_path):
    (tmp_path / "other" / ".contexo").mkdir(parents=True)
    assert "ctx_pages" in _choose_tools(None, config, (), [tmp_path / "other"])
