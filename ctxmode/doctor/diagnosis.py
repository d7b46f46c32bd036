"""`doctor`: what works here, what does not and why, and how to fix it."""

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
from ctxmode.render.terminal_output import OnProgress, ignore_progress
from ctxmode.shared_instance.processes import list_processes
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
    """Clients of one ecosystem; if it has none, its toolchain fetches packages."""

    ecosystem: str
    title: str
    clients: Mapping[str, str | None]  # path of each, or None
    reason: str = ""  # why its packages cannot be fetched
    remedy: str = ""  # what to install

    @property
    def ok(self) -> bool:
        return not self.reason


def check_clients(languages: Mapping[str, LanguageReport], tier: str) -> tuple[ClientsHealth, ...]:
    """Find the clients of every ecosystem with a tested language, on PATH and next to toolchains.

    Sandboxes of `tier` must be able to show packages. In an image, clients next to a toolchain
    count as missing, and clients that are not portable are skipped.
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
                row.name, row.title, clients, f"{tool.name} is not installed", tool.hint
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
    """Check whether pages can be used and are set up: git's path, the reason and fix if not."""
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
    """Check the files of facts and count their facts; create no file."""
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
    """Health of one part."""

    ok: bool
    detail: str  # its version or path
    reason: str = ""  # why it does not work
    remedy: str = ""  # how to fix it


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """State of all parts. `critical` names required parts that do not work; empty if healthy."""

    project: str
    languages: Mapping[str, LanguageReport]
    isolation: Isolation
    fts5: PartHealth
    storage: PartHealth
    opening: PartHealth = field(default_factory=lambda: PartHealth(True, "the project opens"))
    container_engine: EngineHealth = field(default_factory=lambda: EngineHealth(False))
    notices: tuple[str, ...] = ()  # about the store and configuration files
    prewarmed: tuple[PrewarmReport, ...] = ()  # by the user's servers
    holdings: Holdings | None = None  # disk space in use
    instances: tuple[int, ...] = ()  # processes of shared instances
    pages: Mapping[str, Any] | None = None  # result of `check_pages`
    facts: Mapping[str, Any] | None = None  # result of `check_facts`
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
            "shared_instances": list(self.instances),
        }


def _fields(data: LanguageReport | PartHealth) -> dict[str, Any]:
    return {f.name: getattr(data, f.name) for f in fields(data)}


async def list_prewarmed(config: Config) -> tuple[PrewarmReport, ...]:
    """List prewarmed programs of all servers of the user, which share one memory limit."""
    return tuple(await control.list_prewarmed(config.state_dir / "instances"))


async def diagnose(
    config: Config,
    engine: LocalEngine,
    *,
    refresh: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> Diagnosis:
    """Examine an open project. Languages are tested by running them in the sandbox.

    `on_progress` gets the number of tested languages.
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
        instances=tuple(list_processes(config.state_dir)),
        pages=check_pages(config),
        facts=await trio.to_thread.run_sync(check_facts, config),
    )


async def diagnose_closed(config: Config, error: ContextModeError) -> Diagnosis:
    """Examine a project that cannot be opened, part by part, to isolate the cause."""
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
        except UsageError:  # languages can be tested without it
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
    """Check whether this Python's SQLite can search text."""
    detail = f"SQLite {sqlite3.sqlite_version}"
    if kb.fts5_available():
        return PartHealth(True, detail)
    remedy = "Use a Python whose SQLite has FTS5, such as python.org's, Debian's or uv's."
    return PartHealth(False, detail, "it was built without FTS5 or its trigram tokenizer", remedy)


def check_storage(config: Config) -> PartHealth:
    """Check whether the storage folder is writable."""
    try:
        prepare_storage(config)
    except ContextModeError as error:
        return PartHealth(False, str(config.data_dir), error.message, error.hint)
    return PartHealth(True, str(config.database))
