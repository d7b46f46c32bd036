"""The verb `hook`: answer a hook event of an agent's host (registered by setup)."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

from ctxmode import exit_codes
from ctxmode.hosts.registry import HOSTS

REFUSED = 2  # by this code a hook refuses the call, and hosts read stderr


def main(arguments: Sequence[str]) -> int:
    """Answer the event. Loads no argument parser, as this runs at every tool call."""
    if any(argument in ("-h", "--help") for argument in arguments):
        with open(f"{os.path.dirname(__file__)}/help/hook.txt", encoding="utf-8") as file:
            sys.stdout.write(file.read())
        return 0
    host, event_name = (*arguments, "", "")[:2]
    if host not in HOSTS or not event_name:
        return _refuse_registration(host)
    with contextlib.suppress(OSError):  # a closed stream
        return _answer(host, event_name, sys.stdin.buffer.read())
    return 0


def _refuse_registration(host: str) -> int:
    """Report a wrong registration. The exit code is not 2, as hosts refuse the call for 2."""
    if host in HOSTS:
        problem = f"missing EVENT after {host}"
    else:
        problem = f"unknown host {host!r}" if host else "missing HOST"
    sys.stderr.write(
        f"context-mode: hook: {problem}; nothing was decided\n"
        f"  Hosts: {', '.join(HOSTS)}. `context-mode setup HOST` registers its hooks.\n"
    )
    return exit_codes.ERROR


def _answer(host: str, event_name: str, text: bytes) -> int:
    """Print the answer and return the exit code: 2 if it refuses a call."""
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
        with contextlib.suppress(OSError):  # the call is refused anyway
            sys.stderr.write(answer + "\n")
    elif answer is not None:
        sys.stdout.write((answer if isinstance(answer, str) else json.dumps(answer)) + "\n")
        sys.stdout.flush()
    log()
    return REFUSED if is_refused else exit_codes.OK
