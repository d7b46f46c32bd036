"""A pipeline under way as a person sees it: a line for each case that is done, then what runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ctxmode.pipelines import reports
from ctxmode.pipelines.model import CaseStatus, Outcome
from ctxmode.render.highlight import harmless

STYLES = {CaseStatus.PASSED: "green", CaseStatus.FAILED: "red", CaseStatus.SKIPPED: "yellow"}


@dataclass(slots=True)
class PipelineProgress:
    """What is done of `total` cases, and since when the others run."""

    out: Console
    total: int
    done: int = 0
    running: dict[str, float] = field(default_factory=dict)

    def begin_case(self, name: str) -> None:
        """Note that a case runs from now on."""
        self.running[name] = time.monotonic()

    def end_case(self, outcome: Outcome) -> None:
        """Show that a case is done, whether it ran or not."""
        self.running.pop(outcome.name, None)
        self.done += 1
        text = Text(harmless(reports.line(outcome)))
        text.stylize(STYLES[outcome.verdict], 0, len(reports.mark(outcome)))
        self.out.print(text, soft_wrap=True)

    def __rich__(self) -> Text:
        now = time.monotonic()
        names = ", ".join(f"{name} {now - since:.0f} s" for name, since in self.running.items())
        return Text(f"{self.done} of {self.total} done; running: {names or '-'}", no_wrap=True)


@contextmanager
def progress(total: int) -> Iterator[PipelineProgress]:
    """Show it on stderr; what runs only on a terminal, where it is gone at the end."""
    shown = PipelineProgress(Console(stderr=True, highlight=False), total)
    if not sys.stderr.isatty():
        yield shown
        return
    with Live(shown, console=shown.out, transient=True):
        yield shown
