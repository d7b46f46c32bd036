"""See it work on real input of this machine, in under a minute.

Every language that runs here answers a question about at least a megabyte of real text: this
project's history and sources, Python's library, the package database. Each number is compared with
one worked out outside the sandbox. Then a large output is kept and searched. Exits 1 if anything is
wrong.

examples:
  context-mode try
  context-mode try --json
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

from ctxmode import exit_codes, launch
from ctxmode.config.locations import load_config
from ctxmode.launch import print_json
from ctxmode.trial.steps import TrialProgress, run_trial, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as docs/cli.md tells")


def run(args: argparse.Namespace) -> int:
    progress = TrialProgress(sys.stderr)
    trial = launch.run(partial(run_trial, load_config(args.project), progress.tell))
    if args.json:
        print_json(trial.to_json())
    else:
        show(trial)
    return exit_codes.OK if trial.ok else exit_codes.ERROR
