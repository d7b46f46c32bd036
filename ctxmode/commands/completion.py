"""The verb `doctor completion`: print a shell completion script."""

from __future__ import annotations

import argparse
import sys

from ctxmode import exit_codes
from ctxmode.commands.table import VERBS
from ctxmode.config.locations import load_config

WORDS = ("sources", "profiles")
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        choices=(*SHELLS, *WORDS),
        metavar="SHELL",
        help="bash, zsh, fish, or a list to print",
    )


def run_verb(args: argparse.Namespace) -> int:
    from ctxmode.completion import harmless, script  # noqa: PLC0415 - loads every verb's parser

    if args.what in SHELLS:
        verbs = (verb for verb in VERBS.values() if verb.name != "hook")  # that is for hosts
        sys.stdout.write(script(args.what, verbs) + "\n")
    else:
        words = _labels(args) if args.what == "sources" else _profiles(args)
        sys.stdout.writelines(f"{word}\n" for word in harmless(words))
    return exit_codes.OK


def _labels(args: argparse.Namespace) -> list[str]:
    from ctxmode.operations.library import open_library  # noqa: PLC0415

    with open_library(load_config(args.project)) as library:
        return [source.label.split(" (")[0] for source in library.sources()]


def _profiles(args: argparse.Namespace) -> list[str]:
    from ctxmode.config.engine_settings import load_profiles  # noqa: PLC0415

    config = load_config(args.project)
    return list(load_profiles(config.project, config.config_home)[0])
