"""The executor: one request becomes one result. Guard, choose, prepare, run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

import policy
import runtimes
from executor.back_ends.ground import open_ground
from executor.back_ends.table import open_back_end
from executor.caller import Caller, refusal
from executor.compile.compiler import Compiler
from executor.compile.products import CompiledStore
from executor.engine.box import Prewarming
from executor.engine.tiers import STRONGEST
from executor.errors import RequestError
from executor.instance import control, temporary
from executor.instance import lock as instance
from executor.model import Isolation, Limits, Request, Result, Status
from executor.profile import Profile, ProjectAccess
from executor.project.door import Door, identity_of, set_in_order
from executor.request import Checked, check
from executor.run.judging import Judges, open_judges
from executor.run.progress import Completed, Observe, OnOutput
from executor.run.runner import Runner
from executor.sessions.registry import Sessions, open_sessions
from executor.settings import Settings
from executor.toolchains.caches import ToolchainCaches
from executor.toolchains.catalog import LanguageReport, Toolchains

if TYPE_CHECKING:
    from executor.pool.pool import PoolState

# Asked before every run, so that a rule written while a server runs holds from then on.
LoadRules = Callable[[], policy.Rules]


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for every request."""

    project: Path
    home: Path
    rules: LoadRules | None
    profiles: Mapping[str, Profile]
    limits: Limits


@dataclass(frozen=True, slots=True)
class Parts:
    """What an executor is put together from."""

    runner: Runner
    pool: Prewarming
    toolchains: Toolchains
    sessions: Sessions
    compiler: Compiler
    judges: Judges


@dataclass(frozen=True, slots=True)
class Asked:
    """What the rules are asked of a program, and what they say of the files it is given."""

    subject: policy.Subject
    rules: policy.Rules
    of_files: tuple[policy.Verdict, ...]


class Executor:
    """Runs requests for one project. Made by `open_executor` only."""

    def __init__(self, terms: Terms, parts: Parts) -> None:
        self.project = terms.project
        self._terms = terms
        self._runner = parts.runner
        self._pool = parts.pool
        self._toolchains = parts.toolchains
        self._sessions = parts.sessions
        self._compiler = parts.compiler
        self._judges = parts.judges

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
        """What is prewarmed, by purpose, the one used last first."""
        return self._pool.state

    async def run(
        self,
        request: Request,
        *,
        on_output: OnOutput | None = None,
        observe: Observe | None = None,
        caller: Caller | None = None,
    ) -> Completed:
        """One program, from its request to its end. Cancelling ends all of it, also its session.

        `on_output` gets every chunk as it comes, with the stream's name; `observe` gets the run's
        record when its turn has come; `caller` is who may be asked for consent, and is told
        what the first run of a language waits for.
        Runs in the background take no turn from the others.

        Raises:
            RequestError: the request can't be run as asked; its hint says what to do.
            SandboxUnavailableError: the server's temporary folder is no longer its own.
            policy.RuleFileError: a file of rules can't be read: nothing is run unguarded.
            OSError: the output can't be spooled.
        """
        caller = caller or Caller()
        # By a thread, however quick it was the last time: the project chooses what is read there.
        checked, unmet, asked = await trio.to_thread.run_sync(self._screen, request)
        if unmet:
            return Completed(self._refused(request, Status.SANDBOX_UNAVAILABLE, unmet))
        verdict = None
        if asked is not None:
            judged = await self._judges.verdict(asked.subject, asked.rules, caller.tools)
            strictest = max([judged, *asked.of_files], key=lambda verdict: verdict.decision)
            verdict = await caller.settle(strictest.to_json())
        if verdict and (status := refusal(verdict)):
            return Completed(self._refused(request, status, str(verdict["message"]), verdict))
        chosen = await self._toolchains.choose(
            checked.language, interactive=request.interactive, preparing=caller.preparing
        )
        if isinstance(chosen, LanguageReport):
            raise RequestError(f"{chosen.name} does not run here: {chosen.reason}", chosen.hint)
        if request.session is None:
            version = self._toolchains.version(chosen)
            completed = await self._compiler.run(checked, chosen, version, on_output, observe)
        else:
            name = _session_name(request.session, request.owner)
            completed = await self._in_session(name, checked, chosen, on_output)
        result = replace(completed.result, verdict=verdict, toolchain=chosen.toolchain.name)
        return replace(completed, result=result)

    async def check(self, request: Request) -> None:
        """Refuse what `run` would refuse of the request as such, and run nothing.

        Raises:
            RequestError: the request can't be run as asked; its hint says what to do.
        """
        await trio.to_thread.run_sync(
            check, request, self.project, self._terms.profiles, self._terms.limits
        )

    async def interrupt(self, session: str, owner: str = "") -> bool:
        """Tell what runs in a session to stop, as Ctrl-C at a terminal does; whether any does.

        A language whose interpreter survives that goes on with its state.

        Raises:
            SandboxError: the session's box is gone.
        """
        return await self._sessions.interrupt(_session_name(session, owner))

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
        from executor.sessions.call import session_call  # noqa: PLC0415 - most runs have none

        call = session_call(checked, candidate)
        return await self._sessions.call(name, call, on_output, fresh=checked.request.fresh)

    def _is_hidden(self, path: str) -> bool:
        secrets = self._runner.placement.search.secrets()
        return any(path == secret or path.startswith(f"{secret}/") for secret in secrets)

    async def languages(
        self, *, refresh: bool = False, told: Callable[[int, int], None] = lambda done, total: None
    ) -> Mapping[str, LanguageReport]:
        """Every language of the table, proven by a run in the sandbox; `refresh` proves anew.

        `told` hears how many are proven, and of how many.
        """
        if refresh:
            self._toolchains.forget()
        reports: dict[str, LanguageReport] = {}

        async def report(row: runtimes.Language) -> None:
            reports[row.name] = await self._toolchains.report(row)
            told(len(reports), len(runtimes.LANGUAGES))

        async with trio.open_nursery() as nursery:
            for row in runtimes.LANGUAGES:
                nursery.start_soon(report, row)
        return {row.name: reports[row.name] for row in runtimes.LANGUAGES}

    async def language(self, name: str) -> LanguageReport:
        """One language, as `languages` reports it."""
        return await self._toolchains.report(runtimes.language(name))

    def _screen(self, request: Request) -> tuple[Checked, str, Asked | None]:
        """A request that can be run as asked, what it demands in vain, and what rules are asked."""
        checked = check(request, self.project, self._terms.profiles, self._terms.limits)
        unmet = self._unmet(checked)
        if unmet or self._terms.rules is None:
            return checked, unmet, None
        rules = self._terms.rules()
        self._hide(rules)
        subject = policy.Subject(
            language=checked.language.name,
            code=checked.text,
            cwd=checked.cwd,
            project=str(self.project),
            home=str(self._terms.home),
            env=dict(checked.request.env),
            surface="sandbox",
        )
        files = filter(None, (checked.script, checked.bind_file))
        judged = (policy.evaluate_read(one, rules, real_path=policy.real_path) for one in files)
        return checked, "", Asked(subject, rules, tuple(judged))

    def _hide(self, rules: policy.Rules) -> None:
        """Keep what rules deny to be read out of every box, whatever opens it there.

        Raises:
            RequestError: that is the whole project.
        """
        shown = {path for profile in self._terms.profiles.values() for path in profile.read}
        shown = {os.path.realpath(os.path.expanduser(path)) for path in shown}
        denied = policy.hidden_paths(rules, [str(self.project), *sorted(shown)])
        if denied.covers(str(self.project)):
            raise RequestError(
                f"a rule denies to read all of {self.project}",
                "`context-mode policy list` shows it; change it, or work in another project",
            )
        self._runner.placement.search.deny(denied)

    def _unmet(self, checked: Checked) -> str:
        """What this request demands and the tier in use lacks; empty if nothing."""
        place, profile = self._runner.placement, checked.profile
        if profile.floor not in place.can.floors or (
            profile.network.is_open and not place.can.network_by_allowlist
        ):
            return f"profile {profile.name} needs tier {STRONGEST}, {place.shortfall()}"
        if profile.project is ProjectAccess.LIVE and not place.can.live_project:
            return (
                f"profile {profile.name} needs tier {STRONGEST}, since others work on a copy of "
                f"the project, {place.shortfall()}"
            )
        if _is_building_session(checked) and place.travels:
            return (
                f"a session with profile {profile.name} needs an engine that mounts folders of "
                "this machine, and projects travel to the one in use. To mend it, leave out "
                "`session`, or use a local engine."
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


def _is_building_session(checked: Checked) -> bool:
    is_session = checked.request.session is not None
    return is_session and checked.profile.project is ProjectAccess.COMMIT


def _session_name(session: str, owner: str) -> str:
    return f"{owner} {session}" if owner else session


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
    with instance.join(state_dir / "instances") as here, open_ground(here, state_dir) as ground:
        temporary.own(here.temporary)
        filled = state_dir / "caches"
        filled.mkdir(mode=0o700, exist_ok=True)
        concurrency = settings.concurrency or 2 * (os.cpu_count() or 1)
        async with open_back_end(project, home, settings, ground) as made:
            made.place.search.hide([state_dir, settings.storage or state_dir])
            await trio.to_thread.run_sync(set_in_order, state_dir / "changes", project)
            door = Door(
                made.place.search,
                lambda: settings.names,
                state_dir / "changes",
                made.binds,
                identity=identity_of(project),
            )
            runner = Runner(
                made.place, made.open_box, ground.spools, settings.inline_bytes, concurrency, door
            )
            async with (
                open_judges(settings.report, ahead=rules is not None) as judges,
                open_sessions(runner, made.binds, settings.sessions) as sessions,
                trio.open_nursery() as nursery,
            ):
                caches = ToolchainCaches(runner, filled, str(project))
                toolchains = Toolchains(runner, made.found, made.probes, str(project), caches)
                terms = Terms(project, home, rules, settings.profiles, settings.limits)
                compiled = CompiledStore(state_dir / "compiled")
                compiler = Compiler(runner, compiled, caches, project)
                executor = Executor(
                    terms, Parts(runner, made.pool, toolchains, sessions, compiler, judges)
                )
                desk = control.Desk(runner, lambda: executor.pools)
                await nursery.start(control.serve, here.socket, desk)
                yield executor
                nursery.cancel_scope.cancel()
