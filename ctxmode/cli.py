"""The entry point of `context-mode`: a hook with nothing to do ends before modules load, and the
shared instance does what it can, so that nothing else is loaded here."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; no exception leaves it. Without `argv` this
    process runs only the command and ends after it."""
    if argv is not None or sys.argv[1:2] not in (["hook"], ["run"], ["serve"]):
        return _run_here(argv)
    if sys.argv[1] == "hook":
        from ctxmode.hosts.hooks import capture_skips  # noqa: PLC0415 - hooks start with every turn

        if capture_skips.has_nothing_to_do(sys.argv[2:]):
            os._exit(0)
    from ctxmode.shared_instance import client  # noqa: PLC0415 - the other verbs do without

    is_wanted = client.is_wanted(os.environ)
    try:
        code = client.have_done(sys.argv[1:]) if is_wanted else None
    except KeyboardInterrupt:  # before the instance has begun
        os._exit(130)  # INTERRUPTED in `exit_codes`
    if code is None:
        code = _run_here(None)
        if is_wanted and sys.argv[1] != "serve":
            client.start()
    if sys.argv[1] == "hook":
        os._exit(code)  # a host waits: unloading modules takes a twentieth of its time
    return code


def _run_here(argv: Sequence[str] | None) -> int:
    from ctxmode import command_line  # noqa: PLC0415 - it loads what the others need

    return command_line.main(argv)
