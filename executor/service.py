"""The executor: one request becomes one result. Guard, choose, prepare, run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import trio

import policy
import runtimes
from executor.engine.engine import (
    Completed,
    Elsewhere,
    LanguageReport,
    Observe,
    OnOutput,
    OnProgress,
    PackagesAnswer,
    Terms,
)
from executor.engine.layers import find_unmet, find_unmet_of_packages
from executor.instance.control import PrewarmReport
from executor.model import Isolation, PackagesError, Request, RequestError, Result, Status
from executor.request import (
    Caller,
    CheckedRequest,
    Profile,
    ProjectAccess,
    check,
    describe_subject,
    refusal,
)
from executor.run.execution import Execution

if TYPE_CHECKING:
    from executor.compile.compiler import Compiler
    from executor.engine.box import Prewarming
    from executor.instance.lock import Instance
    from executor.packages.layers import Packages
    from executor.packages.model import Wanted
    from executor.run.commits import RemoteCommits
    from executor.run.judging import Judges
    from executor.run.progress import ListedRun
    from executor.run.runner import Runner
    from executor.sessions.registry import Sessions
    from executor.toolchains.catalog import ToolchainCaches, Toolchains


class LocalEngine:
    """The engine that runs requests for one project. Made by `open_engine` only.

    A request goes through `judge` (check, judge) and `place` (choose a toolchain, place in a box,
    run, outcome). `commits` applies changes made on other machines. `elsewhere`, if set, sends runs
    to other machines or leaves them to `place`.
    """

    def __init__(  # noqa: PLR0913 - all that an engine is put together from
        self,
        terms: Terms,
        *,
        runner: Runner,
        pool: Prewarming,
        toolchains: Toolchains,
        sessions: Sessions,
        caches: ToolchainCaches,
        compiler: Callable[[], Compiler],
        judges: Judges,
        packages: Callable[[], Packages],
        instance: Instance,
    ) -> None:
        self.project = terms.project
        self.search = runner.placement.search
        """The project's paths hidden from programs by the rules that `judge` last read."""
        self.instance = instance
        self.elsewhere: Elsewhere | None = None
        self._terms = terms
        self._runner = runner
        self._pool = pool
        self._toolchains = toolchains
        self._sessions = sessions
        self._caches = caches
        self._compiler = compiler
        self._judges = judges
        self._packages = packages
        # The rules and shown paths for which hidden paths were last looked for, and these.
        self._hidden: tuple[policy.Rules, set[str], policy.HiddenPaths] | None = None

    @property
    def isolation(self) -> Isolation:
        """Return the tier in use and its layers."""
        return self._runner.placement.isolation

    def under(self, rules: policy.Rules, profile: Profile) -> LocalEngine:
        """Return this engine for one profile under other rules; never run both at the same time."""
        other = copy(self)
        other.elsewhere = None
        other._terms = replace(self._terms, rules=lambda: rules, profiles={profile.name: profile})
        return other

    @cached_property
    def commits(self) -> RemoteCommits:
        """Return the commits of changes made on other machines."""
        from executor.run.commits import RemoteCommits  # noqa: PLC0415 - few runs are sent

        return RemoteCommits(self._runner)

    @property
    def is_busy(self) -> bool:
        """Return whether a run would have to wait for others."""
        return self._runner.is_busy

    def list_run(self, run: ListedRun) -> AbstractContextManager[int]:
        """List a run of another machine as active until the block ends; yield its number."""
        return self._runner.list_run(run)

    @property
    def spools(self) -> Path:
        """Return the folder that holds whole streams and artifacts until a caller takes them."""
        return self._runner.spools

    @property
    def inline_bytes(self) -> int:
        """Return how much of each stream a result holds."""
        return self._runner.inline_bytes

    @property
    def sessions(self) -> tuple[str, ...]:
        """Return the names of open sessions, the one used longest ago first."""
        return self._sessions.names

    @property
    def pools(self) -> tuple[PrewarmReport, ...]:
        """Return the prewarmed parts, by purpose, the one used last first."""
        return self._pool.state

    async def run(
        self,
        request: Request,
        *,
        on_output: OnOutput | None = None,
        observe: Observe | None = None,
        caller: Caller | None = None,
    ) -> Completed:
        """Run one program to its end. Cancelling ends all of it, including its session.

        `on_output` gets each chunk at once, with the stream's name. `observe` gets the run's record
        when its turn has come. `caller` approves the run if the rules ask, and is shown what the
        first run of a language waits for. Runs in the background take no turn from the others.

        Raises:
            RequestError: the request can't be run as asked; its hint has the fix.
            PackagesError: its packages can't be fetched.
            SandboxUnavailableError: another user has taken the server's temporary folder.
            policy.RuleFileError: a rule file can't be read; nothing is run unguarded.
            OSError: the output can't be spooled.
        """
        judged = await self.judge(request, caller or Caller())
        if isinstance(judged, Completed):
            return judged
        place = self.place if self.elsewhere is None else self.elsewhere.place
        return await place(judged, on_output=on_output, observe=observe)

    async def judge(self, request: Request, caller: Caller) -> CheckedRequest | Completed:
        """Check a request, rules and approval; return a refusal or a judged request.

        Raises:
            RequestError, policy.RuleFileError: see `run`.
        """
        # In a thread, even if it was quick before: the project chooses which files are read.
        checked, of_files = await trio.to_thread.run_sync(self._check, request, caller)
        if unmet := find_unmet(checked, self._runner.placement):
            return Completed(self._refuse(request, Status.SANDBOX_UNAVAILABLE, unmet))
        if checked.rules is None:
            return checked
        subject = describe_subject(checked, str(self.project), str(self._terms.home))
        rules = checked.rules
        verdict = await self._judges.verdict(subject, rules, caller.tools)
        strictest = max([verdict, *of_files], key=lambda one: one.decision)
        settled = await caller.settle(strictest.to_json())
        if status := refusal(settled):
            refused = self._refuse(request, status, str(settled["message"]))
            return Completed(replace(refused, verdict=settled))
        return replace(checked, verdict=settled)

    async def place(
        self,
        judged: CheckedRequest,
        *,
        on_output: OnOutput | None = None,
        observe: Observe | None = None,
    ) -> Completed:
        """Choose a toolchain for a judged request, and run it in a box.

        Raises:
            RequestError: its language does not run here.
            PackagesError: its packages can't be fetched.
            SandboxUnavailableError, OSError: see `run`.
        """
        chosen = await self._toolchains.choose(
            judged.language,
            interactive=judged.request.interactive,
            preparing=judged.caller.preparing,
        )
        if isinstance(chosen, LanguageReport):
            raise RequestError(f"{chosen.name} does not run here: {chosen.reason}", chosen.hint)
        execution = Execution(judged, chosen, self._caches.folders(chosen), on_output, observe)
        if judged.request.session is not None:
            completed = await self._run_in_session(execution, judged.request.session)
        else:
            completed = await self._run_alone(execution)
        named = replace(completed.result, verdict=judged.verdict, toolchain=chosen.toolchain.name)
        if named.status is Status.NONZERO_EXIT:
            from runtimes.packages import find_missing  # noqa: PLC0415 - most runs lack none

            lacks = find_missing(judged.language.name, named.stderr.text)
            named = replace(named, missing_packages=lacks)
        return replace(completed, result=named)

    async def _run_alone(self, execution: Execution) -> Completed:
        """Run a program in a new box, with its packages; compile it separately if possible."""
        judged, chosen = execution.checked, execution.candidate
        is_compiled = chosen.toolchain.inputs is not None  # separately
        if judged.packages is None and not is_compiled:
            return await execution.start(self._runner)
        version = self._toolchains.version(chosen)
        if judged.packages is None:
            return await self._compiler().run(execution, version)
        from executor.packages.package_request import run_with  # noqa: PLC0415 - most runs want none

        persists = judged.profile.project in {ProjectAccess.COMMIT, ProjectAccess.LIVE}
        proven = chosen, version

        async def start(
            candidate: runtimes.Candidate, packages: tuple[tuple[str, str], ...]
        ) -> Completed:
            equipped = replace(execution, candidate=candidate, packages=packages)
            if not is_compiled:
                return await equipped.start(self._runner)
            return await self._compiler().run(equipped, version)

        return await run_with(
            self._packages(), judged.packages, proven, judged.caller, start, verify_first=persists
        )

    async def check(self, request: Request) -> None:
        """Check a request as `run` does before it asks the rules, and run nothing.

        Raises:
            RequestError: the request can't be run as asked; its hint has the fix.
        """
        await trio.to_thread.run_sync(self._check_alone, request)

    def _check_alone(self, request: Request) -> None:
        self._load_rules()
        check(request, self.search, self._terms.profiles, self._terms.limits)

    async def interrupt(self, session: str, owner: str = "") -> bool:
        """Interrupt a session's program as Ctrl-C does; return whether one was active.

        If the interpreter survives, the session keeps its state.

        Raises:
            SandboxError: the session's box is gone.
        """
        return await self._sessions.interrupt(_session_name(session, owner))

    async def end_owner(self, owner: str) -> None:
        """End the sessions of a client that is gone."""
        await self._sessions.end_owner(owner)

    async def _run_in_session(self, call: Execution, session: str) -> Completed:
        """Run a call of the session that the request names."""
        judged, packages = call.checked, None
        if judged.packages is not None:
            from executor.sessions.call import SessionPackages  # noqa: PLC0415 - most calls name none

            proven = self._toolchains.describe(call.candidate)
            packages = SessionPackages(self._packages, judged.packages, proven, judged.caller)
        name = _session_name(session, judged.request.owner)
        return await self._sessions.call(name, call, packages)

    async def have_packages(
        self, request: Request, caller: Caller, *, fetch: bool, fresh: bool = False
    ) -> PackagesAnswer:
        """Lock a request's packages (`fresh`: again), and `fetch` them unless stored; run nothing.

        Raises:
            RequestError: they are named wrongly, or the language does not run here.
            PackagesError: they can't be fetched.
        """
        from executor.packages import package_request  # noqa: PLC0415 - most runs have none

        if unmet := find_unmet_of_packages(self._runner.placement):
            raise PackagesError(unmet)
        row, cwd = runtimes.language(request.language), str(self.project / (request.cwd or ""))

        def read() -> Wanted:
            self._load_rules()
            return package_request.read_wanted(request.packages, row.name, cwd, self.search)

        given = await trio.to_thread.run_sync(read)
        chosen = await self._toolchains.choose(
            row, interactive=request.interactive, preparing=caller.preparing
        )
        if isinstance(chosen, LanguageReport):
            raise RequestError(f"{chosen.name} does not run here: {chosen.reason}", chosen.hint)
        proven = self._toolchains.describe(chosen)
        return await package_request.have(
            self._packages(), given, proven, caller, fetch=fetch, fresh=fresh
        )

    async def languages(
        self, *, refresh: bool = False, on_progress: OnProgress | None = None
    ) -> Mapping[str, LanguageReport]:
        """Report every language, proven by a run in the sandbox; `refresh` proves all again.

        `on_progress` gets the number proven so far and the total.
        """
        if refresh:
            self._toolchains.forget()
        reports: dict[str, LanguageReport] = {}

        async def report(row: runtimes.Language) -> None:
            reports[row.name] = await self._toolchains.report(row)
            if on_progress:
                on_progress(len(reports), len(runtimes.LANGUAGES))

        async with trio.open_nursery() as nursery:
            for row in runtimes.LANGUAGES:
                nursery.start_soon(report, row)
        return {row.name: reports[row.name] for row in runtimes.LANGUAGES}

    def finds_same(self, row: runtimes.Language) -> bool:
        """Return whether a language is found where it was when this engine was opened."""
        return self._toolchains.finds_same(row, self.project, self._terms.home)

    async def language(self, name: str) -> LanguageReport:
        """Report one language, as `languages` does."""
        return await self._toolchains.report(runtimes.language(name))

    def _check(
        self, request: Request, caller: Caller
    ) -> tuple[CheckedRequest, list[policy.Verdict]]:
        """Return the checked request, and the verdicts on the files that the program is given."""
        rules = self._load_rules()
        checked = check(request, self.search, self._terms.profiles, self._terms.limits)
        wanted = self._read_packages(checked) if request.packages else None
        checked = replace(checked, caller=caller, packages=wanted, rules=rules)
        if rules is None:
            return checked, []
        files = filter(None, (checked.script, checked.bind_file))
        read = (policy.evaluate_read(one, rules, real_path=policy.real_path) for one in files)
        return checked, list(read)

    def _read_packages(self, checked: CheckedRequest) -> Wanted:
        from executor.packages.package_request import read_wanted  # noqa: PLC0415 - most runs want none

        named = checked.request.packages
        return read_wanted(named, checked.language.name, checked.cwd, self.search)

    def _load_rules(self) -> policy.Rules | None:
        """Load the rules, if any, and hide the paths that they deny to read from every box.

        The server does not open them either, so this precedes reading any file of the project.

        Raises:
            RequestError: the rules deny the whole project.
        """
        if self._terms.rules is None:
            return None
        rules = self._terms.rules()
        shown = {path for profile in self._terms.profiles.values() for path in profile.read}
        shown = {os.path.realpath(os.path.expanduser(path)) for path in shown}
        if self._hidden is not None and self._hidden[0] is rules and self._hidden[1] == shown:
            self.search.deny(self._hidden[2])
            return rules
        denied = policy.find_hidden_paths(rules, [str(self.project), *sorted(shown)])
        if denied.covers(str(self.project)):
            raise RequestError(
                f"a rule denies reading all of {self.project}",
                "Find it with `context-mode policy list` and change it, or use another project.",
            )
        self.search.deny(denied)
        self._hidden = rules, shown, denied
        return rules

    def _refuse(self, request: Request, status: Status, message: str) -> Result:
        return Result(status, message=message, isolation=self.isolation, profile=request.profile)


def _session_name(session: str, owner: str) -> str:
    return f"{owner} {session}" if owner else session
