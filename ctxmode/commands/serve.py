"""The verb `serve`: serve agents over stdio or HTTP (Model Context Protocol)."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from base.wording import list_choices
from ctxmode import command_line, exit_codes, launch
from ctxmode.config.engine_settings import load_profiles
from ctxmode.config.file_names import SERVERS_FOLDER
from ctxmode.config.locations import Config, load_config, prepare_storage
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.shared_instance import client
from executor.run import client_environ

if TYPE_CHECKING:
    from ctxmode.mcp.server import Offer

HTTP_OPTIONS = (
    "host",
    "port",
    "token_file",
    "allow_host",
    "allow_origin",
    "also",
    "certificate",
    "key",
)


def run_verb(args: argparse.Namespace) -> int:
    """Serve until the client or a signal ends it."""
    config = replace(load_config(args.project, cwd=_host_folder()), cluster=args.cluster or "")
    if args.http:
        others = _read_others(args.also or ())
        tools = _choose_tools(args.tools, config, args.names or (), (*others.values(),))
        _serve_http(args, config, tools, others)
        return exit_codes.OK
    for name in HTTP_OPTIONS:
        if getattr(args, name) is not None:
            option = name.replace("_", "-")
            raise UsageError(f"--{option} needs --http", f"Add --http, or remove --{option}.")
    from ctxmode.mcp.stdio import serve_stdio  # noqa: PLC0415 - a usage error is quicker

    tools = _choose_tools(args.tools, config, args.names or ())
    with _hold_presence(config):
        if serve_beside := launch.served.get():
            serve_beside(config, tools)
        else:
            serve_one = partial(serve_stdio, config, tools, client.journal)
            if launch.run_in_trio(serve_one):
                client.go_on()
    return exit_codes.OK


def _host_folder() -> Path | None:
    """Return Claude Code's working folder, which may differ from ours; None if it is missing."""
    given = client_environ.get().get("CLAUDE_PROJECT_DIR", "")
    folder = Path(given)
    return folder if folder.is_absolute() and folder.is_dir() else None


@contextlib.contextmanager
def _hold_presence(config: Config) -> Iterator[None]:
    """Hold the lock by which hooks see that our tools are available."""
    from executor.instance import join  # noqa: PLC0415 - as above

    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ContextModeError, OSError):  # each call reports it
            prepare_storage(config)
            stack.enter_context(join(config.state_dir / SERVERS_FOLDER))
        yield


def _choose_tools(
    given: str | None,
    config: Config,
    systems: Sequence[str] = (),
    others: Sequence[Path] = (),
) -> Offer:
    from ctxmode.mcp.names import SYSTEMS, replace_tools  # noqa: PLC0415 - as below
    from ctxmode.mcp.server import Offer  # noqa: PLC0415 - a usage error is quicker
    from ctxmode.mcp.tools import NAMES, list_offered  # noqa: PLC0415

    for system in systems:
        if system not in SYSTEMS:
            raise UsageError(f"unknown --names {system!r}", list_choices(system, SYSTEMS))
    if given is None:
        profiles, _ = load_profiles(config.project, config.config_home)
        staging = any(profile.stage for profile in profiles.values())
        return Offer(
            replace_tools(list_offered(staging=staging), systems),
            replace_tools(list_offered(staging=staging, pages=True), systems),
            tuple(str(one) for one in (config.project, *others)),
        )
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    unknown = [name for name in names if name not in NAMES]
    if unknown or not names:
        wrong = ", ".join(unknown) or "none"
        raise UsageError(f"--tools names {wrong}", list_choices(wrong, NAMES))
    return Offer(replace_tools(names, systems))


def _serve_http(
    args: argparse.Namespace, config: Config, tools: Offer, others: dict[str, Path]
) -> None:
    from ctxmode.mcp.http import gate, serving  # noqa: PLC0415 - only who serves HTTP pays

    prepare_storage(config)
    if (args.certificate is None) != (args.key is None):
        raise UsageError("--certificate and --key need each other", "Add the other option.")
    where = {"host": args.host or None, "port": args.port}
    file = Path(args.token_file) if args.token_file else None
    site = serving.Site(
        config,
        *gate.load_tokens(file, os.environ, config.state_dir / "http-token"),
        frozenset(args.allow_host or ()),
        frozenset(args.allow_origin or ()),
        others,
        tools,
        certificate=args.certificate and Path(args.certificate),
        key=args.key and Path(args.key),
        **{name: given for name, given in where.items() if given is not None},
    )
    command_line.resume_collection()
    with _hold_presence(config):
        launch.run_in_trio(partial(serving.serve_http, site))


def _read_others(given: Sequence[str]) -> dict[str, Path]:
    folders: dict[str, Path] = {}
    for text in given:
        folder = load_config(text).project
        if folder.name in folders or not folder.name:
            raise UsageError(
                f"--also {text}: duplicate project name {folder.name!r}",
                "Rename one of the folders: its name is part of the URL.",
            )
        folders[folder.name] = folder
    return folders
