"""Looking at all sessions together: which tools they used, where they were compacted."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.launch import print_json, tell
from ctxmode.operations import figures


def tools(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    found, left_out = figures.read_tool_uses(config, agent=args.agent, everywhere=args.everywhere)
    tell(left_out)
    if args.json:
        print_json({"tools": [asdict(one) for one in found]})
    elif not found:
        sys.stdout.write("No tool was called in such a session.\n")
    else:
        from ctxmode.render.session_tables import show_tool_uses  # noqa: PLC0415 - rich

        show_tool_uses([asdict(one) for one in found])
    return exit_codes.OK


def compactions(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    limit = None if args.all else 20
    found, left_out = figures.read_compactions(
        config, agent=args.agent, limit=limit, everywhere=args.everywhere
    )
    tell(left_out)
    if args.json:
        print_json({"compactions": [asdict(one) for one in found]})
    elif not found:
        sys.stdout.write("No such session was compacted.\n")
    else:
        from ctxmode.render.session_tables import show_compactions  # noqa: PLC0415 - rich

        show_compactions(found)
    return exit_codes.OK
