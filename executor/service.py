"""The executor: one request becomes one result. Guard, choose, prepare, run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trio

import policy
import runtimes
from executor import cgroup, control, instance, project_files
from executor.budget import Budget
from executor.compiled import CompiledStore
from executor.compiling import Compiler
from executor.errors import RequestError
from executor.jobs import session_call
from executor.model import MIB, Isolation, Request, Result, Status
from executor.placement import Machine, placed
from executor.pool import PoolState
from executor.profile import PROFILES, Profile, ProjectAccess
from executor.progress import Completed, Observe, OnOutput
from executor.removal import remove
from executor.request import Checked, check
from executor.runner import Runner
from executor.sessions import SessionLimits, Sessions, open_sessions
from executor.supply import Supply, open_supply
from executor.toolchain_caches import ToolchainCaches
from executor.toolchains import LanguageReport, Toolchains


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can set of the executor.

    `inline_bytes` is how much of each stream a result holds; `concurrency` how many programs run
    at once, None meaning twice the processors; `profiles` are all that requests may name;
    `sessions` bounds what lives on between calls; with `warm` programs are made to wait for their
    runs, which may take `warm_bytes` of memory in all servers of the user together.
    """

    inline_bytes: int = 4096
    concurrency: int | None = None
    profiles: Mapping[str, Profile] = field(default_factory=lambda: PROFILES)
    sessions: SessionLimits = field(default_factory=SessionLimits)
    warm: bool = True
    warm_bytes: int = 512 * MIB


# Asked before every run, so that a rule written while a server runs holds from then on.
LoadRules = Callable[[], policy.Rules]


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for every request."""

    project: Path
    home: Path
    rules: LoadRules | None
    profiles: Mapping[str, Profile]


@dataclass(frozen=True, slots=True)
class Parts:
    """What an executor is put together from."""

    runner: Runner
    supply: Supply
    toolchains: Toolchains
    sessions: Sessions
    compiler: Compiler


class Executor:
    """Runs requests for one project. Made by `open_executor` only."""

    def __init__(self, terms: Terms, parts: Parts) -> None:
        self.project = terms.project
        self._terms = terms
        self._runner = parts.runner
        self._supply = parts.supply
        self._toolchains = parts.toolchains
        self._sessions = parts.sessions
        self._compiler = parts.compiler

    @property
    def isolation(self) -> Isolation:
        """The tier in use and its layers."""
        return self._runner.placement.isolation

    @property
    def sessions(self) -> tuple[str, ...]:
        """The names of the sessions that live, the one used longest ago first."""
        return self._sessions.names

    @property
    def pools(self) -> tuple[PoolState, ...]:
        """What waits ahead of its use, by kind, the one used last first."""
        return self._supply.pool.state if self._supply.pool else ()

    async def run(
        self,
        request: Request,
        *,
        on_output: OnOutput | None = None,
        observe: Observe | None = None,
    ) -> Completed:
        """One program, from its request to its end. Cancelling ends all of it, also its session.

        `on_output` gets every chunk as it comes, with the stream's name; `observe` gets the run's
        record when its turn has come. Runs in the background take no turn from the others.

        Raises:
            RequestError: the request can't be run as asked; its hint says what to do.
            policy.RuleFileError: a file of rules can't be read: nothing is run unguarded.
            OSError: the output can't be spooled.
        """
        checked = await trio.to_thread.run_sync(check, request, self.project, self._terms.profiles)
        if unmet := self._unmet(checked):
            return Completed(self._refused(request, Status.SANDBOX_UNAVAILABLE, unmet))
        verdict = await trio.to_thread.run_sync(self._guard, checked)
        if verdict and verdict["decision"] in ("deny", "ask"):
            message = str(verdict.get("message", ""))
            return Completed(self._refused(request, Status.DENIED, message, verdict))
        chosen = await self._toolchains.choose(checked.language)
        if isinstance(chosen, LanguageReport):
            raise RequestError(f"{chosen.name} does not run here: {chosen.reason}", chosen.hint)
        if request.session is None:
            version = self._toolchains.version(chosen)
            completed = await self._compiler.run(checked, chosen, version, on_output, observe)
        else:
            name = f"{request.owner} {request.session}" if request.owner else request.session
            completed = await self._in_session(name, checked, chosen, on_output)
        result = replace(completed.result, verdict=verdict, toolchain=chosen.toolchain.name)
        return replace(completed, result=result)

    async def _in_session(
        self,
        name: str,
        checked: Checked,
        candidate: runtimes.Candidate,
        on_output: OnOutput | None,
    ) -> Completed:
        script = checked.script
        if script is not None and await trio.to_thread.run_sync(self._is_hidden, script):
            # A session's scripts are read here, on the outside.
            raise RequestError(f"{script} is kept from programs", "name another script")
        call = await trio.to_thread.run_sync(session_call, checked, candidate)
        return await self._sessions.call(name, call, on_output, fresh=checked.request.fresh)

    def _is_hidden(self, path: str) -> bool:
        secrets = project_files.guarded(self.project, ProjectAccess.READ_ONLY).secrets
        return os.path.relpath(path, self.project) in secrets

    async def languages(self, *, refresh: bool = False) -> Mapping[str, LanguageReport]:
        """Every language of the table, proven by a run in the sandbox; `refresh` proves anew."""
        if refresh:
            self._toolchains.forget()
        reports: dict[str, LanguageReport] = {}

        async def report(row: runtimes.Language) -> None:
            reports[row.name] = await self._toolchains.report(row)

        async with trio.open_nursery() as nursery:
            for row in runtimes.LANGUAGES:
                nursery.start_soon(report, row)
        return {row.name: reports[row.name] for row in runtimes.LANGUAGES}

    def _guard(self, checked: Checked) -> Mapping[str, Any] | None:
        if self._terms.rules is None:
            return None
        subject = policy.Subject(
            language=checked.language.name,
            code=checked.text,
            cwd=checked.cwd,
            project=str(self.project),
            home=str(self._terms.home),
            env=checked.request.env,
            surface="sandbox",
        )
        rules = self._terms.rules()
        files = [path for path in (checked.script, checked.bind_file) if path]
        verdicts = [
            policy.evaluate(subject, rules),
            *(policy.evaluate_read(path, rules, real_path=policy.real_path) for path in files),
        ]
        return max(verdicts, key=lambda verdict: verdict.decision).to_json()

    def _unmet(self, checked: Checked) -> str:
        """What this request demands and the tier in use lacks; empty if nothing."""
        tier, profile = self.isolation.tier, checked.profile
        if tier == "A":
            return ""
        lacking = self.isolation.layers["namespaces"]
        if profile.floor == "A" or profile.network.is_open:
            return (
                f"profile {profile.name} needs tier A and this machine gives tier {tier}: "
                f"{lacking.reason}. To mend it, {lacking.remedy}."
            )
        if checked.request.session is not None and profile.project is ProjectAccess.LIVE:
            return (
                f"a session with profile {profile.name} needs tier A, since tier {tier} works on a "
                f"copy of the project: {lacking.reason}. To mend it, {lacking.remedy}."
            )
        return ""

    def _refused(
        self,
        request: Request,
        status: Status,
        message: str,
        verdict: Mapping[str, Any] | None = None,
    ) -> Result:
        return Result(
            status=status,
            verdict=verdict,
            message=message,
            isolation=self.isolation,
            profile=request.profile,
        )


@contextlib.asynccontextmanager
async def open_executor(
    *,
    project: Path,
    state_dir: Path,
    rules: LoadRules | None,
    home: Path,
    settings: Settings | None = None,
) -> AsyncIterator[Executor]:
    """An executor for a project; on the way out everything that it started is ended.

    Raises:
        SandboxUnavailableError: nothing here isolates programs; it says what would help.
        OSError: `state_dir` can't be written.
    """
    settings = settings or Settings()
    project = await trio.to_thread.run_sync(Path.resolve, project)
    search_path = os.environ.get("PATH", os.defpath).split(":")
    found = await trio.to_thread.run_sync(_discover, search_path, project, home)
    binds = {bind for d in found.values() for c in d.candidates for bind in c.binds}
    shown = {path for profile in settings.profiles.values() for path in profile.read}
    repository = await trio.to_thread.run_sync(project_files.linked_repository, project)
    shown.update(repository)
    # A candidate's paths are mounted under the names that it gives, which may be links.
    stage = dict.fromkeys([str(project), *filter(os.path.exists, binds), *existing(sorted(shown))])
    with instance.join(state_dir / "instances") as here, _ground(here, state_dir) as ground:
        spools, hierarchy, why_no_cgroup = ground
        # Staged as a whole: cells are shown what is put there later.
        here.temporary.mkdir(mode=0o711)
        filled = state_dir / "caches"
        filled.mkdir(mode=0o700, exist_ok=True)
        stage |= dict.fromkeys((str(here.temporary), str(filled)))
        budget = Budget(here.folder, here.id, settings.warm_bytes) if settings.warm else None
        machine = Machine(project, hierarchy, why_no_cgroup, here.temporary, repository)
        concurrency = settings.concurrency or 2 * (os.cpu_count() or 1)
        async with (
            placed(machine, list(stage), as_root=is_real_root()) as placement,
            open_supply(placement, hierarchy, budget) as supply,
        ):
            runner = Runner(placement, supply.open, spools, settings.inline_bytes, concurrency)
            async with (
                open_sessions(runner, tuple(sorted(binds)), settings.sessions) as sessions,
                trio.open_nursery() as nursery,
            ):
                await nursery.start(control.serve, here.socket, runner)
                probes = state_dir / "probes.json"
                caches = ToolchainCaches(runner, filled, str(project))
                toolchains = Toolchains(runner, found, probes, str(project), caches)
                terms = Terms(project, home, rules, settings.profiles)
                store = CompiledStore(state_dir / "compiled")
                compiler = Compiler(runner, store, caches, project)
                yield Executor(terms, Parts(runner, supply, toolchains, sessions, compiler))
                nursery.cancel_scope.cancel()


@contextlib.contextmanager
def _ground(
    here: instance.Instance, state_dir: Path
) -> Iterator[tuple[Path, cgroup.Hierarchy | None, str]]:
    """What an instance has on the host: a folder for spools, and control groups or why not."""
    spools = state_dir / "spool" / here.id
    spools.mkdir(parents=True, mode=0o700)
    hierarchy, why_not = cgroup.find(here.id)
    groups = set(hierarchy.folders.values()) if hierarchy else set()
    here.remember([spools, here.temporary, *groups])
    try:
        yield spools, hierarchy, why_not
    finally:
        if hierarchy:
            cgroup.remove_hierarchy(hierarchy)
        for folder in (spools, here.temporary):
            remove(folder)


def _discover(search_path: list[str], project: Path, home: Path) -> dict[str, runtimes.Discovery]:
    return {
        row.name: runtimes.discover(row, search_path, project, home, os.environ)
        for row in runtimes.LANGUAGES
    }


def existing(paths: Iterable[str]) -> list[str]:
    """Those that exist, as they are called and as they really are: cells ask for either."""
    called = [os.path.expanduser(path) for path in paths]
    both = dict.fromkeys((*called, *map(os.path.realpath, called)))
    return [path for path in both if os.path.exists(path)]


def is_real_root() -> bool:
    """Whether this process is the host's root, and not merely called so in a user namespace."""
    if os.geteuid() != 0:
        return False
    first = Path("/proc/self/uid_map").read_text().split()
    return first[:2] == ["0", "0"]
