"""A rule that says to ask: the person behind the client, or at the terminal, and nobody else."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess

import pytest
import trio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import ElicitResult

DEADLINE_S = 110


@pytest.fixture
def asking(place):
    """A project in which a rule asks before `id`."""
    (place.project / ".claude").mkdir()
    rules = {"permissions": {"ask": ["Bash(id *)"]}}
    (place.project / ".claude" / "settings.json").write_text(json.dumps(rules))
    return place


async def call(place, answer, tool="ctx_execute", mode="auto", **arguments):
    """One call, by a client whose person gives that answer; and what the person was asked."""
    asked = []

    async def elicit(context, params):
        asked.append(params.message)
        return answer

    command, *words = place.command
    server = StdioServerParameters(
        command=command, args=[*words, "serve"], env=place.environment, cwd=place.project
    )
    callback = {"elicitation_callback": elicit} if answer is not None else {}
    with trio.fail_after(DEADLINE_S):
        async with Client(stdio_client(server), mode=mode, **callback) as client:
            return await client.call_tool(tool, arguments), asked


PROGRAM = {"language": "shell", "code": "id -u > /dev/null; echo ran"}


# As clients of today ask, and as those of revision 2026-07-28 do.
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


@MODES
async def test_it_runs_when_the_person_behind_the_client_says_so(asking, mode):
    answer = ElicitResult(action="accept", content={"allow": True})
    result, asked = await call(asking, answer, mode=mode, **PROGRAM)
    assert result.structured_content["stdout"] == "ran\n"
    (question,) = asked
    assert "Bash(id *)" in question
    assert "id -u" in question


@MODES
@pytest.mark.parametrize(
    "answer",
    [
        ElicitResult(action="accept", content={"allow": False}),
        ElicitResult(action="decline"),
        ElicitResult(action="cancel"),
    ],
    ids=["unticked", "decline", "cancel"],
)
async def test_it_does_not_run_when_that_person_does_not(asking, answer, mode):
    result, asked = await call(asking, answer, mode=mode, **PROGRAM)
    assert len(asked) == 1
    assert result.structured_content["status"] == "denied"
    assert "the user refused" in result.content[0].text


@MODES
@pytest.mark.parametrize("agrees", [True, False], ids=["agrees", "refuses"])
async def test_a_run_in_the_background_is_asked_about_before_it_begins(asking, mode, agrees):
    answer = ElicitResult(action="accept", content={"allow": agrees})
    program = PROGRAM | {"code": "id -u > /dev/null; touch $HOME/ran; sleep 600"}
    result, asked = await call(asking, answer, mode=mode, background=True, **program)
    assert len(asked) == 1
    text = result.content[0].text
    assert ("the user refused" in text) is not agrees, text
    assert ("has ended" in text) is not agrees, text


async def test_a_run_in_the_background_does_not_begin_where_nobody_can_be_asked(asking):
    result, _ = await call(asking, None, background=True, **PROGRAM)
    assert "no terminal or client can ask" in result.content[0].text


async def test_nobody_is_asked_about_a_page_and_the_answer_says_so(place):
    (place.project / ".claude").mkdir()
    rules = {"permissions": {"ask": ["WebFetch(domain:example.com)"]}}
    (place.project / ".claude" / "settings.json").write_text(json.dumps(rules))
    answer = ElicitResult(action="accept", content={"allow": True})
    page = {"url": "https://example.com/page"}
    result, asked = await call(place, answer, "ctx_fetch_and_index", **page)
    assert asked == []
    assert "fetches cannot ask for approval" in result.content[0].text


async def test_it_does_not_run_and_says_why_where_the_client_cannot_ask(asking):
    result, _ = await call(asking, None, **PROGRAM)
    assert result.structured_content["status"] == "denied"
    assert "no terminal or client can ask" in result.content[0].text


async def test_each_command_of_a_batch_is_asked_about(asking):
    answer = ElicitResult(action="accept", content={"allow": True})
    commands = ["echo one", "id -u >/dev/null && echo two"]
    tool = "ctx_batch_execute"
    result, asked = await call(asking, answer, tool, "legacy", commands=commands)
    assert len(asked) == 1
    assert "two" in result.content[0].text


async def test_nothing_runs_twice_to_ask_about_a_later_command_of_a_batch(asking):
    answer = ElicitResult(action="accept", content={"allow": True})
    commands = ["echo one", "id -u >/dev/null && echo two"]
    result, asked = await call(asking, answer, "ctx_batch_execute", commands=commands)
    assert asked == []
    assert "no terminal or client can ask" in result.content[0].text


async def test_a_redirect_names_a_tool_that_the_server_has(place):
    (place.project / ".ctxmode").mkdir()
    (place.project / ".ctxmode" / "policy.toml").write_text(
        '[[rule]]\ndecision = "redirect"\ncommands = ["cat app.log"]\nadvice = "Ask it."\n'
        '[rule.redirect]\ntool = "ctx_execute_file"\narguments = { path = "app.log" }\n'
    )
    program = {"language": "shell", "code": "cat app.log | wc -l"}
    result, _ = await call(place, None, **program)
    assert not result.is_error
    assert result.structured_content["status"] == "redirected"
    assert 'Call: ctx_execute_file(path="app.log")' in result.content[0].text


RUNS = "id -u > /dev/null; echo r''an"


def at_a_terminal(place, answer: bytes, code: str = RUNS) -> tuple[int, bytes]:
    """Run with a terminal for stdin, stdout and stderr; the exit code and all that was shown."""
    ours, theirs = pty.openpty()
    command = [*place.command, "run", "shell", "-c", code]
    running = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=place.project,
        env=place.environment, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while select.select([ours], [], [], DEADLINE_S)[0]:
            try:
                chunk = os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            shown += chunk
            if answer and shown.endswith(b"[y/N] "):
                os.write(ours, answer)
                answer = b""
        return running.wait(DEADLINE_S), shown
    finally:
        os.close(ours)
        running.kill()
        running.wait()


@pytest.mark.parametrize(
    ("answer", "code", "ran"), [(b"y\n", 0, True), (b"\n", 126, False), (b"no\n", 126, False)]
)
def test_who_sits_at_a_terminal_is_asked(asking, answer, code, ran):
    exit_code, shown = at_a_terminal(asking, answer)
    assert (exit_code, b"ran\r\n" in shown) == (code, ran), shown


def test_who_is_asked_is_shown_what_would_run_whatever_it_says_to_the_terminal(asking):
    _, shown = at_a_terminal(asking, b"n\n", "id '\x1b[2K\rls'")
    asked = shown.partition(b"Run it?")[0]
    assert b"\\u001b[2K\\rls" in asked
    assert b"\x1b[2K" not in asked


def test_without_a_terminal_nobody_is_asked_and_nothing_runs(asking):
    done = asking.run("run", "shell", "-c", "id -u", stdin=b"y\n")
    assert done.returncode == 116
    assert b"no terminal or client can ask" in done.stderr


def test_every_verdict_is_in_the_log_with_secrets_masked(asking):
    asking.run("run", "shell", "-c", "id -u")
    asking.run("run", "shell", "-c", "echo --password=hun2ter")
    entries = json.loads(asking.run("policy", "log", "--json").stdout)["entries"]
    told = [(one["decision"], one["excerpt"]) for one in entries]
    assert told == [("ask, refused", "id -u"), ("allow", "echo --password=[REDACTED:password]")]
    assert {one["project"] for one in entries} == {str(asking.project.resolve())}


def test_a_log_that_cannot_be_written_is_told_and_changes_no_verdict(asking):
    asking.run("run", "shell", "-c", "true")
    log = asking.data / "logs" / "audit.jsonl"
    log.unlink()
    log.mkdir()
    for program, code in (("id -u", 116), ("echo ran", 0)):
        done = asking.run("run", "shell", "-c", program)
        assert done.returncode == code
        assert b"cannot write" in done.stderr
