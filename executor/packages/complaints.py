"""Why a phase failed, in words: what the proxy refused, what a limit met, what the tool said."""

from __future__ import annotations

import re

from executor.model import Connection, Result, Status
from executor.spawner.artifacts import TOO_LARGE
from runtimes.packages.model import Ecosystem

LINES_MAX = 6
LINE_CHARS_MAX = 300
_LIMITS = {
    Status.DISK_LIMIT: "what it unpacks to is more than may be written",
    Status.TIMED_OUT: "it took longer than it may",
    Status.CPU_LIMIT: "it took more processor time than it may",
    Status.MEMORY_LIMIT: "it took more memory than it may",
    Status.OUTPUT_LIMIT: "its tool printed more than it may",
    Status.PROCESS_LIMIT: "it started more processes than it may",
}
_FULL = re.compile(r"No space left on device|ENOSPC|[Dd]isk quota exceeded")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
NOT_ALLOWED = "the profile does not name it"


def explain(row: Ecosystem, phase: str, result: Result, bytes_max: int) -> tuple[str, str]:
    """Return the message and the hint for a phase that failed, or left what is not handed back.

    `bytes_max` is what it may leave.
    """
    head = f"packages of {row.title} were not {_DONE[phase]}"
    if result.ok and result.artifacts:
        return _explain_kept_back(head, result.artifacts[0].reason, bytes_max)
    said = [_ESCAPES.sub("", line).rstrip() for line in result.stderr.text.splitlines()]
    text = "\n".join(line[:LINE_CHARS_MAX] for line in said if line.strip())
    status = Status.DISK_LIMIT if _FULL.search(text) else result.status
    if status in _LIMITS:
        return f"{head}: {_LIMITS[status]}", "name fewer or smaller packages"
    if result.status not in (Status.OK, Status.NONZERO_EXIT):
        return f"{head}: {result.message or result.status.value}", "try again"
    refused = [one for one in result.connections if one.reason]
    for one in refused:
        if not one.allowed:
            return _explain_refused(row, head, one)
    for one in refused:
        return (
            f"{head}: the registry {one.host} did not answer: {one.reason}",
            "try again, or name a registry that answers under "
            f"[packages.{row.name}] in your configuration",
        )
    why = next((words for pattern, words in row.complaints if re.search(pattern, text)), "")
    tail = "\n".join(text.splitlines()[-LINES_MAX:])
    return f"{head}: {why or f'its tool ended with {result.exit_code}'}\n{tail}".rstrip(), ""


_DONE = {"lock": "locked", "fetch": "fetched", "build": "built"}


def _explain_kept_back(head: str, reason: str, bytes_max: int) -> tuple[str, str]:
    if TOO_LARGE not in reason:
        return f"{head}: what they unpack to is not kept: {reason}", ""
    return (
        f"{head}: what they unpack to is larger than {bytes_max:,} bytes",
        "name fewer or smaller packages, or set a larger layer_bytes under [packages] in your "
        "configuration",
    )


def _explain_refused(row: Ecosystem, head: str, refused: Connection) -> tuple[str, str]:
    where = refused.host if refused.port in (0, 443) else f"{refused.host}:{refused.port}"
    table = f"[packages.{row.name}] in your configuration"
    if "not public" in refused.reason:
        return (
            f"{head}: the registry {where} {refused.reason}",
            f"if it is your network's own, say private = true under {table}",
        )
    if refused.reason == NOT_ALLOWED or "port" in refused.reason:
        return (
            f"{head}: {where} is none of its registries",
            f"if packages are to come from there, name it in hosts under {table}",
        )
    return f"{head}: {where}: {refused.reason}", f"name a registry under {table}"
