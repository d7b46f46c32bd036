"""The verb `index`: make files, folders, stdin or web pages searchable."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ctxmode.errors import UsageError
from ctxmode.operations.indexing import FILES, IndexAnswer, IndexRequest
from ctxmode.operations.library import Library, age_s, open_library
from ctxmode.operations.operation import Answer, Arg, Asker, Operation, list_parameters
from ctxmode.render.highlight import one_line, size
from ctxmode.render.results import index_text
from ctxmode.render.terminal_output import for_stdout, waiting

if TYPE_CHECKING:
    from ctxmode.web.model import PageAnswer

PROGRESS_EVERY = 25
"""Files between two updates of the line that shows progress."""

DEPTH_MAX, FILES_MAX, TIMEOUT_S_MAX = 20, 50_000, 3600
PAGES = "web pages"


def index_sources(
    asker: Asker,
    paths: Annotated[tuple[str, ...], Arg("a file, folder or URL; - is stdin", "PATH|URL|-")],
    request: IndexRequest,
    *,
    watch: Annotated[bool, Arg("keep running and index changes", group=FILES)] = False,
    verbose: Annotated[bool, Arg("list skipped files and the reasons", group=FILES)] = False,
    are_urls: Annotated[bool,
        Arg("read URLs from stdin, one per line", flags=("--urls",), group=PAGES)] = False,
    ttl: Annotated[str | None,
        Arg("use stored pages up to this age (default: 1d)", "AGE", group=PAGES)] = None,
    force: Annotated[bool, Arg("fetch again even if stored", group=PAGES)] = False,
    timeout: Annotated[float | None,
        Arg("time limit per page (default: 30)", "SECONDS", group=PAGES)] = None,
    concurrency: Annotated[int | None,
        Arg("pages at once, 1 to 8 (default: 4)", "N", group=PAGES)] = None,
) -> Iterator[Answer]:  # fmt: skip
    """Make files, folders, stdin or web pages searchable."""
    urls = [word.startswith(("http://", "https://")) for word in paths]
    if are_urls or any(urls):
        if not are_urls and not all(urls):
            raise UsageError("index: URLs and paths exclude each other", "Index them in two calls.")
        _refuse({**asdict(request), "watch": watch, "verbose": verbose}, FILES, PAGES)
        yield _fetch(asker, paths, request.source, ttl, force, timeout, concurrency)
        return
    of_pages = {"ttl": ttl, "force": force, "timeout": timeout, "concurrency": concurrency}
    _refuse(of_pages, PAGES, FILES)
    if len(paths) > 1:
        wrong = f"index: unexpected word {paths[1]!r}"
        raise UsageError(wrong, "Give one file or folder at a time.")
    (path,) = paths
    is_stdin = path == "-"
    if is_stdin and not request.source:
        raise UsageError("stdin has no name to find it by", "Give one: index - --source LABEL")
    if is_stdin and watch:
        raise UsageError("stdin cannot be watched", "Give a folder.")
    request = replace(
        request,
        content=sys.stdin.buffer.read() if is_stdin else None,
        path=None if is_stdin else str(Path.cwd() / path),
        max_depth=DEPTH_MAX if request.max_depth is None else request.max_depth,
        max_files=FILES_MAX if request.max_files is None else request.max_files,
    )
    with open_library(asker.config) as library:
        asker.tell(library.store.notices)
        for found in library.watch(request, threading.Event()) if watch else ():
            yield Answer(asdict(found), _write(found, verbose=verbose), on_one_line=True)
        if not watch:
            found = _index(library, request, as_json=asker.wants_data)
            lines = [_write(found, verbose=verbose)]
            if found.sections:
                label = f"--source {found.source!r} " if found.labelled else ""
                lines.append(f"Find it: context-mode search {label}QUERY")
            yield Answer(asdict(found), "\n".join(lines))


OPERATIONS: dict[str, Operation] = {"index": index_sources}


def _refuse(values: Mapping[str, Any], group: str, kind: str) -> None:
    """Raise UsageError if an option of a group is given, which does not apply to this kind."""
    for one in list_parameters(index_sources):
        if one.arg.group == group and values.get(one.name, one.default) != one.default:
            option = one.flags[0]
            raise UsageError(f"index: {option} does not apply to {kind}", f"Remove {option}.")


def _index(library: Library, request: IndexRequest, *, as_json: bool) -> IndexAnswer:
    if as_json or not sys.stderr.isatty():
        return library.index(request)
    if request.path is None or not Path(request.path).is_dir():
        with waiting("indexing"):
            return library.index(request)
    try:
        return library.index(request, _progress)
    finally:
        sys.stderr.write("\r\x1b[K")


def _progress(files: int, indexed: int, bytes_indexed: int, _: str) -> None:
    if files % PROGRESS_EVERY == 0:
        counts = f"{files} files, {indexed} indexed, {size(bytes_indexed)}"
        sys.stderr.write(f"\r\x1b[K{counts}")
        sys.stderr.flush()


def _write(answer: IndexAnswer, *, verbose: bool) -> str:
    left_out = answer.left_out if verbose else ()
    rows = (f"  {one_line(one['path'])}: {one['reason']}" for one in left_out)
    return "\n".join((index_text(answer), *rows))


def _fetch(
    asker: Asker,
    paths: Sequence[str],
    label: str | None,
    ttl: str | None,
    force: bool,
    timeout: float | None,
    concurrency: int | None,
) -> Answer:
    """Fetch web pages, and index them."""
    import trio  # noqa: PLC0415 - files do without

    from ctxmode import launch  # noqa: PLC0415
    from ctxmode.web import http  # noqa: PLC0415
    from ctxmode.web.model import Bounds, Network, fetch_text  # noqa: PLC0415
    from ctxmode.web.pages import CONCURRENCY, DAY_S, PageFetcher  # noqa: PLC0415

    if timeout is not None and not 0 < timeout <= TIMEOUT_S_MAX:
        raise UsageError(f"invalid --timeout {timeout}", "Use seconds above 0, up to 3600.")
    bounds = Bounds() if timeout is None else Bounds(total_s=timeout)
    ttl_s = DAY_S if ttl is None else age_s(ttl)
    listed = sys.stdin.read().split() if "-" in paths else []
    wanted = [(url, label) for word in paths for url in (listed if word == "-" else [word])]
    network = Network(http.resolve, allow_private=asker.config.fetch_private)
    at_once = CONCURRENCY if concurrency is None else concurrency

    async def fetch() -> tuple[PageAnswer, ...]:
        with open_library(asker.config) as library, waiting("fetching") as on_progress:
            asker.tell(library.store.notices)
            writing = trio.CapacityLimiter(1)
            fetcher = PageFetcher(library, network, writing, ttl_s, force, at_once, bounds)
            return await fetcher.fetch(wanted, on_progress)

    pages = launch.run_in_trio(fetch)
    data = {"ok": any(page.ok for page in pages), "pages": [asdict(page) for page in pages]}
    return Answer(data, for_stdout(fetch_text(pages)), is_failure=not all(p.ok for p in pages))
