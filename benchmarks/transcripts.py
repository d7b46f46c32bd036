"""Transcripts of Claude Code's shape, made up: what benchmarks import.

Kinds of lines and their sizes are as in 56 real sessions (168 MB): results of tools are two thirds
of the bytes, most of them twice in their line.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_WORDS = """
the parser reads each token and returns a value for its caller when the table of rules says so
which def class import from self None return yield with open path as file if not else
"""


def write_transcript(path: Path, bytes_min: int, *, session: str, cwd: str, seed: int = 0) -> None:
    """Write at least so many bytes to the end of a transcript; another seed goes on otherwise."""
    written = 0
    with path.open("a", encoding="utf-8") as file:
        for record in _make_records(random.Random(seed), session, cwd, f"s{seed}"):
            line = json.dumps(record) + "\n"
            file.write(line)
            written += len(line)
            if written >= bytes_min:
                return


def _make_records(
    chance: random.Random, session: str, cwd: str, prefix: str
) -> Iterator[dict[str, Any]]:
    """Yield records without end: a prompt, then some calls with their results."""
    number = 0

    def record(kind: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        nonlocal number
        number += 1
        at = f"2026-01-{1 + number // 86_400 % 28:02}T{number // 3600 % 24:02}"
        return {
            "parentUuid": f"{prefix}-{number - 1}",
            "isSidechain": False,
            "userType": "external",
            "cwd": cwd,
            "sessionId": session,
            "version": "2.1.330",
            "gitBranch": "main",
            "type": kind,
            "uuid": f"{prefix}-{number}",
            "timestamp": f"{at}:{number // 60 % 60:02}:{number % 60:02}.000Z",
            **fields,
        }

    while True:
        said = f"Now mend part {number} of the parser. It must not be slower than before."
        yield record("user", message={"role": "user", "content": f"{said} {_text(chance, 900)}"})
        yield record("file-history-snapshot", snapshot={"trackedFileBackups": _text(chance, 600)})
        for _ in range(chance.randrange(4, 14)):
            yield from _call(chance, record, cwd)


def _call(chance: random.Random, record: Any, cwd: str) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    key = f"toolu_{chance.getrandbits(64):016x}"
    path = f"{cwd}/src/{chance.choice('abcdef')}/module_{int(chance.expovariate(0.03))}.py"
    result, given, tool = _text(chance, min(int(chance.expovariate(1 / 5000)), 60_000)), {}, "Read"
    extra: dict[str, Any]
    choice = chance.random()
    if choice < 0.4:
        tool, given = "Bash", {"command": f"make check-{chance.randrange(40)} 2>&1 | tail -20"}
        extra = {"stdout": result, "stderr": "", "interrupted": False}
    elif choice < 0.6:
        old = _text(chance, 400)
        tool, given = "Edit", {"file_path": path, "old_string": old, "new_string": old[:200]}
        extra = {"filePath": path, "originalFile": result, "structuredPatch": []}
        result = "The file was updated."
    else:
        given = {"file_path": path}
        extra = {"type": "text", "file": {"filePath": path, "content": result}}
    thinking = {"type": "thinking", "thinking": _text(chance, 900), "signature": "x" * 900}
    usage = {"input_tokens": 3, "output_tokens": chance.randrange(900)}
    usage["cache_read_input_tokens"] = 90_000
    message = {"id": f"msg_{key}", "role": "assistant", "model": "claude-x", "usage": usage}
    said = {"type": "text", "text": _text(chance, 300)}
    for block in (thinking, said, {"type": "tool_use", "id": key, "name": tool, "input": given}):
        yield record("assistant", requestId=f"req_{key}", message={**message, "content": [block]})
    yield record("progress", data={"type": "hook_progress", "hookName": _text(chance, 900)})
    failed = {"is_error": True} if chance.random() < 0.06 else {}
    done = {"type": "tool_result", "tool_use_id": key, "content": result, **failed}
    yield record("user", message={"role": "user", "content": [done]}, toolUseResult=extra)


def _text(chance: random.Random, chars: int) -> str:
    words = chance.choices(_WORDS.split(), k=chars // 5 + 1)
    return "\n".join(" ".join(words[at : at + 12]) for at in range(0, len(words), 12))[:chars]
