"""What toolchains keep for themselves between compilations, filled once and shown read-only.

Go compiles its standard library into such a folder, which takes many seconds the first time. The
server compiles the row's own `warm_up` program in a cell that shows nothing else. So nothing that
any other program did is in there; all later cells see the folder and can't change it. The
program by which a toolchain's interpreters wait is compiled in the same way, where there is one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path

import trio

import runtimes
from executor.engine.box import Job, Layout
from executor.engine.unpacking import unpack
from executor.errors import SandboxError
from executor.instance import temporary
from executor.instance.temporary import remove
from executor.model import GIB, Limits
from executor.profile import Profile, ProjectAccess
from executor.run.execution import job_of
from executor.run.runner import Runner

KEPT_MAX = 4  # toolchains come and go; this many of them keep their folders
WARMING = Profile("warm-up", ProjectAccess.READ_ONLY)
LIMITS = Limits(
    wall_s=300, cpu_s=600, memory_bytes=4 * GIB, scratch_bytes=2 * GIB, artifact_bytes=GIB
)


class ToolchainCaches:
    """The filled folders of one user, below `folder`, which the spawner must have staged."""

    def __init__(self, runner: Runner, folder: Path, cwd: str) -> None:
        self._runner = runner
        self._folder = folder
        self._cwd = cwd
        self._busy: set[str] = set()  # not to be tried again in this process
        self._helpers: dict[str, dict[str, bytes]] = {}

    def folders(self, candidate: runtimes.Candidate) -> tuple[tuple[str, str], ...]:
        """What cells are to see of a candidate's folders: (path on the host, path in the cell)."""
        if not self._serves(candidate):
            return ()
        home = self._folder / _key(candidate)
        names = (name for name in candidate.toolchain.caches if _is_folder(home / name))
        return tuple((f"{home}/{name}", f"{Layout().scratch}/{name}") for name in names)

    def equip(self, candidate: runtimes.Candidate) -> runtimes.Candidate:
        """The candidate with what was compiled for it to wait by, if anything was."""
        if runtimes.helper(candidate) is None or not self._serves(candidate):
            return candidate
        key = _key(candidate)
        if key not in self._helpers:
            self._helpers[key] = _contents(self._folder / key)
        return candidate._replace(compiled=self._helpers[key])

    async def fill(self, candidate: runtimes.Candidate) -> None:
        """Have a candidate's folders filled, unless they are."""
        key = _key(candidate)
        if not self._serves(candidate) or key in self._busy or (self._folder / key).exists():
            return
        self._busy.add(key)
        with temporary.empty_folder(self._runner.placement.temporary) as substitute:
            completed = await self._runner.run(
                lambda layout: self._job(candidate, layout, substitute), profile=WARMING
            )
        result = completed.result
        bundles = [Path(a.path) for a in result.artifacts if a.path is not None]
        try:
            if result.ok:  # else it may do better later
                await trio.to_thread.run_sync(self._unpack, key, bundles)
        finally:
            for bundle in bundles:
                bundle.unlink(missing_ok=True)
            for spool in (completed.stdout_spool, completed.stderr_spool):
                if spool is not None:
                    spool.delete()

    def _serves(self, candidate: runtimes.Candidate) -> bool:
        caches = candidate.language.warm_up and candidate.toolchain.caches
        has_any = bool(caches or runtimes.helper(candidate))
        return (
            has_any and self._runner.placement.can.keeps_products and not candidate.project_specific
        )

    def _job(self, candidate: runtimes.Candidate, layout: Layout, substitute: str) -> Job:
        """Compile the warm-up program or the helper; what that leaves is packed."""
        helper = runtimes.helper(candidate)
        program = runtimes.prepare(
            runtimes.as_helper(candidate) if helper else candidate,
            code=helper or candidate.language.warm_up,
            job_dir=layout.job,
            scratch_dir=layout.scratch,
            cwd=self._cwd,
        )
        made = tuple(path.removeprefix(f"{layout.scratch}/") for path in program.products)
        left = made if helper else candidate.toolchain.caches
        compiling = [step for step in program.steps if step.phase == "compile"]
        return job_of(
            program._replace(steps=(*compiling, runtimes.Step(("/bin/sh", "-c", ":"), "run"))),
            candidate,
            layout,
            cwd=self._cwd,
            limits=LIMITS,
            packed=(layout.scratch, left),
            profile=WARMING,
            substitute=substitute,
            may_be_prewarmed=False,
            label=f"{candidate.language.name}: {'helper' if helper else 'standard library'}",
        )

    def _unpack(self, key: str, bundles: list[Path]) -> None:
        """Put the folders in their place as a whole; none stands for "tried, to no avail"."""
        with contextlib.suppress(OSError, SandboxError):
            partial = Path(tempfile.mkdtemp(dir=self._folder, prefix=".partial-"))
            try:
                for bundle in bundles:
                    with open(bundle, "rb") as file:
                        unpack(file, partial, LIMITS.artifact_bytes)
                os.chmod(partial, 0o755)  # noqa: S103 - the folder above is its user's alone
                partial.rename(self._folder / key)
            finally:
                remove(partial)
            self._trim()

    def _trim(self) -> None:
        kept = [path for path in self._folder.iterdir() if not path.name.startswith(".")]
        for path in sorted(kept, key=lambda path: -path.stat().st_mtime)[KEPT_MAX:]:
            remove(path)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _key(candidate: runtimes.Candidate) -> str:
    parts = [candidate.toolchain.name, candidate.path, candidate.fingerprint]
    warm_up = runtimes.helper(candidate) or candidate.language.warm_up
    return hashlib.sha256(json.dumps([*parts, warm_up]).encode()).hexdigest()[:32]


def _contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by their paths there."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
