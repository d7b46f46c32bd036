"""The verb `kept stats`: show bytes produced, returned and kept out of contexts."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from ctxmode import exit_codes, launch
from ctxmode.config.locations import Config, load_config, prepare_storage
from ctxmode.errors import UsageError
from ctxmode.launch import print_json, tell
from memory.sessions import TOKENS_BY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tokens", action="store_true", help="show tokens that hosts report")
    parser.add_argument("--by", choices=TOKENS_BY, help="group tokens by this (default: model)")
    parser.add_argument("--everywhere", action="store_true", help="include all projects")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_verb(args: argparse.Namespace) -> int:
    if args.by and not args.tokens:
        raise UsageError(
            "--by needs --tokens", "Add --tokens: context-mode kept stats --tokens --by day"
        )
    config = load_config(args.project)
    if args.tokens:
        _show_tokens(config, args)
    else:
        _show_tools(config, args)
    return exit_codes.OK


def _show_tools(config: Config, args: argparse.Namespace) -> None:
    from ctxmode.doctor.diagnosis import list_prewarmed  # noqa: PLC0415 - tokens do without
    from ctxmode.operations.figures import build_stats_json, read_tool_figures  # noqa: PLC0415
    from ctxmode.operations.quotas import read_holdings  # noqa: PLC0415
    from ctxmode.render.health import describe_prewarmed, holdings_lines  # noqa: PLC0415
    from ctxmode.render.usage_table import show  # noqa: PLC0415

    prepare_storage(config)
    usage = read_tool_figures(config, everywhere=args.everywhere)
    tell(usage.left_out)
    ready = launch.run_in_trio(partial(list_prewarmed, config))
    holdings = read_holdings(config)
    if args.json:
        print_json(build_stats_json(usage, holdings, ready))
        return
    if usage.tools:
        show(usage)
    else:
        where = "any project" if args.everywhere else "this project"
        sys.stdout.write(f"No tool was called in {where} yet.\n")
    lines = (*holdings_lines(holdings), *describe_prewarmed(ready))
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _show_tokens(config: Config, args: argparse.Namespace) -> None:
    from ctxmode.config.prices import load_prices  # noqa: PLC0415 - bytes do without
    from ctxmode.operations.figures import read_token_figures  # noqa: PLC0415
    from ctxmode.operations.sessions import list_notices  # noqa: PLC0415

    prices, warnings = load_prices(config.project, config.config_home)
    figures = read_token_figures(config, prices, by=args.by or "model", everywhere=args.everywhere)
    tell((*warnings, *figures.left_out, *list_notices(config)))
    if args.json:
        print_json(figures.to_json())
    else:
        from ctxmode.render.session_tables import show_tokens  # noqa: PLC0415 - rich

        show_tokens(figures)
