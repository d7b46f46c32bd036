"""What tools of this kind are known to get wrong, in one conversation each, as an agent has it."""

import re

import pytest
from mcp.types import CallToolResult

from tests.e2e.conversing import connected, text


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
        shell("echo begun; sleep 60", timeout=300),
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
            "commands": ["sleep 60", "echo ran"], "queries": ["ran"], "timeout": 500,
            "concurrency": 2,
        }),
        lambda r: data(r)["commands"][0]["status"] == "timed_out" and "timed out" in text(r),
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
    "an unknown tool ends in a protocol error": (
        ("ctx_upgrade", {}),
        lambda r: r.is_error and "ctx_execute" in text(r),
    ),
    "a misspelt argument is dropped in silence": (
        shell("true", timeuot=5),
        lambda r: r.is_error and "timeout" in text(r),
    ),
}  # fmt: skip


async def test_none_of_the_known_defects_is_here(place):
    (place.home / ".secret").write_text("hidden")
    (place.project / "latin.txt").write_bytes(b"caf\xe9\n")
    wrong = {}
    async with connected(place, API_KEY="hidden") as client:
        for name, ((tool, arguments), holds) in ANSWERS.items():
            result = await client.call_tool(tool, arguments)
            if not holds(result):
                wrong[name] = (text(result), data(result))
    assert wrong == {}
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
    "code",
    [
        "(sudo ls)", "bash -c 'sudo ls'", "if true; then sudo ls; fi", "X=1 sudo ls", "env sudo ls",
        "\\sudo ls", "/usr/bin/sudo ls", "sudo  ls", "su''do ls", "rm -fr x", "rm -r -f x",
    ],
)  # fmt: skip
def test_rules_are_not_bypassed_by_another_spelling(place, code):
    (place.project / ".claude").mkdir()
    rules = '{"permissions": {"deny": ["Bash(sudo *)", "Bash(rm -rf *)"]}}'
    (place.project / ".claude" / "settings.json").write_text(rules)
    done = place.run("run", "shell", "-c", code)
    assert b"denied" in done.stderr
    assert done.returncode != 0
