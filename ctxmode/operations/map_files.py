"""A project's map as ContextOS's files: summaries, the graph of imports, an index to read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxmode.config.locations import Config
from ctxmode.errors import UsageError, why
from ctxmode.operations.pack_files import check_replaceable, write_text
from ctxmode.operations.packs import PackAsked, fit_pack, prepare_pack
from ctxmode.operations.project_maps import OpenMap, open_map, redact
from kb.tokens import estimate
from repomap import Loader, find_cycles, read_edges, read_files, read_symbols, read_unresolved
from repomap.reading import JSON_HEAD, MARK

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
        graph = _describe_graph(found)
        index = fit_pack(config.project, found, asked, request, task).pack.text
    write_text(targets[SUMMARIES], _write_json({"family": family, "files": summaries}))
    write_text(targets[GRAPH], _write_json(graph))
    write_text(targets[INDEX], index)
    return tuple(targets.values())


def _write_json(data: dict[str, Any]) -> str:
    return json.dumps({"made_by": MARK, **data}, ensure_ascii=False, indent=1) + "\n"


def _summarize(found: OpenMap, project: Path, family: str) -> Iterator[dict[str, Any]]:
    """Yield what is known of each file; its tokens are those of its text without secrets."""
    loader = Loader(project, found.file_bytes, redact)
    for path, row in read_files(found.db).items():
        text = loader.load(path)
        loader.forget(path)
        if text is None:  # it went since the scan
            continue
        symbols = [one.full_name for one in read_symbols(found.db, row.id) if one.kind != "heading"]
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


def _describe_graph(found: OpenMap) -> dict[str, Any]:
    """Build the graph: for each file those that it imports; cycles; modules without a file."""
    edges = read_edges(found.db)
    return {
        "edges": edges,
        "cycles": find_cycles(edges),
        "unresolved": read_unresolved(found.db),
    }
