"""The verb `doctor`: show what works here, and how to fix what does not."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from functools import partial

from ctxmode import exit_codes, launch
from ctxmode.app import App
from ctxmode.config.locations import load_config
from ctxmode.doctor import report
from ctxmode.doctor.diagnosis import Diagnosis, diagnose_closed
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.launch import print_json, with_app
from ctxmode.render.live_output import waiting
from runtimes import install_script


def run_verb(args: argparse.Namespace) -> int:
    if args.install_script:
        sys.stdout.write(install_script())
        return exit_codes.OK
    if args.report and args.json:
        raise UsageError("--report and --json exclude each other", "Remove one of them.")
    diagnosis = _diagnosis(args)
    if args.fix_hints:
        _show_hints(diagnosis, as_json=args.json)
    elif args.report:
        sys.stdout.write(_report(args, diagnosis))
    elif args.json:
        print_json(diagnosis.to_json())
    else:
        from ctxmode.doctor.report import show_diagnosis  # noqa: PLC0415 - rich is for people only

        show_diagnosis(diagnosis, verbose=args.verbose)
    return exit_codes.ERROR if diagnosis.critical else exit_codes.OK


def _show_hints(diagnosis: Diagnosis, *, as_json: bool) -> None:
    found = report.remedies(diagnosis)
    if as_json:
        print_json({"hints": found})
    else:
        sys.stdout.write(report.install_script(found))


def _report(args: argparse.Namespace, diagnosis: Diagnosis) -> str:
    from ctxmode.commands.config import describe_config  # noqa: PLC0415
    from ctxmode.doctor import report  # noqa: PLC0415 - only who asks for it pays

    config = load_config(args.project)
    try:
        configured = describe_config(config)
    except ContextModeError as error:  # the same error prevents opening the project
        places = {"project": str(config.project), "storage": str(config.data_dir)}
        configured = {**places, "settings": [], "profiles": [], "warnings": [str(error)]}
    private = report.private_words(configured, str(config.home))
    return report.report(diagnosis, configured, private)


def _diagnosis(args: argparse.Namespace) -> Diagnosis:
    try:
        with waiting("proving languages") as on_progress:
            diagnosed = with_app(
                args, partial(App.doctor, refresh=args.refresh, on_progress=on_progress)
            )
        return replace(diagnosed, notices=(*diagnosed.notices, *_list_waiting_hooks(args)))
    except ContextModeError as error:
        return launch.run_in_trio(partial(diagnose_closed, load_config(args.project), error))


def _list_waiting_hooks(args: argparse.Namespace) -> list[str]:
    """List hooks that the user must review: Codex skips them until then."""
    from ctxmode.hosts.codex import review  # noqa: PLC0415 - with the hosts' table
    from ctxmode.hosts.setup.hosts import SCOPES  # noqa: PLC0415
    from ctxmode.hosts.setup.target import Target  # noqa: PLC0415

    config = load_config(args.project)
    targets = (Target(scope, config.home, config.project, (), os.environ) for scope in SCOPES)
    return list(filter(None, map(review.describe_waiting, targets)))
