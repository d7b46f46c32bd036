"""Attacks on whoever collects the files that a run hands back."""

# ruff: noqa: E501 - programs in other languages keep their lines

from __future__ import annotations

import json
import stat
from pathlib import Path

import trio

from ctxmode.operations.output_folder import deliver
from executor import Limits, Result
from executor.run.output_routing import Answer
from tests.escapes.arena import Arena
from tests.escapes.attack import Attack, Program, Stopped, python, shell


async def _collected(arena: Arena, program: Program, *patterns: str, **more: object) -> Result:
    # In the project, which the program may write to: an overlay, or tier B's copy.
    profile = "analyze" if arena.tier == "A" else "build"
    result = await arena.run(program, artifacts=patterns, profile=profile, **more)
    assert "attack started" in result.stdout.text
    return result


def _contents(result: Result) -> dict[str, bytes]:
    return {a.name: Path(a.path).read_bytes() for a in result.artifacts if a.path}


def _reasons(result: Result) -> dict[str, str]:
    return {a.name: a.reason for a in result.artifacts if not a.path}


async def _links_are_not_followed(arena: Arena) -> None:
    program = shell("""
    ln -s @secret@ secret.out; ln -s /etc/passwd passwd.out; ln -s /proc/self/environ env.out
    ln -s /etc folder; ln -s . dot; ln -s loop loop; ln -s fine.out link.out
    mkdir real; ln -s @home@ real/home; echo fine > fine.out; ln -s fine.out real/up.out
    """)
    patterns = ("*.out", "folder/passwd", "dot/fine.out", "loop/x", "real/home/secret", "**/*.out")
    result = await _collected(arena, program, *patterns)
    contents = _contents(result)
    assert {Path(name).name for name in contents} == {"fine.out"}  # the control among them
    assert all(content == b"fine\n" for content in contents.values())
    assert arena.canary not in json.dumps(result.to_json())
    work = arena.project / "work"
    work.mkdir()
    (work / "secret").write_text("fine\n")
    plain = await _collected(arena, shell("true"), "secret", cwd="work")
    assert list(_contents(plain).values()) == [b"fine\n"]  # the control
    swap = shell("mv ../work ../moved && ln -s @home@ ../work && echo swapped")
    swapped = await _collected(arena, swap, "secret", cwd="work")
    assert "swapped" in swapped.stdout.text
    assert not _contents(swapped)


async def _racing_links_win_nothing(arena: Arena) -> None:
    """A detached process swaps file and link for as long as it lives."""
    program = shell("""
    echo fine > racing.out; ln -s @secret@ evil
    ( while :; do ln -sf @secret@ l; mv -T l racing.out; echo fine > f; mv -T f racing.out; done ) &
    sleep 0.2
    """)
    for _ in range(8):
        result = await _collected(arena, program, "racing.out")
        assert arena.canary.encode() not in b"".join(_contents(result).values())
        assert len(result.artifacts) <= 1
    still = await _collected(arena, shell("echo fine > x.out"), "x.out")
    assert list(_contents(still).values()) == [b"fine\n"]  # the control


async def _only_regular_files_are_collected(arena: Arena) -> None:
    program = python("""
os.mkfifo("fifo.out")
attempt("socket", lambda: socket.socket(socket.AF_UNIX).bind("socket.out"))
os.mkdir("folder.out")
open("plain.out", "w").write("fine")
""")
    with trio.fail_after(60):
        result = await _collected(arena, program, "*.out", limits=Limits(wall_s=10))
        outside = await _collected(
            arena, program, "/proc/self/environ", "/dev/zero", "/etc/passwd", "/proc/*/environ"
        )
    assert [Path(n).name for n in _contents(result)] == ["plain.out"], result.artifacts  # control
    assert any("regular" in reason for reason in _reasons(result).values())
    assert not _contents(outside)
    assert len(_reasons(outside)) == 4


async def _names_are_made_safe(arena: Arena) -> None:
    program = python(r"""
names = [b"new\nline", b"\xff\xfe", b"-rf", b"a" * 255, b"..", b"...", b"Case", b"case", b"$(id)",
         b"'; drop", b"\xe2\x80\xaertl", b" ", b"\x1b[31m", b"..\\..\\x", b"a:b"]
os.mkdir("d")
made = 0
for name in names:
    try:
        with open(b"d/" + name, "wb") as file:
            file.write(name)
        made += 1
    except OSError:
        pass
print("made", made)
""")
    result = await _collected(arena, program, "d/*")
    paths = [Path(a.path) for a in result.artifacts if a.path]
    assert "made 14" in result.stdout.text
    assert len({str(path).lower() for path in paths}) == 14
    folders = {path.parent.resolve() for path in paths}
    assert len(folders) == 1
    for path in paths:
        assert path.name.isascii()
        assert path.name.isprintable()
        assert len(path.name) < 120
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    json.dumps(result.to_json(), ensure_ascii=False).encode()
    up = await _collected(arena, program, "../../x", "/etc/../etc/passwd", "d/../../../etc/passwd")
    assert not _contents(up)


async def _artifacts_are_bounded(arena: Arena) -> None:
    many = shell("mkdir d; for n in $(seq 1 300); do echo $n > d/$n.out; done")
    result = await _collected(arena, many, "d/*.out")
    assert 0 < len(_contents(result)) <= 100
    assert any("more than" in reason for reason in _reasons(result).values())
    maze = shell("""
    mkdir m; cd m; for a in 1 2 3 4 5 6 7 8 9; do for b in 1 2 3 4 5 6 7 8 9; do mkdir -p $a/$b/$a/$b/c
    done; done; for n in $(seq 1 5000); do : > f$n; done
    """)
    with trio.fail_after(60):
        deep = "m/" + "**/" * 8 + "*.nothing"
        await _collected(arena, maze, deep, "m/" + "*?" * 40 + "z")
    big = shell("truncate -s 200M sparse.out; echo small > small.out")
    result = await _collected(arena, big, "*.out")
    assert [Path(name).name for name in _contents(result)] == ["small.out"]  # the control
    assert any("exceed" in reason for reason in _reasons(result).values())


async def _nothing_is_delivered_through_links(arena: Arena) -> None:
    """What a program leaves in the project lies in wait for whoever puts its files there."""
    program = python("""
os.symlink("@home@", "out")
os.mkdir("real")
os.symlink("@home@/planted", "real/plot.png")
os.symlink("@secret@", "real/data.csv")
for name in ("plot.png", "data.csv", ".envrc", ".Bashrc"):
    with open(os.path.join(os.environ["TMPDIR"], name), "w") as file:
        file.write("echo owned")
""")
    patterns = ("plot.png", "data.csv", ".*rc")
    result = await arena.run(program, artifacts=patterns, profile="build")
    assert len(_contents(result)) == 4, result
    answer, project = Answer(result), arena.project
    (project / "real").mkdir(exist_ok=True)
    for name, target in {
        "out": arena.home,
        "real/plot.png": arena.home / "planted",
        "real/data.csv": arena.home / "secret",
    }.items():
        if not (project / name).is_symlink():  # where no links are committed that lead out
            (project / name).symlink_to(target)
    through = deliver(answer, project / "out", project, patterns).result
    assert all("is a link in the project" in reason for reason in _reasons(through).values())
    assert [path.name for path in arena.home.iterdir()] == ["secret"]
    beside = deliver(answer, project / "real", project, patterns).result
    made = {
        Path(name).name: Path(a.path).name for a in beside.artifacts if (name := a.name) if a.path
    }
    assert made == {"plot.png": "plot-1.png", "data.csv": "data-1.csv"}
    assert all("tools may run or load" in reason for reason in _reasons(beside).values())
    assert len(_reasons(beside)) == 2
    assert [path.name for path in arena.home.iterdir()] == ["secret"]
    assert arena.canary in (arena.home / "secret").read_text()
    # The control: whoever opens those names writes at home.
    (project / "real" / "plot.png").write_bytes(b"planted")
    (project / "out" / "x").write_bytes(b"planted")
    assert sorted(path.name for path in arena.home.iterdir()) == ["planted", "secret", "x"]


ATTACKS = (
    Attack(
        "A64",
        "symbolic links as artifacts",
        Stopped("opened beneath the folder, following no link"),
        scenario=_links_are_not_followed,
    ),
    Attack(
        "A65",
        "swap a file for a link while artifacts are collected",
        Stopped("collected when every process of the run is dead"),
        scenario=_racing_links_win_nothing,
    ),
    Attack(
        "A66",
        "FIFOs, sockets, folders, files of /proc as artifacts",
        Stopped("regular files only, opened without waiting"),
        scenario=_only_regular_files_are_collected,
    ),
    Attack(
        "A67",
        "names of artifacts that point elsewhere or confuse",
        Stopped("names made safe, a separate folder"),
        scenario=_names_are_made_safe,
    ),
    Attack(
        "A68",
        "too many, too large, too deep artifacts",
        Stopped("count, size and time limits"),
        scenario=_artifacts_are_bounded,
    ),
    Attack(
        "X34",
        "links, and names that tools follow, in the folder of files held for review",
        Stopped("put beneath the folder asked for, as new files, through no link"),
        scenario=_nothing_is_delivered_through_links,
    ),
)
