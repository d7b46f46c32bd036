"""The console on which people are shown tables."""

from __future__ import annotations

import os
import sys

from rich.console import Console

PIPED_COLUMNS = 200


def console() -> Console:
    """Standard output. Colours only on a terminal, and not where NO_COLOR is set: rich's own rule.

    A terminal's width is kept; into a pipe or a file lines are long, so that a path or a reason
    stays on one.
    """
    fits = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(file=sys.stdout, highlight=False, width=None if fits else PIPED_COLUMNS)
