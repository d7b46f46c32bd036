"""Opening the pages for a command line."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ctxmode import exit_codes
from ctxmode.commands.memory_verbs.opening import read_file
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError
from ctxmode.launch import print_answer
from ctxmode.operations import page_buffer, pages
from ctxmode.operations.page_answers import PageAnswer, PageRequest, answer
from ctxmode.operations.page_buffer import find_turns
from ctxmode.operations.page_place import find_repository
from ctxmode.operations.pages import (
    OFF_VARIABLE,
    begin,
    is_captured,
    open_pages,
    translate_page_errors,
)
from ctxmode.parsing import build_request
from ctxmode.render import page_texts
from memory.pages import DRAFTS_FOLDER


def capture(args: argparse.Namespace) -> int:
    if args.what == "turn":
        return _add_turn(args)
    config = load_config(args.project)
    with open_pages(config) as pages:
        if args.what == "status":
            buffers = pages.buffers.status()
            is_on = is_captured(config)
            data = {"captures": is_on, "buffers": [one._asdict() for one in buffers]}
            print_answer(args, data, page_texts.capture_text(buffers, is_on=is_on))
            return exit_codes.OK
        buffer = page_buffer.find_turns(config, pages, args.session)
        template = pages.capture_template(buffer)
    print_answer(args, {"template": template}, template.removesuffix("\n"))
    return exit_codes.OK


def _add_turn(args: argparse.Namespace) -> int:
    """Keep the turn that stdin tells, where pages are begun."""
    with translate_page_errors():
        data = sys.stdin.buffer.read(page_buffer.RECORD_BYTES_MAX + 1)
        is_kept = page_buffer.capture_turn(load_config(args.project), data)
    if args.json:
        print_answer(args, {"kept": is_kept}, "")
    return exit_codes.OK


def ask(args: argparse.Namespace, **given: Any) -> PageAnswer:  # noqa: ANN401 - as the fields
    """Do what the command line's action says, with some fields as given here."""
    config = load_config(args.project)
    asked = build_request(PageRequest, args)
    asked = replace(asked, **{"changes": config.state_dir / "changes", **given})
    with pages.open_pages(config) as opened:
        if args.action in ("push", "write"):
            asked = replace(asked, buffer=find_turns(config, opened, ""))
        return answer(opened, args.action, asked)


def show(args: argparse.Namespace, **given: Any) -> int:  # noqa: ANN401 - as the fields
    """Do it, and print the answer; a push that waits for something else is no success."""
    found = ask(args, **given)
    print_answer(args, found.data, found.text)
    return exit_codes.ERROR if found.is_paused else exit_codes.OK


def write(args: argparse.Namespace) -> int:
    text = read_file(args.file) if args.file else ""
    return show(args, text=text, fields=_read_fields(args))


def _read_fields(args: argparse.Namespace) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for given in args.field:
        name, mark, value = given.partition("=")
        if not mark or not name.strip():
            raise UsageError(f"--field {given[:80]!r} has no =", "Give NAME=VALUE.")
        fields[name.strip()] = value
    lists = {"tags": args.all_tag, "sources": args.all_source, "related": args.all_related}
    fields |= {name: given for name, given in lists.items() if given}
    if args.summary is not None:
        fields["reasoning_summary"] = args.summary
    return fields


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


def path(args: argparse.Namespace) -> int:
    found = str(find_repository(load_config(args.project)))
    print_answer(args, {"path": found}, found)
    return exit_codes.OK


def export(args: argparse.Namespace) -> int:
    folder = Path.cwd() / Path(args.folder).expanduser()
    return show(args, folder=str(folder))
