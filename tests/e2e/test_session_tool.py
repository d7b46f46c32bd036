"""Sessions of agents, as an MCP client gets them: after a compaction, as resources, over HTTP."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp.types import Implementation

from tests.ctxmode.mcp.session_desk import Transcript
from tests.e2e import serving
from tests.e2e.conversing import connected, text
from tests.e2e.serving import OTHER, served
from tests.e2e.test_mcp_fuzz import HELLO, line, until_answered

ID = "5e1f0000-0000-4000-8000-000000000001"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
CLAUDE = Implementation(name="claude-code", version="2.1.330")
ECHO = {"language": "shell", "code": "echo the needle"}


@pytest.fixture
def transcript(place):
    """A session of Claude Code's that was read; what is written to it later was not."""
    written = Transcript(place.home, place.project, ID)
    written.say(f"Mend the parser. Never touch {SECRET}.")
    written.answer("It is mended.")
    assert place.run("sessions", "track").returncode == 0
    return written


def claude(place):
    """Claude Code's own client of a server."""
    command, *arguments = place.command
    server = StdioServerParameters(
        command=command, args=[*arguments, "serve"], env=place.environment, cwd=place.project
    )
    return Client(stdio_client(server), client_info=CLAUDE)


def list_facts(place):
    return json.loads(place.run("memory", "list", "--json").stdout)["facts"]


def find_call(answer, mark):
    """The arguments of the call that an answer names."""
    return json.JSONDecoder().raw_decode(answer.rpartition(f"{mark}: ctx_session ")[2])[0]


async def test_r5_a_compacted_session_is_given_back_up_to_now_without_secrets(place, transcript):
    assert SECRET in transcript.path.read_text()
    transcript.add("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    transcript.say("Write the manual, too.")
    async with claude(place) as client:
        snapshot = await client.call_tool("ctx_session", {})
        resume = await client.call_tool("ctx_session", {"about": "resume", "id": ID[:8]})
    assert not snapshot.is_error
    assert len(text(snapshot).encode()) <= 2048
    assert "Mend the parser. Never touch [REDACTED:" in text(snapshot)
    assert "Last request: Write the manual, too." in text(snapshot)
    assert "user: Write the manual, too." in text(resume)
    assert SECRET not in text(snapshot) + text(resume)


async def test_r7_a_client_without_a_transcript_finds_its_own_calls(place):
    async with connected(place) as client:
        await client.call_tool("ctx_execute", ECHO)
        first = await client.call_tool("ctx_session", {})
        again = await client.call_tool("ctx_session", {"about": "resume"})
    assert "echo the needle" in text(first)
    assert first.structured_content["sessions"][0]["id"].startswith("mcp:")
    assert again.structured_content["sessions"] == first.structured_content["sessions"]
    async with connected(place) as client:  # after the host was started anew
        assert "echo the needle" in text(await client.call_tool("ctx_session", {}))


@pytest.mark.parametrize("ended_by", ["stdin", signal.SIGTERM])
def test_a_call_is_kept_though_its_server_ends_right_after_the_answer(place, ended_by):
    server = subprocess.Popen(
        [*place.command, "serve"], cwd=place.project, env=place.environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    search = {"queries": "needle"}
    server.stdin.write(line(1, "initialize", **HELLO))
    server.stdin.write(line(2, "tools/call", name="ctx_search", arguments=search))
    server.stdin.flush()
    until_answered(server.stdout, 2)
    if ended_by != "stdin":
        server.send_signal(ended_by)
    server.communicate(timeout=60)
    (session,) = json.loads(place.run("sessions", "list", "--json").stdout)["sessions"]
    assert (session["agent"], session["tool_calls"]) == ("test", 1)
    assert (session["status"], session["end_reason"]) == ("completed", "the server ended")


async def test_each_of_two_servers_gives_the_session_of_its_own_client(place):
    async with connected(place) as ada, connected(place) as bob:
        for client, word in ((ada, "needle"), (bob, "thimble")):
            await client.call_tool("ctx_execute", {"language": "shell", "code": f"echo {word}"})
            await client.call_tool("ctx_session", {})
        for client, own, other in ((ada, "needle", "thimble"), (bob, "thimble", "needle")):
            told = text(await client.call_tool("ctx_session", {}))
            assert f"echo {own}" in told
            assert f"echo {other}" not in told


async def test_r11_messages_are_resources_in_order(place, transcript):
    async with connected(place) as client:
        listed = (await client.list_resources()).resources
        (uri,) = (str(one.uri) for one in listed if "/session/" in str(one.uri))
        whole = (await client.read_resource(uri)).contents[0].text
        second = (await client.read_resource(f"{uri}?start=2&end=2")).contents[0].text
        with pytest.raises(MCPError, match=rf"no session 'nothing'\n.*{ID}\. List"):
            await client.read_resource("context-mode://session/nothing")
    assert uri == f"context-mode://session/claude_code:{ID}"
    first, answer = whole.splitlines()[:2]
    assert first.startswith("[1.0] user: Mend the parser. Never touch [REDACTED:")
    assert answer == second == "[2.0] assistant: It is mended."


async def test_r14_a_completed_session_is_summarised_by_the_calls_that_are_named(place, transcript):
    place.run("sessions", "complete", ID)
    async with connected(place) as client:
        queue = text(await client.call_tool("ctx_session", {"about": "queue"}))
        digest = text(await client.call_tool("ctx_session", find_call(queue, "Next")))
        keep = find_call(digest, "Store its summary") | {"text": "The parser is mended."}
        done = await client.call_tool("ctx_session", keep)
        left = await client.call_tool("ctx_session", {"about": "queue"})
    assert not done.is_error
    assert text(left) == "No session awaits a summary."
    shown = json.loads(place.run("sessions", "list", "--json").stdout)["sessions"][0]
    assert (shown["summary"], shown["status"]) == ("The parser is mended.", "archived")


async def test_x14_a_summary_over_the_protocol_makes_facts_that_are_recalled(place, transcript):
    summary = {
        "summary": "The parser is mended.",
        "decisions": ["Keep the grammar."],
        "learnings": [f"The cache is cold at first, {SECRET}"],
    }
    given = {"about": "summarize", "id": ID, "text": json.dumps(summary)}
    async with claude(place) as client:
        assert not (await client.call_tool("ctx_session", given)).is_error
        recalled = await client.call_tool("ctx_memory", {"action": "recall", "text": "cold cache"})
        listed = list_facts(place)
        again = await client.call_tool("ctx_session", given | {"text": "It is mended."})
        refused = await client.call_tool("ctx_session", given | {"text": "{}"})
        left = await client.call_tool("ctx_memory", {"action": "list"})
    assert "> The cache is cold at first, [REDACTED:" in text(recalled)
    own = f"claude_code:{ID}"
    facts = {one["path"]: one for one in listed}
    learnt = [path for path in facts if path.startswith(f"/memory/learnings/{own}/")]
    assert sorted(facts) == [*learnt, f"/sessions/{own}/decisions", f"/sessions/{own}/summary"]
    assert len(learnt) == 1
    assert {(one["agent"], one["session"]) for one in facts.values()} == {("claude_code", own)}
    assert SECRET not in json.dumps(listed)
    assert (again.is_error, refused.is_error) == (False, True)
    assert [(one["path"], one["text"]) for one in list_facts(place)] == [
        (f"/sessions/{own}/summary", "It is mended.")
    ]
    assert "> It is mended." in text(left)


async def test_where_sessions_are_off_the_answer_says_who_and_how(place, transcript):
    async with connected(place, CONTEXT_MODE_TRANSCRIPTS_EVENTS="0") as client:
        refused = await client.call_tool("ctx_session", {})
    assert refused.is_error
    assert "CONTEXT_MODE_TRANSCRIPTS_EVENTS turns recording off" in text(refused)
    assert "The user can turn it on" in text(refused)


async def test_over_http_each_project_has_its_own_sessions(place, transcript, tmp_path):
    other = tmp_path / "second"
    other.mkdir()
    async with served(place, "--also", other) as server:
        url = server.url.replace("/mcp", "/second/mcp")
        async with serving.connected(server.url) as here, serving.connected(url) as there:
            given = {"id": ID, "about": "resume"}
            found = await here.call_tool("ctx_session", given)
            missing = await there.call_tool("ctx_session", given)
            with pytest.raises(MCPError):
                await there.read_resource(f"context-mode://session/{ID}")
    assert "It is mended." in text(found)
    assert missing.is_error
    assert "no session" in text(missing)
    assert "mended" not in text(missing)


async def test_over_http_a_token_holder_sees_their_own_calls_in_every_conversation(place):
    async with served(place) as server:
        async with serving.connected(server.url) as ada:
            await ada.call_tool("ctx_execute", ECHO)
            first = await ada.call_tool("ctx_session", {})
        async with serving.connected(server.url) as ada:
            again = await ada.call_tool("ctx_session", {})
        (session,) = first.structured_content["sessions"]
        async with serving.connected(server.url, OTHER) as bob:
            stolen = await bob.call_tool("ctx_session", {"id": session["id"]})
            nothing = await bob.call_tool("ctx_session", {})
            with pytest.raises(MCPError):
                await bob.read_resource(f"context-mode://session/{session['id']}")
    assert "echo the needle" in text(first)
    assert text(again) == text(first)
    for refused in (stolen, nothing):
        assert refused.is_error
        assert "needle" not in text(refused)
