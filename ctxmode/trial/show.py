"""The trial as a person at a terminal sees it."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ctxmode.render import terminal
from ctxmode.render.amounts import size
from ctxmode.trial.steps import LargeOutput, Trial, TrialAnswer


class TrialProgress:
    """Says which language has answered, on a terminal only."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def tell(self, answered: TrialAnswer) -> None:
        if self._stream.isatty():
            mark = "ok" if answered.correct else "WRONG"
            self._stream.write(f"{answered.language}: {mark} in {answered.wall_s:.2f} s\n")


def show(trial: Trial) -> None:
    """Print the whole of it."""
    console = terminal.console()
    parts = ", ".join(f"{part.name} {size(part.bytes)}" for part in trial.input.parts)
    console.print(Text(f"Input: {size(len(trial.input.content))} of this machine: {parts}"))
    console.print(_answers(trial))
    if trial.missing:
        console.print(Text(f"Not here: {', '.join(trial.missing)} (context-mode doctor says why)"))
    if trial.listed is not None:
        _show_listed(console, trial.listed)
    console.print(Text(_summary(trial), style="green" if trial.ok else "red"))
    for problem in trial.problems:
        console.print(Text(f"  {problem}", style="red"))


def _answers(trial: Trial) -> Table:
    title = f"\nEach language read all of it, in sandbox tier {trial.tier}"
    columns = ("language", "question", "answer", "right", "time", "read", "returned")
    right = ("answer", "time", "read", "returned")
    table = terminal.build_table(*columns, right=right, title=title)
    for a in trial.answers:
        table.add_row(
            a.language,
            a.question,
            Text(a.printed[:60]),
            Text("yes", style="green") if a.correct else Text("no", style="red"),
            f"{a.wall_s:.2f} s",
            size(a.bytes_read),
            size(a.bytes_returned),
        )
    return table


def _show_listed(console: Console, listed: LargeOutput) -> None:
    console.print(
        Text(
            f"\nA large output of {size(listed.bytes_total)}: {size(listed.bytes_returned)} came "
            f"back, {size(listed.bytes_indexed)} are searchable as {listed.output_id}"
        )
    )
    for found in listed.searches:
        where = f"bytes {found.start_byte} to {found.end_byte}"
        mark = "found" if found.correct else "WRONG"
        console.print(
            Text(f"  search {found.query}: {mark} in {where}: {found.expected_line[:60]}")
        )


def _summary(trial: Trial) -> str:
    right = sum(answer.correct for answer in trial.answers)
    read = size(sum(answer.bytes_read for answer in trial.answers))
    returned = size(sum(answer.bytes_returned for answer in trial.answers))
    return (
        f"\n{right} of {len(trial.answers)} languages right; {read} read, {returned} returned; "
        f"{trial.wall_s:.1f} s."
    )
