"""Show what agents' calls produced, how much of it went into their context, and what stayed out.

All bytes are measured: produced is what programs printed and pages hold, returned is the text of
the answers, kept = produced - returned. Only calls of tools count, of all servers that ever served
this project.

examples:
  context-mode stats
  context-mode stats --json
"""

from __future__ import annotations

import argparse
import sys

from ctxmode import exit_codes
from ctxmode.config import load_config, prepare_storage
from ctxmode.launch import print_json
from ctxmode.usage_table import read_usage, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as docs/cli.md tells")


def run(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    prepare_storage(config)
    usage = read_usage(config)
    if args.json:
        print_json(usage.to_json())
    elif not usage.tools:
        sys.stdout.write("No tool was called in this project yet.\n")
    else:
        show(usage)
    return exit_codes.OK
