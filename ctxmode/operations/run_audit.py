"""Verdicts on runs and what the sandbox refused them, written to the audit log; the run's answer
says if that failed."""

from __future__ import annotations

from dataclasses import replace

import trio

from ctxmode.config.locations import Config
from ctxmode.operations import audit
from executor import Request
from executor.run import Answer


async def log_verdict(config: Config, request: Request, answer: Answer) -> Answer:
    """Write the verdict and the refusals to the audit log; a failure to write becomes a note of the
    answer."""
    verdict, refusals = answer.result.verdict, answer.result.refusals
    if verdict is None:
        return answer
    text = request.code if request.code is not None else str(request.path)
    entry = audit.entry("sandbox", request.language, text, verdict, str(config.project))
    if refusals:
        from ctxmode.operations.refused_runs import summarize  # noqa: PLC0415 - few are refused

        entry["refused"] = summarize(refusals)
    # Handing one line to a thread takes longer than writing it, and the answer waits for both.
    problem = audit.write(config.log_dir, entry, wait=False)
    if problem is None:
        problem = await trio.to_thread.run_sync(audit.write, config.log_dir, entry)
    if not problem:
        return answer
    return replace(answer, note="; ".join(filter(None, (answer.note, problem))))
