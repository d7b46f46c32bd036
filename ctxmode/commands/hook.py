"""The verb `hook`: answer an event of an agent's host (registered by setup)."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

from ctxmode import exit_codes
from ctxmode.hosts.adapters import HOSTS

REFUSED = 2  # by this hosts take a hook to refuse the call, and read stderr


def main(arguments: Sequence[str]) -> int:
    """Answer the event. Loads no parser of arguments: this runs at every tool call of a host."""
    if any(argument in ("-h", "--help") for argument in arguments):
        with open(f"{os.path.dirname(__file__)}/help/hook.txt", encoding="utf-8") as file:
            sys.stdout.write(file.read())
        return 0
    host, event_name = (*arguments, "", "")[:2]
    if host not in HOSTS or not event_name:
        return _refuse_registration(host)
    with contextlib.suppress(OSError):  # nobody asks, or nobody reads the answer
        return _answer(host, event_name, sys.stdin.buffer.read())
    return 0


def _refuse_registration(host: str) -> int:
    """Tell who registered it what is wrong. Its exit code is not 2, that of other malformed
    requests: by that hosts take a hook to refuse the call."""
    if host in HOSTS:
        problem = f"no event of {host} is named"
    else:
        problem = f"unknown host {host!r}" if host else "no host is named"
    sys.stderr.write(
        f"context-mode: hook: {problem}; nothing was decided\n"
        f"  Hosts: {', '.join(HOSTS)}. `context-mode setup HOST` registers its hooks.\n"
    )
    return exit_codes.ERROR


def _answer(host: str, event_name: str, text: bytes) -> int:
    """Print the answer, and say the exit code: 2 where that is how the host is told to refuse."""
    import json  # noqa: PLC0415 - in the order of need

    from ctxmode.hosts.hooks import run  # noqa: PLC0415
    from ctxmode.hosts.hooks.hook_types import Refusal  # noqa: PLC0415

    try:
        answer, log = run.respond(host, event_name, text, os.environ)
    except Exception as error:
        from ctxmode import crash_report  # noqa: PLC0415 - a defect of ours must not let anything pass

        answer, log = run.deny(host, event_name, crash_report.report(error).strip()), int
    is_refused = isinstance(answer, Refusal)
    if isinstance(answer, Refusal):
        with contextlib.suppress(OSError):  # it is refused all the same
            sys.stderr.write(answer + "\n")
    elif answer is not None:
        sys.stdout.write((answer if isinstance(answer, str) else json.dumps(answer)) + "\n")
        sys.stdout.flush()
    log()
    return REFUSED if is_refused else exit_codes.OK
