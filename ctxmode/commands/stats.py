"""Show what agents' calls produced, how much of it went into their context, and what stayed out.

All bytes are measured: produced is what programs printed and pages hold, returned is the text of
the answers, kept = produced - returned. Only calls of tools count, of all servers that ever served
this project. What your servers keep ready for runs is told with the memory that it takes.

examples:
  context-mode stats
  context-mode stats --json
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from functools import partial

from ctxmode import exit_codes, launch
from ctxmode.config import load_config, prepare_storage
from ctxmode.diagnosis import kept_ahead
from ctxmode.launch import print_json
from ctxmode.render import kept_ahead_lines
from ctxmode.usage_table import read_usage, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as docs/cli.md tells")


def run(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    prepare_storage(config)
    usage = read_usage(config)
    ready = launch.run(partial(kept_ahead, config))
    if args.json:
        print_json(usage.to_json() | {"kept_ahead": [asdict(one) for one in ready]})
    elif not usage.tools:
        sys.stdout.write("No tool was called in this project yet.\n")
    else:
        show(usage)
    if not args.json:
        sys.stdout.write("".join(f"{line}\n" for line in kept_ahead_lines(ready)))
    return exit_codes.OK
