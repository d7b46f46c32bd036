"""The composition root: one project's rules, sandbox and store, with a few operations.

The command line and the MCP server both use `App`, and no room below it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, nullcontext, suppress
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

import trio

from ctxmode.background_tasks import (
    end_calls,
    index_behind,
    keep_to_quota,
    report_defect,
    track_sessions,
)
from ctxmode.config.engine_settings import engine_settings
from ctxmode.config.locations import Config, prepare_storage, require_project
from ctxmode.config.rules import keep_current
from ctxmode.config.settings import load_settings
from ctxmode.errors import ContextModeError, UsageError, translate_errors
from ctxmode.operations.audit import log_verdict
from ctxmode.operations.engines import open_engines
from ctxmode.render.terminal_output import OnProgress, ignore_progress
from executor import name_local, open_backgrounds
from executor.run import Answer, Keep
from kb.eviction import queue_folder

# Operations load what only they need, so that a run starts sooner.
if TYPE_CHECKING:
    import kb
    import policy
    import runtimes
    from ctxmode.doctor.diagnosis import Diagnosis
    from ctxmode.operations.library import Library
    from ctxmode.operations.searching import SearchAnswer, SearchRequest
    from ctxmode.operations.session_calls import SessionCalls
    from ctxmode.operations.usage import Recorder
    from ctxmode.web.model import PageAnswer
    from ctxmode.web.pages import Wanted
    from executor import Background, Backgrounds, Caller, Completed, LocalEngine, Request
    from executor.engine import PackagesAnswer
    from fleet import Fleet

T = TypeVar("T")

QUOTA_OF_ALL_EVERY_S = 10.0
"""Interval in which a server checks the file sizes of all projects' stores."""

DRAIN_S_MAX = 0.5
"""Time to index queued output while closing; the next process indexes the rest."""


class App:
    """One open project, created by `open_app`. ContextModeError is raised for errors that a caller
    can fix; a program's ending is a value."""

    def __init__(  # noqa: PLR0913, PLR0917 - what is open
        self,
        config: Config,
        engine: LocalEngine,
        keep: Keep,
        backgrounds: Backgrounds[Answer],
        rules: Callable[[], policy.Rules],
        refused: tuple[str, ...] = (),
        *,
        recorder: Recorder | None = None,
        fleet: Fleet | None = None,
    ) -> None:
        self.config = config
        self.fleet = fleet
        """The sender of runs to other machines; None if all run here."""
        self._engine = engine
        self._keep = keep
        self._backgrounds = backgrounds
        self._rules = rules
        self._refused = refused
        self._recorder = recorder
        self._owner = ""

    @property
    def notices(self) -> tuple[str, ...]:
        """The notices of the store and the settings so far."""
        return (*self._keep.notices, *(self.fleet.notices if self.fleet else ()), *self._refused)

    @cached_property
    def calls(self) -> SessionCalls:
        """Recorded calls of clients whose hosts write no transcript."""
        from ctxmode.operations.session_calls import SessionCalls  # noqa: PLC0415

        return SessionCalls(str(self.config.project))

    @cached_property
    def library(self) -> Library:
        """The project's stored sources."""
        from ctxmode.operations.library import Library  # noqa: PLC0415

        return Library(self.config, self._keep.store, self._rules, is_indexed_behind=True)

    @cached_property
    def recorder(self) -> Recorder:
        """The counter of the project's calls."""
        return self._recorder or _open_recorder(self.config)

    def close(self) -> None:
        """Close everything except the sandbox and the store."""
        if self._recorder or "recorder" in self.__dict__:
            self.recorder.close()

    @property
    def at_once(self) -> int | None:
        """The number of simultaneous runs on other machines; None if there are none."""
        return self.fleet.settings.at_once if self.fleet else None

    @property
    def tier(self) -> str:
        """The isolation tier in use."""
        return self._engine.isolation.tier

    async def execute(
        self,
        request: Request,
        *,
        on_output: Callable[[str, bytes], None] | None = None,
        name: str = "",
        always_keep: bool = False,
        caller: Caller | None = None,
    ) -> Answer:
        """Run one program; cancelling ends all its processes. Large output is stored under `name`,
        with `always_keep` all output."""
        request = replace(request, owner=request.owner or self._owner)
        with translate_errors():
            completed = await self._engine.run(request, on_output=on_output, caller=caller)
            answer = await self._keep.answer(completed, request, name=name, always=always_keep)
        return await _record(self.config, self._recorder, request, answer)

    def for_command(self, *, is_listed: bool) -> App:
        """Return this project for one command, whose runs wait for no others."""
        alone = copy(self)
        alone._recorder = self._recorder if is_listed else None
        alone._owner = name_local()
        return alone

    async def end_owner(self, owner: str) -> None:
        """End the sessions and background programs of a client that is gone."""
        await end_calls(self.config, self.calls, owner)
        with translate_errors():
            await self._backgrounds.end_owner(owner)
            await self._engine.end_owner(owner)

    async def settle(self) -> None:
        """Index queued output for a short time, as at the end of a single command."""
        with trio.move_on_after(DRAIN_S_MAX):
            await self._keep.index_queued()

    def finds_same(self, row: runtimes.Language) -> bool:
        """Return whether a language is found where it was when the project was opened."""
        return self._engine.finds_same(row)

    async def warm_up(self) -> None:
        """Run a shell that does nothing: the first call then finds it proven, and one prewarmed. An
        error is left for that call to report."""
        from executor import Request  # noqa: PLC0415 - a single run does without

        with suppress(ContextModeError), translate_errors():
            completed = await self._engine.run(Request("shell", code=":"))
            completed.delete_spools()

    async def check(self, request: Request, name: str) -> None:
        """Raise the UsageError that `execute` would raise for a request, with `name` in front."""
        try:
            with translate_errors():
                await self._engine.check(request)
        except UsageError as error:
            raise UsageError(f"{name}: {error.message}", error.hint) from error

    async def packages(
        self, request: Request, caller: Caller, *, fetch: bool = True, fresh: bool = False
    ) -> PackagesAnswer:
        """Lock a request's packages, and `fetch` them; `fresh` locks them again. Nothing is run."""
        with translate_errors():
            return await self._engine.have_packages(request, caller, fetch=fetch, fresh=fresh)

    async def interrupt(self, session: str) -> bool:
        """Interrupt a session's program, as Ctrl-C does; return whether one was running."""
        with translate_errors():
            return await self._engine.interrupt(session)

    async def start(self, request: Request, caller: Caller | None = None) -> Background[Answer]:
        """Start a program in the background; closing the project ends it."""
        with translate_errors():
            return await self._backgrounds.start(request, caller)

    async def background(
        self, handle: str, *, wait_s: float, stop: bool, owner: str = ""
    ) -> Background[Answer]:
        """Return a background program's state after `wait_s` or when it ends; `stop` ends it."""
        with translate_errors():
            if stop:
                return await self._backgrounds.stop(handle, owner)
            return await self._backgrounds.look(handle, wait_s, owner)

    def backgrounds(self, owner: str = "") -> tuple[Background[Answer], ...]:
        """List the known background programs of one owner."""
        return self._backgrounds.all(owner)

    async def read(self, look: Callable[[Library], T]) -> T:
        """Read from the library in a thread."""
        with translate_errors():
            return await trio.to_thread.run_sync(look, self.library, abandon_on_cancel=True)

    async def search(self, request: SearchRequest) -> SearchAnswer:
        """Search the store. Output queued by other processes is indexed after the answer."""
        answer = await self.read(lambda library: library.search(request))
        if answer.incomplete_sources:
            self._keep.wake()
        return answer

    async def write(self, change: Callable[[Library], T]) -> T:
        """Change the library in a thread, one change at a time."""
        try:
            return await trio.to_thread.run_sync(
                change, self.library, limiter=self._keep.writing, abandon_on_cancel=True
            )
        finally:
            self._keep.wake()

    async def fetch(
        self, wanted: Sequence[Wanted], *, concurrency: int, ttl_s: float, force: bool
    ) -> tuple[PageAnswer, ...]:
        """Fetch pages into the store; failures are values."""
        from ctxmode.web import http  # noqa: PLC0415 - only who fetches pays for it
        from ctxmode.web.model import Network  # noqa: PLC0415
        from ctxmode.web.pages import PageFetcher  # noqa: PLC0415

        network = Network(http.resolve, allow_private=self.config.fetch_private)
        writing = self._keep.writing
        fetcher = PageFetcher(self.library, network, writing, ttl_s, force, concurrency)
        with translate_errors():
            fetched = await fetcher.fetch(wanted)
        self._keep.wake()
        return fetched

    async def doctor(
        self, *, refresh: bool = False, on_progress: OnProgress = ignore_progress
    ) -> Diagnosis:
        """Diagnose what works here; `refresh` discards earlier tests of languages.
        `on_progress` gets the number of tested languages."""
        from ctxmode.doctor import diagnosis  # noqa: PLC0415 - few ask

        diagnosed = await diagnosis.diagnose(
            self.config, self._engine, refresh=refresh, on_progress=on_progress
        )
        rules = await trio.to_thread.run_sync(self._rules)
        listed = tuple(f"{rule.source}: {rule.text}" for rule in rules.untrusted)
        warnings = (one for one in rules.warnings if not one.startswith(listed))
        cluster = await self.fleet.examine() if self.fleet else None
        return replace(diagnosed, notices=(*self.notices, *warnings), cluster=cluster)

    async def toolchain(self, language: str) -> tuple[str | None, str | None, str | None]:
        """Return the name, path and version of a language's toolchain."""
        with translate_errors():
            report = await self._engine.language(language)
        return report.toolchain, report.path, report.version


@asynccontextmanager
async def open_app(config: Config, *, sole: Request | None = None) -> AsyncIterator[App]:
    """Open a project: its storage, its rules, its sandbox. Closing ends every run.

    With `sole` it is for the run of that request alone: nothing is made ahead for a next
    one, and no table lists it. Its store opens only to keep something. ContextModeError says that
    the folder cannot be the project, the storage cannot be written, a rule file cannot be read, or
    no permitted sandbox exists.
    """
    require_project(config)
    with translate_errors():
        await trio.to_thread.run_sync(prepare_storage, config)
        rules = keep_current(config.project, config.home)
        await trio.to_thread.run_sync(rules)  # reports a broken rule file at once
        folders = config.project, config.config_home
        configured = await trio.to_thread.run_sync(load_settings, *folders)
        settings, refused = await trio.to_thread.run_sync(engine_settings, config, configured)
        url = config.cluster or str(configured.values["cluster.url"])
        settings = replace(settings, sole=sole, report=report_defect)
        keep = Keep(partial(_open_store, config), queue_folder(config.database))
        if sole is None:
            await trio.to_thread.run_sync(lambda: keep.store)
        recorder = None if sole else _open_recorder(config)
    try:
        with translate_errors():
            keep_answer = partial(_keep_answer, config, keep, recorder)
            async with (
                open_engines(config, rules, settings, url, keep_answer) as (engine, fleet),
                open_backgrounds(engine, keep_answer) as backgrounds,
                trio.open_nursery() as nursery,
            ):
                nursery.start_soon(index_behind, keep)
                given = config, engine, keep, backgrounds, rules, refused
                with closing(App(*given, recorder=recorder, fleet=fleet)) as app:
                    if sole is None:
                        nursery.start_soon(keep_to_quota, config, QUOTA_OF_ALL_EVERY_S)
                        nursery.start_soon(track_sessions, config, keep, app.calls)
                    try:
                        yield app
                    finally:
                        nursery.cancel_scope.cancel()
                        if sole is None:
                            await end_calls(config, app.calls)
        with trio.move_on_after(DRAIN_S_MAX):
            await keep.index_queued()
            if keep.is_open:
                await keep_to_quota(config)
    finally:
        keep.close()


def _open_store(config: Config) -> kb.Store:
    from ctxmode.operations.stores import open_store  # noqa: PLC0415 - with all that keeping needs

    return open_store(config)


def _open_recorder(config: Config) -> Recorder:
    from ctxmode.operations.usage import Recorder  # noqa: PLC0415 - loads SQLite

    return Recorder(config.usage_file)


async def _record(
    config: Config, recorder: Recorder | None, request: Request, answer: Answer
) -> Answer:
    """Write the verdict to the audit log and the run to the table of the latest runs. A single run
    is listed only if the sandbox blocked something."""
    refusals = answer.result.refusals
    if recorder or refusals:
        from ctxmode.operations.usage import make_run_record  # noqa: PLC0415 - as above

        output_id = answer.kept.output_id if answer.kept else None
        run = make_run_record(request, answer.result, output_id)
        with closing(_open_recorder(config)) if recorder is None else nullcontext(recorder) as to:
            await to.count(run, refusals)
    return await log_verdict(config, request, answer)


async def _keep_answer(
    config: Config, keep: Keep, recorder: Recorder | None, request: Request, completed: Completed
) -> Answer:
    """Store all output of a background run, since its handle expires soon."""
    answer = await keep.answer(completed, request, always=True)
    return await _record(config, recorder, request, answer)
