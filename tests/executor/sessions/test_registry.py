"""A session keeps one box: files, interpreters, and the project as it is at every call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import trio

from executor import (
    Limits,
    LocalEngine,
    Request,
    RequestError,
    Result,
    SessionLimits,
    Settings,
    Status,
    open_engine,
)
from tests.executor.host_changes import HOST_CHANGES, see_what_the_host_changes
from tests.processes import DEADLINE_S, descriptors, unique_s, until_alive

Call = Callable[..., Awaitable[Result]]
ENDED = "ended: "


@pytest.fixture
def call(run) -> Call:
    """A call of one session, unless another is named."""

    async def call_one(language: str, code: str | None = None, **more: object) -> Result:
        return await run(language, code, **({"session": "s"} | more))

    return call_one


# A program that leaves something behind, one that needs it, and what the latter prints.
STATES = {
    "python": (
        "import json\nx = [1]\ndef f(): return len(x)",
        "x.append(2)\nprint(f(), json)",
        "2 ",
    ),
    "javascript": (
        "import fs from 'node:fs';\nconst {a, b: [c = 3]} = {a: 1, b: []}; let n = 1;\n"
        "class K {}\nfunction f() { return a + c; }\nconst late = await Promise.resolve(7);",
        "n += 1;\nconsole.log(f(), n, late, typeof K, typeof fs.readFileSync);",
        "4 2 7 function function\n",
    ),
    "ruby": ("require 'set'\nx = 20\ndef f(a) = a + 1", "puts f(x)", "21\n"),
    "r": ("x <- 5; f <- function(a) a * 2", "f(x)", "[1] 10\n"),
    "shell": ('x=5; f() { echo "got $1"; }; cd /tmp', 'f "$x"; pwd', "got 5\n"),
}


@pytest.mark.parametrize("language", STATES)
async def test_an_interpreter_keeps_what_programs_defined(language, call):
    first, second, printed = STATES[language]
    result = await call(language, first)
    assert (result.status, result.session) == (Status.OK, "started"), result.stderr.text
    result = await call(language, second)
    assert result.session == "continued"
    assert result.stdout.text.startswith(printed), result.stderr.text


FAILURES = {
    "python": ("x = 1\nraise ValueError('no')", "print(x)", "1\n", "ValueError: no"),
    "javascript": ("let x = 1;\nthrow new TypeError('no')", "console.log(x)", "1\n", "no"),
    "ruby": ("x = 1\nraise 'no'", "puts x", "1\n", "no (RuntimeError)"),
    "r": ("x <- 1\nstop('no')", "x", "[1] 1\n", "Error: no\n"),
    "shell": ("x=1; cat /nonexistent", "echo $x", "1\n", "/nonexistent"),
}


@pytest.mark.once
@pytest.mark.parametrize("language", FAILURES)
async def test_an_interpreter_outlives_an_error_of_a_program(language, call):
    first, second, printed, complaint = FAILURES[language]
    result = await call(language, first)
    assert (result.status, result.exit_code) == (Status.NONZERO_EXIT, 1)
    assert complaint in result.stderr.text
    assert (await call(language, second)).stdout.text == printed


SYNTAX_ERRORS = {
    "python": "x = (",
    "javascript": "const x = (",
    "ruby": "x = (",
    "r": "x <- (",
    "shell": "x=(",
}


@pytest.mark.once
@pytest.mark.parametrize("language", SYNTAX_ERRORS)
async def test_a_program_that_is_none_is_an_error_of_its_own(language, call):
    result = await call(language, SYNTAX_ERRORS[language])
    assert result.status is Status.NONZERO_EXIT
    assert result.stderr.text
    assert result.session == "started"


EXITS = {
    "python": "import os\nprint('out', flush=True)\nos._exit(7)",
    "javascript": "console.log('out'); process.exit(7)",
    "ruby": "puts 'out'; $stdout.flush; exit!(7)",
    "r": "cat('out\\n'); quit(status = 7)",
    "shell": "echo out; exit 7",
}


@pytest.mark.parametrize("language", EXITS)
async def test_an_interpreter_that_a_program_ends_is_replaced_and_files_stay(language, call):
    await call("shell", "echo kept > $TMPDIR/kept", session="s")
    result = await call(language, EXITS[language])
    assert (result.exit_code, result.stdout.text) == (7, "out\n")
    assert result.session.startswith("interpreter ended")
    result = await call(language, STATES[language][0])
    assert (result.status, result.session) == (Status.OK, "continued, with a new interpreter")
    assert (await call("shell", "cat $TMPDIR/kept", session="s")).stdout.text == "kept\n"


async def test_a_polite_exit_ends_the_program_and_not_its_interpreter(call):
    result = await call("python", "import sys\nx = 1\nsys.exit(3)")
    assert (result.exit_code, result.session) == (3, "started")
    assert (await call("python", "print(x)")).stdout.text == "1\n"
    assert (await call("ruby", "y = 2; exit 4")).exit_code == 4
    assert (await call("ruby", "puts y")).stdout.text == "2\n"


@pytest.mark.once
async def test_programs_are_at_the_top_level_and_print_no_last_value(call):
    result = await call("python", "print(__name__, __file__[-10:])\n42")
    assert result.stdout.text == "__main__ /main-1.py\n"
    assert (await call("ruby", "puts __FILE__ == $0")).stdout.text == "true\n"
    result = await call("shell", 'echo "${0##*/}"; cat; exit 0')
    assert result.stdout.text == "main-3.sh\n"


async def test_arguments_folders_and_bound_files_are_each_calls_own(call, project: Path):
    (project / "sub").mkdir()
    (project / "data.txt").write_text("data é\n")
    programs = {
        "python": "import os, sys\nprint(sys.argv[1:], os.getcwd()[-3:], FILE_CONTENT)",
        "shell": 'printf "[%s] " "$@"; basename "$PWD"; printf %s "$FILE_CONTENT"',
        "javascript": "console.log(process.argv.slice(2), process.cwd().slice(-3), FILE_CONTENT)",
        "ruby": "p ARGV, File.basename(Dir.pwd), FILE_CONTENT",
        "r": "print(commandArgs(TRUE)); basename(getwd()); FILE_CONTENT",
    }
    for language, program in programs.items():
        result = await call(
            language, program, args=("a b", "é"), cwd="sub", bind_file="../data.txt"
        )
        for expected in ("a b", "é", "sub", "data é"):
            assert expected in result.stdout.text, (language, result)


async def test_a_script_of_the_project_runs_in_the_interpreter(call, project: Path):
    (project / "define.py").write_text("import helper\nword = helper.WORD\n")
    (project / "helper.py").write_text("WORD = 'imported'\n")
    assert (await call("python", path="define.py")).ok
    assert (await call("python", "print(word)")).stdout.text == "imported\n"


async def test_a_file_edited_on_the_host_between_two_calls_is_seen(call, project: Path):
    file = project / "notes.txt"
    file.write_text("one\n")
    assert (await call("shell", "cat notes.txt")).stdout.text == "one\n"
    file.write_text("two\n")
    assert (await call("shell", "cat notes.txt")).stdout.text == "two\n"
    (project / "next.txt").write_text("three\n")
    (project / "next.txt").replace(file)  # as editors do
    assert (await call("shell", "cat notes.txt")).stdout.text == "three\n"


@pytest.mark.tier_a
async def test_analyze_keeps_what_it_writes_within_the_session(call, project: Path):
    result = await call("shell", "echo x > $TMPDIR/x; echo y > y; cat $TMPDIR/x y")
    assert (result.exit_code, result.stdout.text) == (0, "x\ny\n")
    assert [change.path for change in result.changed_files] == ["y"]
    result = await call("shell", "cat y")
    assert (result.stdout.text, result.changed_files) == ("y\n", ())
    assert list(project.iterdir()) == []


@pytest.mark.tier_a
@pytest.mark.parametrize("language", ["shell", "python"])
@pytest.mark.parametrize("change", HOST_CHANGES)
async def test_analyze_sees_what_the_host_changed_between_calls(
    change, language, call, project: Path
):
    await see_what_the_host_changes(change, language, call, project)


async def test_secrets_of_the_project_are_hidden_also_when_they_are_replaced(call, project: Path):
    secret = project / ".env"
    secret.write_text("canary-1\n")
    await call("shell", "cat .env")
    (project / "new").write_text("canary-2\n")
    (project / "new").replace(secret)
    result = await call("shell", "cat .env")
    assert "canary" not in result.stdout.text + result.stderr.text
    with pytest.raises(RequestError, match="hidden from programs"):
        await call("shell", path=".env")


async def test_fresh_empties_the_session(call):
    await call("python", "x = 1")
    await call("shell", "echo kept > $TMPDIR/f")
    result = await call("shell", "ls $TMPDIR/f", fresh=True)
    assert (result.status, result.session) == (Status.NONZERO_EXIT, "started")
    assert "NameError" in (await call("python", "x")).stderr.text


async def test_two_sessions_share_nothing(call):
    await call("shell", "x=1; echo one > $TMPDIR/f", session="one")
    result = await call("shell", 'echo "x is $x"; ls $TMPDIR/f', session="two")
    assert result.stdout.text == "x is \n"
    assert result.session == "started"
    assert (await call("shell", "echo $x; cat $TMPDIR/f", session="one")).stdout.text == "1\none\n"


async def test_languages_share_the_box(call):
    await call("python", "import os\nopen(os.environ['TMPDIR'] + '/f', 'w').write('from python')")
    assert (await call("shell", "cat $TMPDIR/f")).stdout.text == "from python"
    result = await call("perl", 'open F, "$ENV{TMPDIR}/f"; print <F>; $x = 1')
    assert (result.stdout.text, result.session) == ("from python", "continued")
    assert (await call("perl", "print defined $x ? 'kept' : 'new'")).stdout.text == "new"


async def test_a_compiled_program_runs_in_the_box_and_tells_its_phase(call):
    result = await call("c", '#include <stdio.h>\nint main(void) { puts("hi"); return 3; }')
    assert (result.exit_code, result.stdout.text, result.phase) == (3, "hi\n", "run")
    result = await call("c", "int main(void) { return nonsense; }")
    assert (result.status, result.phase) == (Status.NONZERO_EXIT, "compile")
    assert result.session == "continued"


async def test_outputs_of_calls_are_apart(call):
    for number in range(5):
        result = await call("python", f"print('out {number}')\nimport sys\nsys.stderr.write('e')")
        assert (result.stdout.text, result.stderr.text) == (f"out {number}\n", "e")
    result = await call("python", "print('x' * 100_000)")
    assert result.stdout.bytes_total == 100_001
    assert (await call("python", "print('end')")).stdout.text == "end\n"


async def test_what_a_call_waits_for_belongs_to_it(call):
    late = "import threading, time\ndef f():\n  time.sleep(0.2)\n  print('late')\n"
    result = await call("python", late + "threading.Thread(target=f).start()")
    assert result.stdout.text == "late\n"
    result = await call("javascript", "setTimeout(() => console.log('late'), 100)")
    assert result.stdout.text == "late\n"


# What goes on behind a call's back, and a program that needs what comes of it.
LATE = {
    "python": (
        "import threading, time\nlate = []\ndef f():\n  time.sleep(0.4)\n  late.append(1)\n"
        "threading.Thread(target=f, daemon=True).start()",
        "while not late: time.sleep(0.01)\nprint(*late)",
    ),
    "javascript": (
        "globalThis.late = 0; setTimeout(() => { late = 1 }, 400).unref()",
        "while (!late) await new Promise(r => setTimeout(r, 10)); console.log(late)",
    ),
    "ruby": ("$late = 0\nThread.new { sleep 0.4; $late = 1 }", "sleep 0.01 until $late == 1; p 1"),
    "r": (
        "job <- parallel::mcparallel({Sys.sleep(0.4); 1})",
        "cat(unlist(parallel::mccollect(job)))",
    ),
    "shell": (
        "(sleep 0.4; echo 1 > $TMPDIR/late) > /dev/null 2>&1 &",
        "until test -s $TMPDIR/late; do sleep 0.01; done; cat $TMPDIR/late",
    ),
}


@pytest.mark.parametrize("language", LATE)
async def test_what_sleeps_behind_a_call_sleeps_on_after_a_stop(language, call):
    first, second = LATE[language]
    assert (await call(language, first)).ok
    await trio.sleep(1)
    result = await call(language, second)
    assert (result.stdout.text.strip(), result.session) == ("1", "continued"), result.stderr.text


async def test_a_job_that_is_stopped_stays_so_from_call_to_call(call):
    await call("shell", "sleep 600 & kill -STOP $!; job=$!")
    state = "until read -r _ _ state _ < /proc/$job/stat; test $state {} T; do :; done; echo ok"
    assert (await call("shell", state.format("="))).stdout.text == "ok\n"
    assert (await call("shell", state.format("="))).stdout.text == "ok\n"
    await call("shell", "kill -CONT $job")
    assert (await call("shell", state.format("!="))).stdout.text == "ok\n"


async def test_what_can_not_be_stopped_is_ended_and_that_is_told(call):
    """Only a supervisor with capabilities of its own can trace what made itself undumpable."""
    hide = "import ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nprint('hidden')"
    result = await call("python", hide)
    assert result.stdout.text == "hidden\n"
    if result.isolation.tier == "A":
        assert result.session == "started"
    else:
        assert result.session.startswith(f"{ENDED}its processes could not be stopped")
        assert (await call("python", "print(1)")).session == "started"


async def test_a_call_that_ends_in_the_middle_of_a_start_of_a_program_keeps_its_session(call):
    """The parent of a vfork waits in the kernel for its child, which waits for a FIFO here."""
    start = """
import os, subprocess, sys, tempfile, time
fifo = f"{tempfile.gettempdir()}/fifo"
os.mkfifo(fifo)
code = '''
import os, sys
opens = (os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)
os.waitpid(os.posix_spawn("/bin/cat", ["cat"], {}, file_actions=[opens]), 0)
'''
parent = subprocess.Popen([sys.executable, "-c", code, fifo])
def state():
    with open(f"/proc/{parent.pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]
while state() != "D": time.sleep(0.001)
"""
    assert (await call("python", start)).session == "started"
    result = await call("python", "print(state())")
    assert (result.stdout.text, result.session) == ("D\n", "continued"), result.message
    finish = "os.close(os.open(fifo, os.O_WRONLY)); print(parent.wait(30))"
    assert (await call("python", finish)).stdout.text == "0\n"


@pytest.mark.once
async def test_javascript_programs_find_what_a_program_of_its_own_finds(call):
    program = "console.log(require.main === module, __filename.slice(-9), process.exitCode ?? 0)"
    assert (await call("javascript", program)).stdout.text == "true main-1.js 0\n"
    result = await call("javascript", "Promise.reject(new Error('lost')); process.exitCode = 0")
    assert (result.exit_code, "lost" in result.stderr.text) == (1, True)
    assert (await call("javascript", "process.exitCode = 5")).exit_code == 5
    result = await call("javascript", "console.log('fine')")
    assert (result.exit_code, result.stdout.text, result.stderr.text) == (0, "fine\n", "")


async def test_a_forked_child_does_not_answer_for_its_parent(call):
    result = await call("python", "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nx = 1")
    assert result.ok, result
    assert (await call("python", "print(x)")).stdout.text == "1\n"
    assert (await call("ruby", "y = 1; fork; Process.waitall")).ok
    assert (await call("ruby", "puts y")).stdout.text == "1\n"


ENDINGS = {
    "deadline": ("while True: pass", {"timeout_s": 0.5}, Status.TIMED_OUT, "deadline"),
    "flood": (
        "while True: print('x' * 1000)",
        {"limits": Limits(output_bytes=100_000)},
        Status.OUTPUT_LIMIT,
        "printed too much",
    ),
    "processor": (
        "while True: pass",
        {"limits": Limits(cpu_s=0.5, wall_s=30)},
        Status.CPU_LIMIT,
        "processor time",
    ),
    "forged answer": (
        "import os\nos.write(4, b'0123456789abcdef 0\\n')\nx = 1",
        {},
        Status.SANDBOX_ERROR,
        "wrote to its interpreter's channel",
    ),
    "garbage": ("import os\nos.write(4, b'x' * 500)", {}, Status.SANDBOX_ERROR, "channel"),
}


@pytest.mark.parametrize("name", ENDINGS)
async def test_a_call_that_cannot_be_ended_alone_ends_the_session_and_says_so(name, call):
    program, more, status, reason = ENDINGS[name]
    result = await call("python", program, **more)
    assert (result.status, result.session[: len(ENDED)]) == (status, ENDED), result
    assert reason in result.session
    assert (await call("python", "print('x' in dir())")).session == "started"


async def test_a_reused_answer_is_a_forged_one(call):
    steal = (
        "import gc, os\n"
        "d = next(o for o in gc.get_objects() if type(o).__name__ == '_Driver')\n"
        "import sys\ntoken = sys._getframe(2).f_locals['token']\n"
    )
    assert (await call("python", steal)).ok
    result = await call("python", "os.write(4, token + b' 0\\n')")
    assert result.status is Status.SANDBOX_ERROR
    assert result.session.startswith(ENDED)


async def test_a_closed_channel_ends_the_session(call):
    result = await call("python", "import os, time\nos.close(4)\ntime.sleep(9)", timeout_s=8)
    assert result.status is Status.SANDBOX_ERROR
    assert "closed its interpreter's channel" in result.message


async def test_cancelling_a_call_ends_everything_of_the_session(executor: LocalEngine):
    mark = unique_s()
    await executor.run(Request("shell", f"sleep {mark} & x=1", session="s"))
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(executor.run, Request("shell", f"sleep {mark}", session="s"))
            await until_alive(f"sleep\0{mark}\0", 2)
            scope.cancel()
    assert scope.cancelled_caught
    await until_alive(f"sleep\0{mark}\0", 0)
    completed = await executor.run(Request("shell", "echo x$x", session="s"))
    assert (completed.result.session, completed.result.stdout.text) == ("started", "x\n")


async def test_calls_of_one_session_take_turns(executor: LocalEngine):
    order: list[str] = []

    async def one(number: int) -> None:
        program = f"n=${{n:-0}}; sleep 0.02; n=$((n + 1)); echo $n; : {number}"
        completed = await executor.run(Request("shell", program, session="s"))
        order.append(completed.result.stdout.text)

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(one, number)
    assert sorted(order, key=int) == [f"{n}\n" for n in range(1, 11)]


async def test_a_session_is_one_box_and_refuses_to_be_another(call):
    await call("python", "x = 1")
    with pytest.raises(RequestError, match="limits"):
        await call("python", "x", limits=Limits(processes=5))
    with pytest.raises(RequestError, match="environment"):
        await call("python", "x", env={"A": "1"})
    assert (await call("python", "print(x)", limits=Limits(wall_s=9))).stdout.text == "1\n"


async def test_a_session_keeps_its_profile(call):
    await call("shell", "x=1")
    with pytest.raises(RequestError, match="profile"):
        await call("shell", ":", profile="build")
    assert (await call("shell", "echo $x")).stdout.text == "1\n"


REFUSED = [
    ({"session": "s", "stdin": b"x"}, "stdin"),
    ({"session": "  "}, "name"),
    ({"session": "x" * 101}, "name"),
    ({"session": None, "fresh": True}, "fresh"),
    ({"session": "s", "background": True}, "background"),
]


@pytest.mark.parametrize(("more", "said"), REFUSED)
async def test_what_no_session_can_do_is_refused(more, said, call):
    with pytest.raises(RequestError, match=said):
        await call("shell", ":", **more)


@pytest.fixture
async def small(project: Path, state_dir: Path) -> AsyncIterator[LocalEngine]:
    """Few sessions, for a short time."""
    settings = Settings(sessions=SessionLimits(count=2, idle_s=0.5, life_s=600))
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=Path.home(), settings=settings
    ) as opened:
        yield opened


async def test_idle_sessions_are_ended_and_the_next_call_is_told(small: LocalEngine):
    await small.run(Request("shell", "x=1", session="s"))
    with trio.fail_after(DEADLINE_S):
        while small.sessions:  # noqa: ASYNC110 - nothing tells of an expiry
            await trio.sleep(0.05)
    result = (await small.run(Request("shell", "echo x$x", session="s"))).result
    assert result.stdout.text == "x\n"
    assert result.session == "started: the previous one has ended, because nobody used it for 0.5 s"


async def test_too_many_sessions_end_the_one_used_longest_ago(project: Path, state_dir: Path):
    settings = Settings(sessions=SessionLimits(count=2))
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=Path.home(), settings=settings
    ) as executor:
        for name in ("one", "two", "one", "three"):
            await executor.run(Request("shell", ":", session=name))
        assert executor.sessions == ("one", "three")
        result = (await executor.run(Request("shell", ":", session="two"))).result
        assert "more than 2 sessions were in use" in result.session


async def test_sessions_leave_no_descriptor_open(executor: LocalEngine):
    async def rounds(count: int) -> None:
        for _ in range(count):
            for language in ("shell", "python", "perl"):
                await executor.run(Request(language, "1", session="s"))
            await executor.run(Request("shell", "exit 0", session="s", fresh=True))

    await rounds(1)
    await trio.testing.wait_all_tasks_blocked()
    before = descriptors()
    await rounds(5)
    # One session's own are open; of another one the burial may be under way.
    with trio.move_on_after(DEADLINE_S):
        while descriptors() > before + 2:  # noqa: ASYNC110 - burials tell nobody
            await trio.sleep(0.01)
    assert descriptors() <= before + 2


async def test_artifacts_come_back_from_a_session(executor: LocalEngine):
    request = Request("python", "open('/tmp/a.txt', 'w').write('made')", artifacts=("/tmp/*.txt",))
    if executor.isolation.tier != "A":
        pytest.skip("not applicable: the scratch of tier B lies elsewhere")
    import dataclasses

    completed = await executor.run(dataclasses.replace(request, session="s"))
    (artifact,) = completed.result.artifacts
    assert Path(artifact.path).read_text() == "made"


async def test_a_child_that_met_the_memory_limit_is_told_with_its_call(call):
    hungry = "awk 'BEGIN { s = \"x\"; while (1) s = s s }' 2> /dev/null || true"
    result = await call("shell", hungry, limits=Limits(memory_bytes=64 * 1024 * 1024))
    if not result.isolation.layers["cgroup"].active:
        pytest.skip("not applicable: nothing counts what is refused")
    assert result.ok
    assert "ended at the memory limit (64 MiB)" in result.message
    assert not (await call("shell", "true")).message


async def test_memory_beyond_the_limit_is_told(call):
    grow = "b = []\nwhile True: b.append(bytearray(b'x' * (1 << 20)))"
    result = await call("python", grow, limits=Limits(memory_bytes=64 * 1024 * 1024))
    if result.isolation.layers["cgroup"].active:
        assert result.status is Status.MEMORY_LIMIT
    else:
        assert result.status in (Status.MEMORY_LIMIT, Status.NONZERO_EXIT)
    assert (await call("shell", "echo alive", fresh=True)).ok
