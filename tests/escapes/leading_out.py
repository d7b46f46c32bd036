"""Attacks by links that lead out of the project, whoever writes through them later."""

# ruff: noqa: E501 - programs keep their lines

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from executor import Result
from executor.project.apply import staging as steps
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import Attack, Control, Program, Stopped, Words, shell

TIMES = 12
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # <fcntl.h>, <linux/fs.h>
VICTIMS = (".bashrc", ".ssh/authorized_keys", ".profile")
# Each line makes links of its own; `way` is a link of the project that leads out, by its owner.
LINKS = shell("""
ln -s @home@/.bashrc absolute; ln -s ../home/.bashrc dots; ln -s @home@/.ssh folder
ln -s way/.bashrc through; ln -s inside/../way/.profile inside-through
mkdir -p a/b/c; ln -s b/c a/first; ln -s first/../../../../home/.bashrc a/second
ln -s . here; ln -s here/here/../home/.profile circles; ln -s here/.. above; ln -s above/home/.bashrc by-above
mkdir -p deep/er; ln -s ../../../home/.profile deep/er/up; ln -s deep/er/up by-up
ln -s /proc/self/root@home@/.bashrc root; ln -s /proc/self/cwd/../home/.bashrc cwd
ln -s //@home@/.bashrc slashes; ln -s ./.././home/.bashrc odd
ln -s @project@/../home/.bashrc project; rm -rf sub; ln -s @home@ sub
rm main.txt; ln -s ../home/.bashrc main.txt; rm link; ln -s ../home/.bashrc link
echo linked
""")
MADE = ("absolute", "dots", "folder", "through", "inside-through", "a/second", "circles", "above",
        "by-above", "deep/er/up", "root", "cwd", "slashes", "odd", "project", "sub", "main.txt",
        "link")  # fmt: skip


@contextlib.contextmanager
def _home_beside(arena: Arena) -> Iterator[Words]:
    project = arena.project
    (arena.home / ".ssh").mkdir()
    for name in VICTIMS:
        (arena.home / name).write_text("as it was\n")
    for name in ("inside", "sub"):
        (project / name).mkdir()
        (project / name / "file").write_text("of the project\n")
    (project / "way").symlink_to("../home")
    (project / "link").symlink_to("inside/file")
    (project / "main.txt").write_text("of the project\n")
    yield {}


def _written_by_a_host_tool(arena: Arena) -> bool:
    """Write to all that the run may have made, as a formatter would; whether it met the home."""
    paths = " ".join((*MADE, "by-up", "folder/authorized_keys", "sub/.profile", "sub/.bashrc"))
    script = f"for path in {paths}; do [ -d $path ] || echo evil > $path; done"
    subprocess.run(["sh", "-c", script], cwd=arena.project, check=False, capture_output=True)
    return any((arena.home / name).read_text() != "as it was\n" for name in VICTIMS)


def _nothing_leads_out(arena: Arena, result: Result) -> None:
    refused = {left.path for left in result.not_committed if left.kind in ("refused", "conflict")}
    assert refused >= set(MADE), set(MADE) - refused
    for path in ("main.txt", "sub/file"):
        assert (arena.project / path).read_text() == "of the project\n"
    assert not _written_by_a_host_tool(arena)


def _leads_out(arena: Arena, _: Result) -> None:
    assert _written_by_a_host_tool(arena)


# Each by itself is harmless, or was when it was made.
BY_AND_BY = (
    "mkdir -p x/y/z; ln -s ../../../main.txt x/y/z/l",
    "mv x/y/z/l x/l; mv x/y/z z; cp -P x/l l2",
    "mkdir -p far; ln -s far/file near",
    "rm -r far; ln -s .. far; rm -rf inside; ln -s ../home inside",
    "ln -s next/.bashrc waits; ln -s later next",
    "ln -s .. later; mkdir t; ln -s ../../home t/out; mv t/out later 2>/dev/null",
    "rm -rf a; mkdir -p a/b; ln -s ../../home a/b/o; mv a/b .; mv b/o .",
)  # fmt: skip


async def _links_of_two_runs_lead_nowhere(arena: Arena) -> None:
    with _home_beside(arena):
        for script in BY_AND_BY:
            await arena.run(shell(script), profile="build")
        assert _outside_links(arena.project) == {"way"}
        for script in BY_AND_BY:
            await arena.run(shell(script), (off.protection,), profile="build")
        assert _outside_links(arena.project) > {"way"}


def _outside_links(project: Path) -> set[str]:
    """The links that lead out of the project."""
    found = set()
    for folder, folders, files in os.walk(project):
        for name in folders + files:
            path = os.path.join(folder, name)
            if os.path.islink(path) and not os.path.realpath(path).startswith(f"{project}/"):
                found.add(os.path.relpath(path, project))
    return found


SWAP = shell("""
for n in 1 2 3 4; do echo planted > sub/new$n; mkdir -p sub/own; echo planted > sub/own/$n; echo planted > sub/file; done
rm -f sub/gone; rm -rf sub/old; chmod 777 sub/mode; ln -sf file sub/link
echo changed
""")


def _fill(arena: Arena) -> None:
    """What the run will change, below a folder that the host exchanges; the same in the home."""
    for top in (arena.project / "sub", arena.home):
        for name in ("old", "old/deep", "own"):
            (top / name).mkdir(exist_ok=True, parents=True)
        for name in ("gone", "old/file", "old/deep/file", "file", "mode"):
            (top / name).write_text("as it was\n")
            (top / name).chmod(0o644)


def _home_state(arena: Arena) -> dict[str, tuple[int, str]]:
    return {
        str(path.relative_to(arena.home)): (
            path.lstat().st_mode,
            "" if path.is_dir() else path.read_text(),
        )
        for path in arena.home.rglob("*")
    }


class _Exchange:
    """The host's folder becomes a link to its home, and a folder again, each in one step."""

    def __init__(self, arena: Arena) -> None:
        self.folder, self.aside = arena.project / "sub", arena.tmp_path / "aside"
        self.aside.symlink_to(arena.home)
        self.is_link = False

    def turn(self) -> None:
        paths = bytes(self.folder), bytes(self.aside)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.renameat2(AT_FDCWD, paths[0], AT_FDCWD, paths[1], RENAME_EXCHANGE) < 0:
            raise OSError(ctypes.get_errno(), f"{self.folder} is not exchanged")
        self.is_link = not self.is_link

    def back(self) -> None:
        if self.is_link:
            self.turn()


async def _exchanges_at_each_step(arena: Arena) -> None:
    """A folder becomes a link at one step of a commit after the other; then at any moment."""
    _fill(arena)
    before, whole, count = _home_state(arena), steps.step, 0
    exchange = _Exchange(arena)
    for at in range(TIMES):
        count = 0

        def step(at: int = at) -> None:
            nonlocal count
            count += 1
            if count == at + 1:
                exchange.turn()

        steps.step = step
        try:
            result = await arena.run(SWAP, profile="build")
        finally:
            steps.step = whole
            exchange.back()
        assert result.stdout.text.endswith("changed\n")
        assert count > at, "a commit has fewer steps than are tried"
        assert _home_state(arena) == before
        _fill(arena)
    await _exchanges_without_end(arena, exchange)
    assert _home_state(arena) == before
    # The control: what goes by paths alone does reach the home.
    exchange.turn()
    await arena.outside(Program("shell", f"cd @project@; {SWAP.text}"))
    exchange.back()
    assert _home_state(arena) != before


async def _exchanges_without_end(arena: Arena, exchange: _Exchange) -> None:
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            exchange.turn()
            ended.wait(0.0005)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(TIMES):
            await arena.run(SWAP, profile="build")
    finally:
        ended.set()
        swapping.join()
        exchange.back()


KINDS = shell("""
rm own; mkdir own; echo x > own/f; rm -r tree; ln -s inside tree; rm into; echo evil > into
rm -r kept; ln -s @home@ kept; rm to-home; mkdir to-home; echo evil > to-home/secret
echo evil > way/.bashrc 2>/dev/null; cp main.txt way 2>/dev/null; chmod 600 way 2>/dev/null
echo changed
""")


@contextlib.contextmanager
def _links_and_folders(arena: Arena) -> Iterator[Words]:
    with _home_beside(arena):
        project = arena.project
        for name in ("own", "into"):
            (project / name).symlink_to("inside")
        (project / "to-home").symlink_to("../home")
        for name in ("tree", "kept"):
            (project / name).mkdir()
            (project / name / "file").write_text("of the project\n")
        yield {}


def _only_the_project_changed(arena: Arena, result: Result) -> None:
    project = arena.project
    for name in VICTIMS:
        assert (arena.home / name).read_text() == "as it was\n"
    assert (project / "own" / "f").read_text() == "x\n"
    assert arena.canary in (arena.home / "secret").read_text()
    assert (project / "tree").readlink() == Path("inside")
    assert (project / "inside" / "file").read_text() == "of the project\n"
    assert (project / "to-home").is_dir()
    assert not (project / "to-home").is_symlink()
    assert (project / "kept" / "file").read_text() == "of the project\n"
    assert "kept" in {left.path for left in result.not_committed}


def _is_a_link(arena: Arena, _: Result) -> None:
    assert (arena.project / "kept").is_symlink()


ATTACKS = (
    Attack(
        "X41",
        "links that point outside the project, for host tools to write through later",
        Stopped(
            "a link that points outside is refused and named",
            ("^linked$",),
            after=_nothing_leads_out,
            controls=(Control(("^linked$",), (off.protection,), after=_leads_out, status=None),),
        ),
        LINKS,
        profile="build",
        setup=_home_beside,
    ),
    Attack(
        "X42",
        "links that point outside after a later run moves or creates files",
        Stopped("each link is judged where it comes to lie, with those that it goes through"),
        scenario=_links_of_two_runs_lead_nowhere,
    ),
    Attack(
        "X43",
        "exchange the project's own links and folders for one another",
        Stopped(
            "links are never followed, nor created to point outside",
            ("^changed$",),
            after=_only_the_project_changed,
            controls=(Control(("^changed$",), (off.protection,), after=_is_a_link),),
        ),
        KINDS,
        profile="build",
        setup=_links_and_folders,
    ),
    Attack(
        "X44",
        "a folder of the project that the host replaces with a link during a commit",
        Stopped("each step goes by an open folder, never through a link"),
        scenario=_exchanges_at_each_step,
    ),
)
