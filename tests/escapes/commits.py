"""Attacks on when and how changes are committed: ends, kills, sessions, a person's decision."""

# ruff: noqa: E501 - programs keep their lines

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import trio

from executor import Limits, Request, Result, Status
from executor.model import MIB
from executor.project.rules.names import NAMES
from executor.project.store.store import ChangeStore
from tests.escapes.arena import Arena
from tests.escapes.attack import Attack, Stopped, python, shell
from tests.escapes.server import CHECKOUT, server_program
from tests.processes import DEADLINE_S

STEPS_MAX = 200
KILLED_AFTER = (0, 3, 6, 9, 12, 15, 18, 21)

# Every end has left processes that go on, as far as nobody ends them.
LASTING = """
def go_on():
    os.setsid()
    for path in ("late", ".envrc", "sub/late"):
        for _ in range(1000):
            open(path, "w").write("late")
            time.sleep(0.01)
os.makedirs("sub", exist_ok=True)
open("early", "w").write("early"); open(".envrc", "w").write("evil")
child(go_on)
"""


def _entries(project: Path) -> set[str]:
    return {path.name for path in project.iterdir()}


async def _is_still(project: Path) -> None:
    """Nothing changes any more: the late ones wrote every few milliseconds."""
    seen = [(path.name, path.stat().st_mtime_ns) for path in sorted(project.iterdir())]
    await trio.sleep(0.2)
    assert [(p.name, p.stat().st_mtime_ns) for p in sorted(project.iterdir())] == seen


ENDS = {
    "exit": ("", Limits(wall_s=20), Status.OK),
    "a signal": ("os.kill(os.getpid(), 9)", Limits(wall_s=20), Status.SIGNALLED),
    "the time limit": ("time.sleep(600)", Limits(wall_s=2), Status.TIMED_OUT),
    "the limit of processor time": ("while True: pass", Limits(wall_s=20, cpu_s=1), Status.CPU_LIMIT),
    "the limit of output": ("while True: print('x' * 9999)", Limits(wall_s=20, output_bytes=MIB), Status.OUTPUT_LIMIT),
}  # fmt: skip


async def _nothing_is_written_after_the_end(arena: Arena) -> None:
    for name, (code, limits, status) in ENDS.items():
        subprocess.run(["find", str(arena.project), "-mindepth", "1", "-delete"], check=True)
        result = await arena.run(python(LASTING + code), profile="build", limits=limits)
        assert result.status is status, f"{name}: {result.status} {result.message}"
        assert ".envrc" in {left.path for left in result.not_committed}, name
        assert _entries(arena.project) >= {"early"}, name  # what was told is what came
        assert ".envrc" not in _entries(arena.project), name
        await _is_still(arena.project)
    await _a_cancelled_run_leaves_nothing(arena)
    # The control: without a sandbox the same goes on.
    (arena.project / "early").unlink(missing_ok=True)
    await arena.outside(python(f"os.chdir('@project@')\n{LASTING}"))
    assert ".envrc" in _entries(arena.project)


async def _a_cancelled_run_leaves_nothing(arena: Arena) -> None:
    subprocess.run(["find", str(arena.project), "-mindepth", "1", "-delete"], check=True)
    text = python(f"{LASTING}\nprint('written', flush=True); time.sleep(600)").text
    seen = trio.Event()

    def look(stream: str, data: bytes) -> None:
        if b"written" in data:
            seen.set()

    async with trio.open_nursery() as nursery:

        async def run() -> None:
            request = Request("python", text, profile="build", limits=Limits(wall_s=60))
            await arena.executor.run(request, on_output=look)

        nursery.start_soon(run)
        with trio.fail_after(DEADLINE_S):
            await seen.wait()
        nursery.cancel_scope.cancel()
    assert _entries(arena.project) == set()
    await _is_still(arena.project)


KILLED = """
from executor.project.apply import staging as steps
at = 0
def step():
    global at
    at += 1
    if at > {after}:
        os.kill(os.getpid(), 9)
steps.step = step
"""
CHANGING = "for n in 1 2 3 4 5 6; do echo new > f$n; mkdir d$n; echo new > d$n/f; done; rm -r old; echo evil > .envrc"


async def _a_killed_server_leaves_all_or_nothing(arena: Arena) -> None:
    """The server dies at a step of a commit; the next one's start sees to what it left."""
    outcomes = set()
    for after in KILLED_AFTER:
        subprocess.run(["find", str(arena.project), "-mindepth", "1", "-delete"], check=True)
        (arena.project / "old").mkdir()
        (arena.project / "old" / "f").write_text("old\n")
        before = _tree(arena.project)
        body = f'await executor.run(Request("shell", {CHANGING!r}, profile="build"))'
        died = await _server(arena, KILLED.format(after=after), body)
        assert died == -9, f"a commit has fewer than {after} steps"
        assert await _server(arena, "", "pass") == 0
        now = _tree(arena.project)
        assert now in (before, COMPLETE), now
        outcomes.add(now == before)
        assert not list((arena.state_dir / "changes" / "journals").rglob("*.*"))
    assert outcomes == {True, False}  # the control: it died before, and after, all was prepared


COMPLETE = {f"f{n}": "new\n" for n in range(1, 7)} | {f"d{n}/f": "new\n" for n in range(1, 7)}


def _tree(project: Path) -> dict[str, str]:
    return {str(p.relative_to(project)): p.read_text() for p in project.rglob("*") if p.is_file()}


async def _server(arena: Arena, before: str, body: str) -> int:
    def start() -> int:
        return subprocess.run(
            [sys.executable, "-P", "-c", server_program(arena, before, body)],
            cwd=CHECKOUT, env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
            stdin=subprocess.DEVNULL, timeout=60, check=False,
        ).returncode  # fmt: skip

    return await trio.to_thread.run_sync(start)


async def _call(arena: Arena, code: str, language: str = "python") -> Result:
    request = Request(language, code, session="attack", profile="build")
    result = (await arena.executor.run(request)).result
    assert result.ok, f"{result.message} {result.stderr.text}"
    return result


BACKGROUND = """
import mmap, os, subprocess, threading, time
with open("mapped", "wb") as file:
    file.write(b"0" * 4096)
mapped = mmap.mmap(os.open("mapped", os.O_RDWR), 4096)
opened = open("opened", "w", buffering=1)
def go_on():
    for number in range(10**9):
        mapped[:20] = b"%020d" % number
        opened.seek(0); opened.write(f"{number:020}")
        with open("new", "w") as file: file.write("x" * 100)
        os.rename("new", "renamed"); os.rename("renamed", "other")
        time.sleep(0.001)
threading.Thread(target=go_on, daemon=True).start()
subprocess.Popen("while :; do echo late >> appended; mv appended moved; mv moved appended; sleep 0.02; done", shell=True)
while not (os.path.exists("other") and os.path.exists("appended")): time.sleep(0.01)
"""


async def _nothing_is_written_between_calls(arena: Arena) -> None:
    project = arena.project
    await _call(arena, BACKGROUND)
    sizes = []
    for _ in range(3):
        await _is_still(project)
        whole = project / "appended" if (project / "appended").exists() else project / "moved"
        sizes.append(whole.stat().st_size if whole.exists() else 0)
        await _call(arena, "time.sleep(0.2)")
    assert len(set(sizes)) > 1, sizes  # the control: within calls they go on, and it is committed
    await _call(arena, "open('.envrc', 'w').write('evil')")
    for _ in range(3):  # by now they have an earlier view, to which they write what they like
        await _is_still(project)
        await _call(arena, "time.sleep(0.2)")
    assert ".envrc" not in _entries(project)


async def _a_conflict_stays_one(arena: Arena) -> None:
    """What the host changed while a call ran is not overwritten by the call, nor by later ones."""
    file = arena.project / "main.txt"
    file.write_text("as it was\n")
    await _call(arena, "pass")
    seen = trio.Event()

    def look(stream: str, data: bytes) -> None:
        if b"written" in data:
            file.write_text("of the host\n")
            seen.set()

    code = "import time\nopen('main.txt', 'w').write('of the run')\nprint('written', flush=True)\ntime.sleep(1)"
    request = Request("python", code, session="attack", profile="build")
    result = (await arena.executor.run(request, on_output=look)).result
    assert seen.is_set()
    assert "conflict" in {left.kind for left in result.not_committed}, result
    for code in ("pass", "open('other', 'w').write('x')", "import os; os.utime('other')"):
        await _call(arena, code)
        assert file.read_text() == "of the host\n"
    # The control: what the program then writes, knowing the host's, is committed.
    await _call(arena, "open('main.txt', 'a').write('and more')")
    assert file.read_text() == "of the host\nand more"


def _link_on_the_way(arena: Arena) -> None:
    (arena.project / "sub").rename(arena.project / "aside")
    (arena.project / "sub").symlink_to(arena.home)


def _file_in_the_way(arena: Arena) -> None:
    (arena.project / "sub" / "new").write_text("of the host")


def _changed_by_the_host(arena: Arena) -> None:
    (arena.project / "sub" / "old").write_text("of the host")


HOSTS: tuple[Callable[[Arena], None], ...] = (
    _link_on_the_way,
    _file_in_the_way,
    _changed_by_the_host,
)


async def _staged_changes_are_applied_with_care(arena: Arena) -> None:
    staging = shell(
        "mkdir -p sub; echo run > sub/new; echo run > sub/old; echo run > plain; echo evil > .envrc; echo evil > AGENTS.md; ln -s @home@ out"
    )
    store = ChangeStore(arena.state_dir / "changes")
    for act in (None, *HOSTS):
        subprocess.run(["find", str(arena.project), "-mindepth", "1", "-delete"], check=True)
        (arena.project / "sub").mkdir()
        (arena.project / "sub" / "old").write_text("as it was")
        result = await arena.run(staging, profile="build", stage=True)
        assert _tree(arena.project) == {"sub/old": "as it was"}
        name = result.changes_id
        assert name
        if act is not None:
            act(arena)
            before, home = _tree(arena.project), _tree(arena.home)
            outcome = store.apply(name, names=NAMES)
            assert {left.kind for left in outcome.left_out} & {"conflict"}, act
            assert (_tree(arena.project), _tree(arena.home)) == (before, home), act
            continue
        outcome = store.apply(name, names=NAMES)  # the control, and all that it does not bring
        left = {each.path: each.kind for each in outcome.left_out}
        assert (left[".envrc"], left["out"]) == ("never", "refused")
        assert _entries(arena.project) == {"sub", "plain", "AGENTS.md"}
        (arena.project / "plain").write_text("of the host")
        store.apply(name, names=NAMES)  # again: what was decided on is not decided on anew
        assert (arena.project / "plain").read_text() == "of the host"
        assert not (arena.project / ".envrc").exists()
        store.apply(name, [".envrc"], names=NAMES)
        assert (arena.project / ".envrc").read_text() == "evil\n"
        assert not (arena.project / "out").is_symlink()


ATTACKS = (
    Attack("X54", "write on after the run was ended: by exit, signal, limits, by being cancelled",
           Stopped("commits only after the last process is dead, and not of cancelled runs"),
           scenario=_nothing_is_written_after_the_end),
    Attack("X55", "kill the server while it commits",
           Stopped("a journal, which the next start completes or takes back"),
           scenario=_a_killed_server_leaves_all_or_nothing),
    Attack("X56", "stage changes that the host's links, files, or a second decision would turn",
           Stopped("a conflict applies nothing; what is never committed comes by its exact name only"),
           scenario=_staged_changes_are_applied_with_care),
    Attack("X63", "write between the calls of a session: threads, mapped and open files, processes",
           Stopped("a session is stopped while its call is committed, and until the next"),
           scenario=_nothing_is_written_between_calls),
    Attack("X64", "overwrite the host's changes between two calls of a session",
           Stopped("a conflict is reported; the view is renewed to the host's state"),
           scenario=_a_conflict_stays_one),
)  # fmt: skip
