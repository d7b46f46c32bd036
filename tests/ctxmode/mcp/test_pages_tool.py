"""`ctx_pages` and the resources of pages: what an agent writes, pushes, and reads."""

from __future__ import annotations

from typing import Any

import pytest

from ctxmode.errors import UsageError
from ctxmode.mcp import resources
from ctxmode.mcp.resources import content_of
from ctxmode.mcp.tool import CallContext
from ctxmode.mcp.tools import load
from ctxmode.operations.library import open_library
from ctxmode.operations.page_buffer import open_buffers
from ctxmode.operations.pages import open_pages
from executor.project.store.run_drafts import RunDrafts
from tests.ctxmode.mcp.session_desk import Desk
from tests.ctxmode.mcp.test_memory_tool import Asker

TOOL = load("ctx_pages")

TEXT = "# Retries\n\n## Why\n\nA second of pause suffices.\n"
PAGE = {"action": "write", "slug": "retries", "type": "concept", "text": TEXT}
SOURCE = {"action": "write", "slug": "why", "type": "source", "text": "## Decision\n\nPause.\n"}


@pytest.fixture
def desk(config, monkeypatch):
    for name in ("CONTEXO_CAPTURE_DISABLE", "CONTEXO_DISTILL_DISABLE", "CONTEXO_DRIFT_DISABLE"):
        monkeypatch.delenv(name, raising=False)
    with open_library(config) as library:
        yield Desk(library)


@pytest.fixture
def begun(desk):
    with open_pages(desk.config, author="Ann <ann@example.com>") as pages:
        pages.init()
    return desk


async def ask(desk, **given):
    arguments = TOOL.arguments.validate(given)
    context: Any = CallContext(desk, Asker())  # type: ignore[arg-type]
    return await TOOL.call(context, arguments)


async def test_where_pages_are_not_begun_that_is_said(desk):
    with pytest.raises(UsageError, match="not set up") as told:
        await ask(desk, action="list")
    assert "context-mode pages init" in told.value.hint


async def test_c12_a_page_is_written_and_pushed_with_its_agent(begun):
    written = (await ask(begun, **PAGE, fields={"tags": ["http"]})).data
    assert (written["slug"], written["is_new"]) == ("retries", True)
    pushed = await ask(begun, action="push", message="Retries")
    assert not pushed.is_error
    (commit,) = (await ask(begun, action="history", slug="retries")).data["commits"]
    assert (commit["sha"], commit["agent"]) == (pushed.data["commit"], "claude_code")
    assert "A second of pause" in (await ask(begun, action="read", slug="retries")).text
    assert (await ask(begun, action="list", tag="http")).data["pages"][0]["slug"] == "retries"


async def test_c6_c7_c8_a_push_is_paused_until_its_session_is_distilled(begun):
    open_buffers(begun.config).append("s1", user="Retry?", assistant="After a second.")
    await ask(begun, **PAGE)
    paused = await ask(begun, action="push")
    assert paused.text.startswith("<PUSH_PAUSED reason=distill_required>")
    assert "After a second." in paused.text
    assert not paused.is_error
    assert (await ask(begun, action="status")).data["head"] == ""
    with pytest.raises(UsageError):
        await ask(begun, action="push", distill_done=True, source_slug="missing")
    await ask(begun, **SOURCE)
    done = await ask(begun, action="push", distill_done=True, source_slug="why")
    assert {page["slug"] for page in done.data["pages"]} == {"retries", "why"}
    assert "- why" in (await ask(begun, action="read", slug="retries")).text
    assert (await ask(begun, action="status")).data["buffers"] == []


async def test_c9_a_source_without_a_text_gets_the_template(begun):
    open_buffers(begun.config).append("s1", user="Retry?", assistant="After a second.")
    told = (await ask(begun, action="write", type="source")).text
    assert "<CAPTURE_TEMPLATE" in told
    assert "After a second." in told


async def test_c13_a_draft_that_is_behind_is_merged_and_told_of(begun):
    await ask(begun, **PAGE)
    await ask(begun, action="push")
    project, path = begun.config.project, ".contexo/wiki/concepts/retries.md"
    older = (project / path).read_text()
    (project / path).write_text(older.replace("A second", "Two seconds"))
    await ask(begun, action="push")
    (project / path).write_text(older.replace("A second", "Three seconds"))
    told = resources.read_page(begun.config, "ctx://wiki/retries")
    assert told.startswith("<DRIFT_NOTICE")
    refused = await ask(begun, action="push")
    assert refused.text.startswith("<MERGE_REQUIRED")
    assert "Two seconds" in refused.text
    assert "Three seconds" in refused.text


async def test_fields_may_come_as_text_and_names_that_are_unknown_are_refused(begun):
    await ask(begun, **PAGE, fields='{"tags": ["http"]}')
    assert (await ask(begun, action="list", tag="http")).data["pages"]
    for wrong in ({"fields": "[1]"}, {"fields": "no json"}, {"branch": "x"}, {"type": "poem"}):
        with pytest.raises(UsageError):
            TOOL.arguments.validate({"action": "list"} | wrong)
    assert getattr(TOOL.arguments.validate({"action": "diff", "from": "a1"}), "from") == "a1"


@pytest.mark.parametrize(
    "given",
    [
        {"action": "read"},
        {"action": "read", "slug": "../x"},
        {"action": "read", "slug": "x\0"},
        {"action": "read", "slug": "\ud800"},
        {"action": "write", "slug": "x", "type": "concept"},
        {"action": "write", "slug": "x", "type": "concept", "text": "a", "fields": {"tags": {}}},
        {"action": "write", "slug": "x", "type": "concept", "text": "a" * (2 << 20)},
        {"action": "history", "slug": "x", "limit": -1},
        {"action": "push", "slug": "nothing"},
        {"action": "diff", "slug": "nothing", "from": "zzz"},
    ],
    ids=repr,
)
async def test_bad_input_is_a_usage_error(begun, given):
    with pytest.raises(UsageError):
        await ask(begun, **given)
    assert (await ask(begun, action="list")).data["pages"] == []


async def test_pages_are_resources_by_our_addresses_and_contexos(begun):
    await ask(begun, **PAGE)
    await ask(begun, **SOURCE)
    await ask(begun, action="push", no_distill=True)
    for uri, text in (
        ("context-mode://page/retries", "A second of pause"),
        ("context-mode://page/concept/retries", "A second of pause"),
        ("ctx://wiki/retries", "A second of pause"),
        ("ctx://raw/why", "## Decision"),
        ("ctx://index", "retries"),
        ("ctx://tags", ""),
    ):
        content = content_of(begun.library, uri)
        assert (content["uri"], content["mimeType"]) == (uri, "text/markdown")
        assert text in content["text"]
    listed = {row["uri"] for row in resources.list_pages(begun.config)}
    assert {"ctx://index", "context-mode://page/concept/retries"} <= listed


@pytest.mark.parametrize(
    "uri",
    [
        "ctx://",
        "ctx://index/x",
        "ctx://wiki/",
        "ctx://wiki/nothing",
        "ctx://wiki/..%2f..%2fx",
        "ctx://raw/retries",
        "ctx://search?q=x",
        "context-mode://page/",
        "context-mode://page/%00",
    ],
)
async def test_what_is_no_page_is_refused(begun, uri):
    with pytest.raises(UsageError):
        content_of(begun.library, uri)


def test_nothing_is_listed_where_pages_are_not_begun(desk):
    assert resources.list_pages(desk.config) == []
    with pytest.raises(UsageError, match="not set up"):
        content_of(desk.library, "ctx://index")


async def test_a_draft_that_was_never_pushed_is_replaced_with_force_alone(begun):
    await ask(begun, **PAGE)
    other = {**PAGE, "text": "# Other\n"}
    with pytest.raises(UsageError, match="never pushed") as told:
        await ask(begun, **other)
    assert '"force": true' in told.value.hint
    assert "A second of pause" in (await ask(begun, action="read", slug="retries")).text
    assert not (await ask(begun, **other, force=True)).is_error
    assert "# Other" in (await ask(begun, action="read", slug="retries")).text


async def test_a_draft_that_a_run_wrote_is_pushed_only_if_that_is_said(begun):
    await ask(begun, **PAGE)
    draft = begun.config.project / ".contexo/wiki/concepts/retries.md"
    RunDrafts(begun.config.state_dir / "changes").remember({str(draft): "unknown"})
    left = await ask(begun, action="push")
    assert (left.data["commit"], left.data["reason"]) == ("", "from_run")
    assert '"from_run": true' in left.text
    assert (await ask(begun, action="push", from_run=True)).data["commit"]
    (commit,) = (await ask(begun, action="history", slug="retries")).data["commits"]
    assert commit["author"].endswith(" and a run")
