"""Attacks with what goes in and out: floods, unread input, huge arguments."""

from __future__ import annotations

import os
import re
import subprocess

import trio

from executor import Limits, Result, Status
from tests.escapes.arena import Arena
from tests.escapes.attack import (
    Attack,
    Control,
    Stopped,
    python,
    shell,
)
from tests.escapes.space import MIB

FLOOD = shell(
    "head -c 40000000 /dev/zero | tr '\\0' a; head -c 40000000 /dev/zero | tr '\\0' b >&2"
)

LONG_LINE = shell("head -c 20000000 /dev/zero | tr '\\0' a")

DEAF = shell("head -c 10000000 /dev/zero | tr '\\0' a; echo; echo finished")

FILES = python("""
opened = []
try:
    for _ in range(600):
        opened.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print("open", errno.errorcode[error.errno])
else:
    print("all opened")
""")

HUGE_ARGUMENTS = python("""
attempt("argument", os.execve, "/bin/true", ["x" * 3_000_000], {})
attempt("environment", os.execve, "/bin/true", ["x"], {"A": "x" * 3_000_000})
attempt("many", os.execve, "/bin/true", ["x" * 100_000] * 100, {})
os.execve("/bin/echo", ["echo", "x" * 100_000], {})
""")


async def _deaf_programs_do_not_deadlock(arena: Arena) -> None:
    stdin = os.urandom(10_000_000)
    result = await arena.run(DEAF, limits=Limits(wall_s=30), stdin=stdin)
    assert result.status is Status.OK
    assert result.stdout.bytes_total == len("attack started\n") + 10_000_000 + len("\nfinished\n")
    assert result.stdout.tail.endswith("finished\n")
    # The control: whoever waits for the end before reading waits for ever.
    naive = ["head", "-c", "10000000", "/dev/zero"]
    with subprocess.Popen(naive, stdout=subprocess.PIPE) as process:
        try:
            await trio.to_thread.run_sync(lambda: process.wait(0.5))
            raise AssertionError("the pipe held it all")
        except subprocess.TimeoutExpired:
            process.kill()


async def _unread_input_is_no_error(arena: Arena) -> None:
    result = await arena.run(shell("exec 0<&-; exit 7"), stdin=os.urandom(10_000_000))
    assert (result.status, result.exit_code) == (Status.NONZERO_EXIT, 7)
    assert "attack started" in result.stdout.text
    assert result.message == ""

    def naive() -> None:  # the control: writing to a program that does not read fails
        with subprocess.Popen(["/bin/true"], stdin=subprocess.PIPE) as process:
            process.communicate(b"x")
            assert process.stdin is not None

    await trio.to_thread.run_sync(naive)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        os.write(writer, b"x")
        raise AssertionError("a pipe without a reader took it")
    except BrokenPipeError:
        os.close(writer)


async def _a_huge_program_travels_as_a_file(arena: Arena) -> None:
    result = await arena.run(HUGE_ARGUMENTS)
    for name in ("argument", "environment", "many"):
        assert re.search(f"{name} (E2BIG|ENAMETOOLONG)", result.stdout.text), result.stdout.text
    assert result.stdout.bytes_total > 100_000  # the control: what fits is passed
    large = await arena.run(shell(f"true '{'x' * 3_000_000}'\necho huge and fine"))
    assert large.stdout.text.endswith("huge and fine\n")


async def _descriptors_of_the_server(arena: Arena) -> None:
    await arena.run(shell("true"))
    before = len(os.listdir("/proc/self/fd"))
    result = await arena.run(FILES, limits=Limits(wall_s=10, open_files=64))
    assert "attack started" in result.stdout.text
    assert "open EMFILE" in result.stdout.text
    waiting = 8 if arena.tier == "C" else 0  # each container that waits is a connection
    # At most the last cell's burial.
    assert len(os.listdir("/proc/self/fd")) <= before + 2 + waiting
    allowed = await arena.run(FILES, limits=Limits(wall_s=10, open_files=1024))
    assert "all opened" in allowed.stdout.text


def _bounded(result: Result, limit: int) -> None:
    total = result.stdout.bytes_total + result.stderr.bytes_total
    assert limit < total < 80_000_000
    for stream in (result.stdout, result.stderr):
        shown = len(stream.head.encode()) + len(stream.tail.encode())
        assert shown <= 4096
        assert shown + stream.bytes_omitted == stream.bytes_total


def _counted(result: Result, stdout: int, stderr: int) -> None:
    assert (result.stdout.bytes_total, result.stderr.bytes_total) == (stdout, stderr)
    assert len(result.stdout.text) < 5000


ATTACKS = (
    Attack(
        "A16",
        "flood of output on both streams",
        Stopped(
            "output limit",
            status=Status.OUTPUT_LIMIT,
            after=lambda _, result: _bounded(result, MIB),
            controls=(
                Control(
                    (),
                    limits=Limits(wall_s=20, output_bytes=100 * MIB),
                    after=lambda _, r: _counted(r, 40_000_015, 40_000_000),
                ),
            ),
        ),
        FLOOD,
        limits=Limits(wall_s=20, output_bytes=MIB),
    ),
    Attack(
        "A17",
        "one line of 20 MB",
        Stopped(
            "bounded capture",
            after=lambda _, result: _counted(result, 20_000_015, 0),
            controls=(Control(("^short and whole$",), program=shell("echo short and whole")),),
        ),
        LONG_LINE,
        limits=Limits(wall_s=20),
    ),
    Attack(
        "A18",
        "write 10 MB and never read 10 MB of input",
        Stopped("both pipes drained from the start, input as a file"),
        scenario=_deaf_programs_do_not_deadlock,
    ),
    Attack(
        "A19",
        "end at once with 10 MB of input unread",
        Stopped("input as a file"),
        scenario=_unread_input_is_no_error,
    ),
    Attack(
        "A20",
        "open files until none is left",
        Stopped("RLIMIT_NOFILE"),
        scenario=_descriptors_of_the_server,
    ),
    Attack(
        "A23",
        "arguments, environments and programs of megabytes",
        Stopped("programs travel as files"),
        scenario=_a_huge_program_travels_as_a_file,
    ),
)
