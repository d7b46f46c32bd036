"""Serve agents over stdio (Model Context Protocol) until stdin ends.

Register it with an agent as the command `context-mode serve`. Everything but the protocol
goes to stderr.
"""

from __future__ import annotations

import argparse
from functools import partial

from ctxmode import exit_codes, launch
from ctxmode.config import load_config
from ctxmode.mcp.server import serve_stdio


def add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


def run(args: argparse.Namespace) -> int:
    launch.run(partial(serve_stdio, load_config(args.project)))
    return exit_codes.OK
