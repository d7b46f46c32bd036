"""A program whose exit the kernel tells ahead ends like any other, and nothing of it goes on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from executor import Limits, Status
from executor.engine import seccomp
from executor.engine.box import Order
from executor.request import ANALYZE, BUILD

FILTERS = "puts File.read('/proc/self/status')[/^Seccomp_filters:\\s*(\\d+)/, 1]"
# What the kernel counts for a program that tells of its exit, and for any other, beside the filters
# that these tests themselves run under.
OURS = int(re.search(r"Seccomp_filters:\s*(\d+)", Path("/proc/self/status").read_text())[1])
TELLS, TELLS_NOT = f"{OURS + 2}\n", f"{OURS + 1}\n"

ENDS = {
    "by itself": ("puts 'said'", Status.OK, 0, None),
    "with a code": ("puts 'said'; exit 3", Status.NONZERO_EXIT, 3, None),
    "with the last code": ("puts 'said'; $stdout.flush; exit! 255", Status.NONZERO_EXIT, 255, None),
    "from a thread": (
        "$stdout.sync = true; puts 'said'; Thread.new { exit!(7) }; sleep",
        Status.NONZERO_EXIT,
        7,
        None,
    ),
    "by a signal": (
        "$stdout.sync = true; puts 'said'; Process.kill(:KILL, $$); sleep",
        Status.SIGNALLED,
        None,
        9,
    ),
    "as another program": ("exec 'sh', '-c', 'echo said; exit 4'", Status.NONZERO_EXIT, 4, None),
    "beside a child that goes on": ("fork { sleep }; puts 'said'", Status.OK, 0, None),
    "beside a thread that goes on": ("Thread.new { loop {} }; puts 'said'", Status.OK, 0, None),
}


@pytest.mark.parametrize(("code", "status", "exit_code", "signal"), ENDS.values(), ids=ENDS)
async def test_a_run_ends_as_its_program_does(code, status, exit_code, signal, run):
    result = await run("ruby", code)
    assert result.stdout.text == "said\n"
    assert (result.status, result.exit_code, result.signal) == (status, exit_code, signal)


@pytest.mark.tier_a
@pytest.mark.parametrize(
    ("language", "code"),
    {
        "php": "$s = file_get_contents('/proc/self/status');"
        "preg_match('/Seccomp_filters:\\s*(\\d+)/', $s, $m); echo $m[1], \"\\n\"; exit(3);",
        "ruby": f"{FILTERS}; exit 3",
        "r": "s <- readLines('/proc/self/status')\n"
        "cat(sub('\\\\D+', '', grep('Seccomp_filters', s, value = TRUE)), '\\n', sep = '')\n"
        "quit(status = 3)",
        "elixir": "s = File.read!('/proc/self/status')\n"
        "[_, n] = Regex.run(~r/Seccomp_filters:\\s*(\\d+)/, s)\nIO.puts(n)\nSystem.halt(3)",
    }.items(),
)
async def test_heavy_interpreters_tell_of_their_exit(language, code, run):
    result = await run(language, code)
    assert (result.stdout.text, result.exit_code) == (TELLS, 3)


@pytest.mark.tier_a
async def test_what_is_written_last_arrives_however_much_it_is(run):
    code = "$stdout.write('x' * 3_000_000); $stderr.write('y' * 100_000); $stdout.flush; exit! 0"
    result = await run("ruby", code)
    assert (result.stdout.bytes_total, result.stderr.bytes_total) == (3_000_000, 100_000)


async def test_children_go_on_to_their_own_ends(run):
    code = (
        "puts (0...60).map { |n| fork { exit!(n) } }.sum { |pid| Process.wait2(pid)[1].exitstatus }"
    )
    result = await run("ruby", code)
    assert (result.stdout.text, result.status) == (f"{sum(range(60))}\n", Status.OK)


@pytest.mark.tier_a
async def test_a_storm_of_exits_keeps_nobody_from_ending_the_run(run):
    code = "8.times { fork { loop { Process.wait fork { exit!(0) } } } }; sleep"
    result = await run("ruby", code, limits=Limits(wall_s=2))
    assert result.status is Status.TIMED_OUT


@pytest.mark.tier_a
async def test_what_a_run_used_and_changed_is_told(run, project):
    (project / "old.txt").write_text("old")
    code = """
    File.write('new.txt', 'new')
    File.write(ENV['TMPDIR'] + '/kept.txt', 'kept')
    text = 'x' * 150_000_000
    since = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < since + 0.3
    system('i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done')
    exit! 0
    """
    result = await run("ruby", code, artifacts=("kept.txt",))
    assert [(file.path, file.change) for file in result.changed_files] == [("new.txt", "created")]
    assert [Path(artifact.path).read_text() for artifact in result.artifacts] == ["kept"]
    assert result.usage.cpu_s > 0.3
    assert result.usage.peak_memory_bytes > 150_000_000


@pytest.mark.tier_a
@pytest.mark.parametrize(("profile", "exits"), [(ANALYZE, True), (BUILD, False)])
async def test_what_is_committed_is_looked_at_when_the_kernel_is_done(profile, exits, executor):
    """What a program has asked the kernel to write may still be written while it exits."""
    placement = executor._runner.placement
    spec = placement.cell(Order((), "/", {}, Limits(), profile=profile), placement.layout(profile))
    assert spec.heavy_notices == seccomp.notices(exits=exits, renames=True, refused=True)


def _in_a_process(code: str) -> object:
    """What it prints as JSON: it forks, and sets signal handlers of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


CHILD = """
import json, os, select, signal, socket, sys
from executor.engine import seccomp
from executor.spawner.confine import LISTENERS, PR_SET_NO_NEW_PRIVS, _hand_over_listener, prctl
from executor.spawner.reported_calls import Notices

EXITS = seccomp.notices(exits=True)

def child(then):
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        prctl("no_new_privs", PR_SET_NO_NEW_PRIVS, 1)
        _hand_over_listener(EXITS, theirs.fileno())
        then(theirs)
    message, fds, _, _ = socket.recv_fds(ours, 64, 1)
    assert message == LISTENERS, message
    notices = Notices()
    for fd in fds:
        notices.listen(fd, None)
    return pid, notices, ours

def asked(notices):
    select.select([notices.fd], [], [])
"""


def test_the_process_that_exits_is_told_from_others_and_stays_in_its_call():
    code = """
def main(line):
    if os.fork() == 0:
        os._exit(5)
    os.wait()
    os._exit(0x1FE)

pid, notices, _ = child(main)
codes = []
while None in codes or not codes:
    asked(notices)
    codes.append(notices.serve(pid))
    if codes[-1] is not None:
        break
waits = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG) is None
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
print(json.dumps([codes, waits, notices.serve(-1)]))
"""
    assert _in_a_process(CHILD + code) == [[None, 0xFE], True, None]


def test_who_was_killed_while_it_asked_is_nobodys_exit():
    code = """
pid, notices, _ = child(lambda line: os._exit(0))
asked(notices)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
print(json.dumps(notices.serve(pid)))
"""
    assert _in_a_process(CHILD + code) is None


def test_below_a_listener_of_somebody_elses_a_program_tells_nothing():
    code = """
def again(line):
    _hand_over_listener(EXITS, line.fileno())
    signal.pause()

pid, notices, line = child(again)
message, fds, _, _ = socket.recv_fds(line, 64, 1)
os.kill(pid, signal.SIGKILL)
print(json.dumps([message == LISTENERS, fds]))
"""
    assert _in_a_process(CHILD + code) == [True, []]


def test_nothing_writes_any_more_when_all_is_still(tmp_path):
    code = f"""
import json, os, subprocess, sys, time
from executor.spawner.population import Population
path = {str(tmp_path / "written")!r}
writes = '''
import os, sys, threading
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def write():
    while True:
        os.write(fd, b"x")
for _ in range(8):
    threading.Thread(target=write).start()
'''
def grows(size):
    while not os.path.exists(path) or os.path.getsize(path) <= size:
        time.sleep(0.001)
    return os.path.getsize(path)
population = Population()
for _ in range(3):
    subprocess.Popen([sys.executable, "-c", writes, path])
before = grows(grows(0))
population.be_still()
still = os.path.getsize(path)
ended = 0
while ended < 3:
    population.wait()
    ended += len(list(population.reap()))
print(json.dumps([still >= before, os.path.getsize(path) == still, population.cpu_s > 0]))
"""
    assert _in_a_process(code) == [True, True, True]
