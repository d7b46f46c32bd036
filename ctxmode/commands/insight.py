"""The verb `doctor insight`: show stored data in a browser, or write one HTML file."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from ctxmode import command_line, exit_codes, launch
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError


def run_verb(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    if args.html is not None:
        if args.open or args.port is not None:
            raise UsageError("--html serves nothing", "Leave out --port and --open.")
        from ctxmode.insight.site import write_file  # noqa: PLC0415 - few write one

        path = Path(args.html).absolute()
        size = write_file(config, path)
        sys.stderr.write(f"context-mode: wrote {path}: {size} bytes\n")
        return exit_codes.OK
    from ctxmode.insight.site import serve_insight  # noqa: PLC0415 - only who serves pays

    command_line.resume_collection()
    announce = partial(_announce, opens=args.open)
    launch.run_in_trio(partial(serve_insight, config, args.port or 0, announce))
    sys.stderr.write("context-mode: nobody looked for 30 minutes\n")
    return exit_codes.OK


def _announce(address: str, *, opens: bool) -> None:
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    if opens:
        import webbrowser  # noqa: PLC0415 - as above

        webbrowser.open(address)
