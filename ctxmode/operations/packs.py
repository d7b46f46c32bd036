"""Packs of a project: its files ranked for a task, and fitted into a budget of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ctxmode.config.locations import Config
from ctxmode.config.settings import load_settings
from ctxmode.errors import UsageError
from ctxmode.operations.facts import open_memory
from ctxmode.operations.project_maps import (
    OpenMap,
    keep_secrets,
    open_map,
    redact,
    translate_map_errors,
)
from ctxmode.operations.tasks import Task, find_task, read_contextos
from kb.tokens import FAMILIES, estimate
from memory.facts import RecallRequest
from repomap import (
    BUDGET,
    TITLE,
    Format,
    LeftOut,
    Pack,
    PackRequest,
    Ranked,
    check_request,
    find_changed,
    fit,
    make_overview,
    rank_by_centrality,
    rank_files,
)

MAP_TITLE = "Map of a project"
MEMORY_SHARE = 0.15
MEMORY_MIN = 200
"""Tokens below which no facts are put in."""


@dataclass(frozen=True, slots=True)
class PackAsked:
    """What a person or an agent asks of a pack."""

    task: str = ""  # empty is the project's current one
    budget: int = BUDGET
    family: str = ""  # of models; empty is that of the settings
    format: Format = "markdown"
    paths: tuple[str, ...] = ()
    with_source: bool = True
    with_tests: bool = True
    since: str = ""  # a revision: what changed, and what depends on it, comes first
    is_map: bool = False  # an overview of the project first, and files as skeletons and lines
    has_secrets: bool = False  # leave secrets in the text
    mark: str = ""  # this and the next two are as `PackRequest` has them
    usage: str = ""
    made_at: str = ""


@dataclass(frozen=True, slots=True)
class PackAnswer:
    """A pack, and what it was chosen from."""

    pack: Pack
    task: Task
    ranked: tuple[Ranked, ...]
    left_out: tuple[LeftOut, ...]


def make_pack(config: Config, asked: PackAsked) -> PackAnswer:
    """Make a pack of the project's files.

    Raises:
        UsageError: the budget, the family, a glob or the revision is none that can be.
        ContextModeError: the project cannot be scanned, or its map not be kept.
    """
    request, task = prepare_pack(config, asked)
    with open_map(config) as found:
        return fit_pack(config.project, found, asked, request, task)


def prepare_pack(config: Config, asked: PackAsked) -> tuple[PackRequest, Task]:
    """Check what is asked, before anything is scanned. Return it with the task and the facts in it,
    and the task.

    Raises:
        UsageError: the budget, the family or a glob is none that can be.
        ContextModeError: what is remembered cannot be read.
    """
    family = find_family(config, asked.family)
    texts = read_contextos(config)
    task = find_task(config, asked.task, texts)
    request = PackRequest(
        task=task.text,
        count=partial(estimate, family=family),
        redact=keep_secrets if asked.has_secrets else redact,
        budget=asked.budget,
        estimator=family,
        format=asked.format,
        paths=asked.paths,
        with_source=asked.with_source and not asked.is_map,
        with_tests=asked.with_tests,
        mentioned="\n".join(texts.values()),
        title=MAP_TITLE if asked.is_map else TITLE,
        mark=asked.mark,
        usage=asked.usage,
        made_at=asked.made_at,
    )
    with translate_map_errors():
        check_request(request)
    memory = "" if asked.is_map else _recall(config, request)
    return replace(request, memory=memory), task


def find_family(config: Config, given: str) -> str:
    """Return the family of models whose tokens are counted: the given one, else the setting's.

    Raises:
        UsageError: there is no such family.
    """
    if given and given not in FAMILIES:
        raise UsageError(f"unknown family {given!r}", f"One of {', '.join(FAMILIES)}.")
    return given or str(load_settings(config.project, config.config_home).values["tokens.family"])


def fit_pack(
    project: Path, found: OpenMap, asked: PackAsked, request: PackRequest, task: Task
) -> PackAnswer:
    """Rank the files of an open map, and fit them.

    Raises:
        MapInputError: the revision is none, or the budget too small for the head alone.
        MapError: git cannot be asked.
    """
    ranked, notes = _rank(found, project, request, asked.since)
    left_out = found.report.left_out
    if asked.is_map:
        overview = make_overview(found.db, left_out, budget=request.budget, count=request.count)
        request = replace(request, sections=overview)
    pack = fit(
        found.db,
        project,
        request,
        ranked,
        file_bytes=found.file_bytes,
        notes=(*found.report.notes, *notes),
    )
    return PackAnswer(pack, task, ranked, left_out)


def _rank(
    found: OpenMap, project: Path, request: PackRequest, since: str
) -> tuple[tuple[Ranked, ...], tuple[str, ...]]:
    """Order the files for the task and what changed; without either by how central they are."""
    extra: Mapping[str, float] = {}
    notes: tuple[str, ...] = ()
    if since:
        extra, gone = find_changed(found.db, project, since)
        count = sum(value >= 1 for value in extra.values())
        notes = (f"{count} files changed since {since}, {len(extra) - count} depend on them",)
        if gone:
            notes += (f"{len(gone)} more are gone, or not in the map",)
    ranked: tuple[Ranked, ...] = ()
    if request.task or extra:
        ranked = rank_files(found.db, request.task, mentioned=request.mentioned, extra=extra)
    return ranked or rank_by_centrality(found.db), notes


def _recall(config: Config, request: PackRequest) -> str:
    """Return the pinned facts and those that fit the task; empty where there are none.

    Facts of sessions stay with their sessions.
    """
    # Recall counts a token as four bytes, and some families as little as two and a half.
    room = int(MEMORY_SHARE * request.budget / 2)
    if room < MEMORY_MIN:
        return ""
    asked = RecallRequest(query=request.task[:2000], budget=room, scopes=("project", "user"))
    with open_memory(config) as memory:
        found = memory.recall(asked)
    return found.text.strip() if found.facts else ""
