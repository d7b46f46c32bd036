"""Packs of a project: its files ranked for a task, and fitted into a budget of tokens."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from base.plain_files import open_plain
from base.whole_files import new_file_mode, replace_file
from ctxmode.config.locations import Config
from ctxmode.config.settings import load_settings
from ctxmode.errors import ContextModeError, UsageError, why
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
    Loader,
    Pack,
    PackRequest,
    Ranked,
    check_request,
    find_changed,
    find_cycles,
    fit,
    make_overview,
    rank_by_centrality,
    rank_files,
    read_edges,
    read_files,
    read_symbols,
    read_unresolved,
)
from repomap.reading import JSON_HEAD, MARK

FOLDER = ".context-mode"
"""Where exports go unless a place is given, below the project; git ignores it."""

HEAD_BYTES = 1024


def prepare_folder(project: Path) -> Path:
    """Make the folder of exports, which git ignores by a file of its own; return it.

    Raises:
        ContextModeError: it cannot be made, or a link stands in its place.
    """
    folder = project / FOLDER
    try:
        folder.mkdir(exist_ok=True)
        if folder.is_symlink() or not folder.is_dir():
            raise ContextModeError(f"{folder} is no folder", "Remove it, or give -o FILE.")
        with suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(folder / ".gitignore", flags, 0o644), "w", encoding="utf-8") as file:
                file.write("*\n")
    except OSError as error:
        raise ContextModeError(f"{folder}: {why(error)}", "Give a place by -o FILE.") from error
    return folder


def check_replaceable(path: Path, heads: tuple[str, ...]) -> None:
    """Make sure that a file may be written: that there is none, or it begins with one of `heads`.

    Raises:
        UsageError: it is another's, or no file.
    """
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is no folder", "Give a place that exists.")
    if not os.path.lexists(path):
        return
    try:
        with open_plain(path, follow=False) as file:
            begins = file.read(HEAD_BYTES)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be replaced: {why(error)}", "Give the name of a new file."
        ) from error
    if not begins.startswith(tuple(head.encode() for head in heads)):
        raise UsageError(
            f"{path} was not written by this program", "Move it away, or give another name."
        )


def write_text(path: Path, text: str) -> None:
    """Replace a file as a whole.

    Raises:
        ContextModeError: it cannot be written; what was there stays.
    """
    try:
        replace_file(path, text.encode("utf-8", "replace"), mode=new_file_mode())
    except OSError as error:
        raise ContextModeError(f"{path}: {why(error)}", "Give another place by -o FILE.") from error


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
        task=task[0],
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
    db, report, file_bytes = found
    ranked, notes = _rank(db, project, request, asked.since)
    if asked.is_map:
        overview = make_overview(db, report.left_out, budget=request.budget, count=request.count)
        request = replace(request, sections=overview)
    pack = fit(
        db,
        project,
        request,
        ranked,
        file_bytes=file_bytes,
        notes=(*report.notes, *notes),
    )
    return PackAnswer(pack, task, ranked, report.left_out)


def _rank(
    db: sqlite3.Connection, project: Path, request: PackRequest, since: str
) -> tuple[tuple[Ranked, ...], tuple[str, ...]]:
    """Order the files for the task and what changed; without either by how central they are."""
    extra: Mapping[str, float] = {}
    notes: tuple[str, ...] = ()
    if since:
        extra, gone = find_changed(db, project, since)
        count = sum(value >= 1 for value in extra.values())
        notes = (f"{count} files changed since {since}, {len(extra) - count} depend on them",)
        if gone:
            notes += (f"{len(gone)} more are gone, or not in the map",)
    ranked: tuple[Ranked, ...] = ()
    if request.task or extra:
        ranked = rank_files(db, request.task, mentioned=request.mentioned, extra=extra)
    return ranked or rank_by_centrality(db), notes


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


SUMMARIES, GRAPH, INDEX = "file_summaries.json", "dependency_graph.json", "PROJECT_INDEX.md"
SYMBOLS_MAX = 40


def write_map(config: Config, folder: Path, asked: PackAsked) -> tuple[Path, ...]:
    """Write the three files into a folder, which is made where it is missing; return their paths.

    Raises:
        UsageError: a file of one of these names is not ours.
        ContextModeError: the project cannot be scanned, or a file not be written.
    """
    targets = {name: folder / name for name in (SUMMARIES, GRAPH, INDEX)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: {why(error)}", "Give a folder that can be made.") from error
    for path in targets.values():
        check_replaceable(path, (JSON_HEAD if path.suffix == ".json" else MARK,))
    request, task = prepare_pack(config, asked)
    family = request.estimator
    with open_map(config) as found:
        summaries = list(_summarize(found, config.project, family))
        graph = _describe_graph(found[0])
        index = fit_pack(config.project, found, asked, request, task).pack.text
    write_text(targets[SUMMARIES], _write_json({"family": family, "files": summaries}))
    write_text(targets[GRAPH], _write_json(graph))
    write_text(targets[INDEX], index)
    return tuple(targets.values())


def _write_json(data: dict[str, Any]) -> str:
    return json.dumps({"made_by": MARK, **data}, ensure_ascii=False, indent=1) + "\n"


def _summarize(found: OpenMap, project: Path, family: str) -> Iterator[dict[str, Any]]:
    """Yield what is known of each file; its tokens are those of its text without secrets."""
    db, _, file_bytes = found
    loader = Loader(project, file_bytes, redact)
    for path, row in read_files(db).items():
        text = loader.load(path)
        loader.forget(path)
        if text is None:  # it went since the scan
            continue
        symbols = [one.full_name for one in read_symbols(db, row.id) if one.kind != "heading"]
        yield {
            "path": path,
            "language": row.language,
            "size": row.size,
            "lines": row.lines,
            "tokens": estimate(text, family),
            "purpose": redact(row.purpose)[0],
            "symbols": symbols[:SYMBOLS_MAX],
            **({"note": row.note} if row.note else {}),
        }


def _describe_graph(db: sqlite3.Connection) -> dict[str, Any]:
    """Build the graph: for each file those that it imports; cycles; modules without a file."""
    edges = read_edges(db)
    return {
        "edges": edges,
        "cycles": find_cycles(edges),
        "unresolved": read_unresolved(db),
    }
