"""Where an attack happens: a real executor, a project, a home with a canary, the world outside."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyseccomp
import trio

from executor import LocalEngine, Request, Result, Settings, open_engine
from executor.containers.place import ContainerPlace
from tests.escapes.attack import Program
from tests.escapes.layers_off import Edit, weakened
from tests.needs import need
from tests.processes import DEADLINE_S, alive

OUTSIDE_S_MAX = 60
COMPILER = {"c": ("cc", "-o")}
# The system's own: the tests' may lie where other users can't go.
INTERPRETER = {
    "python": (shutil.which("python3", path="/usr/bin:/bin") or sys.executable, "-I"),
    "shell": (shutil.which("bash") or "/bin/sh",),
    "perl": ("perl",),
}
# What does nothing, by the languages that attacks are written in.
BENIGN = {"python": "pass", "shell": ":", "perl": "1;"}


@dataclass(slots=True)
class Arena:
    """One attack's surroundings. `words` replace `@word@` in programs."""

    executor: LocalEngine
    project: Path
    home: Path  # outside the project, the server's user's, with the canary in `secret`
    state_dir: Path
    tmp_path: Path
    canary: str
    settings: Settings
    words: dict[str, str] = field(default_factory=dict)

    @property
    def tier(self) -> str:
        return self.executor.isolation.tier

    @property
    def has_cgroup(self) -> bool:
        return self.executor.isolation.layers["cgroup"].active

    @property
    def column(self) -> str:
        """The back end, as the matrix names it."""
        if self.tier == "C":
            return "C, runsc" if self.has_gvisor else "C"
        return self.tier if self.tier != "A" or self.has_cgroup else "A without cgroup"

    @property
    def has_gvisor(self) -> bool:
        """Whether programs run on gVisor's kernel, of whose processes this machine sees nothing."""
        return self.settings.runtime.startswith("runsc")

    @property
    def is_root(self) -> bool:
        """Whether this is root, and cells are another user's."""
        return os.geteuid() == 0 and self.cell_uid != 0

    @property
    def cell_uid(self) -> int:
        """Whom a cell's processes belong to on the host."""
        place = self.executor._runner.placement
        return place.user[0] if isinstance(place, ContainerPlace) else place.spawner.uid

    async def run(
        self, program: Program, off: tuple[Edit, ...] = (), *, warm: bool = False, **more: object
    ) -> Result:
        """Run it in the sandbox, without the layers that are `off`; if `warm`, in what waited."""
        need(program.language)
        changed = weakened(self.executor, off, warm=warm)
        with changed if off or warm else contextlib.nullcontext():
            request = Request(program.language, self.text(program), **more)
            completed = await self.executor.run(request)
        for spool in (completed.stdout_spool, completed.stderr_spool):
            if spool:
                spool.unlink(missing_ok=True)
        return completed.result

    async def warm_up(self, language: str, **more: object) -> bool:
        """Let something wait for a run like this one; whether anything does that in this tier."""
        for _ in range(2):
            await self.run(Program(language, BENIGN[language]), **more)
        with trio.fail_after(OUTSIDE_S_MAX):
            while self.executor.pools and not self.executor.pools[0].idle:
                assert not self.executor.pools[0].trouble, self.executor.pools
                await trio.sleep(0.01)
        return bool(self.executor.pools)

    async def outside(self, program: Program, user: str = "server") -> str:
        """Run it as an ordinary process without any sandbox; all that it printed."""
        need(*COMPILER.get(program.language, INTERPRETER.get(program.language, ()))[:1])
        return await trio.to_thread.run_sync(self._outside, program, user)

    def _outside(self, program: Program, user: str) -> str:
        with self.open_folder() as folder:
            file = folder / f"program.{program.language}"
            file.write_text(self.text(program))
            file.chmod(0o644)
            argv: list[str] = [*INTERPRETER.get(program.language, ()), str(file)]
            if program.language in COMPILER:
                binary = str(folder / "program")
                command = [*COMPILER[program.language], binary, str(file)]
                subprocess.run(command, check=True, timeout=OUTSIDE_S_MAX)
                argv = [binary]
            # Into a file, which nobody can hold open until we tire of waiting.
            with tempfile.TemporaryFile() as output:
                subprocess.run(
                    argv,
                    cwd=folder,
                    env=os.environ | {"TMPDIR": str(folder)},
                    user=self.cell_uid if user == "cell" and self.is_root else None,
                    extra_groups=[] if user == "cell" and self.is_root else None,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    timeout=OUTSIDE_S_MAX,
                    check=False,
                )
                output.seek(0)
                return output.read().decode(errors="replace")

    @contextlib.contextmanager
    def open_folder(self) -> Iterator[Path]:
        """A folder that every user may enter, and the cell's user write; pytest's are closed."""
        folder = Path("/tmp") / f"escapes-{secrets.token_hex(6)}"
        folder.mkdir()
        try:
            if self.is_root:
                os.chown(folder, self.cell_uid, -1)
            folder.chmod(0o755)
            yield folder
        finally:
            shutil.rmtree(folder)

    @contextlib.contextmanager
    def victim(self) -> Iterator[subprocess.Popen[bytes]]:
        """An innocent process of the user that cells run as."""
        user = self.cell_uid if self.is_root else None
        process = subprocess.Popen(
            ["/bin/sleep", "600"], user=user, env={"SECRET": self.canary}, cwd="/"
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def text(self, program: Program) -> str:
        """The program with its words and system call numbers put in."""
        text = program.text
        for word, value in self.words.items():
            text = text.replace(f"@{word}@", value)
        return re.sub(r"\bNR\.(\w+)", lambda match: number(match[1]), text)


def number(call: str) -> str:
    """A system call's number on this machine; one that it doesn't have is far out of range."""
    found = pyseccomp.resolve_syscall(pyseccomp.system_arch(), call)
    return str(found if found >= 0 else 100_000)


@contextlib.asynccontextmanager
async def open_arena(
    tmp_path: Path, state_dir: Path, server_env: Mapping[str, str], settings: Settings
) -> AsyncIterator[Arena]:
    """An arena whose server was started with `server_env` in its environment."""
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir(mode=0o700)
    canary = f"canary-{secrets.token_hex(8)}"
    (home / "secret").write_text(f"{canary}\n")
    words = {
        "canary": canary,
        "project": str(project),
        "home": str(home),
        "secret": str(home / "secret"),
        "mark": f"9{secrets.randbelow(10**8):08}",
        "server": str(os.getpid()),
    }
    kept = dict(os.environ)
    if settings.isolation == "container":  # which has to find its engine
        server_env = {name: it for name, it in server_env.items() if name != "DOCKER_HOST"}
    os.environ.update(
        {name: value.replace("@canary@", canary) for name, value in server_env.items()}
    )
    try:
        async with open_engine(
            project=project, state_dir=state_dir, rules=None, home=home, settings=settings
        ) as executor:
            yield Arena(executor, project, home, state_dir, tmp_path, canary, settings, words)
    finally:
        os.environ.clear()
        os.environ.update(kept)


def end(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def end_survivors(mark: str) -> None:
    """End the processes with `mark`, of which there is at least one: the first look may miss it."""
    deadline = time.monotonic() + DEADLINE_S
    while not (survivors := alive(mark)):
        assert time.monotonic() < deadline, f"nothing called {mark} survived"
        time.sleep(0.01)
    end(survivors)


async def gone(mark: str) -> bool:
    """Whether no process with `mark` is left soon: the kernel takes a moment to bury one."""
    with trio.move_on_after(DEADLINE_S):
        while alive(mark):  # noqa: ASYNC110 - the kernel tells nobody
            await trio.sleep(0.01)
        return True
    return False
