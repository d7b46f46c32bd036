"""Actions on whole files of facts: prime, export, import, check, back up, restore."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from base.plain_files import new_file_mode, replace_file
from base.wording import inflect
from ctxmode.config.locations import prepare_storage
from ctxmode.errors import ContextModeError, UsageError, describe_empty, nothing_kept, why
from ctxmode.launch import print_json
from ctxmode.operations.fact_actions import Branch, open_facts
from ctxmode.operations.facts import find_facts_file, name_restore, translate_fact_errors
from ctxmode.operations.mirroring import FACTS, USERS_FACTS, take_out
from ctxmode.operations.operation import Answer, Arg, Asker, TextFile
from ctxmode.operations.tasks import write_section
from ctxmode.render import fact_texts
from ctxmode.render.highlight import harmless
from memory.facts import (
    MAIN,
    FactStore,
    Form,
    Memory,
    export_claude_md,
    export_decisions,
    export_json,
    export_markdown,
    import_facts,
    make_snapshot,
    restoring,
)

Whose: TypeAlias = Annotated[
    Literal["project", "user"], Arg("owner of the file of facts (default: project)")
]
ExportForm: TypeAlias = Literal["json", "md", "claude-md", "decisions"]
EXPORTS: Mapping[str, Callable[[FactStore, str], str]] = {
    "json": lambda store, branch: (
        json.dumps(export_json(store, branch), indent=2, ensure_ascii=False) + "\n"
    ),
    "md": export_markdown,
    "claude-md": export_claude_md,
    "decisions": export_decisions,
}
SECTIONS = ("claude-md", "decisions")  # the formats that are one section of a file of the user
PRIMED = ("added", "changed", "removed", "same")
IMPORTED = ("added", "changed", "same", "left_out", "not_pinned")
RESTORE_LAST = "context-mode memory restore --last"


def prime_facts(
    asker: Asker,
    file: Annotated[TextFile, Arg("- is stdin", "FILE", name="text")],
    *,
    branch: Branch = "",
    pin: Annotated[bool, Arg("pin the facts")] = False,
    source: Annotated[str, Arg("default: the file's name", "NAME")] = "",
) -> Answer:
    """Write each section of a Markdown file as a fact, and update them when it is primed again."""
    with open_facts(asker, "project") as memory:
        primed = memory.prime(
            file.text,
            source=source or file.name or "note",
            title=file.name,
            is_pinned=pin,
            branch=branch or MAIN,
        )
    data = {name: list(getattr(primed, name)) for name in PRIMED}
    text = fact_texts.primed_text(data)
    return Answer(data | {"redactions": primed.redactions}, text)


def export_facts(
    asker: Asker,
    *,
    branch: Branch = "",
    form: Annotated[ExportForm, Arg("default: json", flags=("--format",))] = "json",
    output: Annotated[str, Arg(
        "write to a new FILE; in CLAUDE.md and DECISIONS.md replace the section", "FILE",
        ("-o", "--output"),
    )] = "",
    scope: Whose = "project",
) -> Answer:  # fmt: skip
    """Write current facts, as JSON, Markdown, or a section of CLAUDE.md or DECISIONS.md."""
    with open_facts(asker) as memory:
        store, on = _require_store(memory, scope), branch or MAIN
        text = EXPORTS[form](store, on)
    if output:
        target = Path.cwd() / Path(output).expanduser()
        size = _write(target, text, is_section=form in SECTIONS)
        return _answer_written(target, size)
    if form == "json":
        data = json.loads(text)
        return Answer(data, show=partial(print_json, data))
    return Answer({"format": form, "text": text}, harmless(text))


def import_file(
    asker: Asker,
    file: Annotated[TextFile, Arg("- is stdin", "FILE")],
    *,
    branch: Branch = "",
    form: Annotated[Form | Literal[""], Arg(
        "json, ctxone, claude-md, decisions (default: detected)", "FORM", ("--format",)
    )] = "",
    pins: Annotated[bool, Arg("pin the facts that the file pins")] = False,
    scope: Whose = "project",
) -> Answer:  # fmt: skip
    """Read facts from our JSON, CTXone's export, a CLAUDE.md or DECISIONS.md."""
    _refuse_program(file.name, form)
    with open_facts(asker, scope) as memory:
        found = import_facts(
            _require_store(memory, scope),
            file.text,
            form=form,
            author=memory.author,
            branch=branch or MAIN,
            source=file.name,
            scope=scope,
            takes_pins=pins,
        )
    data = {name: list(getattr(found, name)) for name in IMPORTED}
    lines = [", ".join(f"{name.replace('_', ' ')} {len(data[name])}" for name in IMPORTED[:4])]
    if found.redactions:
        lines.append(f"{inflect(found.redactions, 'secret')} redacted in the texts")
    if found.not_pinned:
        lines.append(f"not pinned: {len(found.not_pinned)}; pin them with --pins")
    lines += [f"left out: {one}" for one in found.left_out]
    all_data = {"form": found.form, **data, "redactions": found.redactions}
    return Answer(all_data, harmless("\n".join(lines)))


def _refuse_program(name: str, form: str) -> None:
    """Raise UsageError if a file's name is that of a program, and no form is given."""
    from kb import detect_by_name  # noqa: PLC0415 - few import

    kind, language = (None if form else detect_by_name(name)) or ("", None)
    if kind == "code":
        problem = f"cannot import {name}: it is a program ({language}), not a file of facts"
        remedy = "Give an export in JSON, a CLAUDE.md or a DECISIONS.md; --format reads any file."
        raise UsageError(problem, remedy)


def check_facts(
    asker: Asker,
    *,
    repair: Annotated[
        bool, Arg("rebuild current facts from the ledger", flags=("--repair", "--mend"))
    ] = False,
) -> Answer:
    """Check that current facts match the ledger."""
    with open_facts(asker) as memory:
        found = memory.check()
        is_sound = not any(found.values())
        left = memory.check(repair=True) if repair and not is_sound else found
        helps = [one.mended_by for one in memory.stores if left[str(one.path)]]
    problems = {path: list(problems) for path, problems in found.items()}
    is_mended = not is_sound and not any(left.values())
    lines = [one for path, of in problems.items() for one in of or [f"{path}: no problems found."]]
    if is_mended:
        lines.append("All problems are fixed.")
    elif not is_sound:
        lines += [f"Try: {one}" for one in ([RESTORE_LAST] if repair else helps)]
    data = {"ok": is_sound, "mended": is_mended, "problems": problems}
    text = "\n".join(lines) or describe_empty("fact")
    return Answer(data, text, is_failure=not (is_sound or is_mended))


def back_up_facts(
    asker: Asker, file: Annotated[str, Arg(metavar="FILE")], *, scope: Whose = "project"
) -> Answer:
    """Copy all facts to a new file while they are in use."""
    target = Path.cwd() / Path(file).expanduser()
    _require_new(target)
    with open_facts(asker) as memory:
        store = _require_store(memory, scope)
        try:
            make_snapshot(store, target)
            size = target.stat().st_size
        except OSError as error:
            problem = f"cannot write {target}: {why(error)}"
            raise ContextModeError(problem, "Give another file.") from error
    return _answer_written(target, size)


def list_snapshots(asker: Asker, *, scope: Whose = "project") -> Answer:
    """List the daily copies, and files that a restore replaced."""
    path = find_facts_file(asker.config, scope)
    found = restoring.describe_snapshots(path)
    data = {"path": str(path), "snapshots": [asdict(one) for one in found]}
    return Answer(data, fact_texts.snapshots_text(found))


def restore_facts(
    asker: Asker,
    snapshot: Annotated[str, Arg(
        "a name from snapshots, or a file written by backup", "SNAPSHOT", one_of="snapshot"
    )] = "",
    *,
    last: Annotated[bool, Arg("use the newest undamaged daily copy", one_of="snapshot")] = False,
    scope: Whose = "project",
) -> Answer:  # fmt: skip
    """Replace the file of facts with a copy; the replaced file is kept."""
    config = asker.config
    path = find_facts_file(config, scope)
    passed: tuple[restoring.Snapshot, ...] = ()
    with translate_fact_errors():
        if last:
            chosen, passed = restoring.find_last_sound(path)
        else:
            chosen = restoring.find_snapshot(path, snapshot)
        prepare_storage(config)  # a new machine may start from a backup
        restored = restoring.restore(path, chosen)
    take_out(config, (USERS_FACTS if scope == "user" else FACTS,), is_everywhere=True)
    data: dict[str, Any] = {"passed_over": [asdict(one) for one in passed], **asdict(restored)}
    return Answer(data, fact_texts.restored_text(restored, passed, name_restore(scope)))


def _require_store(memory: Memory, scope: str) -> FactStore:
    store = memory.user if scope == "user" else memory.project
    if store is None:
        raise nothing_kept("fact")
    return store


def _require_new(target: Path) -> None:
    if not target.parent.is_dir():
        raise UsageError(f"cannot write {target}: no folder {target.parent}", "Create it first.")
    if os.path.lexists(target):
        raise UsageError(f"{target} already exists", "Give the name of a new file.")


def _write(target: Path, text: str, *, is_section: bool) -> int:
    """Write a new file, or the section of one that may exist; return its size."""
    try:
        if is_section and target.parent.is_dir():
            return write_section(target, text)
        _require_new(target)
        data = text.encode(errors="surrogateescape")
        replace_file(target, data, mode=new_file_mode())
        return len(data)
    except (OSError, ValueError, RuntimeError) as error:
        raise ContextModeError(
            f"cannot write {target}: {why(error) if isinstance(error, OSError) else error}",
            "Give another file.",
        ) from error


def _answer_written(target: Path, size: int) -> Answer:
    return Answer(
        {"path": str(target), "bytes": size}, f"{harmless(str(target))}: {inflect(size, 'byte')}"
    )
