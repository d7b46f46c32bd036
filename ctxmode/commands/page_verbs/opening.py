"""Opening the pages for a command line."""

from __future__ import annotations

import argparse
from dataclasses import replace

from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.launch import print_answer
from ctxmode.operations import pages
from ctxmode.operations.page_answers import PageAnswer, PageRequest, answer
from ctxmode.operations.page_buffer import find_turns


def ask(args: argparse.Namespace, asked: PageRequest) -> PageAnswer:
    """Do what the command line's action says."""
    config = load_config(args.project)
    asked = replace(asked, changes=config.state_dir / "changes")
    with pages.open_pages(config) as opened:
        if args.action in ("push", "write"):
            asked = replace(asked, buffer=find_turns(config, opened, ""))
        return answer(opened, args.action, asked)


def show(args: argparse.Namespace, asked: PageRequest) -> int:
    """Do it, and print the answer; a push that waits for something else is no success."""
    found = ask(args, asked)
    print_answer(args, found.data, found.text)
    return exit_codes.ERROR if found.is_paused else exit_codes.OK
