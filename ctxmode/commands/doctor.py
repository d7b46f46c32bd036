"""Show what works here, and how to get what does not.

Exits 0 when everything critical works: storage, full-text search, one tier of isolation, shell
and python; else 1.

examples:
  context-mode doctor
  context-mode doctor --fix-hints
  context-mode doctor --report > report.md
  context-mode doctor --install-script | sudo sh
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

from ctxmode import exit_codes, launch
from ctxmode.app import App
from ctxmode.config import load_config
from ctxmode.diagnosis import Diagnosis, diagnose_closed
from ctxmode.errors import ContextModeError
from ctxmode.launch import print_json, with_app
from runtimes import install_script


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs: see docs/json.md")
    parser.add_argument("--refresh", action="store_true", help="prove every language anew")
    parser.add_argument(
        "--install-script", action="store_true", help="print a script that installs all languages"
    )


def run(args: argparse.Namespace) -> int:
    if args.install_script:
        sys.stdout.write(install_script())
        return exit_codes.OK
    diagnosis = _diagnosis(args)
    if args.json:
        print_json(diagnosis.to_json())
    else:
        from ctxmode.doctor_table import show  # noqa: PLC0415 - rich is for people only

        show(diagnosis)
    return exit_codes.ERROR if diagnosis.critical else exit_codes.OK


def _diagnosis(args: argparse.Namespace) -> Diagnosis:
    try:
        return with_app(args, partial(App.doctor, refresh=args.refresh))
    except ContextModeError as error:
        return launch.run(partial(diagnose_closed, load_config(args.project), error))
