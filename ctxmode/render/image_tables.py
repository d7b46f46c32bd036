"""Tables of container images for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ctxmode.render import terminal
from ctxmode.render.highlight import size
from images.image_build import Made
from images.inventory import ImageState, State

STYLES = {State.CURRENT: "green", State.OUTDATED: "yellow", State.MISSING: "red"}


def show_states(states: Sequence[ImageState]) -> None:
    """Show the images, and the commands that update those that are not current."""
    table = terminal.build_table("image", "state", "size", "reference")
    for it in states:
        how_large = size(it.size_bytes) if it.size_bytes else ""
        state = Text(it.state.value, STYLES[it.state])
        table.add_row(it.group, state, how_large, Text(it.reference))
    console = terminal.console()
    console.print(table)
    for remedy in dict.fromkeys(it.remedy for it in states if it.remedy):
        console.print(Text(f"  {remedy}"))


def show_made(made: Sequence[Made]) -> None:
    """Show the built images and their languages, then the failed ones with their output."""
    table = terminal.build_table("image", "built", "size", "took", "runs")
    for it in made:
        ok = Text("no", "red") if it.error else Text("yes", "green")
        how_large = size(it.size_bytes) if it.size_bytes else ""
        table.add_row(it.group.name, ok, how_large, f"{it.took_s:.0f} s", Text(_running(it)))
    console = terminal.console()
    console.print(table)
    for it in made:
        if it.error:
            parts = (f"{it.group.name}: {it.error.message}", it.error.output, it.error.hint)
            console.print(Text("\n" + "\n".join(part for part in parts if part)))


def _running(made: Made) -> str:
    return ", ".join(
        f"{check.language} by {check.toolchain} {check.start_ms:.0f} ms"
        for check in made.checks
        if check.start_ms is not None
    )
