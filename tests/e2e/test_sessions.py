"""Sessions and runs in the background, as an MCP client uses them."""

import subprocess

import trio

from tests.processes import unique_s, until_alive

from .test_mcp import connected, text
from .test_mcp_fuzz import HELLO, line, until_answered


async def test_a_session_keeps_variables_files_and_sees_edits(place):
    async with connected(place) as client:

        async def call(language, code, **more):
            arguments = {"language": language, "code": code, "session": "work"} | more
            return await client.call_tool("ctx_execute", arguments)

        first = await call("python", "rows = open('app.log').read().splitlines()")
        assert first.structured_content["session"] == "started"
        assert "session started" in text(first)
        second = await call("python", "print(len(rows))")
        assert text(second).startswith("2000\n")
        assert "session continued" in text(second)
        (place.project / "app.log").write_text("edited\n")
        assert text(await call("shell", "cat app.log")).startswith("edited\n")
        fresh = await call("python", "print('rows' in globals())", fresh="true")
        assert text(fresh).startswith("False\n")


async def test_a_program_in_the_background_is_read_waited_for_and_stopped(place):
    async with connected(place) as client:

        async def look(**arguments):
            return await client.call_tool("ctx_background", arguments)

        async def start(code):
            arguments = {"language": "shell", "code": code, "background": True}
            return await client.call_tool("ctx_execute", arguments)

        assert text(await look()) == "No background runs."
        started = await start("echo begun; sleep 1000")
        handle = started.structured_content["handle"]
        assert f'ctx_background(handle="{handle}")' in text(started)
        while not text(await look(handle=handle)).startswith("begun\n"):  # noqa: ASYNC110
            await trio.sleep(0.05)
        assert f"{handle}: running" in text(await look())
        stopped = await look(handle=handle, stop=True)
        assert text(stopped).startswith("begun\n[cancelled")
        quick = (await start("echo the needle")).structured_content["handle"]
        ended = await look(handle=quick, wait=20_000)
        assert text(ended).startswith("the needle\n[ok, exit 0")
        search = {"queries": "needle", "source": ended.structured_content["output_id"]}
        assert "the needle" in text(await client.call_tool("ctx_search", search))
        unknown = await look(handle="bg-nothing")
        assert unknown.is_error
        assert quick in text(unknown)


async def test_a_server_that_ends_takes_its_background_along(place):
    async with connected(place) as client:
        mark = unique_s()
        arguments = {"language": "shell", "code": f"sleep {mark}; true", "background": True}
        await client.call_tool("ctx_execute", arguments)
        await until_alive(f"sleep\0{mark}\0", 1)
    await until_alive(f"sleep\0{mark}\0", 0)


def test_a_server_that_ends_with_a_session_open_ends_in_good_order(place):
    server = subprocess.Popen(
        [*place.command, "serve"], cwd=place.project, env=place.environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    call = {"language": "shell", "code": "touch /tmp/x", "session": "mine"}
    server.stdin.write(line(1, "initialize", **HELLO))
    server.stdin.write(line(2, "tools/call", name="ctx_execute", arguments=call))
    server.stdin.flush()
    assert until_answered(server.stdout, 2)[-1]["result"]["structuredContent"]["session"]
    _, said = server.communicate(timeout=60)
    assert (server.returncode, said) == (0, b"")
    assert list((place.data / "state" / "spool").iterdir()) == []
