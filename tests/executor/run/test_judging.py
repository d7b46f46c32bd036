"""Programs are judged by a process that can be lost: the server has its verdict, and goes on."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trio

from base.frames import encode, to_frame
from executor.instance.child_processes import JUDGE
from executor.run import judging as judge_module
from executor.run.judging import Judges, open_judges
from policy import Decision, Rules, Subject
from policy.deadline import FRAME_BYTES_MAX
from policy.model import Rule, RuleSource

DENIED = Rules((Rule("r", "command", "Bash(sudo *)", "sudo *", Decision.DENY, RuleSource("s", 1)),))
NONE = Rules()

# Where LOOP is judged the process loops in C; where RAISE is, a defect shows; EXIT ends it.
HOSTILE = """\
import itertools, os
from executor.run import judge_process
from policy import judging
analyse = judging.analyse
def analysed(subject, texts):
    if "LOOP" in subject.code:
        sum(itertools.repeat(0))
    if "MEMORY" in subject.code:
        bytes(1 << 40)
    if "RAISE" in subject.code:
        raise KeyError("\\ud800 a defect")
    if "EXIT" in subject.code:
        os._exit(3)
    return analyse(subject, texts)
judging.analyse = analysed
judge_process.SECONDS = 0.2
serve(int(sys.argv[1]))
"""


# A judge that a text has taken over says whatever it likes, and stays.
TAKEN_OVER = """\
import socket, sys
asking = socket.socket(fileno=int(sys.argv[1]))
asking.recv(1 << 16)
asking.sendall({said!r})
for _ in range({blocks}):
    asking.sendall(bytes(1 << 20))
asking.recv(1)
"""


class Planted:
    """What makes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self._file,)


ALLOWED = [0, [], "full", None, "", 0]
FORGED = {
    "another codec": b"\x80\x04N.",
    "not JSON": b"{",
    "nothing": b"",
    "no list": b'{"verdict": null}',
    "no such decision": encode(([9, *ALLOWED[1:]], "", "")),
    "a decision in words": encode((["allow", *ALLOWED[1:]], "", "")),
    "no such coverage": encode(([0, [], "most", None, "", 0], "", "")),
    "a field more": encode(([*ALLOWED, 0], "", "")),
    "a text that is a number": encode((ALLOWED, 1, "")),
    "nested without end": b"[" * 100_000,
}


def shell(code: str) -> Subject:
    return Subject("shell", code, env={})


@pytest.fixture
def hostile(monkeypatch):
    """Judges for whom some texts are too much."""
    code = JUDGE[0][1].replace("serve(int(sys.argv[1]))\n", HOSTILE)
    monkeypatch.setattr(judge_module, "JUDGE", (("-c", code), *JUDGE[1:]))


@pytest.fixture
async def judges():
    told: list[Exception] = []

    def report(error: Exception) -> str:
        told.append(error)
        return f"a defect: {error}"

    async with open_judges(report, prewarm=False) as opened:
        opened.told = told  # type: ignore[attr-defined]
        yield opened


async def decided(judges: Judges, code: str, rules: Rules = DENIED) -> tuple[str, str]:
    verdict = await judges.verdict(shell(code), rules, frozenset())
    return verdict.decision.word, verdict.message


def the_waiting(judges: Judges) -> int:
    (one,) = judges._idle
    return one.process.pid


async def test_verdicts_are_given_under_the_rules_of_the_moment(judges: Judges):
    for rules, expected in ((DENIED, "deny"), (DENIED, "deny"), (NONE, "allow"), (DENIED, "deny")):
        assert (await decided(judges, "sudo id", rules))[0] == expected
        assert (await decided(judges, "id", rules))[0] == "allow"
    pid = the_waiting(judges)
    assert (await decided(judges, "cat \ud800 '" + "x" * (1 << 20), DENIED))[0] == "deny"
    assert the_waiting(judges) == pid


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("code", ["LOOP", "MEMORY"])
async def test_a_program_that_is_too_much_is_decided_and_the_next_is_judged(
    code: str, judges: Judges
):
    assert (await decided(judges, "id"))[0] == "allow"
    first = the_waiting(judges)
    word, message = await decided(judges, code)
    assert (word, "too large to be understood" in message) == ("deny", True)
    assert (await decided(judges, code, NONE))[0] == "allow"
    assert [(await decided(judges, code))[0] for code in ("sudo id", "id")] == ["deny", "allow"]
    assert the_waiting(judges) != first
    assert not Path(f"/proc/{first}").exists()


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize(
    ("code", "named"), [("RAISE", "KeyError"), ("EXIT", "ended with exit code 3")]
)
async def test_a_defect_is_reported_with_its_story(code: str, named: str, judges: Judges):
    word, message = await decided(judges, code)
    assert word == "deny"
    assert "could not be judged: a defect: " in message
    assert named in message
    (error,) = judges.told  # type: ignore[attr-defined]
    assert ("analysed" in "".join(error.__notes__)) == (code == "RAISE")
    assert (await decided(judges, "id"))[0] == "allow"


def take_over(monkeypatch: pytest.MonkeyPatch, said: bytes, blocks: int = 0) -> None:
    code = TAKEN_OVER.format(said=said, blocks=blocks)
    monkeypatch.setattr(judge_module, "JUDGE", (("-c", code), *JUDGE[1:]))


@pytest.mark.parametrize("said", FORGED.values(), ids=FORGED)
async def test_what_is_no_answer_is_decided_by_the_strictest_rule(
    said: bytes, judges: Judges, monkeypatch: pytest.MonkeyPatch
):
    take_over(monkeypatch, to_frame(said))
    with trio.fail_after(30):
        assert (await decided(judges, "id"))[0] == "deny"


async def test_an_answer_of_the_right_form_is_taken(judges: Judges, monkeypatch):
    take_over(monkeypatch, to_frame(encode((ALLOWED, "", ""))))
    assert (await decided(judges, "sudo id"))[0] == "allow"


async def test_nothing_that_a_judge_says_is_unpickled(tmp_path: Path, judges: Judges, monkeypatch):
    """The control: whoever unpickles it makes the file."""
    planted = pickle.dumps(Planted(tmp_path / "planted"))
    take_over(monkeypatch, to_frame(planted))
    assert (await decided(judges, "id"))[0] == "deny"
    assert not (tmp_path / "planted").exists()
    pickle.loads(planted)
    assert (tmp_path / "planted").exists()


async def test_an_answer_without_end_is_given_up(judges: Judges, monkeypatch):
    monkeypatch.setattr(judge_module, "WALL_SECONDS", 1000.0)
    take_over(monkeypatch, (1 << 40).to_bytes(8, "big"), blocks=(FRAME_BYTES_MAX >> 20) + 8)
    with trio.fail_after(30):
        assert (await decided(judges, "id"))[0] == "deny"


async def test_a_judge_that_does_nothing_is_given_up(judges: Judges, monkeypatch):
    monkeypatch.setattr(judge_module, "WALL_SECONDS", 1.0)
    await judges.start()
    os.kill(the_waiting(judges), signal.SIGSTOP)
    with trio.fail_after(30):
        assert (await decided(judges, "id"))[0] == "deny"
    monkeypatch.undo()
    assert (await decided(judges, "id"))[0] == "allow"


async def test_without_a_process_the_strictest_rule_decides(judges: Judges, monkeypatch):
    def fail(_: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(judge_module, "take", fail)
    word, message = await decided(judges, "id")
    assert (word, "no more processes" in message) == ("deny", True)
    monkeypatch.undo()
    assert (await decided(judges, "id"))[0] == "allow"


async def test_one_that_died_in_between_costs_no_verdict(judges: Judges):
    assert (await decided(judges, "id"))[0] == "allow"
    os.kill(the_waiting(judges), signal.SIGKILL)
    os.waitid(os.P_PID, the_waiting(judges), os.WEXITED | os.WNOWAIT)
    assert (await decided(judges, "id"))[0] == "allow"


@pytest.mark.usefixtures("hostile")
async def test_one_that_takes_long_holds_up_no_other(judges: Judges):
    async with trio.open_nursery() as nursery:
        for code in ("LOOP", "id"):
            nursery.start_soon(decided, judges, code)
    assert len(judges._idle) == 2


@pytest.mark.usefixtures("hostile")
async def test_who_no_longer_waits_leaves_no_process(judges: Judges):
    await judges.start()
    pid = the_waiting(judges)
    with trio.move_on_after(0.1) as scope:
        await decided(judges, "LOOP")
    assert scope.cancelled_caught
    assert not Path(f"/proc/{pid}").exists()
    assert (await decided(judges, "id"))[0] == "allow"


async def test_none_is_left_when_the_server_ends():
    pids: list[int] = []
    async with open_judges(repr, prewarm=True) as judges:
        pids.append(the_waiting(judges))
    assert not Path(f"/proc/{pids[0]}").exists()


def gone(pid: int) -> bool:
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


def test_none_is_left_when_the_server_is_killed():
    code = (
        "import os, trio\n"
        "from executor.run.judging import open_judges\n"
        "async def main():\n"
        "    async with open_judges(repr, prewarm=True) as judges:\n"
        "        print(judges._idle[0].process.pid, flush=True)\n"
        "        os.kill(os.getpid(), 9)\n"
        "trio.run(main)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    pid = int(done.stdout)
    until = time.monotonic() + 30
    while not gone(pid):
        assert time.monotonic() < until
        time.sleep(0.02)
