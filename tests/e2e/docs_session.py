"""A session of an agent's, as its host writes it, that the documents' commands look at."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

ID = "9e2434f3-5d5e-4b0a-9a55-0c2d7f3a1b10"
AGE_S = 3 * 86_400
SUMMARY = "The client retries three times. What is left: the page that tells of it."


def write(home: Path, project: Path) -> None:
    """Write the transcript of a session of Claude Code's that ended days ago."""
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project))
    folder.mkdir(parents=True)
    lines = [json.dumps(one) + "\n" for one in _records(str(project))]
    (folder / f"{ID}.jsonl").write_text("".join(lines))


def _records(project: str) -> Iterator[dict[str, Any]]:
    numbers = count(1)

    def record(kind: str, **fields: Any) -> dict[str, Any]:
        number = next(numbers)
        at = datetime.fromtimestamp(time.time() - AGE_S + number, UTC).isoformat()
        return {"type": kind, "uuid": f"r{number}", "sessionId": ID, "cwd": project,
                "gitBranch": "main", "version": "2.1.330", "timestamp": at, **fields}  # fmt: skip

    def answer(name: str, output: int, *content: dict[str, Any]) -> dict[str, Any]:
        usage = {"input_tokens": 12, "output_tokens": output, "cache_read_input_tokens": 4000,
                 "cache_creation_input_tokens": 300}  # fmt: skip
        message = {"id": name, "role": "assistant", "model": "claude-opus", "usage": usage}
        return record("assistant", message=message | {"content": list(content)})

    def call(number: int, tool: str, **given: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}

    def result(number: int, text: str, *, failed: bool = False) -> dict[str, Any]:
        told = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
        return record("user", message={"content": [told | {"is_error": failed}]})

    def prompt(text: str) -> dict[str, Any]:
        return record("user", message={"content": text})

    yield prompt("Retry refused connections. Never retry more than three times.")
    yield answer("m1", 40, call(1, "Read", file_path=f"{project}/docs/guide.md"))
    yield result(1, "# Guide")
    yield answer("m2", 60, call(2, "Bash", command="make test"))
    yield result(2, "Exit code 2\nerror: one of 12 tests failed", failed=True)
    yield answer("m3", 180, call(3, "Edit", file_path=f"{project}/analysis.rb", old_string="a"))
    yield result(3, "done")
    yield answer("m4", 60, call(4, "Bash", command="make test"))
    yield result(4, "12 tests passed")
    boundary = record("system", subtype="compact_boundary",
        compactMetadata={"trigger": "auto", "preTokens": 167189, "postTokens": 9200})  # fmt: skip
    yield boundary
    yield record("user", isCompactSummary=True, parentUuid=boundary["uuid"],
        message={"content": SUMMARY})  # fmt: skip
    yield prompt("Now say so in the guide.")
    yield answer("m5", 90, call(5, "Edit", file_path=f"{project}/docs/guide.md", old_string="a"))
    yield result(5, "done")
    yield answer("m6", 30, {"type": "text", "text": "The guide tells of three attempts."})
