"""Answers as the structured content of a tool result: what the text says, as data, no more.

A result's full JSON names every isolation layer with its remedy. A model pays for each word, so
here the tier stands for them; `ctx_doctor` has them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxmode.operations.answers import BatchAnswer, SearchAnswer
from ctxmode.render.passages import SAID, age_s, name_kind
from ctxmode.render.results import BY_TOOL, list_refused_acts, show_outputs
from executor import Background
from executor.model import Result, Status
from executor.run.output_routing import Answer
from kb.model import Hit, QueryResult
from policy.messages import cut

MATCHES_SHOWN = 3


def is_error(result: Result) -> bool:
    """Tell whether the host should see the call as failed. A redirect is advice; exit code 1 with
    an answer and no complaint is how grep, diff and test runners say no."""
    if result.status is Status.NONZERO_EXIT and result.exit_code == 1:
        return bool(result.stderr.bytes_total) or not result.stdout.bytes_total
    return result.status not in (Status.OK, Status.REDIRECTED)


def run(answer: Answer) -> dict[str, Any]:
    """Build the data of one run's answer."""
    result, kept = answer.result, answer.kept
    data: dict[str, Any] = {
        "status": result.status.value,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "wall_s": round(result.usage.wall_s, 4),
        "isolation": result.isolation.tier,
        "profile": result.profile,
        "truncated": result.stdout.truncated or result.stderr.truncated,
    }
    if answer.sections is None:
        data |= {"stdout": result.stdout.text, "stderr": result.stderr.text}
    else:
        data["sections"] = [
            {"stream": s.stream, "title": s.title, "text": s.text} for s in answer.sections
        ]
        data["sections_total"] = answer.sections_total
    if result.session is not None:
        data["session"] = result.session
    if result.message:
        data["message"] = result.message
    if result.changed_files:
        data["changed_files"] = [f"{c.change} {c.path}" for c in result.changed_files]
    if result.artifacts:
        data["artifacts"] = [
            {"name": a.name, "bytes": a.bytes, "path": a.path, "reason": a.reason}
            for a in result.artifacts
        ]
    if refused := list_refused_acts(result):
        data["refused"] = refused
    if result.missing_packages:
        data["missing_packages"] = list(result.missing_packages)
    if result.not_committed:
        data["not_committed"] = [f"{n.kind} {n.path}: {n.reason}" for n in result.not_committed]
    if result.changes_id:
        data["changes_id"] = result.changes_id
    if result.verdict is not None and result.verdict.get("decision") != "allow":
        data["verdict"] = _shorten(result.verdict)
    if kept is not None:
        data["output_id"] = kept.output_id
        data["bytes_total"], data["bytes_indexed"] = kept.bytes_total, kept.bytes_indexed
        data["next"] = BY_TOOL.format(kept.output_id)
    return data


def _shorten(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Shorten a verdict to few rules, without the pieces of the program, which its caller knows."""
    named = [
        {
            "rule_id": cut(match["rule_id"], 100),
            "file": cut(match["file"], 100, from_end=True),
            "line": match["line"],
            "decision": match["decision"],
            "kind": match["kind"],
        }
        for match in verdict.get("matches", ())[:MATCHES_SHOWN]
    ]
    return {**verdict, "matches": named}


def background(background: Background[Answer], *, with_output: bool = True) -> dict[str, Any]:
    """Say how a run in the background stands; at its end, its answer."""
    data = {
        "handle": background.id,
        "label": background.label,
        "running": background.running,
        "wall_s": round(background.wall_s, 4),
    }
    if background.error:
        data["error"] = background.error
    if not with_output:
        return data
    if background.answer is not None:
        return data | run(background.answer)
    return data | {"stdout": background.stdout.text, "stderr": background.stderr.text}


def batch(answer: BatchAnswer) -> dict[str, Any]:
    """Build the data of every command's answer, and the queries'."""
    commands = []
    with_outputs = show_outputs(answer)
    for command in answer.commands:
        data = {"label": command.label}
        data |= {"skipped": command.skipped} if command.answer is None else run(command.answer)
        if not with_outputs:
            data = {key: value for key, value in data.items() if key not in ("stdout", "stderr")}
        commands.append(data)
    noted = {"note": answer.note} if answer.note else {}
    return {
        "ok": answer.ok,
        "commands": commands,
        "queries": _list_queries(answer.queries),
    } | noted


def search(answer: SearchAnswer) -> dict[str, Any]:
    data: dict[str, Any] = {"queries": _list_queries(answer.queries)}
    return data | ({"notes": list(answer.notes)} if answer.notes else {})


def _list_queries(results: tuple[QueryResult, ...]) -> list[dict[str, Any]]:
    return [
        {
            "query": result.query,
            "state": result.state.value,
            "hits": [
                {
                    "source": hit.source,
                    "kind": name_kind(hit),
                    **_tell_author(hit),
                    "title": hit.title,
                    "text": hit.text,
                    "start_byte": hit.start_byte,
                    "end_byte": hit.end_byte,
                    "start_line": hit.start_line,
                    "end_line": hit.end_line,
                }
                | ({"stale": hit.stale} if hit.stale else {})
                | ({"weak": True} if hit.weak else {})
                | ({"alike": hit.alike} if hit.alike else {})
                for hit in result.hits
            ],
        }
        for result in results
    ]


def _tell_author(hit: Hit) -> dict[str, Any]:
    """Tell who said what is no output, file or web page, and how long ago."""
    return {"author": hit.author, "age_s": age_s(hit)} if name_kind(hit) in SAID else {}
