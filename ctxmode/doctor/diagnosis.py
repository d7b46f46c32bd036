"""`doctor`: what works here, what does not and why, and what would mend it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

import kb
from base.wording import type_command
from ctxmode import __version__
from ctxmode.config.file_names import has_drafts
from ctxmode.config.locations import Config, prepare_storage, require_project
from ctxmode.doctor.container_engine import EngineHealth, examine
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.operations.facts import open_memory, read_stats
from ctxmode.operations.page_repository import find_repository
from ctxmode.operations.pages import is_captured
from ctxmode.operations.quotas import Holdings, read_holdings
from ctxmode.render.live_output import OnProgress, ignore_progress
from executor import (
    Isolation,
    LanguageReport,
    LocalEngine,
    SandboxUnavailableError,
    open_engine,
)
from executor.engine import PACKAGED, TIERS
from executor.instance import PrewarmReport, control
from memory.pages import GitError, find_git
from runtimes.packages import ECOSYSTEMS, Ecosystem, Tool, find_tool

if TYPE_CHECKING:
    from fleet import FleetHealth


@dataclass(frozen=True, slots=True)
class ClientsHealth:
    """The clients of one ecosystem; without any its toolchain does it."""

    ecosystem: str
    title: str
    clients: Mapping[str, str | None]  # where each lies, or None
    reason: str = ""  # why its packages cannot be fetched
    remedy: str = ""  # what to install

    @property
    def ok(self) -> bool:
        return not self.reason


def check_clients(languages: Mapping[str, LanguageReport], tier: str) -> tuple[ClientsHealth, ...]:
    """Look for the clients of every ecosystem whose languages were proven, on PATH and beside them.

    Sandboxes of `tier` have to be able to show packages. In an image the clients that come with a
    toolchain are not looked for; those beside one are in none.
    """
    known = (row for row in ECOSYSTEMS if any(name in languages for name in row.languages))
    return tuple(_check_row(row, languages, tier) for row in known)


def _check_row(row: Ecosystem, languages: Mapping[str, LanguageReport], tier: str) -> ClientsHealth:
    reports = [languages[name] for name in row.languages if name in languages]
    running = [report for report in reports if report.runnable and report.path]
    in_image = tier in TIERS and TIERS[tier].back_end == "container"
    found = dict(_find_clients(row, running, in_image=in_image))
    clients = {tool.name: path for tool, path in found.items()}
    if not running:
        names = " and ".join(report.name for report in reports)
        reason = f"{names} {'do' if len(reports) > 1 else 'does'} not run here"
        return ClientsHealth(row.name, row.title, clients, reason)
    for tool, path in found.items():
        if path is None and in_image and tool in row.beside:
            reason = f"{tool.name} is not in its image"
            return ClientsHealth(row.name, row.title, clients, reason)
        if path is None:
            return ClientsHealth(
                row.name, row.title, clients, f"{tool.name} is not here", tool.hint
            )
    if tier not in TIERS or not TIERS[tier].shows_packages:
        reason = f"packages need {PACKAGED}"
        return ClientsHealth(row.name, row.title, clients, reason)
    return ClientsHealth(row.name, row.title, clients)


def _find_clients(
    row: Ecosystem, running: list[LanguageReport], *, in_image: bool
) -> Iterator[tuple[Tool, str | None]]:
    for tool in row.tools:
        if in_image and not tool.portable:
            continue
        found = find_tool(tool)
        yield tool, found[0] if found else None
    folders = [os.path.dirname(os.path.realpath(report.path or "")) for report in running]
    for tool in row.beside:
        is_there = folders and not in_image
        yield tool, shutil.which(tool.name, path=os.pathsep.join(folders)) if is_there else None


def check_pages(config: Config, environ: Mapping[str, str] = os.environ) -> Mapping[str, Any]:
    """Look whether pages can be kept, and are; with the program, and with what is amiss."""
    found = {
        "git": "",
        "is_begun": False,
        "captures": is_captured(config, environ),
        "reason": "",
        "remedy": "",
    }
    begun = has_drafts(str(config.project))
    try:
        found["git"] = find_git()
        found["is_begun"] = begun and (find_repository(config) / "HEAD").is_file()
    except GitError as error:
        found |= {"is_begun": begun, "reason": error.message, "remedy": error.remedy}
    except ContextModeError as error:
        found |= {"reason": error.message, "remedy": error.hint}
    return found


def check_facts(config: Config) -> Mapping[str, Any]:
    """Verify the files of facts, and count what they hold; none is made."""
    health = {"facts": 0, "users_facts": 0, "reason": "", "remedy": ""}
    try:
        with open_memory(config) as memory:
            found = memory.check()
            for store in memory.stores:
                if problems := found[str(store.path)]:
                    remedy = type_command(store.mended_by)
                    return health | {"reason": f"{store.path}: {problems[0]}", "remedy": remedy}
        stats = read_stats(config)
    except ContextModeError as error:
        return health | {"reason": error.message, "remedy": error.hint}
    return health | {"facts": stats["facts"], "users_facts": stats["users_facts"]}


CRITICAL_LANGUAGES = ("shell", "python")


@dataclass(frozen=True, slots=True)
class PartHealth:
    """A part that works or does not."""

    ok: bool
    detail: str  # what it is
    reason: str = ""  # why it does not work
    remedy: str = ""  # what to do about it


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The whole state. `critical` names what must work and does not; empty means healthy."""

    project: str
    languages: Mapping[str, LanguageReport]
    isolation: Isolation
    fts5: PartHealth
    storage: PartHealth
    opening: PartHealth = field(default_factory=lambda: PartHealth(True, "the project opens"))
    container_engine: EngineHealth = field(default_factory=lambda: EngineHealth(False))
    notices: tuple[str, ...] = ()  # what one should know of the store and of configuration files
    prewarmed: tuple[PrewarmReport, ...] = ()  # by the user's servers
    holdings: Holdings | None = None  # what is kept on disk
    pages: Mapping[str, Any] | None = None  # as `check_pages` says
    facts: Mapping[str, Any] | None = None  # as `check_facts` says
    packages: tuple[ClientsHealth, ...] = ()
    cluster: FleetHealth | None = None

    @property
    def critical(self) -> tuple[str, ...]:
        broken = [f"language {n}" for n in CRITICAL_LANGUAGES if not self._runs(n)]
        if self.isolation.tier == "none":
            broken.insert(0, "isolation")
        parts = {"opening": self.opening, "storage": self.storage, "fts5": self.fts5}
        return (*(name for name, part in parts.items() if not part.ok), *broken)

    def _runs(self, language: str) -> bool:
        return language in self.languages and self.languages[language].runnable

    def to_json(self) -> dict[str, Any]:
        return {
            "version": __version__,
            "project": self.project,
            "critical": list(self.critical),
            "isolation": self.isolation.to_json(),
            "languages": {name: _fields(it) for name, it in self.languages.items()},
            "packages": {it.ecosystem: {"ok": it.ok, **asdict(it)} for it in self.packages},
            "fts5": _fields(self.fts5),
            "storage": _fields(self.storage),
            "opening": _fields(self.opening),
            "container_engine": self.container_engine.to_json(),
            "notices": list(self.notices),
            "prewarmed": [asdict(one) for one in self.prewarmed],
            "pages": self.pages,
            "facts": self.facts,
            "cluster": None if self.cluster is None else asdict(self.cluster),
            "on_disk": None if self.holdings is None else asdict(self.holdings),
        }


def _fields(data: LanguageReport | PartHealth) -> dict[str, Any]:
    return {f.name: getattr(data, f.name) for f in fields(data)}


async def list_prewarmed(config: Config) -> tuple[PrewarmReport, ...]:
    """What waits ready for runs in all servers of the user, who share one budget of memory."""
    return tuple(await control.list_prewarmed(config.state_dir / "instances"))


async def diagnose(
    config: Config,
    engine: LocalEngine,
    *,
    refresh: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> Diagnosis:
    """Examine an open project. Languages are proven by running them in the sandbox.

    `on_progress` gets how many are proven.
    """
    languages = await engine.languages(refresh=refresh, on_progress=on_progress)
    return Diagnosis(
        project=str(config.project),
        languages=languages,
        packages=check_clients(languages, engine.isolation.tier),
        isolation=engine.isolation,
        fts5=await trio.to_thread.run_sync(check_fts5),
        storage=PartHealth(True, str(config.database)),
        container_engine=await examine(),
        prewarmed=await list_prewarmed(config),
        holdings=await trio.to_thread.run_sync(read_holdings, config),
        pages=check_pages(config),
        facts=await trio.to_thread.run_sync(check_facts, config),
    )


async def diagnose_closed(config: Config, error: ContextModeError) -> Diagnosis:
    """Examine a project that cannot be opened, part by part, so that the cause stands alone."""
    diagnosis = Diagnosis(
        project=str(config.project),
        languages={},
        isolation=Isolation("none"),
        fts5=await trio.to_thread.run_sync(check_fts5),
        storage=await trio.to_thread.run_sync(check_storage, config),
        opening=PartHealth(False, "", error.message, error.hint),
        container_engine=await examine(),
    )
    with tempfile.TemporaryDirectory(prefix="context-mode-") as folder:
        project = config.project
        try:
            require_project(config)
        except UsageError:  # languages are proven without it
            project = Path(folder) / "project"
            project.mkdir()
        try:
            async with open_engine(
                project=project, state_dir=Path(folder), rules=None, home=config.home
            ) as engine:
                languages = await engine.languages()
                return replace(diagnosis, languages=languages, isolation=engine.isolation)
        except (SandboxUnavailableError, OSError):
            return diagnosis


def check_fts5() -> PartHealth:
    """Whether this Python's SQLite can search text."""
    detail = f"SQLite {sqlite3.sqlite_version}"
    if kb.fts5_available():
        return PartHealth(True, detail)
    remedy = "Use a Python whose SQLite has FTS5: python.org's, Debian's and uv's have it."
    return PartHealth(False, detail, "it was built without FTS5 or its trigram tokenizer", remedy)


def check_storage(config: Config) -> PartHealth:
    """Whether the storage place can be written."""
    try:
        prepare_storage(config)
    except ContextModeError as error:
        return PartHealth(False, str(config.data_dir), error.message, error.hint)
    return PartHealth(True, str(config.database))
