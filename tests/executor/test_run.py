"""How runs end: every end has its own status, exact codes, and nothing survives it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
import trio

from executor import Limits, Request, RequestError, Status
from tests.processes import DEADLINE_S, descriptors_in_use, unique_s, until_alive

MIB = 1024 * 1024


@pytest.mark.parametrize("code", [0, 1, 2, 125, 126, 127, 128, 139, 255])
async def test_exit_codes_come_back_exact(code, run):
    result = await run("shell", f"exit {code}")
    expected = Status.OK if code == 0 else Status.NONZERO_EXIT
    assert (result.status, result.exit_code, result.signal) == (expected, code, None)


@pytest.mark.parametrize(
    "number", [n for n in range(1, 32) if n not in (17, 18, 19, 20, 21, 22, 23, 24, 25, 28)]
)
async def test_deaths_by_signal_come_back_exact(number, run):
    die = f"import os, signal\nsignal.signal({number}, 0)\n" if number != 9 else "import os\n"
    result = await run("python", f"{die}os.kill(os.getpid(), {number})")
    assert (result.status, result.exit_code, result.signal) == (Status.SIGNALLED, None, number)


async def test_exit_139_is_not_a_segmentation_fault(run):
    assert (await run("shell", "exit 139")).signal is None
    assert (await run("shell", "kill -SEGV $$")).signal == 11


ENDLESS = {
    "sleeps": "sleep 99",
    "ignores signals": "trap '' TERM INT HUP; sleep 99",
    "stops its whole group": "kill -STOP 0; sleep 99",
    "spins": "while :; do :; done",
    "forks away": "(setsid sleep 99 &) ; sleep 99",
}


@pytest.mark.parametrize("program", ENDLESS.values(), ids=ENDLESS.keys())
async def test_the_deadline_ends_every_program(program, run):
    result = await run("shell", f"echo started; {program}", timeout_s=1.5)
    assert (result.status, result.stdout.text) == (Status.TIMED_OUT, "started\n")
    assert result.usage.wall_s >= 1.5


async def test_what_was_printed_before_the_deadline_is_kept(run):
    result = await run("python", "print('x' * 9000, flush=True)\nwhile True: pass", timeout_s=4)
    assert result.status is Status.TIMED_OUT
    assert result.stdout.bytes_total == 9001


async def test_a_grandchild_that_holds_the_output_does_not_delay_the_answer(run):
    with trio.fail_after(DEADLINE_S):
        result = await run("shell", "setsid sleep 99 & echo hi")
    assert (result.status, result.stdout.text) == (Status.OK, "hi\n")


@pytest.mark.parametrize("size", [0, 70_000, MIB + 1, 3 * MIB])
async def test_what_a_quick_program_wrote_is_there_whole(run, size):
    result = await run("shell", f"head -c {size} /dev/zero | tr '\\0' x; printf done >&2")
    assert result.stdout.bytes_total == size
    assert result.stderr.text == "done"


async def test_an_output_flood_is_ended_at_its_cap_and_counted(run):
    result = await run("shell", "yes", limits=Limits(output_bytes=MIB))
    assert result.status is Status.OUTPUT_LIMIT
    stdout = result.stdout
    assert stdout.bytes_total > MIB
    shown = len(stdout.head.encode()) + len(stdout.tail.encode())
    assert stdout.bytes_omitted + shown == stdout.bytes_total


async def test_memory_beyond_the_limit_is_told_apart(run):
    grow = "b = []\nwhile True: b.append(bytearray(b'x' * (1 << 20)))"
    result = await run("python", grow, limits=Limits(memory_bytes=64 * MIB))
    cgroup = result.isolation.layers["cgroup"].active
    if cgroup:
        assert result.status is Status.MEMORY_LIMIT
    else:  # rlimits make the allocation fail, and the program says so itself
        assert result.status in (Status.MEMORY_LIMIT, Status.NONZERO_EXIT)
        assert result.status is Status.MEMORY_LIMIT or "MemoryError" in result.stderr.text


async def test_a_child_that_met_the_memory_limit_is_told_where_its_parent_exits_0(run):
    hungry = "awk 'BEGIN { s = \"x\"; while (1) s = s s }'"
    small = Limits(memory_bytes=64 * MIB)
    result = await run("shell", f"{hungry} 2> /dev/null || true", limits=small)
    if not result.isolation.layers["cgroup"].active:
        pytest.skip("not applicable: nothing counts what is refused")
    assert (result.status, result.exit_code) == (Status.OK, 0)
    assert "ended at the memory limit (64 MiB)" in result.message
    assert not (await run("shell", "true", limits=small)).message


async def test_a_start_that_met_the_limit_of_processes_is_told_where_the_program_exits_0(run):
    code = """
import os
try:
    for _ in range(99):
        if os.fork() == 0:
            os.read(os.pipe()[0], 1)
except OSError:
    pass
os._exit(0)
"""
    result = await run("python", code, limits=Limits(processes=20))
    if not result.isolation.layers["cgroup"].active:
        pytest.skip("not applicable: nothing counts what is refused")
    assert result.status is Status.OK
    assert "refused at the limit of 20 processes" in result.message


async def test_processor_time_of_the_whole_tree_is_limited(run):
    spin = "for _ in 1 2 3; do (while :; do :; done) & done; wait"
    result = await run("shell", spin, limits=Limits(cpu_s=0.6, wall_s=30))
    assert result.status is Status.CPU_LIMIT


async def test_a_file_may_not_outgrow_its_limit(run):
    write = "head -c 4000000 /dev/zero > $TMPDIR/x"
    result = await run("shell", write, limits=Limits(file_bytes=MIB))
    assert (result.status, result.exit_code) == (Status.NONZERO_EXIT, 153)  # SIGXFSZ in a child


@pytest.mark.tier_a
async def test_a_full_scratch_is_told_apart(run):
    fill = "head -c 9000000 /dev/zero > /tmp/x"
    result = await run("shell", fill, limits=Limits(scratch_bytes=MIB))
    assert result.status is Status.DISK_LIMIT


@pytest.mark.tier_a
async def test_files_are_counted(run):
    fill = "i=0; while : > /tmp/f$i; do i=$((i+1)); done; exit 1"
    result = await run("shell", fill, limits=Limits(scratch_inodes=200))
    assert result.status is Status.DISK_LIMIT


async def test_processes_are_limited(run):
    forks = "import os, time\nfor _ in range(200):\n    if os.fork() == 0: time.sleep(30)\n"
    result = await run("python", forks, limits=Limits(processes=40))
    assert result.status in (Status.PROCESS_LIMIT, Status.NONZERO_EXIT)
    assert "BlockingIOError" in result.stderr.text
    if result.isolation.layers["cgroup"].active:
        assert result.status is Status.PROCESS_LIMIT


async def test_stdin_arrives_whole_and_is_empty_otherwise(run):
    content = os.urandom(3 * MIB)
    result = await run("shell", "sha256sum; cat", stdin=content)
    assert result.stdout.text == f"{hashlib.sha256(content).hexdigest()}  -\n"
    assert (await run("shell", "cat; echo end")).stdout.text == "end\n"


async def test_a_program_that_never_reads_its_input_ends_well(run):
    result = await run("shell", "echo done", stdin=b"x" * (10 * MIB))
    assert (result.status, result.stdout.text) == (Status.OK, "done\n")


async def test_arguments_and_environment_arrive(run):
    result = await run("shell", 'echo "$1|$2|$EXTRA"', args=("a b", "$x"), env={"EXTRA": "é"})
    assert result.stdout.text == "a b|$x|é\n"


async def test_the_servers_environment_stays_outside(run, monkeypatch):
    for name in ("GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_API_KEY", "LD_PRELOAD", "BASH_ENV"):
        monkeypatch.setenv(name, "canary-5521")
    result = await run("shell", "env; cat /proc/self/environ /proc/1/environ 2>/dev/null")
    assert "PATH=" in result.stdout.text
    assert "canary-5521" not in result.stdout.text


async def test_binary_output_is_marked_and_valid_text(run):
    result = await run("shell", r"printf 'a\377b\000c'")
    assert result.stdout.binary
    assert result.stdout.bytes_total == 5
    result.stdout.text.encode()


async def test_a_script_of_the_project_runs_in_place(run, project: Path):
    (project / "tools").mkdir()
    (project / "tools" / "helper.py").write_text("WORD = 'imported'\n")
    (project / "tools" / "main.py").write_text("import helper\nprint(helper.WORD, __file__)\n")
    result = await run("python", path="tools/main.py")
    assert result.stdout.text == f"imported {project}/tools/main.py\n", result.stderr.text


async def test_cancelling_ends_everything_that_was_started(executor):
    mark = unique_s()
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            program = f"(setsid sleep {mark} &); sleep {mark}"
            nursery.start_soon(executor.run, Request("shell", program))
            await until_alive(f"sleep\0{mark}\0", 2)
            scope.cancel()
    assert scope.cancelled_caught
    await until_alive(f"sleep\0{mark}\0", 0)


async def test_many_runs_at_once_keep_their_outputs_apart(executor):
    outputs: dict[int, str] = {}

    async def one(number: int) -> None:
        completed = await executor.run(Request("shell", f"echo {number}"))
        outputs[number] = completed.result.stdout.text

    async with trio.open_nursery() as nursery:
        for number in range(40):
            nursery.start_soon(one, number)
    assert outputs == {number: f"{number}\n" for number in range(40)}


async def test_no_descriptor_is_left_open_by_runs(executor):
    await executor.run(Request("shell", "echo first"))
    await trio.testing.wait_all_tasks_blocked()
    before = descriptors_in_use(executor)
    for _ in range(30):
        await executor.run(Request("shell", "echo again"))
    # At most the last cell's burial, and what is begun for the next run.
    with trio.move_on_after(DEADLINE_S):
        while descriptors_in_use(executor) > before + 12:  # noqa: ASYNC110 - burials tell nobody
            await trio.sleep(0.01)
    assert descriptors_in_use(executor) <= before + 12


async def test_the_program_owns_three_descriptors(run):
    result = await run("python", "import os\nprint(os.listdir('/proc/self/fd'))")
    assert result.stdout.text == "['0', '1', '2', '3']\n"  # 3 is the listing itself


async def test_a_compile_error_is_told_as_such(run):
    result = await run("c", "int main(void) { return nonsense; }")
    assert (result.status, result.phase) == (Status.NONZERO_EXIT, "compile")
    assert "nonsense" in result.stderr.text


async def test_a_flood_that_is_drained_is_counted_to_its_end(run):
    code = "head -c 50000000 /dev/zero; echo; echo the end"
    result = await run("shell", code, limits=Limits(output_bytes=MIB), drain=True)
    assert (result.status, result.stdout.bytes_total) == (Status.OK, 50_000_009)
    assert result.stdout.tail.endswith("the end\n")
    assert "discarded" in result.message


async def test_a_sessions_output_is_not_drained(run):
    with pytest.raises(RequestError):
        await run("shell", "true", drain=True, session="one")
