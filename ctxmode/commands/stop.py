"""Stop a program that runs now, whichever server of yours runs it.

ID is what `context-mode top --once` shows; a part of one that only it has is enough.

examples:
  context-mode top --once
  context-mode stop ab12cd34/3
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from ctxmode import exit_codes, launch
from ctxmode.config.locations import load_config
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.launch import print_json
from ctxmode.render.highlight import one_line
from executor.instance import control


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="what runs, or a part of its id")
    parser.add_argument("--json", action="store_true", help="{id, label}")


def run(args: argparse.Namespace) -> int:
    instances = load_config(args.project).state_dir / "instances"
    stopped = launch.run(partial(stop, instances, args.id))
    if args.json:
        print_json({"id": stopped.id, "label": stopped.label})
    else:
        sys.stdout.write(f"stopped {stopped.id} ({one_line(stopped.label)})\n")
    return exit_codes.OK


async def stop(instances: Path, identity: str) -> control.RunningProgram:
    """Have it ended; what it was.

    Raises:
        UsageError: none, or more than one, is called that.
        ContextModeError: it ended by itself before it could be stopped.
    """
    running = await control.list_running(instances)
    exact = [one for one in running if one.id == identity]
    found = exact or [one for one in running if identity and identity in one.id]
    if len(found) != 1:
        known = ", ".join(one.id for one in (found or running)) or "none"
        raise UsageError(f"{identity!r} is not one program that runs", f"Running: {known}.")
    if not await control.stop(instances, found[0].id):
        raise ContextModeError(f"{found[0].id} has ended by itself", "There is nothing to stop.")
    return found[0]
