"""What tools of this kind are known to get wrong, in one conversation each, as an agent has it."""

import re

import pytest
import trio
from mcp.types import CallToolResult

from tests.e2e.conversing import connected, text
from tests.processes import unique_s, until_alive


def shell(code, **more):
    return "ctx_execute", {"language": "shell", "code": code, **more}


def data(result: CallToolResult):
    return result.structured_content


# Each row: what used to go wrong, the call, and what must be true of its answer.
ANSWERS = {
    "stderr is dropped when the program succeeds": (
        shell("echo out; echo warning >&2"),
        lambda r: "warning" in text(r) and not r.is_error,
    ),
    "death by a signal is reported as exit code 1": (
        shell("kill -SEGV $$"),
        lambda r: data(r)["signal"] == 11 and data(r)["exit_code"] is None and r.is_error,
    ),
    "exit codes of all but 0 and 1 are flattened": (
        shell("exit 77"),
        lambda r: data(r)["exit_code"] == 77 and "exit 77" in text(r),
    ),
    "a timeout with output is reported as success": (
        shell("echo begun; sleep 60", timeout=3000),
        lambda r: r.is_error and data(r)["status"] == "timed_out" and text(r).startswith("begun"),
    ),
    "a call that names no limits has none": (
        shell("ulimit -t"),
        lambda r: 0 < int(text(r).split()[0]) < 1000,
    ),
    "background without a timeout waits for the end": (
        shell("sleep 30", background=True),
        lambda r: data(r)["running"] and data(r)["wall_s"] < 30,
    ),
    "the code is echoed, so it is paid for twice": (
        shell("true # a-remark-that-only-the-code-has"),
        lambda r: "a-remark" not in text(r),
    ),
    "the home folder and its secrets are in sight": (
        shell('cat "$HOME/.secret" ../home/.secret'),
        lambda r: "hidden" not in text(r) and r.is_error,
    ),
    "secrets beside the code are in sight": (
        ("ctx_execute", {
            "language": "python",
            "code": "try: print(open('.env').read())\nexcept OSError: print('closed')",
        }),
        lambda r: "hidden" not in text(r),
    ),
    "a file outside can be named through a link": (
        ("ctx_execute_file", {
            "path": "way-out", "language": "shell", "code": "cat \"$FILE_CONTENT_PATH\"",
        }),
        lambda r: r.is_error and "outside" not in text(r).replace("outside the project", ""),
    ),
    "the network is open": (
        ("ctx_execute", {
            "language": "python",
            "code": "import socket\ntry: socket.create_connection(('192.0.2.1', 80), 5)\n"
            "except TimeoutError: print('open')\nexcept OSError: print('closed')",
        }),
        lambda r: text(r).startswith("closed"),
    ),
    "secrets in the environment are inherited": (
        shell("env"),
        lambda r: "API_KEY" not in text(r),
    ),
    "a run writes into the project and outside": (
        shell("echo x > app.log; echo x > ../outside.txt; cat ../outside.txt"),
        lambda r: "changed app.log" in text(r) or data(r)["changed_files"],
    ),
    "only text in UTF-8 can be a file's content": (
        ("ctx_execute_file", {
            "path": "latin.txt", "language": "python",
            "code": "print(len(open(FILE_CONTENT_PATH, 'rb').read()))",
        }),
        lambda r: text(r).startswith("5\n"),
    ),
    "a batch shows no exit codes": (
        ("ctx_batch_execute", {"commands": ["exit 3", "true"], "queries": ["nothing"]}),
        lambda r: [c["exit_code"] for c in data(r)["commands"]] == [3, 0] and "exit 3" in text(r),
    ),
    "a timeout in a batch is invisible": (
        ("ctx_batch_execute", {
            "commands": ["sleep 60", "echo ran"], "queries": ["ran"], "timeout": 3000,
            "concurrency": 2,
        }),
        lambda r: data(r)["commands"][0]["status"] == "timed_out" and "timed out" in text(r),
    ),
    "a later command is left out when the time is up, and nothing says so": (
        ("ctx_batch_execute", {
            "commands": ["sleep 60", "echo ran"], "timeout": 3000, "concurrency": 1,
        }),
        lambda r: data(r)["commands"][0]["status"] == "timed_out"
        and data(r)["commands"][1]["skipped"] and "skipped" in text(r),
    ),
    "a batch demands queries although it need not": (
        ("ctx_batch_execute", {"commands": ["echo alone"]}),
        lambda r: "alone" in text(r) and not r.is_error,
    ),
    "output of middling size is neither searchable nor whole": (
        shell("seq 3000"),
        lambda r: data(r)["output_id"] and len(text(r)) < 6000,
    ),
    "an empty store is an error": (
        ("ctx_search", {"queries": ["zebra"]}),
        lambda r: not r.is_error,
    ),
    "purging without confirmation is carried out or unclear": (
        ("ctx_purge", {"confirm": False}),
        lambda r: "confirm" in text(r),
    ),
    "what is to be purged is ambiguous and purged all the same": (
        ("ctx_purge", {"confirm": True, "scope": "project", "sessionId": "one"}),
        lambda r: r.is_error and "exclude each other" in text(r),
    ),
    "a page that was fetched from inside is kept": (
        ("ctx_fetch_and_index", {"url": "http://169.254.169.254/latest/meta-data/"}),
        lambda r: r.is_error and "not allowed to fetch" in text(r),
    ),
    "a language counts as available because its launcher is there": (
        ("ctx_doctor", {}),
        lambda r: all(
            one["version"] and one["start_ms"]
            for one in data(r)["languages"].values() if one["runnable"]
        ),
    ),
    "a misspelt argument is dropped in silence": (
        shell("true", timeuot=5),
        lambda r: r.is_error and "timeout" in text(r),
    ),
}  # fmt: skip


async def test_none_of_the_known_defects_is_here(place):
    (place.home / ".secret").write_text("hidden")
    (place.project / ".env").write_text("KEY=hidden")
    (place.project / "way-out").symlink_to("../outside.txt")
    (place.project / "latin.txt").write_bytes(b"caf\xe9\n")
    (folder := place.project.parent / "tmp").mkdir()
    wrong = {}
    async with connected(place, API_KEY="hidden", TMPDIR=str(folder)) as client:
        for name, ((tool, arguments), holds) in ANSWERS.items():
            result = await client.call_tool(tool, arguments)
            if not holds(result):
                wrong[name] = (text(result), data(result))
    assert wrong == {}
    assert list(folder.iterdir()) == []  # folders of runs used to be left behind
    assert (place.project.parent / "outside.txt").read_text() == "outside\n"
    assert (place.project / "app.log").stat().st_size > 1000


async def test_a_search_gives_as_many_passages_as_were_asked_for_and_never_blocks(place):
    for number in range(8):
        (place.project / f"page{number}.md").write_text(f"# Page {number}\n\nA walrus, {number}.\n")
    async with connected(place) as client:
        await client.call_tool("ctx_index", {"path": "."})
        for _ in range(12):
            result = await client.call_tool("ctx_search", {"queries": ["walrus"], "limit": 6})
            (query,) = data(result)["queries"]
            assert len(query["hits"]) == 6


async def test_prompts_are_none_for_hosts_that_ask_without_looking(place):
    async with connected(place) as client:
        assert (await client.list_prompts()).prompts == []


async def test_content_under_one_label_is_not_overwritten(place):
    async with connected(place) as client:
        for word in ("tapir", "quokka"):
            content = {"content": f"# Seen\n\nA {word}.\n", "source": "notes"}
            await client.call_tool("ctx_index", content)
        found = await client.call_tool("ctx_search", {"queries": ["quokka"]})
        assert "A quokka." in text(found)
        sources = place.run("kept", "ls", "--all", "--json").stdout
        assert sources.count(b'"notes"') == 2


async def test_a_cancelled_call_ends_all_that_it_started(place):
    mark = unique_s()
    async with connected(place) as client:
        async with trio.open_nursery() as nursery:
            program = shell(f"(setsid sleep {mark} &); sleep {mark}")
            nursery.start_soon(client.call_tool, *program)
            await until_alive(f"sleep\0{mark}\0", 2)
            nursery.cancel_scope.cancel()
        result = await client.call_tool(*shell("echo on"))
        assert text(result).startswith("on\n")
        await until_alive(mark, 0)


async def test_a_later_run_of_one_command_does_not_hide_the_earlier_one(place):
    ids = []
    async with connected(place) as client:
        for word in ("tapir", "quokka"):
            result = await client.call_tool(*shell(f"seq 3000; echo a {word} passed"))
            ids.append(data(result)["output_id"])
        for word, output in zip(("tapir", "quokka"), ids, strict=True):
            found = await client.call_tool("ctx_search", {"queries": [word], "source": output})
            assert f"a {word} passed" in text(found)


async def test_what_was_indexed_from_a_folder_below_is_found_from_the_root(place):
    place.run("index", "docs")
    assert b"A retry waits" in place.run("search", "retry").stdout


def test_an_unknown_verb_starts_no_server(place):
    done = place.run("serach", "x")
    assert done.returncode == 2
    assert b"search" in done.stderr


def test_the_version_is_told(place):
    assert re.fullmatch(rb"context-mode \d+\.\d+\.\d+\n", place.run("--version").stdout)


@pytest.mark.parametrize(
    ("language", "code"),
    [
        *[("shell", code) for code in (
        "(sudo ls)", "bash -c 'sudo ls'", "if true; then sudo ls; fi", "X=1 sudo ls", "env sudo ls",
        "\\sudo ls", "/usr/bin/sudo ls", "sudo  ls", "su''do ls", "rm -fr x", "rm -r -f x",
        )],
        ("python", "import os; c = 'sudo'; os.system(c + ' ls')"),
        ("python", "import os; print(os.popen('sudo ls').read())"),
        ("perl", "system('sudo ls');"),
        ("ruby", "puts `sudo ls`"),
    ],
)  # fmt: skip
def test_rules_are_not_bypassed_by_another_spelling(place, language, code):
    (place.project / ".claude").mkdir()
    rules = '{"permissions": {"deny": ["Bash(sudo *)", "Bash(rm -rf *)"]}}'
    (place.project / ".claude" / "settings.json").write_text(rules)
    done = place.run("run", language, "-c", code)
    assert b"denied" in done.stderr
    assert done.returncode != 0


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ('{"ask": ["Bash(git push *)"]}', "git push origin main"),
        ('{"deny": ["Read(./private/**)"]}', "cat private/plan.txt"),
    ],
)
def test_rules_that_ask_or_close_files_hold_for_runs_too(place, rules, code):
    (place.project / "private").mkdir()
    (place.project / "private" / "plan.txt").write_text("hidden")
    (place.project / ".claude").mkdir()
    (place.project / ".claude" / "settings.json").write_text(f'{{"permissions": {rules}}}')
    done = place.run("run", "shell", "-c", code)
    assert b"denied" in done.stderr
    assert b"hidden" not in done.stdout


def test_a_files_rules_hold_for_code_that_opens_it_itself(place):
    (place.project / "private").mkdir()
    (place.project / "private" / "plan.txt").write_text("hidden")
    (place.project / ".claude").mkdir()
    rules = '{"permissions": {"deny": ["Read(./private/**)"]}}'
    (place.project / ".claude" / "settings.json").write_text(rules)
    code = "import os; print(open(os.path.join('priv' + 'ate', 'plan.txt')).read())"
    assert b"hidden" not in place.run("run", "python", "-c", code).stdout
