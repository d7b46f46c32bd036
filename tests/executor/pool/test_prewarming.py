"""A run that found a program waiting for it is no other run than one that found nothing."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from executor import Limits, LocalEngine, Request, Result, Settings, open_engine
from executor.pool.pool import PoolLimits
from tests.executor import warm_compiled_programs
from tests.executor.warm_programs import PROGRAMS as INTERPRETED
from tests.executor.warm_programs import PROJECT
from tests.needs import need

PROGRAMS = INTERPRETED | warm_compiled_programs.PROGRAMS

WAIT_S_MAX = 120
TRIES = 8

pytestmark = pytest.mark.tier_a


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name, text in PROJECT.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.fixture
def node_alone(request: pytest.FixtureRequest, monkeypatch, tmp_path: Path) -> None:
    """Where another engine of JavaScript would be taken, which needs no warming up, node is."""
    if request.getfixturevalue("language") not in ("javascript", "typescript"):
        return
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("node", "tsx"):
        if found := shutil.which(name):
            (folder / name).symlink_to(os.path.realpath(found))
    monkeypatch.setenv("PATH", str(folder))


@pytest.fixture
async def both(
    project: Path, state_dir: Path, node_alone: None
) -> AsyncIterator[tuple[LocalEngine, LocalEngine]]:
    """An executor where nothing waits, and one where something does."""
    terms = {"project": project, "state_dir": state_dir, "rules": None, "home": Path.home()}
    async with (
        open_engine(**terms, settings=Settings(prewarm=False)) as cold,
        open_engine(**terms) as warm,
    ):
        yield cold, warm


async def run(executor: LocalEngine, request: Request) -> Result:
    need(request.language)
    return (await executor.run(request)).result


async def run_warm(executor: LocalEngine, request: Request) -> Result:
    """The result of a run for which something had waited."""
    with trio.fail_after(WAIT_S_MAX):
        for _ in range(TRIES):
            before = sum(pool.hits for pool in executor.pools)
            result = await run(executor, request)
            if sum(pool.hits for pool in executor.pools) > before:
                return result
            await until_something_waits(executor)
    raise AssertionError(f"nothing waits: {executor.pools}")


async def until_something_waits(executor: LocalEngine) -> None:
    """For a run of the kind that came last, if there are to be any."""
    for _ in range(400):
        latest = executor.pools[0]
        assert not latest.trouble, latest
        if latest.idle or latest.hits + latest.misses < PoolLimits().uses_min:
            return
        await trio.sleep(0.02)


def requests(language: str) -> list[tuple[str, Request]]:
    extra = {
        "input": {"stdin": b"a line\nand another\n"},
        "arguments": {"args": ("a b", "--flag", "é")},
        "bound file": {"bind_file": "numbers.txt"},
    }
    return [
        (title, Request(language, code, **extra.get(title, {})))
        for title, code in PROGRAMS[language].items()
    ]


def told(result: Result) -> Result:
    """All but what it took, where it ran and whether it was compiled for it."""
    layers = {name: replace(layer, reason="") for name, layer in result.isolation.layers.items()}
    # Why a layer is missing names the server that found out.
    isolation = replace(result.isolation, layers=layers)
    return replace(result, usage=None, compiled=None, isolation=isolation)


@pytest.mark.parametrize("language", PROGRAMS)
async def test_a_warm_run_is_told_from_a_cold_one_by_nothing(language, both):
    cold, warm = both
    different = {}
    for title, request in requests(language):
        expected = told(await run(cold, request))
        found = told(await run_warm(warm, request))
        if found != expected:
            different[title] = (expected, found)
    assert not different, "\n\n".join(
        f"{title}\n- {shown(a)}\n+ {shown(b)}" for title, (a, b) in different.items()
    )


def shown(result: Result) -> str:
    return f"{result.status} {result.message} {result.stdout.text}{result.stderr.text}"


@pytest.fixture
async def warm(project: Path, state_dir: Path) -> AsyncIterator[LocalEngine]:
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=Path.home()
    ) as executor:
        yield executor


@pytest.fixture
async def waits(warm: LocalEngine) -> Callable[[Request], Awaitable[None]]:
    """Let something wait for a request."""

    async def wait(request: Request) -> None:
        await run_warm(warm, request)
        with trio.fail_after(WAIT_S_MAX):
            while not warm.pools[0].idle:  # noqa: ASYNC110 - as it comes
                await trio.sleep(0.01)

    return wait


async def test_a_warm_run_sees_the_project_as_it_is_by_now(warm, waits, project):
    request = Request(
        "python", "print(sorted(__import__('os').listdir()), open('numbers.txt').read())"
    )
    await waits(request)
    (project / "numbers.txt").write_text("new\n")
    (project / "later").mkdir()
    result = await run_warm(warm, request)
    assert "'later'" in result.stdout.text
    assert result.stdout.text.endswith("new\n\n")


@pytest.mark.once
async def test_a_module_that_came_later_is_found(warm, waits, project):
    request = Request("python", "import later\nprint(later.VALUE)")
    await waits(replace(request, code="pass"))
    (project / "later.py").write_text("VALUE = 5\n")
    assert (await run(warm, request)).stdout.text == "5\n"


@pytest.mark.once
async def test_a_module_that_the_interpreter_has_loaded_gives_way_to_the_projects(
    warm, waits, project
):
    request = Request("python", "import encodings\nprint(encodings.__file__)")
    await waits(request)
    (project / "sitecustomize.py").write_text("print('customized')\n")
    assert (await run(warm, request)).stdout.text.startswith("customized\n")


async def test_a_secret_that_came_later_is_covered(warm, waits, project):
    request = Request("shell", "cat .env")
    await waits(request)
    (project / ".env").write_text("TOKEN=canary\n")
    result = await run(warm, request)
    assert "canary" not in result.stdout.text
    assert "Permission denied" in result.stderr.text


async def test_a_secret_that_was_replaced_is_covered(warm, waits, project):
    (project / ".env").write_text("TOKEN=first\n")
    request = Request("shell", "cat .env")
    await waits(request)
    (project / "new").write_text("TOKEN=canary\n")
    (project / "new").rename(project / ".env")
    result = await run(warm, request)
    assert "canary" not in result.stdout.text
    assert "Permission denied" in result.stderr.text


async def test_a_folder_with_a_secret_that_was_exchanged_is_seen_as_it_is(warm, waits, project):
    (project / "conf").mkdir()
    (project / "conf/.env").write_text("x")
    (project / "conf/what").write_text("old\n")
    request = Request("shell", "cat conf/what; cat conf/.env")
    await waits(request)
    (project / "conf").rename(project / "gone")
    (project / "conf").mkdir()
    (project / "conf/.env").write_text("canary")
    (project / "conf/what").write_text("new\n")
    result = await run(warm, request)
    assert result.stdout.text == "new\n"


async def test_what_waited_serves_one_run(warm, waits):
    request = Request("shell", "echo $$ >> $TMPDIR/marks; cat $TMPDIR/marks | wc -l")
    await waits(request)
    for _ in range(3):
        assert (await run_warm(warm, request)).stdout.text == "1\n"


@pytest.mark.once
@pytest.mark.parametrize(
    ("request_", "printed"),
    [
        (
            Request(
                "lua", "print(early)", env={"LUA_INIT": "early = io.open('numbers.txt'):read()"}
            ),
            "new\n",
        ),
        (Request("shell", "echo $value", env={"BASH_ENV": "helper.sh"}), "shell helper\n"),
    ],
    ids=lambda it: it.language if isinstance(it, Request) else "",
)
async def test_what_a_variable_makes_an_interpreter_read_is_read_in_the_run(
    request_, printed, warm, waits, project
):
    await waits(request_)
    (project / "numbers.txt").write_text("new\n")
    assert (await run_warm(warm, request_)).stdout.text == printed


@pytest.mark.once
async def test_randomness_is_not_shared(warm, waits):
    request = Request("python", "import random\nprint(random.random(), hash('x'))")
    await waits(request)
    said = {(await run_warm(warm, request)).stdout.text for _ in range(3)}
    assert len(said) == 3


async def test_the_way_it_waited_is_gone(warm, waits):
    request = Request(
        "python", "import os\nprint(os.listdir('/job'), len(os.listdir('/proc/self/fd')))"
    )
    await waits(request)
    assert (await run_warm(warm, request)).stdout.text == "['main.py'] 4\n"


@pytest.mark.once
async def test_a_run_with_other_limits_finds_nothing_that_waits(warm, waits):
    await waits(Request("shell", "ulimit -n"))
    result = await run(warm, Request("shell", "ulimit -n", limits=Limits(open_files=77)))
    assert result.stdout.text == "77\n"


@pytest.mark.once
async def test_what_died_while_it_waited_costs_nothing(warm, waits):
    request = Request("python", "print('alive')")
    await waits(request)
    held = [w.cell.pid for s in warm._pool._prewarmed._shelves.values() for w in s.idle]
    for supervisor in held:
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
        for child in children:
            pidfd = os.pidfd_open(int(child))
            os.kill(int(child), signal.SIGKILL)
            await trio.lowlevel.wait_readable(pidfd)  # its memory is given back first
            os.close(pidfd)
    assert (await run(warm, request)).stdout.text == "alive\n"


@pytest.mark.once
async def test_without_warmth_nothing_waits(project, state_dir):
    async with open_engine(
        project=project,
        state_dir=state_dir,
        rules=None,
        home=Path.home(),
        settings=Settings(prewarm=False),
    ) as executor:
        for _ in range(3):
            await run(executor, Request("shell", "true"))
        assert executor.pools == ()


@pytest.mark.once
async def test_what_goes_on_for_long_keeps_nothing_from_being_made(warm):
    async with trio.open_nursery() as nursery:
        for _ in range(2 * (os.cpu_count() or 1) - 1):
            nursery.start_soon(run, warm, Request("shell", "sleep 600"))
        assert await run_warm(warm, Request("shell", "true"))
        nursery.cancel_scope.cancel()


@pytest.mark.once
async def test_a_program_that_is_new_finds_a_compiler_and_a_jvm_that_wait(warm):
    with trio.fail_after(WAIT_S_MAX):
        for number in range(TRIES):
            result = await run(warm, Request("java", f"System.out.println({number});"))
            assert (result.stdout.text, result.compiled) == (f"{number}\n", "now")
            hits = {pool.label: pool.hits for pool in warm.pools}
            if hits["java, started"] and hits["javac, started"]:
                return
            while not all(p.idle for p in warm.pools if p.hits + p.misses > 1):  # noqa: ASYNC110
                await trio.sleep(0.02)
    raise AssertionError(warm.pools)
