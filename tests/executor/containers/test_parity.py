"""The same request gives the same result in a cell of tier A and in a container."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import trio

from executor import Isolation, Limits, LocalEngine, Request, Result, Settings, open_engine
from executor.model import Usage

pytestmark = [pytest.mark.xdist_group("containers"), pytest.mark.tier_a]

# Of these the kernel tells in a cell, and nobody in a container: docs/refusals.md.
TOLD_BY_KERNEL = ("network", "socket", "call")
Outcome = tuple[Result, dict[str, bytes]]  # and what is in the project afterwards
SMALL = Limits(wall_s=60, scratch_bytes=4 << 20, output_bytes=200_000, file_bytes=8 << 20)
NETWORK = """
import socket
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError as error:
    print(error.strerror)
"""
# (language, program, what else the request says)
PROGRAMS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    # What is printed, and how a program ends.
    ("shell", "echo hello", {}),
    ("shell", "echo out; echo err >&2", {}),
    ("shell", "exit 3", {}),
    ("shell", "exit 255", {}),
    ("shell", "kill -TERM $$", {}),
    ("shell", "kill -SEGV $$", {}),
    ("shell", "true", {}),
    ("shell", "false", {}),
    ("shell", "nonexistent-command", {}),
    ("shell", "printf 'no line end'", {}),
    ("shell", "printf '\\377\\376\\000binary'", {}),
    ("shell", "printf 'naïve — 日本語 🦀\\n'", {}),
    ("shell", "seq 1 20000", {}),
    ("shell", "yes | head -c 100000", {}),
    ("shell", "yes", {"limits": SMALL}),
    ("shell", "sleep 60", {"timeout_s": 1.0}),
    ("shell", "if then", {}),
    ("python", "print(6 * 7)", {}),
    ("python", "raise ValueError('why')", {}),
    ("python", "import sys; sys.exit(7)", {}),
    ("python", "syntax error", {}),
    ("python", "import os; os.abort()", {}),
    ("python", "import sys; print('e', file=sys.stderr); print('o')", {}),
    ("python", "print('x' * 100_000)", {}),
    ("perl", 'print "perl\\n"; exit 9;', {}),
    ("perl", 'die "why\\n";', {}),
    # What it is given.
    ("shell", "cat", {"stdin": b"given\n"}),
    ("shell", "cat", {}),
    ("shell", "head -c 3", {"stdin": b"0123456789" * 10_000}),
    ("shell", 'echo "$#: $1, $2"', {"args": ("a b", "*")}),
    ("shell", 'echo "$NAME"', {"env": {"NAME": "some value"}}),
    ("python", "import sys; print(sys.argv[1:])", {"args": ("x", "ü")}),
    ("python", "print(len(FILE_CONTENT))", {"bind_file": "data.txt"}),
    ("shell", "pwd; ls", {"cwd": "sub"}),
    ("shell", "pwd", {}),
    ("shell", "cat data.txt", {}),
    ("shell", "ls -A", {}),
    ("python", "import os; print(sorted(os.listdir('.')))", {}),
    # Who and where it is.
    ("shell", "id -un; id -u; echo $HOME; echo $TMPDIR; hostname", {}),
    ("shell", "echo $PATH | tr : '\\n' | grep -c bin", {}),
    ("shell", "umask; ulimit -c", {}),
    ("shell", "touch /usr/x; echo $?", {}),
    ("python", "import os; print(os.getpid() > 1, os.getppid(), os.getsid(0) == os.getpid())", {}),
    # What it writes.
    ("shell", "echo new > made", {}),
    ("shell", "echo more >> data.txt; cat data.txt", {}),
    ("shell", "rm data.txt; ls", {}),
    ("shell", "mkdir -p a/b; echo x > a/b/c", {}),
    ("shell", "mv data.txt moved.txt", {}),
    ("shell", "ln -s data.txt link", {}),
    ("shell", "echo x > /tmp/t; cat /tmp/t; echo x > $HOME/h; ls $HOME", {}),
    ("shell", "head -c 9000000 /dev/zero > /tmp/big", {"limits": SMALL}),
    ("shell", "cat .env; echo $?", {}),
    ("python", "open('out.bin', 'wb').write(bytes(1000))", {"artifacts": ("*.bin",)}),
    ("shell", "echo a > a.txt; echo b > b.log", {"artifacts": ("*.txt", "*.md")}),
    ("shell", "echo x > made; echo y > .envrc", {"profile": "build"}),
    ("shell", "rm data.txt", {"profile": "build"}),
    ("shell", "echo x >> sub/inner.txt", {"profile": "build"}),
    # What it leaves behind, and what it can't reach.
    ("shell", "(sleep 60; echo late) & echo done", {}),
    ("shell", "nohup sleep 60 >/dev/null 2>&1 & disown; echo left", {}),
    ("python", NETWORK, {}),
    ("python", "import os; print(os.cpu_count() > 0, os.getloadavg() is not None)", {}),
)


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """Where each program finds a fresh copy of the same project, at the same path."""
    return tmp_path / "project"


def fill(project: Path) -> None:
    (project / "sub").mkdir(parents=True)
    (project / "data.txt").write_text("one\ntwo\n")
    (project / "sub" / "inner.txt").write_text("inner\n")
    (project / ".env").write_text("TOKEN=hidden\n")


def comparable(result: Result) -> Result:
    """All but times, isolation, where copies of artifacts lie, by what id changes are kept, and
    what the kernel alone tells of refusals."""
    artifacts = tuple(replace(a, path=None) for a in result.artifacts)
    # A flood is ended somewhere: how much of it came is a matter of time.
    if result.status.value == "output_limit":
        result = replace(result, stdout=replace(result.stdout, head="", tail="", bytes_total=0))
        stdout = replace(result.stdout, bytes_omitted=0, lines_total=0, lines_omitted=0)
        result = replace(result, stdout=stdout)
    changed = tuple(sorted(result.changed_files, key=lambda change: change.path))
    plain = Isolation("any")
    return replace(
        result,
        usage=Usage(),
        isolation=plain,
        artifacts=artifacts,
        changed_files=changed,
        changes_id=result.changes_id and "kept",
        refusals=tuple(one for one in result.refusals if one.kind not in TOLD_BY_KERNEL),
    )


def contents(project: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(project)): path.read_bytes()
        for path in sorted(project.rglob("*"))
        if path.is_file()
    }


def test_there_are_sixty_of_them():
    assert len(PROGRAMS) >= 60


async def test_sixty_programs_give_equal_results(engine, both: Path, state_dir: Path):
    fill(both)
    outcomes: dict[str, list[Outcome]] = {}
    for isolation in ("auto", "container"):
        settings = Settings(isolation=isolation)
        async with open_engine(
            project=both, state_dir=state_dir, rules=None, home=Path.home(), settings=settings
        ) as executor:
            assert executor.isolation.tier == {"auto": "A", "container": "C"}[isolation]
            outcomes[isolation] = await all_of(executor, both)
    rows = zip(PROGRAMS, outcomes["auto"], outcomes["container"], strict=True)
    different = [difference(program, *both) for program, *both in rows if both[0] != both[1]]
    assert not different, "\n".join(different)


def difference(program: object, cell: Outcome, container: Outcome) -> str:
    """What is not equal, for whoever has to find out why."""
    one, other = cell[0], container[0]
    pairs = [(f.name, getattr(one, f.name), getattr(other, f.name)) for f in fields(one)]
    pairs.append(("the project", cell[1], container[1]))
    return f"{program}: {[pair for pair in pairs if pair[1] != pair[2]]}"


async def all_of(executor: LocalEngine, project: Path) -> list[Outcome]:
    """The results, and the project's content after each program that wrote to it."""
    found: dict[int, Outcome] = {}
    slots = trio.CapacityLimiter(2)

    async def one(number: int) -> None:
        language, code, more = PROGRAMS[number]
        async with slots:
            result = (await executor.run(Request(language, code, **more))).result
        found[number] = (comparable(result), contents(project))

    harmless = [n for n, (_, _, more) in enumerate(PROGRAMS) if more.get("profile") != "build"]
    async with trio.open_nursery() as nursery:
        for number in harmless:
            nursery.start_soon(one, number)
    for number in range(len(PROGRAMS)):
        if number not in harmless:
            await one(number)
            for path in project.rglob("*"):
                if path.is_file():
                    path.unlink()
            (project / "sub").rmdir()
            fill(project)
    return [found[number] for number in range(len(PROGRAMS))]
