"""The verbs `pack`, `pack map` and `pack task`: files of a task, an outline, the stored task."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from ctxmode.errors import UsageError
from ctxmode.launch import ask_person
from ctxmode.operations import tasks
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from ctxmode.operations.pack_output import (
    COMPRESSORS,
    EXPORTERS,
    Output,
    prepare_output,
    write_pack,
    write_usage,
)
from ctxmode.operations.packs import (
    Family,
    Globs,
    PackAnswer,
    PackAsked,
    TaskText,
    Tokens,
    WithTests,
    make_pack,
    write_map,
)
from ctxmode.render.terminal_output import waiting
from repomap import BUDGET
from repomap.reading import MARK

TASK_BYTES = 1 << 20
_TASKS = {
    "kept": "the one that `context-mode pack task` keeps",
    "file": "that of .contextos/CURRENT_TASK.md",
}
SENSITIVE = "The pack will contain secrets found in files. Continue?"
OUTPUT, INSTEAD = "output", "instead of a pack"


def pack_files(
    asker: Asker,
    request: PackAsked,
    *,
    export: Annotated[str, Arg(
        "write .context-mode/ file for claude, codex, cursor, aider", "HOST", group=OUTPUT,
        choices=tuple(EXPORTERS),
    )] = "",
    output: Annotated[str, Arg(
        "write to a new file, or over an earlier pack", "FILE", ("--output", "-o"), group=OUTPUT
    )] = "",
    compress: Annotated[str, Arg(
        "none, or http: a local Headroom proxy", "WAY", group=OUTPUT, choices=tuple(COMPRESSORS)
    )] = "none",
    timestamp: Annotated[bool, Arg("add the creation time at the end", group=OUTPUT)] = False,
    allow_sensitive: Annotated[bool,
        Arg("keep secrets, after asking at the terminal", group=OUTPUT)] = False,
    explain: Annotated[bool,
        Arg("show each file's rank and the reasons", group=INSTEAD)] = False,
    fits: Annotated[str,
        Arg("show why a file is included or not", "FILE", group=INSTEAD)] = "",
) -> Answer:  # fmt: skip
    """Pack the files that a task needs, within a token budget."""
    config = asker.config
    if (fits or explain) and (export or output or compress != "none"):
        raise UsageError("--fits and --explain write no pack", "Leave the other option out.")
    is_json = not (fits or explain) and (asker.wants_data or request.format == "json")
    if is_json and (export or compress != "none"):
        raise UsageError("exports and compressed packs are Markdown", "Leave out JSON.")
    if allow_sensitive:
        _require_person()
    target = prepare_output(config, export=export, output=output, is_json=is_json)
    request = replace(
        request,
        task=read_task(request.task),
        format="json" if is_json else "markdown",
        has_secrets=allow_sensitive,
        mark=target.head,
        usage=write_usage(target.usage) if target.usage else "",
        made_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if timestamp else "",
    )
    with waiting("reading the project"):
        answer = make_pack(config, request)
    if fits:
        return _show_placement(config.project, answer, fits)
    if explain:
        return _explain(answer)
    used = write_pack(target, answer, compress=compress, keeps=allow_sensitive)
    asker.tell(_report(config.project, answer, target, used, keeps=allow_sensitive))
    return _ALREADY_WRITTEN


_ALREADY_WRITTEN = Answer({}, show=lambda: None)


def read_task(given: str) -> str:
    """Return a task, or stdin's where it is `-`. Raise UsageError if stdin has more than 1 MiB."""
    if given != "-":
        return given
    data = sys.stdin.buffer.read(TASK_BYTES + 1)
    if len(data) > TASK_BYTES:
        raise UsageError("the task has more than 1 MiB", "Give its first part.")
    return data.decode("utf-8", "replace")


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
    project: Path, answer: PackAnswer, output: Output, used: int, *, keeps: bool
) -> list[str]:
    pack = answer.pack
    source = _TASKS.get(answer.task[1])
    lines = [f"the task is {source}"] if source else []
    lines += [f"secret {'kept' if keeps else 'replaced'}: {one}" for one in pack.warnings]
    lines += pack.notes
    asked = pack.asked
    lines.append(f"{len(pack.items)} files, {used} of {asked.budget} tokens ({asked.estimator})")
    if output.path:
        below = output.path.is_relative_to(project)
        lines.append(f"written: {output.path.relative_to(project) if below else output.path}")
        lines += [output.usage] if output.usage else []
    return lines


def _show_placement(project: Path, answer: PackAnswer, file: str) -> Answer:
    from repomap.rendering import find_placement, render_placement  # noqa: PLC0415

    named = Path(os.path.normpath(project / Path(file).expanduser()))
    path = named.relative_to(project) if named.is_relative_to(project) else named
    found = find_placement(path.as_posix(), answer.pack, answer.ranked, answer.left_out)
    return Answer(asdict(found), render_placement(found))


def _explain(answer: PackAnswer) -> Answer:
    from repomap.rendering import explain, render_explained  # noqa: PLC0415

    found = explain(answer.pack, answer.ranked)
    data = {"files": [asdict(one) for one in found], "total": len(answer.ranked)}
    return Answer(data, render_explained(found, len(answer.ranked)))


def map_project(
    asker: Asker,
    *,
    task: TaskText = "",
    budget: Tokens = BUDGET,
    family: Family = "",
    paths: Globs = (),
    with_tests: WithTests = True,
    write: Annotated[str, Arg("write three files to this folder", "DIR")] = "",
) -> Answer:
    """Outline a project within a token budget."""
    asked = PackAsked(
        read_task(task),
        budget,
        family,
        paths,
        with_tests,
        format="json" if asker.wants_data and not write else "markdown",
        is_map=True,
        mark=MARK if write else "",
    )
    if write:
        folder = Path.cwd() / Path(write).expanduser()
        with waiting("reading the project"):
            written = [str(path) for path in write_map(asker.config, folder, asked)]
        return Answer({"written": written}, "\n".join(written))
    with waiting("reading the project"):
        pack = make_pack(asker.config, asked).pack
    shown = f"{len(pack.items)} files shown, {pack.used} of {pack.asked.budget} tokens"
    sys.stdout.write(pack.text)
    asker.tell([*pack.notes, f"{shown} ({pack.asked.estimator})"])
    return _ALREADY_WRITTEN


def keep_task(
    asker: Asker,
    task: Annotated[str, Arg("the task, show (default) or clear", "TEXT|show|clear")] = "show",
) -> Answer:
    """Store the task for pack and map."""
    config = asker.config
    if task == "show":
        kept, source = tasks.find_task(config, "", tasks.read_contextos(config))
        text = kept or "No task is kept. Keep one with: context-mode pack task TEXT"
        return Answer({"task": kept, "source": source}, text)
    if task == "clear":
        cleared = tasks.clear_task(config)
        text = "The task is cleared." if cleared else "No task was kept."
        return Answer({"cleared": cleared}, text)
    redactions = tasks.keep_task(config, read_task(task))
    notices = [f"{redactions} secrets were left out of it"] * bool(redactions)
    data = {"task": tasks.read_task(config), "redactions": redactions}
    return Answer(data, "Kept: pack and pack map take it.", notices)


OPERATIONS: dict[str, Operation] = {"pack": pack_files, "map": map_project, "task": keep_task}
