"""Find exact passages in everything that was kept: large outputs, indexed files.

Each argument is a query of its own; words of one query in quotes.

examples:
  context-mode search "connection refused"
  context-mode search --source out-7f3k2m timeout retry
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

from ctxmode import exit_codes
from ctxmode.app import App
from ctxmode.launch import print_json, with_app
from ctxmode.render import search_text
from ctxmode.searching import SearchRequest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("queries", nargs="+", metavar="QUERY")
    parser.add_argument("--source", help="a label, part of one, or an output id")
    parser.add_argument("--limit", type=int, default=3, metavar="N", help="passages per query")
    parser.add_argument("--content", choices=("code", "prose"), help="only this kind")
    parser.add_argument("--sort", choices=("relevance", "timeline"), default="relevance")
    parser.add_argument("--json", action="store_true")


def run(args: argparse.Namespace) -> int:
    request = SearchRequest(tuple(args.queries), args.limit, args.source, args.content, args.sort)
    answer = with_app(args, partial(App.search, request=request))
    if args.json:
        print_json(answer.to_json())
    else:
        sys.stdout.write(search_text(answer) + "\n")
    return exit_codes.OK
