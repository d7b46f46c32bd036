"""Nothing that was stopped does anything, whatever it does against it; afterwards all goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from executor.engine.seccomp import CLONE_UNTRACED
from tests.processes import DEADLINE_S

# The system's own: other users can't reach the tests', maybe.
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
# The parent of all that is to be stopped, in a process of its own: it reaps whatever ends.
PARENT = """
import ctypes, json, os, signal, subprocess, sys, time
from executor.spawner.kernel import PR_SET_CHILD_SUBREAPER, StepError, prctl
from executor.spawner.population import Population
from executor.spawner.proc import stat, threads

path = sys.argv[1]
sys.meta_path.clear()  # as in a cell
prctl("subreaper", PR_SET_CHILD_SUBREAPER, 1)
population = Population()

def start(code):
    return subprocess.Popen([PYTHON, "-c", CHILD + code, path])

def size():
    return os.path.getsize(path) if os.path.exists(path) else 0

def until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "nothing comes of it"
        ends.extend(population.reap())
        time.sleep(0.001)

def until_it_writes():
    before = size()
    until(lambda: size() > before)

def until_in_state(pid, *states):
    until(lambda: stat(f"/proc/{pid}")[0] in states)

def lasts(seconds):
    before = size(), population.measure()[0]
    time.sleep(seconds)
    list_of_ends = list(population.reap())
    assert not list_of_ends, list_of_ends
    return (size(), population.measure()[0]) == before

ends = []
"""
CHILD = """
import ctypes, os, signal, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
def write():
    while True:
        os.write(fd, b"x")
        time.sleep(0.0005)
"""


def parent(code: str) -> list[str]:
    """The command that starts it."""
    whole = f"{PARENT}try:\n    exec({code!r})\nfinally:\n    population.end_all()"
    return [sys.executable, "-c", f"CHILD, PYTHON = {CHILD!r}, {PYTHON!r}\n{whole}"]


def run(code: str, path: Path) -> object:
    """What the parent prints as JSON."""
    done = subprocess.run(
        [*parent(code), path],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


# Each writes to the file without end. struct sigevent with SIGCONT, of the monotonic clock.
TIMER = """
import struct
signal.signal(signal.SIGCONT, lambda *_: None)  # else the kernel gives up the timer
event = struct.pack("=QiiQ40x", 0, signal.SIGCONT, 0, 0)
timer = ctypes.c_void_p()
assert libc.timer_create(1, event, ctypes.byref(timer)) == 0
libc.timer_settime(timer, 0, struct.pack("=4q", 0, 5_000_000, 0, 5_000_000), None)
write()
"""
RESTLESS = {
    "one thread": "write()",
    "many threads": "for _ in range(20): threading.Thread(target=write).start()",
    "a timer that sends SIGCONT": TIMER,
    "a process outside its group that sends SIGCONT": """
if os.fork() == 0:
    os.setsid()
    while True:
        os.kill(os.getppid(), signal.SIGCONT)
        os.write(fd, b"x")
write()
""",
    "SIGSTOP to itself, and a process that sends SIGCONT": """
if os.fork() == 0:
    while True:
        os.kill(os.getppid(), signal.SIGCONT)
        time.sleep(0.001)
while True:
    os.write(fd, b"x")
    os.kill(os.getpid(), signal.SIGSTOP)
""",
    "a chain of forks": """
while True:
    if os.fork():
        os._exit(0)
    os.write(fd, b"x")
""",
    "forks that are waited for": """
while True:
    pid = os.fork()
    if pid == 0:
        os.write(fd, b"x")
        os._exit(0)
    os.waitpid(pid, 0)
""",
    "threads that come and go": """
def one():
    os.write(fd, b"x")
def many():
    while True:
        thread = threading.Thread(target=one)
        thread.start()
        thread.join()
for _ in range(4): threading.Thread(target=many).start()
""",
    "a leader that has ended before its threads": """
threading.Thread(target=write).start()
libc.syscall(ctypes.c_long(__EXIT__), 0)
""",
    "another program over and over, from beside other threads": """
os.write(fd, b"x")
def again():
    os.execv(sys.executable, [sys.executable, "-S", "-c", sys.orig_argv[-2], sys.argv[1]])
for _ in range(12): threading.Thread(target=write).start()
threading.Thread(target=again).start()
""",
    "children by posix_spawn": """
while True:
    os.write(fd, b"x")
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(pid, 0)
""",
    "children that are not waited for": """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        os.write(fd, b"x")
        os._exit(0)
    time.sleep(0.001)
""",
}
ROUNDS = """
start(CODE)
until_it_writes()
for _ in range(8):
    population.stop_all()
    ends.extend(population.reap())  # before all stood still
    assert lasts(0.05)
    population.continue_all()
    until_it_writes()
print("true")
"""


@pytest.mark.parametrize("name", RESTLESS)
def test_nothing_moves_until_it_may_go_on(name, tmp_path):
    number = "93" if os.uname().machine == "aarch64" else "60"
    code = RESTLESS[name].replace("__EXIT__", number)
    assert run(f"CODE = {code!r}\n{ROUNDS}", tmp_path / "written")


@pytest.mark.parametrize("call", ["stop_all", "be_still", "end_all"])
def test_a_chain_of_forks_does_not_outrun_the_look_through_a_crowded_machine(call, tmp_path):
    code = f"""
start(CODE)
until_it_writes()
look = population._members
def look_for_long():
    members = look()
    time.sleep(0.02)
    return members
population._members = look_for_long
population.{call}()
for _ in population.reap():
    pass
population._members = look
print(json.dumps(lasts(0.05)))
"""
    code = f"CODE = {RESTLESS['a chain of forks']!r}\n{code}"
    assert run(code, tmp_path / "written")


def test_a_signal_to_stop_is_undone_by_a_timer(tmp_path):
    """The control: why signals do not do."""
    code = """
child = start(CODE)
until_it_writes()
os.kill(child.pid, signal.SIGSTOP)
until_it_writes()
print("true")
"""
    assert run(f"CODE = {TIMER!r}\n{code}", tmp_path / "written")


def test_who_stood_still_of_itself_stands_still_afterwards_until_sigcont(tmp_path):
    code = """
child = start("write()")
until_it_writes()
os.kill(child.pid, signal.SIGSTOP)
until_in_state(child.pid, b"T")
for _ in range(2):
    population.stop_all()
    population.continue_all()
    until_in_state(child.pid, b"T")
population.stop_all()
os.kill(child.pid, signal.SIGCONT)
still = lasts(0.1)
population.continue_all()
until_it_writes()
print(json.dumps(still))
"""
    assert run(code, tmp_path / "written")


def test_signals_that_come_meanwhile_are_delivered_afterwards_each_once(tmp_path):
    code = """
child = start(\"\"\"
def told(number, _):
    os.write(fd, bytes([number]))
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM):
    signal.signal(number, told)
os.write(fd, b"x")
while True:
    signal.pause()
\"\"\")
until_it_writes()
for _ in range(50):  # also at the very moment
    os.kill(child.pid, signal.SIGUSR1)
    population.stop_all()
    os.kill(child.pid, signal.SIGUSR2)
    before = size()
    population.continue_all()
    until(lambda: open(path, "rb").read().count(signal.SIGUSR2) == _ + 1)
until(lambda: size() == 101)
print(json.dumps(size()))
"""
    assert run(code, tmp_path / "written") == 101


def test_what_was_asleep_sleeps_on_and_is_not_interrupted(tmp_path):
    code = """
start(\"\"\"
import socket
def tell(wait):
    def waits():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})  # it is for the first thread
        wait()
        os.write(fd, b"x")
    threading.Thread(target=waits).start()
reader, writer = os.pipe()
ours, theirs = socket.socketpair()
tell(lambda: libc.usleep(500_000) and 1 / 0)
tell(lambda: time.sleep(0.5))
tell(lambda: libc.poll(None, 0, 500) and 1 / 0)
tell(lambda: libc.read(reader, ctypes.create_string_buffer(1), 1) == 1 or 1 / 0)
tell(lambda: libc.recv(ours.fileno(), ctypes.create_string_buffer(1), 1, 0) == 1 or 1 / 0)
tell(lambda: threading.Event().wait(0.5))
def told(number, _):
    os.write(fd, b"x")
signal.signal(signal.SIGALRM, told)
signal.setitimer(signal.ITIMER_REAL, 0.5)
os.write(fd, b"begun")
time.sleep(0.7)
os.write(writer, b"x")
theirs.send(b"x")
\"\"\")
until(lambda: size() == 5)
time.sleep(0.1)
population.stop_all()
still = lasts(1)
population.continue_all()
until(lambda: size() == 12)
print(json.dumps(still))
"""
    assert run(code, tmp_path / "written")


def test_the_parent_of_a_vfork_counts_as_stopped_with_its_child(tmp_path):
    """It can't be interrupted: its child, that is to become a program, waits for a FIFO before."""
    os.mkfifo(tmp_path / "fifo")
    code = """
child = start(\"\"\"
opens = (os.POSIX_SPAWN_OPEN, 0, sys.argv[1] + "/../fifo", os.O_RDONLY, 0)
os.write(fd, b"x")
pid = os.posix_spawn("/bin/cat", ["cat"], {}, file_actions=[opens])
os.waitpid(pid, 0)
write()
\"\"\".replace("/../", "/").replace("sys.argv[1] + \\"/", "os.path.dirname(sys.argv[1]) + \\"/"))
until_it_writes()
until_in_state(child.pid, b"D")
for _ in range(3):
    population.stop_all()
    assert lasts(0.02)
    population.continue_all()
population.stop_all()
population.continue_all()
os.close(os.open(os.path.dirname(path) + "/fifo", os.O_WRONLY))
until_it_writes()
population.stop_all()
print(json.dumps(lasts(0.1)))
"""
    assert run(code, tmp_path / "written")


def test_ends_are_told_once_and_those_of_grandchildren_to_their_parents(tmp_path):
    code = """
child = start(\"\"\"
pids = [os.fork() or time.sleep(600) for _ in range(3)]
os.write(fd, b"x")
total = sum(os.waitpid(pid, 0)[1] for pid in pids)
os._exit(total)
\"\"\")
victim = start("write()")
until_it_writes()
until(lambda: len(population._members()) == 5)
population.stop_all()
for pid in population._members():
    if pid != child.pid:
        os.kill(pid, signal.SIGKILL)
until(lambda: ends)
population.continue_all()
until(lambda: len(ends) == 2)
statuses = dict(ends)
print(json.dumps([statuses[victim.pid], os.waitstatus_to_exitcode(statuses[child.pid])]))
"""
    assert run(code, tmp_path / "written") == [9, 27]


def test_processor_time_is_counted_once(tmp_path):
    code = """
start(\"\"\"
def spin():
    since = time.process_time()
    while time.process_time() < since + 0.3:
        pass
    os.write(fd, b"x")
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        spin()
        os._exit(0)
    os.waitpid(pid, 0)
thread = threading.Thread(target=spin)
thread.start()
thread.join()
os._exit(0)
\"\"\")
while not ends:
    population.stop_all()
    population.continue_all()
    ends.extend(population.reap())
print(json.dumps(population.cpu_s))
"""
    assert 0.9 <= run(code, tmp_path / "written") < 1.5


def test_the_stopped_end_with_what_stopped_them(tmp_path):
    code = """
for _ in range(3):
    start("for _ in range(3): threading.Thread(target=write).start()")
until_it_writes()
population.stop_all()
print(json.dumps(population._members()), flush=True)
signal.pause()
"""
    tracer = subprocess.Popen(
        [*parent(code), tmp_path / "written"],
        stdout=subprocess.PIPE,
    )
    assert tracer.stdout is not None
    pids = json.loads(tracer.stdout.readline())
    assert len(pids) == 3
    assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    tracer.kill()
    tracer.communicate()
    deadline = time.monotonic() + DEADLINE_S
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_all_can_be_ended_while_it_is_stopped(tmp_path):
    code = """
start("[os.fork() for _ in range(3)]; threading.Thread(target=write).start(); write()")
until_it_writes()
population.stop_all()
population.end_all()
print(json.dumps(population._members()))
"""
    assert run(code, tmp_path / "written") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="not applicable: only root can become another user")
def test_who_may_not_be_traced_is_told(tmp_path):
    """Without capabilities, what has made itself undumpable is out of reach."""
    code = """
child = start(\"\"\"
os.setresuid(65534, 65534, 65534)
libc.prctl(4, 0, 0, 0, 0)
write()
\"\"\")
until_it_writes()
os.setresuid(65534, 65534, 0)
try:
    population.stop_all()
except StepError as error:
    print(json.dumps(str(error)))
os.setresuid(0, 0, 0)
"""
    assert run(code, tmp_path / "written") == "a process may not be traced (EPERM)"


def test_nothing_escapes_by_being_born_untraced(tmp_path):
    """The filter refuses that flag to programs; here it is tried without."""
    code = f"""
start(\"\"\"
NUMBER = 220 if os.uname().machine == "aarch64" else 56
while True:
    pid = libc.syscall(*map(ctypes.c_long, (NUMBER, {CLONE_UNTRACED} | signal.SIGCHLD, 0, 0, 0, 0)))
    if pid == 0:
        os.write(fd, b"x")
        os._exit(0)
    os.waitpid(pid, 0)
\"\"\")
{ROUNDS.partition("start(CODE)")[2]}"""
    assert run(code, tmp_path / "written")
