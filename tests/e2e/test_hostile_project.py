"""A project made to silence the server: while tools work on it, a ping is answered."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from tests.e2e.conversing import connected

PING_S_MAX = 1.0
"""Beside what pings take at this moment, while tools work on an ordinary project."""
CALM_FACTOR = 3
PINGS_MIN = 5
CALL_S_MAX = 60.0
LONG = "e" * 250


def settings(project: Path, **lists: list[str]) -> None:
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text(json.dumps({"permissions": lists}))


def many_names(project: Path) -> None:
    for number in range(2_000):
        (project / f"{number}{LONG[:240]}").touch()


def rules_of_paths(project: Path) -> None:
    many_names(project)
    settings(project, deny=[f"Read(**/{'*e' * 30}*[x{n}]*y)" for n in range(20)])


def rules_of_commands(project: Path) -> None:
    settings(project, deny=[f"Bash({'* ' * 500}x{n})" for n in range(500)])


def rules_over_the_bounds(project: Path) -> None:
    settings(project, deny=[f"Read(**/{'*e' * 500}x)"])


def large_rules(project: Path) -> None:
    settings(project, deny=["Bash(x)"], other=[LONG] * 14_000)


def deep_rules(project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text("[" * 4_000_000)


def long_keys(project: Path) -> None:
    (project / ".ctxmode").mkdir()
    (project / ".ctxmode/policy.toml").write_text(".".join(["a"] * 500_000) + " = 1")


def ignore_files(project: Path) -> None:
    many_names(project)
    lines = [f"{'*e' * 30}*[x{n}]*y" for n in range(200)] + ["*a" * 5_000]
    (project / ".gitignore").write_text("\n".join(lines))


def waiting_files(project: Path) -> None:
    for name in (".gitignore", ".claude/settings.local.json", ".env", "docs/x.md"):
        (project / name).parent.mkdir(exist_ok=True)
        os.mkfifo(project / name)


def nested_texts(project: Path) -> None:
    (project / "deep.json").write_text("[" * 3_000_000)
    (project / "deep.md").write_text("> " * 500_000 + "[" * 500_000)
    (project / "deep.py").write_text("(" * 1_000_000)
    (project / "spaces.md").write_text("a" + " " * 2_000_000 + "b")


def links_in_chains(project: Path) -> None:
    (project / "chain").mkdir()
    for number in range(5_000):
        (project / "chain" / str(number)).symlink_to(str(number + 1))
    for name in (".gitignore", ".env", "CLAUDE.md", ".git"):
        (project / name).symlink_to("chain/0")


def links_in_circles(project: Path) -> None:
    (project / "loop").symlink_to("loop")
    (project / ".git").write_text("gitdir: loop/x\n")
    for name in (".gitignore", ".env", "CLAUDE.md"):
        (project / name).symlink_to(name)
    for name in (".vscode", "id_rsa"):
        (project / name).symlink_to("loop/x")


# The SDK calls ping a thing of the past; hosts of today send it.
@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize(
    "make",
    [
        *(rules_of_paths, rules_of_commands, rules_over_the_bounds, large_rules, deep_rules),
        *(long_keys, ignore_files, waiting_files, nested_texts),
        *(links_in_chains, links_in_circles),
    ],
    ids=lambda make: make.__name__,
)
async def test_a_ping_is_answered_while_tools_work_on_it(
    place, make: Callable[[Path], None]
) -> None:
    calm = max(await pings(place))
    make(place.project)
    took = await pings(place)
    assert len(took) >= PINGS_MIN
    print(f"{make.__name__}: {len(took)} pings, slowest {max(took):.3f} s, before {calm:.3f} s")
    assert max(took) < PING_S_MAX + CALM_FACTOR * calm, sorted(took)[-5:]


async def pings(place) -> list[float]:
    """How long pings take, in seconds, while tools work."""
    took: list[float] = []
    answered: list[str] = []
    enough = trio.Event()
    async with connected(place, mode="legacy") as client:

        async def call(tool: str, arguments: dict[str, object]) -> None:
            with trio.move_on_after(CALL_S_MAX):
                await client.call_tool(tool, arguments)
                answered.append(tool)

        async def work() -> None:
            execute = {"language": "shell", "code": "echo " + "a " * 900, "timeout": 20_000}
            await call("ctx_execute", execute)
            await call("ctx_execute", execute)  # the second may find what the first has left
            await call("ctx_execute", execute | {"profile": "build"})
            await call("ctx_index", {"path": "."})
            await enough.wait()  # some calls are refused at once
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            while True:
                started = time.monotonic()
                with trio.CancelScope(shield=True), trio.fail_after(CALL_S_MAX):
                    await client.send_ping()
                took.append(time.monotonic() - started)
                if len(took) >= PINGS_MIN:
                    enough.set()
                await trio.sleep(0.01)
    assert answered == [*("ctx_execute",) * 3, "ctx_index"]
    return took
