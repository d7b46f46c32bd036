"""The same program here and through a real engine: the same result, whatever came of it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import policy
from ctxmode.trial.corpus import INPUT_NAME, QUESTIONS, load_programs
from executor import Caller, LocalEngine, Request
from executor.engine.engine import Completed
from executor.instance.lock import remove
from executor.model import MIB, Limits, Result, Status
from policy.model import Decision, Rule, RuleSource
from tests.executor.project.conftest import make_old
from tests.executor.project.viewing import tree
from tests.executor.test_languages import FAIL
from tests.fleet.real_parts import CHECKOUT, Front, Site, dask, fronting, working
from tests.needs import need

WORKER = "worker-0"
RULE = Rule("one", "command", "Bash(id *)", "id *", Decision.DENY, RuleSource("a test"))
GROW = "b = []\nwhile True: b.append(bytearray(b'x' * (1 << 20)))"
WORDS = "printf 'naïve 日本語\\n'; printf 'a\\0b\\377' >&2"
OWN = {"PATH_OF": "x", "ÜMLAUT": "ß"}
BUILD = """
echo new > made/new; echo more >> old/1; rm old/2; mv old/3 made/moved; chmod 700 old/4
ln old/5 made/hard; ln -s ../old/5 made/link; mkdir empty; rm -r gone; touch -d @1700000000 old/6
echo obey > .envrc; mkfifo fifo; ln -s /root/x out
"""
PROGRAMS = {language: (question, code) for language, question, code in load_programs()}
FEW = ("c", "javascript", "python", "shell")
"""Compiled, prewarmed and neither: the others go the same way."""
# What is asked.
FINE: dict[str, Request] = {
    "text": Request("shell", WORDS),
    "no output": Request("shell", ":"),
    "input": Request("shell", "cat; env | grep -a ^Ü; echo $1", env=OWN, stdin=b"in", args=("ä",)),
    "a folder of it": Request("shell", "cat 1; basename $PWD", cwd="old"),
    "a bound file": Request("python", "print(len(FILE_CONTENT))", bind_file=INPUT_NAME),
    "artifacts": Request("shell", "echo a > a.bin; echo b > b.bin", artifacts=("*.bin", "none")),
    "long output": Request("shell", "seq 100000"),
}
FAILING: dict[str, Request] = {
    "a file of it": Request("shell", path="old/run.sh", args=("x",)),
    "an error": Request("python", "def f(): return 1 / 0\nf()"),
    "no compiling": Request("c", "int main(void) { return x; }"),
    "a refused act": Request("shell", "mkdir /usr/x"),
    "no network": Request("python", "import socket; socket.create_connection(('127.0.0.1', 9))"),
}
SCRATCH = "head -c 9000000 /dev/zero > /tmp/x"
ENDED: dict[Status, Request] = {
    Status.SIGNALLED: Request("shell", "kill -SEGV $$"),
    Status.TIMED_OUT: Request("shell", "echo on; sleep 99", timeout_s=1.0),
    Status.CPU_LIMIT: Request("shell", "while :; do :; done", limits=Limits(cpu_s=0.5, wall_s=30)),
    Status.MEMORY_LIMIT: Request("python", GROW, limits=Limits(memory_bytes=64 * MIB)),
    Status.OUTPUT_LIMIT: Request("shell", "yes", limits=Limits(output_bytes=MIB)),
    Status.DISK_LIMIT: Request("shell", SCRATCH, limits=Limits(scratch_bytes=MIB)),
    Status.DENIED: Request("shell", "id -u"),
}
CASES = (
    {name: (request, Status.OK) for name, request in FINE.items()}
    | {name: (request, Status.NONZERO_EXIT) for name, request in FAILING.items()}
    | {status.value: (request, status) for status, request in ENDED.items()}
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """An engine with one worker."""
    with dask(tmp_path_factory.mktemp("dask")) as made, working(made):
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    fill(folder)
    return folder


@pytest.fixture
async def front(site: Site, project: Path, tmp_path: Path) -> AsyncIterator[Front]:
    rules = lambda: policy.Rules((RULE,))  # noqa: E731
    async with fronting(site, project, tmp_path / "state", rules) as opened:
        yield opened


def fill(project: Path) -> None:
    """Bring the project to its beginning."""
    for name in ("old", "made", "gone"):
        (project / name).mkdir()
    for n in range(1, 9):
        (project / "old" / str(n)).write_text(f"old {n}\n" * n)
    (project / "gone" / "one").write_text("one\n")
    (project / "old" / "run.sh").write_text('echo "ran $1"; exit 3\n')
    text = (CHECKOUT / "README.md").read_bytes() + (CHECKOUT / "fleet" / "tree.py").read_bytes()
    (project / INPUT_NAME).write_bytes(text)
    make_old(project)


def told(result: Result, project: Path) -> dict[str, Any]:
    """A result but for what differs between any two runs, and where it ran."""
    form = result.to_json()
    for name in ("usage", "worker"):
        del form[name]
    for artifact in form["artifacts"]:
        artifact["path"] = artifact["path"] and Path(artifact["path"]).name
    form["changes_id"] = form["changes_id"] and "kept"
    if result.status is Status.OUTPUT_LIMIT:  # how much more it wrote until it was ended
        form["stdout"] = form["stdout"]["head"]
    text = json.dumps(form, sort_keys=True, ensure_ascii=False)
    text = re.sub(r"/[^\s\"']*/slots/\d+/project", "PROJECT", text)
    told_form: dict[str, Any] = json.loads(text.replace(str(project), "PROJECT"))
    return told_form


def read_all(completed: Completed) -> list[bytes]:
    """The whole streams and artifacts; the spools are deleted."""
    found = []
    for spool in (completed.stdout_spool, completed.stderr_spool):
        found.append(spool.read_bytes() if spool else b"")
        if spool:
            spool.unlink(missing_ok=True)
    return found + [Path(one.path).read_bytes() for one in completed.result.artifacts if one.path]


async def run_here(engine: LocalEngine, request: Request) -> Completed:
    """Run it on this machine, whatever is sent elsewhere."""
    judged = await engine.judge(request, Caller())
    return judged if isinstance(judged, Completed) else await engine.place(judged)


async def compare(front: Front, request: Request, project: Path) -> Result:
    """Run it there and here; the result of there, once both are seen to be the same."""
    need(request.language)
    here = await run_here(front.local, request)
    there = await front.local.run(request)
    assert told(there.result, project) == told(here.result, project)
    streams_there, streams_here = read_all(there), read_all(here)
    if there.result.status is not Status.OUTPUT_LIMIT:
        assert streams_there == streams_here
    return there.result


async def compare_answers(
    language: str, front: Front, project: Path, *, with_failure: bool
) -> None:
    question, code = PROGRAMS[language]
    result = await compare(front, Request(language, code, timeout_s=60), project)
    expected = QUESTIONS[question][1]((project / INPUT_NAME).read_bytes())
    assert (result.worker, result.stdout.text.strip()) == (WORKER, str(expected))
    if with_failure:
        failed = await compare(front, Request(language, FAIL[language], timeout_s=60), project)
        assert (failed.worker, failed.exit_code) == (WORKER, 3)


@pytest.mark.parametrize("language", FEW)
async def test_a_language_answers_about_the_project_as_here(
    language: str, front: Front, project: Path
):
    await compare_answers(language, front, project, with_failure=True)


@pytest.mark.parametrize("language", sorted(PROGRAMS.keys() - set(FEW)))
async def test_every_other_language_does_so_too(
    language: str, front: Front, project: Path, *, is_long: bool
):
    await compare_answers(language, front, project, with_failure=is_long)


@pytest.mark.parametrize("case", CASES)
async def test_what_comes_of_a_program_is_as_here(case: str, front: Front, project: Path):
    request, status = CASES[case]
    has_groups = front.local.isolation.layers["cgroup"].active
    if status is Status.MEMORY_LIMIT and not has_groups:
        pytest.skip("not applicable: without control groups a program meets either of two limits")
    result = await compare(front, request, project)
    assert result.status is status
    assert result.worker == (None if status is Status.DENIED else WORKER)


async def test_a_project_is_changed_as_here(front: Front, project: Path):
    request = Request("shell", BUILD, profile="build")
    there = (await front.local.run(request)).result
    after = tree(project, times=False)
    for path in project.iterdir():
        remove(path)
    fill(project)
    here = (await run_here(front.local, request)).result
    assert told(there, project) == told(here, project)
    assert after == tree(project, times=False)
    assert here.persists
    assert {one.kind for one in here.not_committed} >= {"never", "refused"}
