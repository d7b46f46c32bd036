"""Languages that really run here, proven in the sandbox, and the files that toolchains keep."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import trio

import runtimes
from base.plain_files import read_json, write_json
from executor.engine.box import Layout, Order
from executor.engine.engine import LanguageReport
from executor.engine.unpacking import unpack
from executor.instance import lock
from executor.instance.lock import remove
from executor.model import GIB, Limits, SandboxError, Status
from executor.request import Preparing, Profile, ProjectAccess
from executor.run.execution import build_order
from executor.run.runner import Runner

# Go compiles its standard library into such a folder, which takes many seconds the first time. The
# server compiles the row's own `warm_up` program in a cell that shows nothing else. So nothing that
# any other program did is in there; all later cells see the folder and can't change it. The
# program by which a toolchain's interpreters wait is compiled in the same way, where there is one.

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
        """Return a candidate's folders for cells: (path on the host, path in the cell)."""
        if not self.serves(candidate):
            return ()
        home = self._folder / _cache_key(candidate)
        names = (name for name in candidate.toolchain.caches if _is_folder(home / name))
        return tuple((f"{home}/{name}", f"{Layout().scratch}/{name}") for name in names)

    def equip(self, candidate: runtimes.Candidate) -> runtimes.Candidate:
        """Return a served candidate with the parts compiled for it, if there are any."""
        if runtimes.helper(candidate) is None:
            return candidate
        key = _cache_key(candidate)
        if key not in self._helpers:
            self._helpers[key] = _contents(self._folder / key)
        return candidate._replace(compiled=self._helpers[key])

    async def fill(self, candidate: runtimes.Candidate) -> None:
        """Fill a candidate's folders unless they are filled."""
        if not self.serves(candidate):
            return
        key = _cache_key(candidate)
        if key in self._busy or (self._folder / key).exists():
            return
        self._busy.add(key)
        with lock.empty_folder(self._runner.placement.temporary) as substitute:
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
            completed.delete_spools()

    def serves(self, candidate: runtimes.Candidate) -> bool:
        """Return whether a candidate has such folders, or a part that is compiled for it."""
        caches = candidate.language.warm_up and candidate.toolchain.caches
        has_any = bool(caches or runtimes.helper(candidate))
        return (
            has_any and self._runner.placement.can.keeps_products and not candidate.project_specific
        )

    def _job(self, candidate: runtimes.Candidate, layout: Layout, substitute: str) -> Order:
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
        return build_order(
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
        """Put all folders in their place at once; no folder means that filling failed."""
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


def _cache_key(candidate: runtimes.Candidate) -> str:
    parts = [candidate.toolchain.name, candidate.path, candidate.fingerprint]
    warm_up = runtimes.helper(candidate) or candidate.language.warm_up
    return hashlib.sha256(json.dumps([*parts, warm_up]).encode()).hexdigest()[:32]


def _contents(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder, by their paths there."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


PROBE_LIMITS = Limits(wall_s=30, cpu_s=60, output_bytes=64 * 1024)
# The first start of a toolchain reads it from disk; the later ones are what a user waits for.
PROBE_RUNS = 2
# Failures that a busy machine can cause are not stored: the next start tries again.
TOO_LATE = "its hello program did not end within"

_Machine = list[str | int]
_Answer = tuple[float | None, str, str | None]
"""A probe's finding: start time, why it does not run, version. Stored until one of the candidate's
files changes."""


ProvenToolchain = tuple[runtimes.Candidate, str | None]
"""A candidate that ran, and the version that it reports."""


class Toolchains:
    """The toolchains of one project: found, proven and stored."""

    def __init__(
        self,
        runner: Runner,
        found: Mapping[str, runtimes.Discovery],
        cache: Path,
        cwd: str,
        caches: ToolchainCaches,
    ) -> None:
        self._runner = runner
        self._caches = caches
        self._found = found
        self._cache_file = cache
        self._cwd = cwd
        # Proofs also hold for one kernel, since its start, and one version, by this file's time.
        boot = ""
        with contextlib.suppress(OSError):  # a container may hide it
            boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")
        self._machine: _Machine = [os.uname().release, boot, os.stat(__file__).st_mtime_ns]
        self._answers = _load(cache, self._machine)
        self._busy: dict[str, trio.Lock] = {name: trio.Lock() for name in found}
        self._chosen: dict[tuple[str, bool], runtimes.Candidate] = {}

    async def choose(
        self,
        language: runtimes.Language,
        *,
        interactive: bool = False,
        preparing: Preparing = nullcontext,
    ) -> runtimes.Candidate | LanguageReport:
        """Return the candidate to run this language with, or a report why none was found.

        For `interactive` use, a candidate that converses well is preferred. `preparing` shows what
        must be proven first.
        """
        if settled := self._chosen.get((language.name, interactive)):
            return settled
        runnable, failed = await self._probe_all(language, preparing)
        chosen = runtimes.choose(runnable, runtimes.conversing(language) if interactive else ())
        if chosen is None:
            return self._missing(language, failed)
        candidate, _ = chosen
        if self._caches.serves(candidate):
            async with self._busy[language.name]:
                await self._caches.fill(candidate)
            candidate = self._caches.equip(candidate)
        self._chosen[language.name, interactive] = candidate
        return candidate

    async def report(self, language: runtimes.Language) -> LanguageReport:
        runnable, failed = await self._probe_all(language)
        chosen = runtimes.choose(runnable)
        if chosen is None:
            return self._missing(language, failed)
        candidate, start_ms = chosen
        return LanguageReport(
            language.name,
            runnable=True,
            path=candidate.path,
            toolchain=candidate.toolchain.name,
            version=self.version(candidate),
            start_ms=start_ms,
        )

    def finds_same(self, language: runtimes.Language, project: Path, home: Path) -> bool:
        """Return whether a language is found where it was before. Those of an image stay there."""
        if self._runner.placement.can.back_end != "cell":
            return True
        search_path = os.environ.get("PATH", os.defpath).split(":")
        found = runtimes.discover(language, search_path, project, home, os.environ)
        return found == self._found.get(language.name)

    def version(self, candidate: runtimes.Candidate) -> str | None:
        """Return a proven toolchain's own version."""
        return self._answers[_key(candidate)][2]

    def describe(self, candidate: runtimes.Candidate) -> ProvenToolchain:
        """Return a proven toolchain with its version, on which its packages and products depend."""
        return candidate, self.version(candidate)

    def forget(self) -> None:
        """Make every probe run again."""
        self._answers.clear()
        self._chosen.clear()

    def _missing(
        self, language: runtimes.Language, failed: Sequence[tuple[runtimes.Candidate, str]]
    ) -> LanguageReport:
        reason, hint = runtimes.missing(language, self._found[language.name][1])
        if not failed:
            return LanguageReport(language.name, runnable=False, reason=reason, hint=hint)
        tried = "; ".join(f"{candidate.path}: {why}" for candidate, why in failed)
        return LanguageReport(
            language.name,
            runnable=False,
            path=failed[0][0].path,
            reason=tried,
            hint=hint,
        )

    async def _probe_all(
        self, language: runtimes.Language, preparing: Preparing = nullcontext
    ) -> tuple[list[tuple[runtimes.Candidate, float]], list[tuple[runtimes.Candidate, str]]]:
        """Return the candidates that run, each with the ms that its hello program took, compile
        steps included; and those that do not, each with the reason."""
        candidates, _ = self._found[language.name]
        async with self._busy[language.name]:
            if unknown := [c for c in candidates if _key(c) not in self._answers]:
                names = ", ".join(dict.fromkeys(c.toolchain.name for c in unknown))
                with preparing(f"first use of {language.title}: trying {names} in the sandbox"):
                    async with trio.open_nursery() as nursery:
                        for candidate in unknown:
                            nursery.start_soon(self._probe, candidate)
                save = partial(_save, self._cache_file, self._machine, dict(self._answers))
                await trio.to_thread.run_sync(save)
        runnable, failed = [], []
        for candidate in candidates:
            start_ms, reason, _ = self._answers[_key(candidate)]
            if start_ms is None:
                failed.append((candidate, reason))
            else:
                runnable.append((candidate, start_ms))
        return runnable, failed

    async def _probe(self, candidate: runtimes.Candidate) -> None:
        """Run the hello program and record the result."""
        await self._caches.fill(candidate)
        best, reason = None, ""
        for _ in range(PROBE_RUNS):
            took_ms, reason = await self._hello(candidate)
            if took_ms is None:
                best = None
                break
            best = took_ms if best is None else min(best, took_ms)
        version = await self._version(candidate) if best is not None else None
        self._answers[_key(candidate)] = (best, reason, version)

    async def _hello(self, candidate: runtimes.Candidate) -> tuple[float | None, str]:
        row = candidate.language
        completed = await self._runner.run(lambda layout: self._hello_job(candidate, layout))
        result = completed.result
        if result.status is Status.OK and result.stdout.text == row.hello_output:
            return result.usage.wall_s * 1000, ""
        if result.status is Status.TIMED_OUT:
            return None, f"{TOO_LATE} {PROBE_LIMITS.wall_s:g} s"
        said = (result.stderr.text or result.stdout.text or result.message).strip()
        how = result.status.value.replace("_", " ")
        if result.exit_code:
            how = f"exit {result.exit_code} while it was to {result.phase}"
        return None, f"{how}: {said[-300:]}" if said else how

    def _hello_job(self, candidate: runtimes.Candidate, layout: Layout) -> Order:
        program = runtimes.prepare(
            candidate,
            code=candidate.language.hello,
            job_dir=layout.job,
            scratch_dir=layout.scratch,
            cwd=self._folder(candidate, layout),
        )
        return self._job(program, candidate, layout, shown=self._caches.folders(candidate))

    async def _version(self, candidate: runtimes.Candidate) -> str | None:
        """Return the toolchain's own version; a hang or nonsense counts as none."""
        argv = runtimes.version_argv(candidate)

        def make_job(layout: Layout) -> Order:
            program = runtimes.Program({}, (runtimes.Step(argv, "run"),), dict(candidate.env))
            return self._job(program, candidate, layout)

        result = (await self._runner.run(make_job)).result
        return runtimes.parse_version(result.stdout.text + result.stderr.text)

    def _job(
        self,
        program: runtimes.Program,
        candidate: runtimes.Candidate,
        layout: Layout,
        shown: tuple[tuple[str, str], ...] = (),
    ) -> Order:
        return build_order(
            program,
            candidate,
            layout,
            cwd=self._folder(candidate, layout),
            limits=PROBE_LIMITS,
            shown=shown,
            may_be_prewarmed=False,
        )

    def _folder(self, candidate: runtimes.Candidate, layout: Layout) -> str:
        """Return the folder of a probe: its job folder, unless the candidate is the project's own.

        The finding is stored for all projects, so files of this project must not influence it.
        """
        return self._cwd if candidate.project_specific else layout.job


def _key(candidate: runtimes.Candidate) -> str:
    """Return a key; candidates with the same key have the same finding."""
    return json.dumps([candidate.toolchain.name, candidate.path, candidate.fingerprint])


def _load(file: Path, machine: _Machine) -> dict[str, _Answer]:
    """Read the stored answers; if the file cannot be read, probes run again."""
    try:
        data = read_json(file)
        if data is None or data["proven_on"] != machine:
            return {}
        answers = data["answers"].items()
        return {key: (one["start_ms"], one["reason"], one["version"]) for key, one in answers}
    except (KeyError, TypeError, AttributeError):
        return {}


def _save(file: Path, machine: _Machine, answers: Mapping[str, _Answer]) -> None:
    """Replace the file as a whole; not being able to costs the next start its probes, no more."""
    plain = {
        key: {"start_ms": start_ms, "reason": reason, "version": version}
        for key, (start_ms, reason, version) in answers.items()
        if not reason.startswith(TOO_LATE)
    }
    with contextlib.suppress(OSError):
        write_json(file, {"proven_on": machine, "answers": plain})
