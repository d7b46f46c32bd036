"""URLs of `index`: fetching of pages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict

import trio

from ctxmode import exit_codes, launch
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError
from ctxmode.launch import print_answer
from ctxmode.operations.library import age_s, open_library
from ctxmode.render.live_output import waiting
from ctxmode.render.terminal_output import for_stdout
from ctxmode.web import http
from ctxmode.web.model import Bounds, Network, PageAnswer, fetch_text
from ctxmode.web.pages import CONCURRENCY, DAY_S, PageFetcher, Wanted


def run_verb(args: argparse.Namespace) -> int:
    """Fetch the URLs of `index`."""
    if args.timeout is not None and not 0 < args.timeout <= 3600:
        raise UsageError(f"invalid --timeout {args.timeout}", "Use seconds above 0, up to 3600.")
    bounds = Bounds() if args.timeout is None else Bounds(total_s=args.timeout)
    ttl_s = DAY_S if args.ttl is None else age_s(args.ttl)
    wanted = [(url, args.source) for url in _urls(args.paths)]
    pages = launch.run_in_trio(lambda: _fetch(args, wanted, bounds, ttl_s))
    data = {
        "ok": any(page.ok for page in pages),
        "pages": [asdict(page) for page in pages],
    }
    print_answer(args, data, for_stdout(fetch_text(pages)))
    return exit_codes.OK if all(page.ok for page in pages) else exit_codes.ERROR


def _urls(given: Sequence[str]) -> list[str]:
    lines = sys.stdin.read().split() if "-" in given else []
    return [url for word in given for url in (lines if word == "-" else [word])]


async def _fetch(
    args: argparse.Namespace, wanted: Sequence[Wanted], bounds: Bounds, ttl_s: float
) -> tuple[PageAnswer, ...]:
    config = load_config(args.project)
    network = Network(http.resolve, allow_private=config.fetch_private)
    with open_library(config) as library:
        launch.tell(library.store.notices)
        with waiting("fetching") as on_progress:
            fetcher = PageFetcher(
                library,
                network,
                trio.CapacityLimiter(1),
                ttl_s,
                args.force,
                CONCURRENCY if args.concurrency is None else args.concurrency,
                bounds,
            )
            return await fetcher.fetch(wanted, on_progress)
