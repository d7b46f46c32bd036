"""Answers as text for agents: the program's output, then one footer line. Refusals of a failed run
come before its output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from base.wording import inflect
from ctxmode.render import highlight
from ctxmode.render.highlight import size
from ctxmode.render.passages import query_text
from executor import Refusal, Result, Status
from policy.messages import BYTES_MAX, cut, fit

if TYPE_CHECKING:
    from ctxmode.operations.batch import BatchAnswer, BatchCommand
    from ctxmode.operations.indexing import IndexAnswer
    from executor import Background
    from executor.run import Answer
    from kb import Purged


_LINE_BYTES_MAX = 160


def refusal_text(result: Result) -> str:
    """Write which rule of which file decided, and what to do instead. Nothing ran."""
    verdict = result.verdict or {}
    message = str(verdict.get("message") or result.message)
    if result.status is Status.REDIRECTED:
        head, called, call = message.rpartition("\nCall: ")
        return fit(f"[redirected, nothing ran] {head}", called + call)
    head = f"[denied, nothing ran] {message}"
    if verdict.get("decision") == "ask":
        head += (
            "\nThis rule needs the user's approval, and the user refused."
            if verdict.get("consent") is False
            else "\nThis rule needs the user's approval, and no terminal or client can ask for it."
        )
    return with_lines(head, _list_others(verdict))


def with_lines(head: str, lines: Sequence[str]) -> str:
    """Add as many lines to a text as fit, and write how many were left out."""
    for count in range(min(len(lines), BYTES_MAX), -1, -1):
        rest = f"\n{len(lines) - count} more: `context-mode policy explain` shows them"
        text = "\n".join([head, *(cut(line, _LINE_BYTES_MAX) for line in lines[:count])])
        text += rest if count < len(lines) else ""
        if len(text.encode("utf-8", "replace")) <= BYTES_MAX:
            return text
    return head


def _list_others(verdict: Mapping[str, Any]) -> list[str]:
    """List the other rules with the same decision, each once."""
    found: dict[str, None] = {}
    for match in verdict.get("matches", ()):
        if match["decision"] == verdict["decision"]:
            place = f"{match['file']}:{match['line']}" if match["line"] else match["file"]
            found[f"- also {match['rule']} in {place}"] = None
    return list(found)[1:]


LINES_MAX = 5
HEADS = {
    "exact": "refused",
    "told": "refused, according to its error",
    "inferred": "probably refused",
}
NOTHING = "nothing "


def list_refused_acts(result: Result) -> list[str]:
    """Write a line for each of the first refusals that the answer does not report elsewhere."""
    lines = [describe(one) for one in result.refusals if not _is_reported_elsewhere(one)]
    more = len(lines) - LINES_MAX + result.refusals_omitted
    if more <= 0:
        return lines
    return [*lines[:LINES_MAX], f"refused: {more} more; `context-mode policy refusals` lists them"]


def describe(refusal: Refusal) -> str:
    """Write one refusal: `refused: network example.com (3 times), by …; to allow it: …`."""
    times = f" ({refusal.count} times)" if refusal.count > 1 else ""
    tail = refusal.remedy
    if tail and not tail.startswith(NOTHING):
        tail = f"to allow it: {tail}"
    what = f"{HEADS.get(refusal.certainty, 'refused')}: {refusal.kind} {refusal.target}{times}"
    return "; ".join(filter(None, (f"{what}, by {refusal.by}", tail)))


def _is_reported_elsewhere(refusal: Refusal) -> bool:
    """Return whether the status, the message or the list of changes reports the refusal."""
    is_limit = refusal.kind == "limit" and refusal.certainty == "exact"
    return refusal.kind == "commit" or is_limit


CHANGED_FILES_SHOWN = 8
SMALL_BATCH_BYTES = 2048
"""Outputs of a batch up to this total size are always shown whole."""

# How an agent, and how the user, finds a stored output again.
BY_TOOL = 'ctx_search(queries=["…"], source="{}")'
BY_VERB = "context-mode kept outputs show {}"
CHANGE_MARKS = {"created": "+", "modified": "~", "deleted": "-", "renamed": ">", "mode": "~"}


def answer_text(answer: Answer, find: str = BY_TOOL) -> str:
    """Write a run's output or its matching sections, its refusals, and the footer."""
    result = answer.result
    if result.status in (Status.DENIED, Status.REDIRECTED):
        return refusal_text(result) + (f"\n[{answer.note}]" if answer.note else "")
    body = streams_text(result) if answer.sections is None else sections_text(answer)
    refused = [f"[{highlight.one_line(line)}]" for line in list_refused_acts(result)]
    # If the run failed, its refusals explain the traceback in its output, so they come first. If it
    # succeeded, they are only additional information.
    before, after = ([], refused) if result.ok else (refused, [])
    return "\n".join([*before, *filter(None, [body]), *after, footer(answer, find)])


def ending_text(answer: Answer, find: str = BY_TOOL) -> str:
    """Write the lines after the output: one for each refusal, and the footer."""
    refused = [f"[{highlight.one_line(line)}]" for line in list_refused_acts(answer.result)]
    return "\n".join((*refused, footer(answer, find)))


def streams_text(of: Result | Background[Answer]) -> str:
    """Write stdout, then stderr under a mark."""
    stdout, stderr = (stream.text.removesuffix("\n") for stream in (of.stdout, of.stderr))
    if not stderr:
        return stdout
    return f"{stdout}\n[stderr]\n{stderr}" if stdout else f"[stderr]\n{stderr}"


def sections_text(answer: Answer) -> str:
    """Write the sections that match the intent, each under its title, and how many more match."""
    if not answer.sections:
        return f"[no section of the output matches the intent]\n{streams_text(answer.result)}"
    parts = [f"## {name}: {hit.title}\n{hit.text.strip(chr(10))}" for name, hit in answer.sections]
    more = answer.sections_total - len(answer.sections)
    if more > 0:
        parts.append(f"[{more} more sections match]")
    return "\n".join(parts)


NOT_COMMITTED_SHOWN = 3
NOT_COMMITTED = {
    "conflict": "conflicts, your versions stay",
    "closed": "no permission to write",
    "repository": "repositories not committed",
    "held": "held for review",
    "never": "never committed",
    "kept": "not deleted",
    "refused": "refused",
}


def footer(answer: Answer, find: str = BY_TOOL) -> str:
    """Write one line: status, resource usage, sandbox, changes, where the rest of the output is."""
    result = answer.result
    facts = [ending(result), f"sandbox {result.isolation.tier}, {result.profile}"]
    if result.session is not None:
        facts.append(f"session {result.session}")
    if result.changed_files:
        facts.append(changes_text(result))
    facts += run_notes(result)
    if answer.kept is not None:
        facts.append(_describe_kept(answer, find))
    if answer.note:
        facts.append(answer.note)
    return f"[{' | '.join(map(highlight.one_line, facts))}]"


def ending(result: Result) -> str:
    """Write status, exit code or signal, and times: `exit 3 in 0.12 s`."""
    words = "ok" if result.ok else result.status.value.replace("_", " ")
    if result.exit_code is not None:
        words += f", exit {result.exit_code}"
    if result.signal is not None:
        words += f", signal {result.signal}"
    if result.phase != "run":
        words += f", while in phase {result.phase}"
    usage = result.usage
    took = f" in {usage.wall_s:.2f} s (cpu {usage.cpu_s:.2f} s"
    took += f", {size(usage.peak_memory_bytes)})" if usage.peak_memory_bytes else ")"
    message = f": {result.message}" if result.message else ""
    return words + took + message


def run_notes(result: Result) -> list[str]:
    """List other notes on a run: returned files, protected paths, missing packages."""
    notes = []
    if returned := [
        f"{a.name} ({size(a.bytes or 0)}) at {a.path}" for a in result.artifacts if a.path
    ]:
        notes.append(f"artifacts: {', '.join(returned)}")
    if skipped := [f"{a.name}: {a.reason}" for a in result.artifacts if not a.path]:
        notes.append(f"not returned: {', '.join(skipped)}")
    notes += not_committed(result)
    if result.missing_packages:
        notes.append(missing_text(result.missing_packages))
    return notes


def missing_text(packages: Sequence[str]) -> str:
    """Write which packages a program needs, and how to install them."""
    words = " ".join(f"--packages {name}" for name in packages)
    return (
        f"not installed: {', '.join(packages)}; to install from the registry, run with "
        f"packages={json.dumps(list(packages))}, or {words}"
    )


def changes_text(result: Result) -> str:
    """Write the changed files by mark, and whether the changes are saved."""
    shown = result.changed_files[:CHANGED_FILES_SHOWN]
    names = " ".join(f"{CHANGE_MARKS.get(one.change, '?')}{one.path}" for one in shown)
    more = len(result.changed_files) - len(shown) + result.changed_files_omitted
    state = "changed" if result.persists else "changed, not saved"
    if result.changes_id and not result.persists:
        state = f"staged as {result.changes_id}"
    return f"{state}: {names}" + (f" and {more} more" if more else "")


def not_committed(result: Result) -> list[str]:
    """Write a line for each reason why changes were not committed."""
    lines = []
    for kind, words in NOT_COMMITTED.items():
        paths = [path for path in result.not_committed if path.kind == kind]
        if not paths:
            continue
        shown = [f"{path.path} ({path.reason})" for path in paths[:NOT_COMMITTED_SHOWN]]
        more = f" and {len(paths) - len(shown)} more" if len(paths) > len(shown) else ""
        lines.append(f"{words}: {', '.join(shown)}{more}")
    if result.changes_id:
        lines.append(f"show within 7 days: `context-mode changes show {result.changes_id}`")
    return lines


def _describe_kept(answer: Answer, find: str) -> str:
    kept, result = answer.kept, answer.result
    assert kept is not None
    streams = {"stdout": result.stdout, "stderr": result.stderr}
    if not any(streams[name].truncated for name in kept.streams):
        return f"output_id {kept.output_id}"
    sizes = ", ".join(
        f"{name} {size(source.bytes_total)} in {streams[name].lines_total} lines"
        for name, source in kept.streams.items()
    )
    indexed = f"indexed: {kept.bytes_indexed} of {kept.bytes_total}"
    found = find.format(kept.output_id)
    return f"output_id {kept.output_id} stores {sizes}; {indexed}; {found}"


def background_text(background: Background[Answer]) -> str:
    """Write a background run's output so far and how to continue, or its answer."""
    if background.answer is not None:
        return f"{answer_text(background.answer)}\n[{background.id} has ended]"
    if background.error:
        return f"[{background.id} has ended without a result: {background.error}]"
    body = streams_text(background)
    line = (
        f"[running for {background.wall_s:.1f} s | "
        f'ctx_background(handle="{background.id}") reads it; add wait or stop]'
    )
    return f"{body}\n{line}" if body else line


def backgrounds_text(backgrounds: Sequence[Background[Answer]]) -> str:
    """Write one line per run."""
    lines = [
        f"{one.id}: {'running' if one.running else 'ended'}, {one.wall_s:.1f} s, {one.label}"
        for one in backgrounds
    ]
    return "\n".join(lines) or "No background runs."


def index_text(answer: IndexAnswer) -> str:
    """Write what was indexed and what was left out."""
    skipped = ", ".join(f"{count} {reason}" for reason, count in answer.skipped.items() if count)
    converted = f" ({answer.converted})" if answer.converted else ""
    files = (
        (answer.unchanged, "unchanged since the last time"),
        (answer.renamed, "renamed"),
        (answer.removed, "removed, because deleted from the disk"),
        (answer.ignored, "removed, because git now ignores them"),
    )
    source = highlight.one_line(answer.source)
    named = f"as {source}" if answer.labelled else f"of the folder {source}"
    lines = [
        f"Indexed {inflect(answer.files, 'file')}, {inflect(answer.sections, 'section')}, "
        f"{size(answer.bytes)} {named}{converted}.",
        *(f"{inflect(count, 'file')} {state}." for count, state in files if count),
        *([f"Secrets redacted: {answer.redactions}."] if answer.redactions else []),
        *([f"Terms to search for: {', '.join(answer.terms)}."] if answer.terms else []),
        *([f"Left out: {skipped}."] if skipped else []),
        *answer.notes,
    ]
    return "\n".join(lines)


def purge_text(purged: Purged, sessions: int = 0, *, has_map: bool = False) -> str:
    """Write what was deleted."""
    of_agents = f"Deleted {inflect(sessions, 'agent session')}." if sessions else ""
    of_agents += f"{' ' if of_agents else ''}Deleted the project map." if has_map else ""
    if not purged.sources:
        return of_agents or "Nothing matches; nothing was deleted."
    text = (
        f"Deleted {inflect(purged.sources, 'source')} with {inflect(purged.chunks, 'section')}, "
        f"{size(purged.text_bytes)} of text."
    )
    return f"{text} {of_agents}".rstrip()


def batch_text(answer: BatchAnswer, find: str = BY_TOOL) -> str:
    """Write the status of each command, and the search results. `show_outputs` decides whether
    outputs are shown, too."""
    whole = show_outputs(answer)
    parts = [_command_text(command, find, whole=whole) for command in answer.commands]
    parts += [query_text(query) for query in answer.queries]
    parts += [f"[{answer.note}]"] if answer.note else []
    return "\n\n".join(parts)


def show_outputs(answer: BatchAnswer) -> bool:
    """Return whether outputs are shown next to search results: if they are small enough together,
    or if the queries found nothing."""
    if not any(query.hits for query in answer.queries):
        return True
    results = [command.answer.result for command in answer.commands if command.answer]
    streams = [stream for result in results for stream in (result.stdout, result.stderr)]
    return sum(stream.bytes_total for stream in streams) <= SMALL_BATCH_BYTES


def _command_text(command: BatchCommand, find: str, *, whole: bool) -> str:
    if command.answer is None:
        return f"# {command.label}\n[skipped: {command.skipped}]"
    failed = not command.answer.result.ok
    shown = answer_text if whole or failed else ending_text
    text = shown(command.answer, find)
    return f"# {command.label}\n{text}"
