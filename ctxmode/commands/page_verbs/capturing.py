"""The turns that are kept of sessions: add one, show which there are, show what to distil."""

from __future__ import annotations

import argparse
import sys

from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.launch import print_answer
from ctxmode.operations import page_buffer
from ctxmode.operations.pages import is_captured, open_pages, translate_page_errors
from ctxmode.render import page_texts

ACTIONS = ("turn", "status", "template")


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
