"""Replies of tools, and the replies about runs: text, data, pictures."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmode.render import results
from ctxmode.render.passages import SAID, age_s, name_kind
from ctxmode.render.results import BY_TOOL, list_refused_acts, show_outputs
from executor import Artifact, Background, Result, Status
from executor.run import Answer
from kb import QueryResult
from policy.messages import cut

if TYPE_CHECKING:
    from ctxmode.operations.batch import BatchAnswer
    from ctxmode.operations.searching import SearchAnswer

# A result's full JSON lists every isolation layer with its remedy. A model pays for each word, so a
# reply has only the tier; `ctx_doctor` lists all layers.

MATCHES_SHOWN = 3


def is_error(result: Result) -> bool:
    """Return whether the host should see the call as failed. A redirect is advice. Exit code 1 with
    stdout and empty stderr is a normal answer of grep, diff and test runners."""
    if result.status is Status.NONZERO_EXIT and result.exit_code == 1:
        return bool(result.stderr.bytes_total) or not result.stdout.bytes_total
    return result.status not in (Status.OK, Status.REDIRECTED)


def describe_run(answer: Answer) -> dict[str, Any]:
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
            {"stream": name, "title": hit.title, "text": hit.text} for name, hit in answer.sections
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
    """Shorten a verdict to few rules, without parts of the program, which the caller knows."""
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


def describe_background(
    background: Background[Answer], *, with_output: bool = True
) -> dict[str, Any]:
    """Build the state of a background run, and its answer once it has ended."""
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
        return data | describe_run(background.answer)
    return data | {"stdout": background.stdout.text, "stderr": background.stderr.text}


def describe_batch(answer: BatchAnswer) -> dict[str, Any]:
    """Build the data of the answers to commands and queries."""
    commands = []
    with_outputs = show_outputs(answer)
    for command in answer.commands:
        data = {"label": command.label}
        data |= (
            {"skipped": command.skipped} if command.answer is None else describe_run(command.answer)
        )
        if not with_outputs:
            data = {key: value for key, value in data.items() if key not in ("stdout", "stderr")}
        commands.append(data)
    noted = {"note": answer.note} if answer.note else {}
    return {
        "ok": answer.ok,
        "commands": commands,
        "queries": _list_queries(answer.queries),
    } | noted


def describe_search(answer: SearchAnswer) -> dict[str, Any]:
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
                    **(
                        {"author": hit.author, "age_s": age_s(hit)}
                        if name_kind(hit) in SAID
                        else {}
                    ),
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


# The picture types that models accept, by their first bytes: a program may choose any name.
PICTURE_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
PICTURE_BYTES_MAX = 2 * 1024 * 1024
PICTURES_MAX = 4


@dataclass(frozen=True, slots=True)
class Reply:
    """Text to read, the same content as data, and whether it is an error."""

    text: str
    data: dict[str, Any]
    is_error: bool = False
    images: tuple[Mapping[str, str], ...] = ()
    produced: int = 0  # bytes of text that the call produced, shown or stored


def run_reply(answer: Answer) -> Reply:
    """Build the reply for a finished run."""
    return Reply(
        results.answer_text(answer),
        describe_run(answer),
        is_error(answer.result),
        find_pictures(answer.result.artifacts),
        count_produced_bytes(answer),
    )


def count_produced_bytes(answer: Answer) -> int:
    """Count the printed bytes that are shown or stored. Discarded output does not count, nor the
    output of a run that was stopped by the output limit."""
    result, stored = answer.result, {}
    if answer.kept is not None and result.status is not Status.OUTPUT_LIMIT:
        stored = {name: one.bytes_total for name, one in answer.kept.streams.items()}
    streams = {"stdout": result.stdout, "stderr": result.stderr}
    return sum(
        stored.get(name, stream.bytes_total - stream.bytes_omitted)
        for name, stream in streams.items()
    )


def background_reply(background: Background[Answer]) -> Reply:
    """Build the reply for a background run, with its answer once it has ended. Produced bytes are
    counted only with the first answer."""
    answer = background.answer
    return Reply(
        results.background_text(background),
        describe_background(background),
        bool(background.error) or (answer is not None and is_error(answer.result)),
        find_pictures(answer.result.artifacts) if answer else (),
        count_produced_bytes(answer) if answer and background.is_first else 0,
    )


def find_pictures(artifacts: Sequence[Artifact]) -> tuple[Mapping[str, str], ...]:
    """Return the first PICTURES_MAX artifacts that are pictures of a suitable size, as protocol
    content."""
    pictures = []
    for artifact in artifacts:
        if artifact.path and artifact.bytes and artifact.bytes <= PICTURE_BYTES_MAX:
            content = Path(artifact.path).read_bytes()
            if media_type := media_type_of(content):
                data = base64.b64encode(content).decode("ascii")
                pictures.append({"type": "image", "data": data, "mimeType": media_type})
    return tuple(pictures[:PICTURES_MAX])


def media_type_of(content: bytes) -> str | None:
    """Return the media type of a picture; None if it is unknown."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next(
        (kind for start, kind in PICTURE_SIGNATURES.items() if content.startswith(start)), None
    )
