"""The entry point of `context-mode`: a hook with nothing to do ends before modules load."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; no exception leaves it. Without `argv` this
    process runs only the command and ends after it."""
    if argv is None and sys.argv[1:2] == ["hook"]:
        from ctxmode.hosts.hooks import capture_skips  # noqa: PLC0415 - hooks start with every turn

        if capture_skips.has_nothing_to_do(sys.argv[2:]):
            os._exit(0)  # as `command_line` does, which says why
    from ctxmode import command_line  # noqa: PLC0415 - it loads what the others need

    return command_line.main(argv)
