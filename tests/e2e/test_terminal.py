"""The verbs for people, on a real pseudo-terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.terminal import DEADLINE_S, terminal


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "project").mkdir()
    return {
        **os.environ,
        "CONTEXT_MODE_DIR": str(tmp_path / "data"),
        "CONTEXT_MODE_INSTANCE_SHARED": "off",
        "TERM": "xterm",
        "NO_COLOR": "1",
    }


TYPED = (
    "x = 6 * 7\r",
    "x, 'text'\r",
    "def f():\r    return [x]\r\r",
    "f()\r",
    "y\r",
    ".load\r",
)


def test_a_repl_shows_values_as_its_languages_console_does(tmp_path, environment):
    with terminal(tmp_path / "project", environment, "run", "-i", "python") as (screen, process):
        screen.wait_for_prompt("python>", 1)
        for number, typed in enumerate(TYPED, start=2):
            screen.type(typed)
            screen.wait_for_prompt("python>", number)
        screen.becomes("repl-python")
        screen.type("print('begun'); import time; time.sleep(1000)\r")
        screen.becomes("repl-python-running")
        screen.type("\x03")
        screen.becomes("repl-python-interrupted")
        screen.type("x\r")
        screen.becomes("repl-python-goes-on")
        screen.type(".quit\r")
        assert process.wait(DEADLINE_S) == 0


def test_a_repl_keeps_variables_through_blocks_and_interrupts(tmp_path, environment):
    with terminal(tmp_path / "project", environment, "run", "-i", "shell") as (screen, process):
        screen.wait_for("shell>")
        screen.type("word=kept\r")
        screen.wait_for("shell>")
        screen.type("echo it is $word\r")
        screen.wait_for("it is kept", "shell>")
        screen.type("for n in 1 2; do\recho number-$((n + 5))\rdone\r")
        screen.wait_for("number-7", "shell>")
        screen.type("echo be''gun; sleep 1000\r")  # not as it is echoed
        screen.wait_for("begun")
        screen.type("\x03")
        screen.wait_for("interrupted", "shell>")
        screen.type("echo $word still\r")
        screen.wait_for("kept still", "shell>")
        screen.type("\x04")
        assert process.wait(DEADLINE_S) == 0
    history = tmp_path / "data" / "state" / "history" / "shell"
    assert "word=kept" in history.read_text()


@contextmanager
def running(tmp_path: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program under way in another process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ctxmode", "run", "shell", "-c", "echo begun; sleep 1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path / "project",
        env=environment,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def command(tmp_path: Path, environment: dict[str, str], *arguments: str):
    return subprocess.run(
        [sys.executable, "-m", "ctxmode", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path / "project",
        env=environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_top_shows_what_runs_and_a_rows_number_stops_it(tmp_path, environment):
    with running(tmp_path, environment) as program:
        with terminal(tmp_path / "project", environment, "ps", "top", columns=140) as (screen, _):
            screen.becomes("top")
            screen.type("1")
            screen.becomes("top-empty")
            screen.type("q")
        assert program.wait(DEADLINE_S) == 130


PIPELINE = """\
[[step]]
name = "quick"
language = "shell"
code = "echo done"

[[step]]
name = "endless"
language = "shell"
code = "sleep 1000"
needs = ["quick"]

[[step]]
name = "never"
language = "shell"
code = "true"
needs = ["endless"]
"""


def test_a_pipeline_shows_what_is_done_and_what_runs(tmp_path, environment):
    (tmp_path / "project" / "pipeline.toml").write_text(PIPELINE)
    with terminal(tmp_path / "project", environment, "ci", "pipeline.toml") as (screen, process):
        screen.becomes("ci-running")
        screen.type("\x03")
        screen.becomes("ci-interrupted")
        assert process.wait(DEADLINE_S) == 130


def test_indexing_shows_how_far_it_is_and_then_what_came_of_it(tmp_path, environment):
    for number in range(60):
        (tmp_path / "project" / f"{number}.md").write_text(f"# Page {number}\n\nText.\n")
    project, wide = tmp_path / "project", 300
    with terminal(project, environment, "index", ".", columns=wide) as (screen, process):
        screen.wait_for("50 files, ")
        folder = {re.escape(str(project)): "FOLDER", "[0-9.]+ B": "SIZE"}
        screen.becomes("index", folder)
        assert process.wait(DEADLINE_S) == 0


def test_one_large_file_and_forgetting_it_tell_that_they_go_on(tmp_path, environment):
    project = tmp_path / "project"
    (project / "large.log").write_text("request ok\n" * 200_000)
    for arguments, told, done in (
        (("index", "large.log"), "indexing", "Indexed 1 file"),
        (("kept", "rm", "--all", "--yes"), "deleting", "Deleted 1 source with"),
    ):
        with terminal(project, environment, *arguments) as (screen, process):
            screen.wait_for(told, done)
            assert process.wait(DEADLINE_S) == 0


EVIL = "\x1b]0;evil\x07"  # sets a window's title
FAILS = r"""
[[step]]
name = "a"
language = "shell"
code = "printf '\\033]0;evil\\007'; exit 1"
"""
WISH = '[profiles."\\u001b]0;evil\\u0007"]\nnetwork = ["a.example"]\n'
TOLD_OF_OTHERS = {
    "a failed step": ((), ("ci", "evil.toml")),
    "a kept file": (("index", "evil.md"), ("kept", "show", "evil.md")),
    "a verdict": ((), ("policy", "check", f"sudo '{EVIL}'")),
    "an explanation": ((), ("policy", "explain", f"sudo '{EVIL}'")),
    "a project's rule": ((), ("policy", "list")),
    "a project's wish": ((), ("run", "shell", "-c", "true")),
    "a project's setting": ((), ("doctor", "config", "show")),
    "a log": (("run", "shell", "-c", f": '{EVIL}'"), ("policy", "log")),
}


@pytest.mark.parametrize("name", TOLD_OF_OTHERS)
def test_what_others_wrote_is_no_order_to_the_terminal(name, tmp_path, environment):
    before, shown = TOLD_OF_OTHERS[name]
    project = tmp_path / "project"
    (project / "evil.toml").write_text(FAILS)
    (project / "evil.md").write_text(f"# Evil\n\n{EVIL}\n")
    (project / ".claude").mkdir()
    rules = {"permissions": {"ask": ["Bash(sudo *)", f"Bash({EVIL} *)"]}}
    (project / ".claude" / "settings.json").write_text(json.dumps(rules))
    (project / ".ctxmode").mkdir()
    (project / ".ctxmode" / "config.toml").write_text(WISH)
    if before:
        assert command(tmp_path, environment, *before).returncode == 0
    with terminal(project, environment, *shown, columns=200) as (screen, _):
        assert EVIL not in screen.wait_for("1b]0;evil")


@pytest.mark.parametrize("columns", [20, 80])
def test_top_fits_a_narrow_screen(tmp_path, environment, columns):
    with terminal(tmp_path / "project", environment, "ps", "top", columns=columns) as (
        screen,
        process,
    ):
        screen.wait_for("nothing runs")
        screen.type("q")
        assert process.wait(DEADLINE_S) == 0


def test_what_runs_is_listed_as_json_and_stopped_by_its_id(tmp_path, environment):
    with running(tmp_path, environment) as program:
        listed = json.loads(command(tmp_path, environment, "ps", "--json").stdout)
        (one,) = listed["running"]
        assert (one["label"], one["wall_s_max"]) == ("shell: echo begun; sleep 1000", 120)
        assert one["memory_bytes_max"] == 2 * 1024**3
        stopped = command(tmp_path, environment, "ps", "stop", one["id"])
        assert (stopped.returncode, one["id"] in stopped.stdout) == (0, True)
        assert program.wait(DEADLINE_S) == 130
    missing = command(tmp_path, environment, "ps", "top", "--stop", one["id"])
    assert (missing.returncode, "there are none yet" in missing.stderr) == (2, True)


def test_kept_outputs_are_listed_shown_and_compared(tmp_path, environment):
    for last in (3000, 3001):
        command(tmp_path, environment, "run", "shell", "-c", f"seq {last}; echo told >&2")
    listed = json.loads(command(tmp_path, environment, "kept", "outputs", "--json").stdout)
    new, old = (one["id"] for one in listed["outputs"])
    assert command(tmp_path, environment, "kept", "outputs", "show", old).stdout.startswith(
        "1\n2\n3\n"
    )
    compared = command(tmp_path, environment, "kept", "diff", old, new).stdout
    assert "\n+3001\n" in compared
    wrong = command(tmp_path, environment, "kept", "outputs", "show", "out-none")
    assert (wrong.returncode, "List them: context-mode kept outputs" in wrong.stderr) == (2, True)


def test_the_first_run_of_a_language_tells_what_it_waits_for(tmp_path, environment):
    once = ("run", "shell", "-c", "echo do''ne")
    with terminal(tmp_path / "project", environment, *once) as (screen, process):
        screen.wait_for("first use of Shell: trying bash", "done")
        assert process.wait(DEADLINE_S) == 0
    with terminal(tmp_path / "project", environment, *once) as (screen, _):
        assert "first use" not in screen.wait_for("done")


def test_the_first_run_tells_nothing_besides_json(tmp_path, environment):
    command = ("run", "shell", "-c", "echo done", "--json")
    with terminal(tmp_path / "project", environment, *command) as (screen, _):
        assert screen.wait_for('"status": "ok"').startswith("{")


def test_a_batch_tells_how_many_commands_are_done(tmp_path, environment):
    (tmp_path / "project" / "batch.json").write_text('["echo a", "sleep 1"]')
    with terminal(tmp_path / "project", environment, "run", "--batch", "batch.json") as (
        screen,
        process,
    ):
        screen.wait_for("running commands: 1 of 2", "# cmd_2")
        assert process.wait(DEADLINE_S) == 0
