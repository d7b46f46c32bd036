"""Packs: a project's files, ranked for a task and fitted into a token budget."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from base.plain_files import new_file_mode, open_plain, replace_file
from base.wording import inflect, list_choices
from ctxmode.config.locations import Config
from ctxmode.config.settings import load_settings
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.operations.facts import open_memory
from ctxmode.operations.operation import Arg
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

FOLDER = ".context-mode"  # the default folder of exports in the project; git ignores it
HEAD_BYTES = 1024


def prepare_folder(project: Path) -> Path:
    """Create the folder of exports, with its own .gitignore; return its path. Raise
    ContextModeError if it cannot be created, or is a link."""
    folder = project / FOLDER
    try:
        folder.mkdir(exist_ok=True)
        if folder.is_symlink() or not folder.is_dir():
            raise ContextModeError(f"{folder} is not a folder", "Remove it, or give -o FILE.")
        with suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(folder / ".gitignore", flags, 0o644), "w", encoding="utf-8") as file:
                file.write("*\n")
    except OSError as error:
        raise ContextModeError(f"cannot write {folder}: {why(error)}", "Give -o FILE.") from error
    return folder


def check_replaceable(path: Path, heads: tuple[str, ...]) -> None:
    """Check that a file may be written: it is missing, or begins with one of `heads`. Raise
    UsageError if another program wrote it, or it is not a file."""
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: no folder {path.parent}", "Create it first.")
    if not os.path.lexists(path):
        return
    try:
        with open_plain(path, follow=False) as file:
            begins = file.read(HEAD_BYTES)
    except OSError as error:
        raise UsageError(
            f"cannot replace {path}: {why(error)}", "Give the name of a new file."
        ) from error
    if not begins.startswith(tuple(head.encode() for head in heads)):
        raise UsageError(
            f"{path} was not written by context-mode", "Move it, or give another name."
        )


def write_text(path: Path, text: str) -> None:
    """Replace a file as a whole. Raise ContextModeError if it cannot be written; its old content
    stays."""
    try:
        replace_file(path, text.encode("utf-8", "replace"), mode=new_file_mode())
    except OSError as error:
        raise ContextModeError(
            f"cannot write {path}: {why(error)}", "Give another -o FILE."
        ) from error


MAP_TITLE = "Map of a project"
MEMORY_SHARE = 0.15
MEMORY_MIN = 200  # minimum tokens for facts; with less, a pack has none


# fmt: off
TaskText: TypeAlias = Annotated[str, Arg(
    "the task; - is stdin (default: the one of `pack task`)", "TEXT", ("--task", "-t")
)]
Tokens: TypeAlias = Annotated[int, Arg(
    "size limit in tokens (default: 8000)", "TOKENS", ("--budget", "-b")
)]
Family: TypeAlias = Annotated[str, Arg(
    "tokenizer: o200k, claude-3, claude-5 (default: tokens.family)", "NAME",
    choices=tuple(FAMILIES),
)]
Globs: TypeAlias = Annotated[tuple[str, ...],
                             Arg("only this file, folder or glob (repeatable)", "GLOB")]
WithTests: TypeAlias = Annotated[bool, Arg("skip tests", flags=("--no-tests",))]


@dataclass(frozen=True, slots=True)
class PackAsked:
    """The options of a pack that a user or an agent requests."""

    task: TaskText = ""
    budget: Tokens = BUDGET
    family: Family = ""
    paths: Globs = ()
    with_tests: WithTests = True
    format: Annotated[Format, Arg("markdown or json (default: markdown)", "FORMAT")] = "markdown"
    with_source: Annotated[bool, Arg("only skeletons and lines", flags=("--no-source",))] = True
    since: Annotated[str,
                     Arg("rank changes since this commit, and dependents, first", "REV")] = ""
    is_map: bool = False  # first an overview of the project; then files as skeletons and lines
    has_secrets: bool = False  # leave secrets in the text
    mark: str = ""  # this and the next two as in `PackRequest`
    usage: str = ""
    made_at: str = ""
# fmt: on


@dataclass(frozen=True, slots=True)
class PackAnswer:
    """A pack, with its task, the ranked files and the left-out ones."""

    pack: Pack
    task: Task
    ranked: tuple[Ranked, ...]
    left_out: tuple[LeftOut, ...]


def make_pack(config: Config, asked: PackAsked) -> PackAnswer:
    """Make a pack of the project's files.

    Raises:
        UsageError: the budget, the family, a glob or the revision is invalid.
        ContextModeError: the project cannot be scanned, or its map not be stored.
    """
    request, task = prepare_pack(config, asked)
    with open_map(config) as found:
        return fit_pack(config.project, found, asked, request, task)


def prepare_pack(config: Config, asked: PackAsked) -> tuple[PackRequest, Task]:
    """Check the options, before anything is scanned. Return the request, with task and facts, and
    the task.

    Raises:
        UsageError: the budget, the family or a glob is invalid.
        ContextModeError: the facts cannot be read.
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
    """Return the model family whose tokens are counted: the given one, else the setting's. Raise
    UsageError if the family is unknown."""
    if given and given not in FAMILIES:
        raise UsageError(f"unknown family {given!r}", list_choices(given, FAMILIES))
    return given or str(load_settings(config.project, config.config_home).values["tokens.family"])


def fit_pack(
    project: Path, found: OpenMap, asked: PackAsked, request: PackRequest, task: Task
) -> PackAnswer:
    """Rank the files of an open map, and fit them into the budget.

    Raises:
        MapInputError: the revision is unknown, or the budget too small for the head alone.
        MapError: git cannot be run.
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
    """Rank the files by task and changes; without either by how central they are."""
    extra: Mapping[str, float] = {}
    notes: tuple[str, ...] = ()
    if since:
        extra, gone = find_changed(db, project, since)
        count = sum(value >= 1 for value in extra.values())
        notes = (
            f"{inflect(count, 'file')} changed since {since}, {len(extra) - count} depend on them",
        )
        if gone:
            notes += (f"{inflect(len(gone), 'changed file')} deleted or not in the map",)
    ranked: tuple[Ranked, ...] = ()
    if request.task or extra:
        ranked = rank_files(db, request.task, mentioned=request.mentioned, extra=extra)
    return ranked or rank_by_centrality(db), notes


def _recall(config: Config, request: PackRequest) -> str:
    """Return the pinned facts and those that match the task; empty without any.

    Facts of sessions are excluded.
    """
    # Recall counts a token as 4 bytes, some families as 2.5.
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
    """Write the three files of a map into a folder, created if missing; return their paths.

    Raises:
        UsageError: a file with one of these names is not ours.
        ContextModeError: the project cannot be scanned, or a file not be written.
    """
    targets = {name: folder / name for name in (SUMMARIES, GRAPH, INDEX)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot create {folder}: {why(error)}", "Give another folder.") from error
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
    """Yield the data of each file; its tokens are counted without secrets."""
    db, _, file_bytes = found
    loader = Loader(project, file_bytes, redact)
    for path, row in read_files(db).items():
        text = loader.load(path)
        loader.forget(path)
        if text is None:  # it was deleted since the scan
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
    """Build the graph: the imports of each file; cycles; modules without a file."""
    edges = read_edges(db)
    return {
        "edges": edges,
        "cycles": find_cycles(edges),
        "unresolved": read_unresolved(db),
    }
