"""`ctx_pack`: files for a task, and the map, as an agent asks for them; ContextOS's names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxmode.errors import ContextModeError, UsageError
from ctxmode.mcp import names, server, tools
from ctxmode.mcp.tool import CallContext
from ctxmode.mcp.tools import list_offered, load
from ctxmode.operations.library import open_library
from ctxmode.operations.tasks import keep_task
from tests.ctxmode.mcp.session_desk import Desk
from tests.ctxmode.mcp.test_memory_tool import Asker
from tests.repomap.repositories import APP, write_files

TOOL = load("ctx_pack")


@pytest.fixture
def desk(config):
    write_files(config.project, APP)
    with open_library(config) as library:
        yield Desk(library)


async def ask(desk, **given):
    arguments = TOOL.arguments.validate(given)
    context: Any = CallContext(desk, Asker())  # type: ignore[arg-type]
    return await TOOL.call(context, arguments)


async def test_o14_an_agent_gets_the_files_of_a_task_within_its_budget(desk):
    found = await ask(desk, task="apply_discount of the cart", budget=1000)
    assert "## src/app/cart.py (whole)" in found.text
    assert found.data["used_tokens"] <= 1000
    assert found.data["files"][0] == "src/app/cart.py"
    assert found.produced == len(found.text.encode())


async def test_without_a_task_it_is_the_one_that_is_kept(desk):
    keep_task(desk.config, "send_letter")
    whole = json.loads((await ask(desk, format="json")).text)
    assert (whole["task"], whole["selected"][0]["rel_path"]) == ("send_letter", "src/app/mail.py")


@pytest.mark.parametrize(
    ("given", "has", "has_not"),
    [
        ({"view": "map"}, "# Map of a project", "self.total"),
        ({"view": "signatures", "task": "cart"}, "def apply_discount(self, percent)", "self.total"),
        ({"task": "cart", "paths": "src/app/cart.py"}, "self.total", "find_price(name):"),
        ({"task": "cart", "paths": ["tests/"]}, "tests/test_cart.py", "src/app/cart.py"),
        ({"task": "cart", "tests": False}, "cart.py", "test_cart"),
    ],
)
async def test_what_is_asked_for_is_given(desk, given, has, has_not):
    found = await ask(desk, **given)
    assert has in found.text
    assert has_not not in found.text


async def test_what_cannot_be_is_an_error_that_says_what_to_do(desk):
    with pytest.raises(UsageError, match="invalid budget of 7 tokens"):
        await ask(desk, budget=7)
    with pytest.raises(ContextModeError, match="no git repository found"):
        await ask(desk, since="nothing")


CONTEXTOS = names.replace_tools(list_offered(), ["contextos"])
CALLS = {
    "scan_repo": {"budget": 2000},
    "pack_context": {"task": "cart", "budget": 2000, "paths": ["src"], "tests": False},
    "list_files": {"paths": ["src"]},
    "get_file": {"path": "src/app/cart.py"},
    "get_summary": {"path": "src/app/cart.py"},
}


def test_o14_contextos_names_stand_in_the_place_of_our_tool():
    assert "ctx_pack" not in CONTEXTOS
    assert set(CALLS) == set(CONTEXTOS) - set(list_offered())


@pytest.mark.parametrize("name", CALLS)
async def test_o14_a_call_by_one_of_them_is_answered(desk, name):
    (row,) = server.list_tools([name], "")["tools"]
    assert set(CALLS[name]) <= set(row["inputSchema"]["properties"])
    known = names.BY_NAME[name]
    assert tools.load(known.tool) is TOOL
    found = await ask(desk, **known.translate(CALLS[name]))
    assert "cart.py" in found.text
    whole = "self.total += find_price(name) * count"
    assert (whole in found.text) is (name in ("get_file", "pack_context"))
