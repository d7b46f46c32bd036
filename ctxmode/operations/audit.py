"""The audit log: one line of JSON for every verdict, with secrets masked and a bounded size.

Callers write after they decide. A failed write never changes a decision; its reason is returned
as text for the caller to report.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxmode.config.locations import Config
    from executor import Request
    from executor.run import Answer


BYTES_MAX = 2 * 1024 * 1024
"""Size limit of one file. A full file is renamed to `.1`, replacing the previous `.1`."""

EXCERPT_CHARS_MAX = 240
SEARCHED_CHARS_MAX = 16 * 1024
"""Number of characters that are searched for secrets before the excerpt is cut."""

FILE_NAME = "audit.jsonl"


StrPath = str | os.PathLike[str]


def build_entry(
    surface: str, language: str, text: str, verdict: Mapping[str, Any], project: str
) -> dict[str, Any]:
    """Build the log entry of a verdict in its JSON form. `text` is the judged program. The entry
    has the time in seconds since 1970 and all rules that matched."""
    rules = dict.fromkeys(str(match["rule_id"]) for match in verdict.get("matches", ()))
    decision = str(verdict["decision"])
    if "consent" in verdict:
        decision += ", granted" if verdict["consent"] else ", refused"
    return {
        "surface": surface,
        "language": language,
        "decision": decision,
        "rules": [*rules],
        "excerpt": cut_excerpt(text),
        "project": project,
        "time": round(time.time(), 3),
    }


def cut_excerpt(text: str) -> str:
    """Cut the beginning of a text to one line, without secrets."""
    from base.secrets import redact  # noqa: PLC0415 - not every verdict is written

    masked = redact(text[:SEARCHED_CHARS_MAX])[0]
    line = " ".join(masked.split())
    return line if len(line) <= EXCERPT_CHARS_MAX else f"{line[: EXCERPT_CHARS_MAX - 1]}…"


def write_entry(folder: StrPath, entry: Mapping[str, Any], *, wait: bool = True) -> str | None:
    """Append an entry to the log, which only its owner can read. Return the error message, empty on
    success. Without `wait`, write nothing and return None while another process writes."""
    line = json.dumps(entry, ensure_ascii=True, separators=(",", ":")) + "\n"
    path = os.path.join(folder, FILE_NAME)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = _open_locked(path, wait=wait)
        try:
            if os.fstat(descriptor).st_size + len(line) > BYTES_MAX:
                os.replace(path, _older(path))
                fresh = _open_locked(path, wait=wait)
                os.close(descriptor)
                descriptor = fresh
            os.write(descriptor, line.encode("ascii"))
        finally:
            os.close(descriptor)
    except BlockingIOError:
        return None
    except OSError as error:
        return f"cannot write audit log {path}: {error.strerror or error}"
    return ""


def read_entries(folder: StrPath) -> Iterator[Mapping[str, Any]]:
    """Yield all stored entries, oldest first; skip lines that a crash cut off. Raise OSError if the
    log cannot be read."""
    path = os.path.join(folder, FILE_NAME)
    for part in (_older(path), path):
        try:
            with open(part, "rb") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            continue
        for line in lines:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                yield found


def _older(path: str) -> str:
    return f"{path}.1"


def _open_locked(path: str, *, wait: bool = True) -> int:
    """Open the file, locked against other writers, and check that the path still refers to it."""
    lock = fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)
    while True:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, lock)
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except FileNotFoundError:
            pass
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)


async def log_verdict(config: Config, request: Request, answer: Answer) -> Answer:
    """Write the verdict and the refusals to the audit log; add a note to the answer if that
    fails."""
    import trio  # noqa: PLC0415 - hooks load this module

    verdict, refusals = answer.result.verdict, answer.result.refusals
    if verdict is None:
        return answer
    text = request.code if request.code is not None else str(request.path)
    entry = build_entry("sandbox", request.language, text, verdict, str(config.project))
    if refusals:
        from ctxmode.operations.usage import summarize  # noqa: PLC0415 - few are refused

        entry["refused"] = summarize(refusals)
    # Handing one line to a thread takes longer than writing it, and the answer waits for both.
    problem = write_entry(config.log_dir, entry, wait=False)
    if problem is None:
        problem = await trio.to_thread.run_sync(write_entry, config.log_dir, entry)
    if not problem:
        return answer
    from dataclasses import replace  # noqa: PLC0415 - as above

    return replace(answer, note="; ".join(filter(None, (answer.note, problem))))
