"""Stop a program that runs now, whichever server of yours runs it.

ID is what `context-mode top --once` shows; a part of one that only it has is enough.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from ctxmode import exit_codes, launch
from ctxmode.config import load_config
from ctxmode.errors import ContextModeError, UsageError
from executor import control


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID")


def run(args: argparse.Namespace) -> int:
    instances = load_config(args.project).state_dir / "instances"
    sys.stdout.write(f"stopped {launch.run(partial(stop, instances, args.id))}\n")
    return exit_codes.OK


async def stop(instances: Path, identity: str) -> str:
    """Have it ended; what it was called.

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
    return f"{found[0].id} ({found[0].label})"
