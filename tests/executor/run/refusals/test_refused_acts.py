"""What a run was refused is named; what a program does by itself, or copes with, is not."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyseccomp
import pytest
import trio

from executor import LocalEngine, Request, Result, Settings, Status, open_engine
from executor.network import parse
from executor.request import ANALYZE, BUILD, Profile, ProjectAccess
from tests.executor.run.refusals.acts import ACTS, BENIGN, BUILT, PROGRAMS, Act, Control
from tests.needs import absent, need

AT_ONCE = 2
NAMED_MIN = 22  # of 24: the bar
COPY = ProjectAccess.COPY_ON_WRITE

pytestmark = pytest.mark.tier_a


@dataclass(frozen=True, slots=True)
class Place:
    """An executor, its project, and what of the host programs try to reach."""

    executor: LocalEngine
    words: Mapping[str, str]

    def fill(self, text: str) -> str:
        for word, value in self.words.items():
            text = text.replace(f"@{word}@", value)
        return re.sub(r"\bNR\.(\w+)", lambda match: _number(match[1]), text)

    async def run(self, language: str, text: str, **more: object) -> Result:
        completed = await self.executor.run(Request(language, self.fill(text), **more))
        for spool in (completed.stdout_spool, completed.stderr_spool):
            if spool:
                spool.unlink(missing_ok=True)
        return completed.result


def _number(call: str) -> str:
    return str(pyseccomp.resolve_syscall(pyseccomp.system_arch(), call))


@contextlib.contextmanager
def _outside() -> Iterator[Path]:
    """A folder of this user's home, which no cell shows."""
    folder = Path.home() / f"refused-{secrets.token_hex(6)}"
    folder.mkdir()
    (folder / "data.csv").write_text("a,b\n")
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def _listening(family: int, address: object) -> Iterator[socket.socket]:
    with socket.socket(family) as server:
        server.bind(address)
        server.listen()
        yield server


@contextlib.contextmanager
def _listening_at(path: Path) -> Iterator[None]:
    """At a path however long it is."""
    folder = os.open(path.parent, os.O_PATH)
    try:
        with _listening(socket.AF_UNIX, f"/proc/self/fd/{folder}/{path.name}"):
            yield
    finally:
        os.close(folder)


@pytest.fixture
async def place(tmp_path: Path, state_dir: Path) -> AsyncIterator[Place]:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".env").write_text("KEY=1\n")
    (project / "plain.txt").write_text("plain\n")
    abstract = f"refused-{secrets.token_hex(6)}"
    with (
        _outside() as outside,
        _listening(socket.AF_INET, ("127.0.0.1", 0)) as near,
        _listening_at(project / "dev.sock"),
        _listening_at(outside / "host.sock"),
        _listening(socket.AF_UNIX, f"\0{abstract}"),
    ):
        port = str(near.getsockname()[1])
        profiles = {
            "analyze": ANALYZE,
            "build": BUILD,
            "online": Profile("online", COPY, parse(("pypi.org",))),
            "local": Profile("local", COPY, parse((f"localhost:{port}",))),
            "sockets": Profile("sockets", ProjectAccess.READ_ONLY, sockets=("dev.sock",)),
            "reads": Profile("reads", COPY, read=(f"~/{outside.name}/data.csv",)),
            "reading": Profile("reading", ProjectAccess.READ_ONLY),
        }
        words = {
            "project": str(project),
            "outside": outside.name,
            "home": str(Path.home()),
            "abstract": abstract,
            "port": port,
        }
        async with open_engine(
            project=project,
            state_dir=state_dir,
            rules=None,
            home=Path.home(),
            settings=Settings(profiles=profiles),
        ) as executor:
            yield Place(executor, words)


def _is_named(result: Result, act: Act, place: Place) -> bool:
    target, remedy = place.fill(act.target), place.fill(act.remedy)
    certainty = "inferred" if act.is_counted and not _has_group(place) else act.certainty
    return any(
        (one.kind, one.target, one.certainty) == (act.kind, target, certainty)
        and remedy in one.remedy
        for one in result.refusals
    )


def _has_group(place: Place) -> bool:
    """Whether a control group counts what is refused."""
    return place.executor.isolation.layers["cgroup"].active


def _tell(wrong: Mapping[str, object]) -> str:
    return "\n".join(f"{name}: {what}" for name, what in wrong.items())


async def test_refused_acts_are_named(place: Place):
    wrong: dict[str, object] = {}
    others: dict[str, object] = {}

    async def look(name: str, act: Act) -> None:
        async with slots:
            more = {"profile": act.profile, "limits": act.limits}
            result = await place.run(act.language, act.text, **more)
        if (result.status is Status.OK) != act.copes:
            wrong[name] = result.status, result.message, result.stderr.text
        elif not _is_named(result, act, place):
            wrong[name] = result.status, result.refusals, result.stderr.text
        elif len(result.refusals) != 1:
            others[name] = result.refusals

    slots = trio.CapacityLimiter(AT_ONCE)
    async with trio.open_nursery() as nursery:
        for name, act in ACTS.items():
            if absent(act.language):
                continue
            if not (act.is_counted and act.copes) or _has_group(place):
                nursery.start_soon(look, name, act)
    assert not wrong, _tell(wrong)
    assert not others, _tell(others)
    assert len(ACTS) >= NAMED_MIN
    need(*sorted({act.language for act in ACTS.values()}))  # of the others nothing is known


async def test_where_it_is_permitted_the_same_act_succeeds_and_nothing_is_named(place: Place):
    wrong: dict[str, object] = {}

    async def look(name: str, act: Act, control: Control) -> None:
        async with slots:
            text = control.text or act.text
            more = {"profile": control.profile, "limits": control.limits}
            result = await place.run(act.language, text, **more)
        if result.status is not Status.OK or result.refusals:
            wrong[name] = result.status, result.refusals, result.stderr.text

    slots = trio.CapacityLimiter(AT_ONCE)
    async with trio.open_nursery() as nursery:
        for name, act in ACTS.items():
            if act.control and not absent(act.language):
                nursery.start_soon(look, name, act, act.control)
    assert not wrong, _tell(wrong)
    need(*sorted({act.language for act in ACTS.values()}))


async def test_benign_programs_are_refused_nothing(place: Place):
    wrong: dict[str, object] = {}
    ran: list[str] = []

    async def look(
        name: str, language: str, text: str, exit_code: int, profile: str = "analyze"
    ) -> None:
        async with slots:
            result = await place.run(language, text, profile=profile)
        ran.append(name)
        if result.exit_code != exit_code or result.refusals:
            wrong[name] = result.exit_code, result.refusals, result.stderr.text, result.message

    slots = trio.CapacityLimiter(AT_ONCE)
    async with trio.open_nursery() as nursery:
        for name, (language, text, exit_code) in BENIGN.items():
            if absent(language, *PROGRAMS.get(name, ())):
                continue
            nursery.start_soon(look, name, language, text, exit_code)
            if name in BUILT:
                nursery.start_soon(look, f"{name}, built", language, text, exit_code, "build")
    assert not wrong, _tell(wrong)
    assert len(BENIGN) >= 40
    assert ran
    need(*sorted({language for language, _, _ in BENIGN.values()}), *chain(*PROGRAMS.values()))
