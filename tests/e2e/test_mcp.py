"""A real MCP client over a real pipe drives every tool."""

import json
from functools import partial

import pytest
import trio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, ListRootsResult, Root

from ctxmode.mcp.tools import list_offered
from runtimes import LANGUAGES
from tests.ctxmode.web.site import answer, serving
from tests.e2e.conversing import ALL_S_MAX, connected, text


async def test_the_tools_are_listed(place):
    async with connected(place) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert "ctx_execute" in names
    assert names == set(list_offered())


async def test_hooks_know_of_a_server_before_its_first_call(place):
    async with connected(place) as client:
        await client.list_tools()
        (place.project / ".env").write_text("A=1")
        (place.project / ".claude").mkdir(exist_ok=True)
        settings = '{"permissions": {"deny": ["Read(.env)"]}}'
        (place.project / ".claude" / "settings.json").write_text(settings)
        event = {"tool_name": "Bash", "tool_input": {"command": "grep -rn A ."}}
        answer = await hook(place, event | {"cwd": str(place.project)})
        call = answer["permissionDecisionReason"].partition("\nCall: ctx_execute(")[2]
        assert call == 'language="shell", code="grep -rn A .")'


async def hook(place, event):
    command = [*place.command, "hook", "claude-code", "PreToolUse"]
    environment = place.environment
    done = await trio.run_process(
        command, stdin=json.dumps(event).encode(), capture_stdout=True, env=environment
    )
    return json.loads(done.stdout)["hookSpecificOutput"]


async def test_execute_returns_the_output_and_one_line_about_the_run(place):
    async with connected(place) as client:
        result = await client.call_tool("ctx_execute", {"language": "shell", "code": "echo hi"})
    output, footer = text(result).splitlines()
    assert output == "hi"
    assert footer.startswith("[ok, exit 0 in ")
    assert "sandbox " in footer
    assert not result.is_error
    assert result.structured_content["stdout"] == "hi\n"
    assert result.structured_content["exit_code"] == 0


async def test_execute_shows_the_exit_code_and_stderr_of_a_failure(place):
    code = "echo out; echo broken >&2; exit 3"
    async with connected(place) as client:
        result = await client.call_tool("ctx_execute", {"language": "shell", "code": code})
    assert result.is_error
    assert text(result).startswith("out\n[stderr]\nbroken\n[nonzero exit, exit 3 in ")


async def test_no_match_of_grep_is_an_answer_and_not_an_error(place):
    code = "echo 0; exit 1"
    async with connected(place) as client:
        result = await client.call_tool("ctx_execute", {"language": "shell", "code": code})
    assert not result.is_error
    assert "exit 1" in text(result)


async def test_a_timeout_is_in_milliseconds_and_what_was_printed_comes_back(place):
    arguments = {"language": "shell", "code": "echo begun; sleep 60", "timeout": "2500"}
    async with connected(place) as client:
        result = await client.call_tool("ctx_execute", arguments)
    assert result.is_error
    assert text(result).startswith("begun\n[timed out")
    assert result.structured_content["status"] == "timed_out"


async def test_a_large_output_is_pointed_at_and_found(place):
    code = "cat app.log; echo the needle here"
    async with connected(place) as client:
        result = await client.call_tool("ctx_execute", {"language": "shell", "code": code})
        kept = result.structured_content
        assert f"output_id {kept['output_id']}" in text(result)
        assert f"indexed: {kept['bytes_total']} of {kept['bytes_total']}" in text(result)
        assert len(text(result)) < 6000
        search = {"queries": "needle", "source": kept["output_id"]}
        found = await client.call_tool("ctx_search", search)
    (query,) = found.structured_content["queries"]
    assert "the needle here" in query["hits"][0]["text"]
    assert "the needle here" in text(found)


async def test_secrets_are_redacted_in_text_and_data_and_counted(place):
    code = "printf 'password: %s%s\\n' hun ter2; echo done"
    async with connected(place) as client:
        result = await client.call_tool("ctx_execute", {"language": "shell", "code": code})
    assert text(result).startswith("password: [REDACTED:password]\ndone\n")
    assert text(result).endswith("[1 secret redacted: 1 password]")
    assert result.structured_content["stdout"] == "password: [REDACTED:password]\ndone\n"
    assert result.structured_content["redactions"] == {"password": 1}


async def test_an_intent_brings_the_matching_sections_alone(place):
    code = "cat app.log; echo the needle here"
    arguments = {"language": "shell", "code": code, "intent": "needle"}
    async with connected(place) as client:
        result = await client.call_tool("ctx_execute", arguments)
    assert "the needle here" in text(result)
    assert "request 17 ok" not in text(result)
    assert "stdout" not in result.structured_content


async def test_execute_file_binds_the_file(place):
    arguments = {
        "path": "app.log",
        "language": "python",
        "code": "print(FILE_CONTENT.count('ok'), FILE_CONTENT_PATH.endswith('app.log'))",
    }
    async with connected(place) as client:
        result = await client.call_tool("ctx_execute_file", arguments)
    assert text(result).startswith("2000 True\n")


async def test_a_batch_answers_queries_and_shows_every_exit_code(place):
    arguments = {
        "commands": '["echo the answer is 42", {"label": "bad", "command": "exit 7"}]',
        "queries": "answer",
        "concurrency": "2",
    }
    async with connected(place) as client:
        result = await client.call_tool("ctx_batch_execute", arguments)
    data = result.structured_content
    assert [(c["label"], c["exit_code"]) for c in data["commands"]] == [("cmd_1", 0), ("bad", 7)]
    assert "the answer is 42" in data["queries"][0]["hits"][0]["text"]
    assert "exit 7" in text(result)


async def test_a_batch_without_queries_shows_the_outputs(place):
    async with connected(place) as client:
        result = await client.call_tool("ctx_batch_execute", {"commands": ["echo one", "echo two"]})
    assert "# cmd_1\none\n" in text(result)
    assert "# cmd_2\ntwo\n" in text(result)


async def test_content_and_folders_become_searchable(place):
    async with connected(place) as client:
        await client.call_tool("ctx_index", {"content": "remember the milk", "source": "notes"})
        result = await client.call_tool("ctx_index", {"path": "docs"})
        assert result.structured_content["files"] == 1
        found = await client.call_tool("ctx_search", {"queries": ["milk", "retry waits"]})
    states = [query["state"] for query in found.structured_content["queries"]]
    assert states == ["match", "match"]


async def test_doctor_tells_languages_and_isolation(place):
    async with connected(place) as client:
        result = await client.call_tool("ctx_doctor", {})
    assert len(result.structured_content["languages"]) == len(LANGUAGES)
    assert result.structured_content["isolation"]["tier"] in ("A", "B")
    assert "python: " in text(result)


async def test_cancelling_a_call_ends_its_program_and_the_server_lives_on(place):
    async with connected(place) as client:
        slow = {"language": "shell", "code": "sleep 1000", "timeout": 1_000_000}
        with trio.move_on_after(1.0) as scope:
            await client.call_tool("ctx_execute", slow)
        assert scope.cancelled_caught
        # A second call would wait for ever if the first still held what the two share.
        result = await client.call_tool("ctx_execute", {"language": "shell", "code": "echo hi"})
    assert text(result).startswith("hi\n")


async def test_many_calls_at_once_are_all_answered(place):
    answers = {}
    async with connected(place) as client:

        async def call(number):
            arguments = {"language": "shell", "code": f"echo {number}"}
            answers[number] = text(await client.call_tool("ctx_execute", arguments))

        async with trio.open_nursery() as nursery:
            for number in range(12):
                nursery.start_soon(call, number)
    assert all(answers[n].startswith(f"{n}\n") for n in range(12))


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("ctx_execute", {}, "language: is required"),
        ("ctx_search", {"queries": "  "}, "queries"),
    ],
)
async def test_a_call_that_cannot_be_carried_out_says_what_to_do(place, tool, arguments, said):
    async with connected(place) as client:
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        assert said in text(result)
        assert not (
            await client.call_tool("ctx_execute", {"language": "shell", "code": ":"})
        ).is_error


def deny(place, *rules):
    settings = place.project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": {"deny": rules}}))


async def test_a_denied_run_names_the_rule_and_the_file_and_nothing_ran(place):
    deny(place, "Bash(sudo *)")
    code = "echo before; sudo ls"
    async with connected(place) as client:
        result = await client.call_tool("ctx_execute", {"language": "shell", "code": code})
    assert result.is_error
    assert "Bash(sudo *)" in text(result)
    assert ".claude/settings.json:1" in text(result)
    assert "before" not in text(result).replace(code, "")
    assert result.structured_content["status"] == "denied"


async def test_rules_hold_for_indexing_too(place):
    deny(place, "Read(./app.log)")
    async with connected(place) as client:
        result = await client.call_tool("ctx_index", {"path": "app.log"})
    assert result.is_error
    assert "Read(./app.log)" in text(result)


async def test_a_broken_rule_file_fails_every_call_with_its_place_and_opens_nothing(place):
    (place.project / ".claude").mkdir()
    (place.project / ".claude" / "settings.json").write_text('{\n"permissions": oops}')
    async with connected(place) as client:
        for _ in range(2):
            result = await client.call_tool("ctx_execute", {"language": "shell", "code": "echo hi"})
            assert result.is_error
            assert "settings.json:2" in text(result)


async def test_a_picture_that_a_run_hands_back_can_be_looked_at(place):
    draw = """
import os, struct, zlib
def part(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
header = part(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
pixels = part(b"IDAT", zlib.compress(b"\\0\\xff\\0\\0"))
path = os.environ["TMPDIR"] + "/dot.png"
open(path, "wb").write(b"\\x89PNG\\r\\n\\x1a\\n" + header + pixels + part(b"IEND", b""))
print(path)
"""
    arguments = {"language": "python", "code": draw, "artifacts": ["/tmp/*.png"]}
    async with connected(place) as client:
        result = await client.call_tool("ctx_execute", arguments)
    if not result.content[0].text.startswith("/tmp/dot.png"):
        pytest.skip("not applicable: tier B's scratch folder has another name every time")
    _, picture = result.content
    assert (picture.type, picture.mime_type) == ("image", "image/png")
    assert result.structured_content["artifacts"][0]["name"] == "/tmp/dot.png"


async def test_a_call_that_lasts_tells_its_progress_with_the_last_line(place):
    seen = []

    async def note(progress, total, message):
        seen.append((progress, message))

    code = {"language": "shell", "code": "echo first; echo second; sleep 2.5"}
    async with connected(place) as client:
        await client.call_tool("ctx_execute", code, progress_callback=note)
    # Before anything is printed, which takes its time on a busy machine, the time is told.
    assert seen[-1][1] == "second"
    assert [progress for progress, _ in seen] == sorted(progress for progress, _ in seen)


@pytest.mark.filterwarnings("ignore:The roots capability is deprecated")
@pytest.mark.parametrize("given", [True, False])
async def test_the_client_s_root_is_the_project_unless_one_was_given(place, tmp_path, given):
    root = tmp_path / "a root"
    root.mkdir()
    (root / "only-here.txt").write_text("x")

    async def roots(context):
        return ListRootsResult(roots=[Root(uri=root.as_uri())])

    environment = dict(place.environment)
    if not given:
        del environment["CONTEXT_MODE_PROJECT_DIR"]
    command, *arguments = place.command
    server = StdioServerParameters(
        command=command, args=[*arguments, "serve"], env=environment, cwd=place.project
    )
    with trio.fail_after(ALL_S_MAX):
        async with Client(stdio_client(server), list_roots_callback=roots, mode="legacy") as client:
            result = await client.call_tool("ctx_execute", {"language": "shell", "code": "ls"})
    assert ("only-here.txt" in text(result)) is not given
    assert ("app.log" in text(result)) is given


async def test_tools_that_were_not_chosen_are_not_there(place):
    command, *arguments = place.command
    server = StdioServerParameters(
        command=command,
        args=[*arguments, "serve", "--tools", "ctx_search, ctx_index"],
        env=place.environment,
        cwd=place.project,
    )
    with trio.fail_after(ALL_S_MAX):
        async with Client(stdio_client(server)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            with pytest.raises(MCPError, match="Tools: ctx_index, ctx_search") as refused:
                await client.call_tool("ctx_execute", {"language": "shell", "code": "ls"})
    assert sorted(names) == ["ctx_index", "ctx_search"]
    assert refused.value.code == INVALID_PARAMS


def test_a_tool_that_does_not_exist_cannot_be_chosen(place):
    done = place.run("serve", "--tools", "ctx_serach")
    assert done.returncode == 2
    assert b"ctx_search" in done.stderr


async def test_a_file_name_that_is_no_text_comes_back_without_harm(place):
    code = {"language": "python", "code": "open(b'caf\\xe9', 'w').close(); print('made')"}
    async with connected(place) as client:
        result = await client.call_tool("ctx_execute", code)
        again = await client.call_tool("ctx_execute", {"language": "shell", "code": "echo on"})
    assert text(result).startswith("made\n")
    assert text(again).startswith("on\n")


async def test_what_is_kept_is_forgotten_only_when_confirmed(place):
    async with connected(place) as client:
        await client.call_tool("ctx_index", {"content": "remember the milk", "source": "notes"})
        await client.call_tool("ctx_index", {"content": "remember the bread", "source": "other"})
        refused = await client.call_tool("ctx_purge", {"confirm": "false"})
        assert text(refused) == "Purge cancelled. Pass confirm: true to proceed."
        both = {"confirm": True, "sessionId": "x", "scope": "project"}
        assert (await client.call_tool("ctx_purge", both)).is_error
        one = await client.call_tool("ctx_purge", {"confirm": "true", "source": "notes"})
        assert one.structured_content["sources"] == 1
        every = await client.call_tool("ctx_purge", {"confirm": True})
        assert every.structured_content["sources"] == 1
        again = await client.call_tool("ctx_purge", {"confirm": True})
        assert "nothing was deleted" in text(again)


async def test_stats_are_what_was_measured_and_outlive_the_server(place):
    returned = {}
    async with connected(place) as client:
        for tool, arguments in (
            ("ctx_execute", {"language": "shell", "code": "cat app.log"}),
            ("ctx_search", {"queries": ["request 17"]}),
            ("ctx_index", {"path": "docs"}),
        ):
            returned[tool] = len(text(await client.call_tool(tool, arguments)).encode())
    async with connected(place) as client:
        stats = (await client.call_tool("ctx_stats", {})).structured_content
    log_bytes = (place.project / "app.log").stat().st_size
    assert {tool: counts["returned"] for tool, counts in stats["tools"].items()} == returned
    assert stats["tools"]["ctx_execute"]["produced"] == log_bytes
    assert stats["tools"]["ctx_index"]["kept"] == -returned["ctx_index"]
    assert stats["total"]["kept"] == log_bytes - sum(returned.values())


async def test_what_is_kept_ready_is_told_with_its_cost_to_agents_and_at_a_terminal(place):
    async with connected(place) as client:
        for _ in range(4):
            result = await client.call_tool("ctx_execute", {"language": "shell", "code": "true"})
        if result.structured_content["isolation"] != "A":
            pytest.skip("not applicable: cells are made ahead in tier A only")
        stats = await client.call_tool("ctx_stats", {})
        shell = await trio.to_thread.run_sync(partial(place.run, "kept", "stats"))
        shell_json = await trio.to_thread.run_sync(partial(place.run, "kept", "stats", "--json"))
    (kept,) = [one for one in stats.structured_content["prewarmed"] if one["hits"]]
    assert kept["hits"] + kept["misses"] == 4
    assert f"runs (server {kept['instance']})" in text(stats)
    assert f"runs (server {kept['instance']})".encode() in shell.stdout
    told = [one for one in json.loads(shell_json.stdout)["prewarmed"] if one["hits"]]
    assert [(one["instance"], one["label"]) for one in told] == [(kept["instance"], kept["label"])]


async def test_kept_outputs_and_sources_are_resources(place):
    async with connected(place) as client:
        ran = await client.call_tool("ctx_execute", {"language": "shell", "code": "cat app.log"})
        output_id = ran.structured_content["output_id"]
        listed = (await client.list_resources()).resources
        assert [one.name.partition("/")[0] for one in listed] == [output_id]
        templates = (await client.list_resource_templates()).resource_templates
        names = {one.name for one in templates}
        assert names == {"output", "source", "session", "page", "wiki", "raw"}
        whole = (place.project / "app.log").read_text()
        for uri in (listed[0].uri, f"context-mode://output/{output_id}"):
            (content,) = (await client.read_resource(uri)).contents
            assert content.text == whole
        with pytest.raises(MCPError, match="no output"):
            await client.read_resource("context-mode://output/out-nothing")


async def test_pages_are_fetched_judged_and_found(place):
    page = answer(body=b"<h1>Guide</h1><p>A retry waits.", content_type="text/html")
    async with serving({"/": page}) as web:
        url = f"http://127.0.0.1:{web.port}/"
        async with connected(place, CONTEXT_MODE_FETCH_PRIVATE="1") as client:
            several = {"requests": f'["{url}", "{url}none"]', "source": "guide", "concurrency": "2"}
            result = await client.call_tool("ctx_fetch_and_index", several)
            statuses = [page["status"] for page in result.structured_content["pages"]]
            assert (statuses, result.is_error) == (["new", "failed"], False)
            again = await client.call_tool("ctx_fetch_and_index", {"url": url})
            assert again.structured_content["pages"][0]["status"] == "cached"
            found = await client.call_tool("ctx_search", {"queries": "retry", "source": "guide::"})
            assert "A retry waits." in text(found)
            stats = (await client.call_tool("ctx_stats", {})).structured_content
            assert stats["tools"]["ctx_fetch_and_index"]["produced"] == len(
                "# Guide\n\nA retry waits.\n"
            )


async def test_this_machine_and_metadata_are_not_fetched_from(place):
    async with serving({"/": answer()}) as web, connected(place) as client:
        for url in (f"http://127.0.0.1:{web.port}/", "http://169.254.169.254/latest/meta-data/"):
            result = await client.call_tool("ctx_fetch_and_index", {"url": url})
            assert result.is_error
            assert "not allowed to fetch" in text(result)
    assert web.asked == []
