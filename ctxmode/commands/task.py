"""The verb `pack task`: store the task for pack and map."""

from __future__ import annotations

import argparse

from ctxmode import exit_codes
from ctxmode.commands.pack_options import read_task
from ctxmode.config.locations import load_config
from ctxmode.launch import print_answer, tell


def run_verb(args: argparse.Namespace) -> int:
    from ctxmode.operations import tasks  # noqa: PLC0415 - it loads the facts

    config = load_config(args.project)
    if args.task == "show":
        kept, source = tasks.find_task(config, "", tasks.read_contextos(config))
        text = kept or "No task is kept. Keep one with: context-mode pack task TEXT"
        print_answer(args, {"task": kept, "source": source}, text)
        return exit_codes.OK
    if args.task == "clear":
        cleared = tasks.clear_task(config)
        text = "The task is cleared." if cleared else "No task was kept."
        print_answer(args, {"cleared": cleared}, text)
        return exit_codes.OK
    redactions = tasks.keep_task(config, read_task(args.task))
    kept = tasks.read_task(config)
    if redactions:
        tell([f"{redactions} secrets were left out of it"])
    print_answer(args, {"task": kept, "redactions": redactions}, "Kept: pack and pack map take it.")
    return exit_codes.OK
