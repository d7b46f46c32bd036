"""The verb `ps stop`: stop a running program."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from ctxmode import exit_codes, launch
from ctxmode.config.locations import load_config
from ctxmode.errors import ContextModeError, unknown_id
from ctxmode.launch import print_answer
from ctxmode.render.highlight import one_line
from executor.instance import control


def run_verb(args: argparse.Namespace) -> int:
    instances = load_config(args.project).state_dir / "instances"
    stopped = launch.run_in_trio(partial(stop, instances, args.id))
    text = f"stopped {stopped.id} ({one_line(stopped.label)})"
    print_answer(args, {"id": stopped.id, "label": stopped.label}, text)
    return exit_codes.OK


async def stop(instances: Path, identity: str) -> control.RunningProgram:
    """Stop the program with this ID and return it.

    Raises:
        UsageError: no program matches, or several do.
        ContextModeError: the program has already ended.
    """
    running = await control.list_running(instances)
    exact = [one for one in running if one.id == identity]
    found = exact or [one for one in running if identity and identity in one.id]
    if len(found) != 1:
        matches = (one.id for one in found)
        raise unknown_id("running program", identity, matches, is_empty=not running)
    if not await control.stop(instances, found[0].id):
        raise ContextModeError(
            f"{found[0].id} has already ended", "List running programs: context-mode ps"
        )
    return found[0]
