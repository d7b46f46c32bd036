"""The verb `pack`: pack the files that a task is about, within a budget of tokens."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ctxmode import exit_codes
from ctxmode.commands.pack_options import FAMILY, read_task
from ctxmode.config.locations import Config, load_config
from ctxmode.errors import UsageError
from ctxmode.launch import ask_person, print_answer, tell
from ctxmode.operations.pack_output import COMPRESSORS, EXPORTERS, write_usage
from ctxmode.render.live_output import waiting

if TYPE_CHECKING:
    from ctxmode.operations.pack_output import Output
    from ctxmode.operations.packs import PackAnswer, PackAsked

_TASKS = {
    "kept": "the one that `context-mode pack task` keeps",
    "file": "that of .contextos/CURRENT_TASK.md",
}
CHOICES = {**FAMILY, "--export": ("", *EXPORTERS), "--compress": tuple(COMPRESSORS)}
SENSITIVE = "The pack will contain secrets found in files. Continue?"


def run_verb(args: argparse.Namespace) -> int:
    from ctxmode.operations.pack_output import prepare_output, write_pack  # noqa: PLC0415
    from ctxmode.operations.packs import make_pack  # noqa: PLC0415 - it loads more

    config = load_config(args.project)
    is_explained = bool(args.fits or args.explain)
    if is_explained and (args.export or args.output or args.compress != "none"):
        raise UsageError("--fits and --explain write no pack", "Leave the other option out.")
    is_json = args.json or args.format == "json"
    if is_json and (args.export or args.compress != "none") and not is_explained:
        raise UsageError("exports and compressed packs are Markdown", "Leave out JSON.")
    if args.allow_sensitive:
        _require_person()
    output = prepare_output(config, export=args.export, output=args.output, is_json=is_json)
    request = _build_request(args, output, is_json=is_json and not is_explained)
    with waiting("reading the project"):
        answer = make_pack(config, request)
    if args.fits:
        return _show_placement(args, config.project, answer)
    if args.explain:
        return _explain(args, answer)
    written = write_pack(output, answer, compress=args.compress, keeps=args.allow_sensitive)
    _report(args, config, answer, output, written)
    return exit_codes.OK


def _build_request(args: argparse.Namespace, output: Output, *, is_json: bool) -> PackAsked:
    from ctxmode.operations.packs import PackAsked  # noqa: PLC0415

    return PackAsked(
        task=read_task(args.task),
        budget=args.budget,
        family=args.family,
        format="json" if is_json else "markdown",
        paths=tuple(args.paths),
        with_source=not args.no_source,
        with_tests=not args.no_tests,
        since=args.since,
        has_secrets=args.allow_sensitive,
        mark=output.head,
        usage=write_usage(output.usage) if output.usage else "",
        made_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if args.timestamp else "",
    )


def _require_person() -> None:
    """Ask the person at the terminal whether secrets may stay. Raise UsageError if nobody is there,
    or they do not agree."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "--allow-sensitive needs a person at a terminal", "Run it there, or leave it out."
        )
    if not ask_person(SENSITIVE):
        raise UsageError("nothing was packed", "Leave --allow-sensitive out.")


def _report(
    args: argparse.Namespace, config: Config, answer: PackAnswer, output: Output, used: int
) -> None:
    pack = answer.pack
    source = _TASKS.get(answer.task[1])
    lines = [f"the task is {source}"] if source else []
    verb = "kept" if args.allow_sensitive else "replaced"
    lines += [f"secret {verb}: {one}" for one in pack.warnings]
    lines += pack.notes
    asked = pack.asked
    lines.append(f"{len(pack.items)} files, {used} of {asked.budget} tokens ({asked.estimator})")
    if output.path:
        below = output.path.is_relative_to(config.project)
        shown = output.path.relative_to(config.project) if below else output.path
        lines.append(f"written: {shown}")
        if output.usage:
            lines.append(output.usage)
    tell(lines)


def _show_placement(args: argparse.Namespace, project: Path, answer: PackAnswer) -> int:
    from repomap.pack_placement import find_placement, render_placement  # noqa: PLC0415

    named = Path(os.path.normpath(project / Path(args.fits).expanduser()))
    path = named.relative_to(project) if named.is_relative_to(project) else named
    found = find_placement(path.as_posix(), answer.pack, answer.ranked, answer.left_out)
    print_answer(args, asdict(found), render_placement(found))
    return exit_codes.OK


def _explain(args: argparse.Namespace, answer: PackAnswer) -> int:
    from repomap.pack_placement import explain, render_explained  # noqa: PLC0415

    found = explain(answer.pack, answer.ranked)
    data = {"files": [asdict(one) for one in found], "total": len(answer.ranked)}
    print_answer(args, data, render_explained(found, len(answer.ranked)))
    return exit_codes.OK
