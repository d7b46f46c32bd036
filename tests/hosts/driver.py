"""One run of a host: a fresh home and project, an empty environment, a scripted model, an end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

from tests.hosts.catalog import DrivenHost, Run
from tests.hosts.conversation import Conversation
from tests.hosts.endpoint import serving
from tests.hosts.script import Call, Shown, Transcript

Scope = Literal["user", "project"]
SETUP_SECONDS = 60
HOOK_SECONDS = 30
OUTPUT_SHOWN = 2000


class SetUpError(Exception):
    """Registering with a host failed; the message has what was printed."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended. `code` is None where the deadline ended it."""

    transcript: Transcript
    code: int | None
    output: str
    seconds: float

    def describe(self) -> str:
        """The end in a few words, with the last of what the host printed."""
        how = "ended at the deadline" if self.code is None else f"exited with {self.code}"
        return f"{how} after {self.seconds:.1f} s: {self.output[-OUTPUT_SHOWN:]}"


@dataclass(frozen=True, slots=True)
class Ground:
    """The folders of one run, made anew, and the programs that it finds."""

    home: Path
    project: Path
    programs: Path
    host_program: Path
    node: Path

    @classmethod
    def of(cls, folder: Path, host_program: Path, node: Path) -> Self:
        """The ground of a folder, made or to be made."""
        return cls(folder / "home", folder / "project", folder / "bin", host_program, node)

    def environment(self) -> dict[str, str]:
        """All that a host and this program are given."""
        path = os.pathsep.join(map(str, (self.programs, self.node, "/usr/bin", "/bin")))
        return {
            "HOME": str(self.home),
            "PATH": path,
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "SHELL": "/bin/bash",
        }


def lay_ground(
    folder: Path, host_program: Path, node: Path, files: Mapping[str, bytes] | None = None
) -> Ground:
    """Make a home, and a project that is a repository of git with the given files."""
    ground = Ground.of(folder, host_program, node)
    for made in (ground.home, ground.project, ground.programs):
        made.mkdir(parents=True)
    ours = Path(sys.executable).with_name("context-mode")
    (ground.programs / "context-mode").symlink_to(ours)
    for name, data in (files or {}).items():
        path = ground.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    who = ("-c", "user.name=Nobody", "-c", "user.email=nobody@example.com")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "Begin", "--allow-empty")):
        subprocess.run(["git", *words], cwd=ground.project, env=ground.environment(), check=True)
    return ground


def write_files(root: Path, files: Mapping[str, str]) -> None:
    """Write texts below a folder, which is made where it is missing."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def set_up(ground: Ground, host: str, scope: Scope, *more: str) -> str:
    """Run `context-mode setup HOST`, as a person does; what it printed.

    Raises:
        SetUpError: it fails.
    """
    words = ["context-mode", "setup", host, *(["--project"] if scope == "project" else []), *more]
    done = subprocess.run(
        words,
        cwd=ground.project,
        env=ground.environment(),
        capture_output=True,
        text=True,
        timeout=SETUP_SECONDS,
        check=False,
    )
    if done.returncode:
        raise SetUpError(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def begin_pages(ground: Ground) -> None:
    """Run `context-mode pages init`, as a person does who wants turns to be captured."""
    subprocess.run(
        ["context-mode", "pages", "init"],
        cwd=ground.project,
        env=ground.environment(),
        capture_output=True,
        timeout=SETUP_SECONDS,
        check=True,
    )


def drive(
    host: DrivenHost,
    ground: Ground,
    steps: Sequence[Call],
    *,
    seconds: float,
    register: Callable[[], object] = lambda: None,
    scope: Scope = "user",
    last_context: int = 0,
) -> Ended:
    """Run a host with a scripted model until it exits, or the deadline ends it and all that it
    started. Its own files are written where there are none, then it is registered with.
    `last_context` is how many tokens the model's last answer says that it has read.

    A host that ends its run at a refused call is run again for the steps that are left; what it
    said and how long it took are those of the first run.
    """
    ended = _drive_once(
        host,
        ground,
        steps,
        seconds=seconds,
        register=register,
        scope=scope,
        last_context=last_context,
    )
    shown = list(ended.transcript.shown)
    while rest := _left(shown):
        again = _drive_once(host, ground, rest, seconds=seconds, register=lambda: None, scope=scope)
        begun = len(rest) - len(_left(again.transcript.shown))
        shown[len(shown) - len(rest) :] = again.transcript.shown
        if not begun:
            break
    return replace(ended, transcript=replace(ended.transcript, shown=tuple(shown)))


def _left(shown: Sequence[Shown]) -> list[Call]:
    """The steps after the last that the model came to."""
    met = [at for at, one in enumerate(shown) if one.is_begun or not one.is_offered]
    return [one.call for one in shown[max(met, default=-1) + 1 :]]


def _drive_once(
    host: DrivenHost,
    ground: Ground,
    steps: Sequence[Call],
    *,
    seconds: float,
    register: Callable[[], object],
    scope: Scope,
    last_context: int = 0,
) -> Ended:
    conversation = Conversation(steps, host.own.deferral, host.summary_cue, last_context)
    kept = ground.home.parent / "port"  # what a host's files name holds for its next run
    with serving(conversation, int(kept.read_text()) if kept.exists() else 0) as port:
        kept.write_text(str(port))
        run = Run(ground.home, ground.project, f"http://127.0.0.1:{port}")
        missing = {n: text for n, text in host.files(run).items() if not (ground.home / n).exists()}
        write_files(ground.home, missing)
        register()
        environment = {**ground.environment(), **host.environment(run)}
        words = [str(ground.host_program), *host.words]
        words += host.project_words if scope == "project" else ()
        conversation.begin_time()
        began = time.monotonic()
        code, output = _run(words, ground, environment, seconds)
        return Ended(conversation.transcript(), code, output, time.monotonic() - began)


def _run(
    words: Sequence[str], ground: Ground, environment: Mapping[str, str], seconds: float
) -> tuple[int | None, str]:
    # Into a file: what a host leaves running would keep a pipe open.
    log = ground.home.parent / "output"
    with log.open("wb") as out:
        process = subprocess.Popen(
            words,
            cwd=ground.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(seconds)
            _wait_for_hooks(ground.home)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process, ground.home)
    return code, log.read_bytes().decode(errors="replace")


def _wait_for_hooks(home: Path) -> None:
    """Wait for the hooks that a host does not wait for before it exits."""
    ends_at = time.monotonic() + HOOK_SECONDS
    while any(map(_is_hook, _processes_of(home))) and time.monotonic() < ends_at:
        time.sleep(0.05)


def _is_hook(pid: int) -> bool:
    try:
        return b"\0hook\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it ended
        return False


def _end(process: subprocess.Popen[bytes], home: Path) -> None:
    """End the process group, and whatever left it: all have the run's own home."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)
    for pid in _processes_of(home):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _processes_of(home: Path) -> list[int]:
    """The processes whose environment has a home."""
    wanted = f"HOME={home}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:  # it ended, or is another person's
                continue
            if wanted in variables:
                found.append(int(entry.name))
    return found
