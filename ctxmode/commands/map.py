"""The verb `pack map`: show what a project is made of, within a budget of tokens."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ctxmode import exit_codes
from ctxmode.commands.pack_options import read_task
from ctxmode.config.locations import load_config
from ctxmode.launch import print_answer, tell
from ctxmode.render.live_output import waiting


def run_verb(args: argparse.Namespace) -> int:
    from ctxmode.operations.packs import (  # noqa: PLC0415
        PackAsked,
        make_pack,
        write_map,
    )
    from repomap.reading import MARK  # noqa: PLC0415

    config = load_config(args.project)
    asked = PackAsked(
        task=read_task(args.task),
        budget=args.budget,
        family=args.family,
        format="json" if args.json and not args.write else "markdown",
        paths=tuple(args.paths),
        with_tests=not args.no_tests,
        is_map=True,
        mark=MARK if args.write else "",
    )
    if args.write:
        folder = Path.cwd() / Path(args.write).expanduser()
        with waiting("reading the project"):
            paths = [str(path) for path in write_map(config, folder, asked)]
        print_answer(args, {"written": paths}, "\n".join(paths))
        return exit_codes.OK
    with waiting("reading the project"):
        pack = make_pack(config, asked).pack
    sys.stdout.write(pack.text)
    shown = f"{len(pack.items)} files shown, {pack.used} of {pack.asked.budget} tokens"
    tell([*pack.notes, f"{shown} ({pack.asked.estimator})"])
    return exit_codes.OK
