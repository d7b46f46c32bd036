"""The verb `cluster`: look after the other machines that runs are sent to."""

from __future__ import annotations

import argparse
import json
import re
import socket
from dataclasses import asdict
from typing import TYPE_CHECKING

from ctxmode import exit_codes
from ctxmode.config.cluster import find_cluster_url, load_seal
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError, translate_errors
from ctxmode.launch import print_answer, with_app
from ctxmode.render.health import cluster_lines

if TYPE_CHECKING:
    from ctxmode.app import App
    from fleet import FleetHealth

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subverbs and their options."""
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    key = commands.add_parser("key", help="this front's public key, for workers' lists")
    key.add_argument("--name", metavar="NAME", help="of this front (default: the machine's)")
    key.add_argument(
        "--owner",
        action="append",
        metavar="NAME",
        help="for whom it may send; may be said again (default: anybody)",
    )
    check = commands.add_parser("check", help="try the engine and a worker")
    check.add_argument("--cluster", metavar="URL", help="the engine (default: what is set)")
    for command in (key, check):
        command.add_argument("--json", action="store_true", help="as docs/cli.md tells")


def run(args: argparse.Namespace) -> int:
    """Carry out one of them."""
    return {"key": _show_key, "check": _check}[args.command](args)


def _show_key(args: argparse.Namespace) -> int:
    from fleet import have_key, write_public  # noqa: PLC0415 - who asks for it

    config = load_config(args.project)
    name = args.name or re.sub(r"[^A-Za-z0-9_-]+", "-", socket.gethostname())[:64] or "front"
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name {name!r} is no name", "Give letters, digits, - and _.")
    with translate_errors():
        public = write_public(have_key(load_seal(config)))
    owners = args.owner or ["*"]
    row = f"[fronts.{name}]\nkey = {json.dumps(public)}\nowners = {json.dumps(owners)}"
    print_answer(args, {"name": name, "key": public, "owners": owners}, row)
    return exit_codes.OK


def _check(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    if not args.cluster and not find_cluster_url(config):
        raise UsageError("no cluster is set", "Give --cluster URL, or set cluster.url.")
    health = with_app(args, _examine)
    print_answer(args, asdict(health), "\n".join(cluster_lines(health)))
    return exit_codes.OK if health.runs else exit_codes.ERROR


async def _examine(app: App) -> FleetHealth:
    if app.fleet is None:
        raise UsageError("no cluster is set", "Give --cluster URL, or set cluster.url.")
    return await app.fleet.examine()
