"""Attacks on what the host does to the project while a run is at work."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import trio

from executor import Limits, Request, Result
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import Attack, Stopped, shell
from tests.escapes.harms import GIT, SETTINGS
from tests.escapes.layers_off import Edit, weakened

PAUSE_S = 2  # between what a run says and what it does: the host acts in it


@dataclass(frozen=True, slots=True)
class Clash:
    """What a run does, what the host did just before, and a path whose content stays the host's."""

    run: str
    host: Callable[[Path], object]
    path: str = "file"


def _write(path: Path) -> None:
    path.write_text("of the host\n")


CLASHES = {
    "overwrite": Clash("echo run > file", lambda p: _write(p / "file")),
    "delete": Clash("rm file", lambda p: _write(p / "file")),
    "rename over it": Clash("echo run > other; mv other file", lambda p: _write(p / "file")),
    "rename it away": Clash("mv file other", lambda p: _write(p / "file")),
    "a folder in its place": Clash("rm file; mkdir file", lambda p: _write(p / "file")),
    "a link in its place": Clash("ln -sf folder/in file", lambda p: _write(p / "file")),
    "make the same": Clash("echo run > new", lambda p: _write(p / "new"), "new"),
    "delete its folder": Clash("rm -rf folder", lambda p: _write(p / "folder/new"), "folder/new"),
    "move its folder": Clash("mv folder t", lambda p: _write(p / "folder/in"), "folder/in"),
    "a file in its folder's place": Clash(
        "rm -rf folder; echo run > folder", lambda p: _write(p / "folder/in"), "folder/in"
    ),
}


async def _run_while(
    arena: Arena, act: str, host: Callable[[Path], object], layers: tuple[Edit, ...]
) -> Result:
    """Run `act` in the project, after `host` has been at work there."""
    seen = trio.Event()

    def look(stream: str, data: bytes) -> None:
        if b"ready" in data and not seen.is_set():
            host(arena.project)
            seen.set()

    text = arena.text(shell(f"{SETTINGS}\necho ready; sleep {PAUSE_S}; {act}"))
    request = Request("shell", text, profile="build", limits=Limits(wall_s=60))
    with weakened(arena.executor, layers) if layers else contextlib.nullcontext():
        result = (await arena.executor.run(request, on_output=look)).result
    assert seen.is_set()
    return result


async def _the_hosts_changes_stand(arena: Arena) -> None:
    """Each clash has a folder of its own, and all happen in one run."""

    def host(project: Path) -> None:
        for number, clash in enumerate(CLASHES.values()):
            clash.host(project / str(number))

    acts = [f"(cd {number}; {clash.run})" for number, clash in enumerate(CLASHES.values())]
    for layers in ((), (off.protection,)):
        subprocess.run(["find", str(arena.project), "-mindepth", "1", "-delete"], check=True)
        for number in range(len(CLASHES)):
            (arena.project / f"{number}/folder").mkdir(parents=True)
            for path in ("file", "folder/in"):
                (arena.project / f"{number}/{path}").write_text("as it was\n")
        result = await _run_while(arena, "; ".join(acts), host, layers)
        told = {left.path for left in result.not_committed if left.kind == "conflict"}
        for number, (name, clash) in enumerate(CLASHES.items()):
            place = arena.project / f"{number}/{clash.path}"
            stands = place.is_file() and place.read_text() == "of the host\n"
            assert stands is not bool(layers), f"{name}, with {layers}: {result.not_committed}"
            if not layers and "folder" not in clash.run:
                assert f"{number}/{clash.path}" in told, f"{name}: {result.not_committed}"


def _commit_on_host(folder: Path) -> None:
    for command in ("add -A", "commit -qm host"):
        subprocess.run(["git", *command.split()], cwd=folder, env=GIT, check=True)


async def _the_hosts_commit_stands(arena: Arena) -> None:
    def host(project: Path) -> None:
        _write(project / "file")
        _commit_on_host(project)

    def messages() -> str:
        command = ["git", "log", "--format=%s"]
        return subprocess.check_output(command, cwd=arena.project, env=GIT, text=True)

    (arena.project / "file").write_text("as it was\n")
    subprocess.run(["git", "init", "-q"], cwd=arena.project, env=GIT, check=True)
    _commit_on_host(arena.project)
    before, aside = arena.tmp_path / "before", arena.tmp_path / "aside"
    shutil.copytree(arena.project, before)
    act = "echo run > mine; git add -A; git commit -qm run; git branch -q other"
    result = await _run_while(arena, act, host, ())
    assert {left.kind for left in result.not_committed} & {"conflict", "repository"}, result
    assert messages() == "host\nhost\n"
    assert (arena.project / "file").read_text() == "of the host\n"
    fsck = ["git", "fsck", "--full", "--strict"]
    subprocess.run(fsck, cwd=arena.project, env=GIT, check=True, capture_output=True)
    # The control: of two copies the later one takes the other's place.
    shutil.copytree(before, aside)
    subprocess.run(["sh", "-c", act], cwd=aside, env=GIT, check=True)
    subprocess.run(["find", str(arena.project), "-mindepth", "1", "-delete"], check=True)
    subprocess.run(["cp", "-a", f"{aside}/.", str(arena.project)], check=True)
    assert messages() == "run\nhost\n"


ATTACKS = (
    Attack(
        "X65",
        "overwrite, delete, replace, move files that the host changes during the run",
        Stopped("compared with the start of the run; the host's version stays and is reported"),
        scenario=_the_hosts_changes_stand,
    ),
    Attack(
        "X66",
        "commit to a repository in which the host also commits",
        Stopped("a repository is one unit: if one path conflicts, none of it is committed"),
        scenario=_the_hosts_commit_stands,
    ),
)  # fmt: skip
