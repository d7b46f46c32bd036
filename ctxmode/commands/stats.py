"""Show what agents' calls produced, how much of it went into their context, and what stayed out.

All bytes are measured: produced is what programs printed and pages hold, returned is the text of
the answers, kept = produced - returned. Only calls of tools count, of all servers that ever served
this project. Then follow what is kept on disk beside its quotas, with what was dropped for them
lately, and what your servers prewarm, with its memory.

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
from ctxmode.config.locations import load_config, prepare_storage
from ctxmode.doctor.diagnosis import list_prewarmed
from ctxmode.launch import print_json
from ctxmode.operations.quotas import read_holdings
from ctxmode.render.health import describe_prewarmed, holdings_lines
from ctxmode.render.usage_table import read_usage, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as docs/cli.md tells")


def run(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    prepare_storage(config)
    usage = read_usage(config)
    ready = launch.run(partial(list_prewarmed, config))
    holdings = read_holdings(config)
    if args.json:
        prewarmed = [asdict(one) for one in ready]
        print_json(usage.to_json() | {"prewarmed": prewarmed, "on_disk": holdings.to_json()})
    elif not usage.tools:
        sys.stdout.write("No tool was called in this project yet.\n")
    else:
        show(usage)
    if not args.json:
        lines = (*holdings_lines(holdings), *describe_prewarmed(ready))
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return exit_codes.OK
