"""The verb `try`: run a demo on real files of this machine, in under a minute."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from ctxmode import exit_codes, launch
from ctxmode.config.locations import load_config
from ctxmode.launch import print_json
from ctxmode.trial.steps import TrialProgress, run_trial, show


def run_verb(args: argparse.Namespace) -> int:
    progress = TrialProgress(sys.stderr)
    trial = launch.run_in_trio(partial(run_trial, load_config(args.project), progress.tell))
    if args.json:
        print_json(trial.to_json())
    else:
        show(trial)
    return exit_codes.OK if trial.ok else exit_codes.ERROR
