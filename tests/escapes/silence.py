"""Attacks by a project on the server itself: rules and files made to hold it up, odd events."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import trio

from ctxmode.config.files import PROJECT_FILE, read_config_file
from ctxmode.errors import ContextModeError
from ctxmode.hosts.hooks import run as hooks
from executor import Request, open_engine
from policy import Decision, Subject, find_hidden_paths
from policy.claude import Anchors, parse_rule
from policy.decide import evaluate
from policy.model import Rules, RuleSource
from tests.escapes.arena import Arena
from tests.escapes.attack import Attack, Stopped

SECONDS_MAX = 20.0
"""For what takes milliseconds, and by trying every way would take years."""
LONG = "e" * 250
TEXTS = (
    f"Read(**/{'*e' * 30}*x)",
    f"Read({'?*' * 60}x)",
    f"Read(**/{'[a-e]*' * 60}x)",
    f"Bash({'* ' * 60}x)",
)


def _backtrack() -> None:
    re.match("(e*)*" * 3 + "x$", LONG)


async def _rules_take_no_time(arena: Arena) -> None:
    anchors = Anchors(str(arena.home), str(arena.project), str(arena.project))
    started = time.monotonic()
    for text in TEXTS:
        rule, _ = parse_rule(text, Decision.DENY, RuleSource("s", 1), anchors)
        assert rule is not None
        rules = Rules((rule,))
        hidden = find_hidden_paths(rules, [str(arena.project)])
        assert not hidden.covers(f"{arena.project}/{LONG}")
        assert evaluate(Subject("shell", "echo " + "a " * 900), rules).allowed
    (arena.project / LONG).touch()
    (arena.project / ".gitignore").write_text(f"{'*e' * 30}*[x]*y\n" * 200)
    (arena.project / ".claude").mkdir()
    denied = {"permissions": {"deny": list(TEXTS[:3])}}
    (arena.project / ".claude" / "settings.json").write_text(json.dumps(denied))
    result = (await arena.executor.run(Request("shell", "ls | wc -l"))).result
    assert result.ok, result.message
    assert time.monotonic() - started < SECONDS_MAX
    # The control: who tries every way is not through by then.
    naive = multiprocessing.get_context("spawn").Process(target=_backtrack)
    naive.start()
    try:
        await trio.to_thread.run_sync(naive.join, 2.0)
        assert naive.is_alive()
    finally:
        naive.kill()
        naive.join()


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 50 << 20)


IN_PLACE: dict[str, Callable[[Path], object]] = {
    "FIFO": os.mkfifo,
    "folder": Path.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "link out": lambda path: path.symlink_to("/etc/hostname"),
    "50 MiB": _sparse,
    "nested": lambda path: path.write_text("x = " + "[" * 100_000),
    "two meanings": lambda path: path.write_text("x = 1\nx = 2"),
}


async def _files_hold_nobody_up(arena: Arena) -> None:
    path = arena.project / PROJECT_FILE
    path.parent.mkdir()
    for name, make in IN_PLACE.items():
        make(path)
        with trio.fail_after(SECONDS_MAX):
            said = await trio.to_thread.run_sync(
                _reading, path, arena.project, abandon_on_cancel=True
            )
        assert "config.toml" in said, f"{name}: {said}"
        path.rmdir() if path.is_dir() else path.unlink()
    path.write_text("x = 1")  # the control
    assert read_config_file(path, arena.project).data == {"x": 1}
    path.unlink()
    for name in (".gitignore", ".claude/settings.json", ".env", ".git"):
        place = arena.project / name
        place.parent.mkdir(exist_ok=True)
        os.mkfifo(place)
    with trio.fail_after(SECONDS_MAX * 3):
        async with open_engine(
            project=arena.project, state_dir=arena.state_dir, rules=None, home=arena.home,
            settings=arena.settings,
        ) as other:  # fmt: skip
            result = (await other.run(Request("shell", "echo works"))).result
    assert result.stdout.text == "works\n", result.message
    # The control: who opens one of them waits.
    with trio.move_on_after(0.5) as scope:
        await trio.to_thread.run_sync(_open, arena.project / ".env", abandon_on_cancel=True)
    assert scope.cancelled_caught
    os.close(os.open(arena.project / ".env", os.O_RDWR | os.O_NONBLOCK))


def _open(path: Path) -> None:
    os.close(os.open(path, os.O_RDONLY))


def _reading(path: Path, project: Path) -> str:
    try:
        return str(read_config_file(path, project).data)
    except ContextModeError as error:
        return str(error)


ODD = (
    {"cwd": None},
    {"cwd": 7},
    {"cwd": []},
    {"session_id": 10**400, "timeout": -1},
    {"tool_input": {"path": "private", "pattern": "x", "limit": 10**400}},
    {"tool_name": "Grep", "tool_input": {"pattern": "x", "path": "private"}},
    {"tool_name": "Glob", "tool_input": {"pattern": "private/**"}},
    {"tool_name": "Read", "tool_input": {"file_path": "to-private/file"}},
)


async def _odd_events_are_judged(arena: Arena) -> None:
    """A hook's event that lacks a folder, or has absurd numbers, gets the rule's answer."""
    project = arena.project
    for name in (".claude", ".git", "private", "src"):
        (project / name).mkdir()
    (project / "to-private").symlink_to("private")
    rules = {"permissions": {"deny": ["Read(./private/**)"]}}
    (project / ".claude" / "settings.json").write_text(json.dumps(rules))
    environ = {"HOME": str(arena.home), "CLAUDE_PROJECT_DIR": str(project)}
    usual = {
        "hook_event_name": "PreToolUse",
        "cwd": str(project),
        "tool_name": "Read",
        "tool_input": {"file_path": "private/file"},
    }

    def ask(event: dict[str, object]) -> str:
        answer, _ = hooks.respond("claude-code", "PreToolUse", json.dumps(event).encode(), environ)
        return "" if answer is None else answer["hookSpecificOutput"]["permissionDecision"]

    for odd in ({}, *ODD):
        assert ask(usual | odd) == "deny", odd
    allowed = usual | {"tool_input": {"file_path": "src/file"}}  # the control
    assert ask(allowed) == ""


ATTACKS = (
    Attack("X71", "rules, globs and ignore patterns that take for ever to match",
           Stopped("matched in linear time"), scenario=_rules_take_no_time),
    Attack("X72", "FIFOs, devices, links, huge and ambiguous files instead of configuration files",
           Stopped("regular files of the project, bounded; refused in words"),
           scenario=_files_hold_nobody_up),
    Attack("X73", "hooks' events without a folder, with absurd numbers, searches, links",
           Stopped("judged by the rules all the same"), scenario=_odd_events_are_judged),
)  # fmt: skip
