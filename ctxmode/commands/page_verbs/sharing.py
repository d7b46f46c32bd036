"""The repository of pages: init, pull, path, export."""

from __future__ import annotations

import argparse
from pathlib import Path

from ctxmode import exit_codes
from ctxmode.commands.page_verbs import opening
from ctxmode.config.locations import load_config
from ctxmode.launch import print_answer
from ctxmode.operations.page_answers import PageRequest
from ctxmode.operations.page_place import find_repository
from ctxmode.operations.pages import (
    OFF_VARIABLE,
    begin,
    is_captured,
    open_pages,
)
from memory.pages import DRAFTS_FOLDER

CAPTURED = f"""\
Capture of turns is on from now: what is asked and answered in this project is kept, cut short and
without secrets, in {DRAFTS_FOLDER}/raw/sessions/_pending, until a push has distilled it. git does
not see it. To turn that off set {OFF_VARIABLE}=1. Agents get ctx_pages when they next list \
their tools."""


def init(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    with open_pages(config) as pages:
        is_new = begin(config, pages)
        drafts, repository = pages.drafts.folder, pages.path()
    begun = "Pages begin here" if is_new else "Pages are begun already"
    captures = is_captured(config)
    told = CAPTURED if captures else f"Turns are not captured: {OFF_VARIABLE} is set."
    text = f"{begun}: drafts in {drafts}, pushed into {repository}\n{told}"
    data = {"is_new": is_new, "drafts": str(drafts), "repository": str(repository)}
    print_answer(args, {**data, "captures": captures}, text)
    return exit_codes.OK


def pull(args: argparse.Namespace) -> int:
    return opening.show(args, PageRequest(remote=args.remote))


def path(args: argparse.Namespace) -> int:
    found = str(find_repository(load_config(args.project)))
    print_answer(args, {"path": found}, found)
    return exit_codes.OK


def export(args: argparse.Namespace) -> int:
    folder = Path.cwd() / Path(args.folder).expanduser()
    return opening.show(args, PageRequest(folder=str(folder)))
