"""Pack the files that a task is about, the best first, within a budget of tokens.

Files are ranked by their text, paths, definitions and the commits that changed them. The best are
whole, others in parts, as a skeleton of signatures, or as a line. The budget bounds the whole text,
as the model family counts it that takes the most tokens. Without a task it is that of
.contextos/CURRENT_TASK.md; else the files come first to which most of the project refers.

Secrets are replaced, and files that are named like secrets are left out.

examples:
  context-mode pack --task "the sum of the cart is wrong" --budget 4000
  context-mode pack --task "slow start" --paths 'src/**' --no-tests
  context-mode pack --no-source --json
  context-mode pack --task "slow start" --fits README.md
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError
from ctxmode.launch import print_answer, tell
from kb.tokens import DEAREST, FAMILIES

if TYPE_CHECKING:
    from ctxmode.operations.packs import PackAnswer

TASK_BYTES = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", "-t", default="", metavar="TEXT", help="- is stdin")
    parser.add_argument("--budget", "-b", type=int, default=8000, metavar="TOKENS",
        help="the most that the pack takes (default 8000)")  # fmt: skip
    parser.add_argument("--family", default=DEAREST, choices=FAMILIES, metavar="NAME",
        help=f"who counts tokens: {', '.join(FAMILIES)} (default {DEAREST})")  # fmt: skip
    parser.add_argument("--format", default="markdown", choices=("markdown", "json"),
        metavar="FORMAT", help="markdown or json (default markdown)")  # fmt: skip
    parser.add_argument("--paths", action="append", default=[], metavar="GLOB",
        help="only files that match; may be said again")  # fmt: skip
    parser.add_argument("--no-source", action="store_true", help="skeletons and lines alone")
    parser.add_argument("--no-tests", action="store_true", help="leave tests out")
    parser.add_argument("--since", default="", metavar="REV",
        help="first what changed since this commit, and what depends on it")  # fmt: skip
    parser.add_argument("--fits", default="", metavar="FILE",
        help="instead of the pack, why a file is in it or out of it")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="as docs/cli.md tells")


def run(args: argparse.Namespace) -> int:
    from ctxmode.operations.packs import PackAsked, make_pack  # noqa: PLC0415 - it loads more

    asked = PackAsked(
        task=_read_task(args.task),
        budget=args.budget,
        family=args.family,
        format="json" if args.json else args.format,
        paths=tuple(args.paths),
        with_source=not args.no_source,
        with_tests=not args.no_tests,
        since=args.since,
    )
    config = load_config(args.project)
    answer = make_pack(config, asked)
    if args.fits:
        return _show_placement(args, config.project, answer)
    pack = answer.pack
    sys.stdout.write(pack.text)
    whole = f"{len(pack.items)} files, {pack.used} of {pack.budget} tokens ({pack.estimator})"
    tell([*(f"secret replaced: {one}" for one in pack.warnings), *pack.notes, whole])
    return exit_codes.OK


def _show_placement(args: argparse.Namespace, project: Path, answer: PackAnswer) -> int:
    from repomap.placement import find_placement, render_placement  # noqa: PLC0415

    named = Path(os.path.normpath(project / Path(args.fits).expanduser()))
    path = named.relative_to(project) if named.is_relative_to(project) else named
    found = find_placement(path.as_posix(), answer.pack, answer.ranked, answer.left_out)
    print_answer(args, asdict(found), render_placement(found))
    return exit_codes.OK


def _read_task(given: str) -> str:
    if given != "-":
        return given
    data = sys.stdin.buffer.read(TASK_BYTES + 1)
    if len(data) > TASK_BYTES:
        raise UsageError("the task has more than 1 MiB", "Give its first part.")
    return data.decode("utf-8", "replace")
