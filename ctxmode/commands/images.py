"""The verb `doctor images`: build, list or remove container images."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

from rich.text import Text

from base.wording import list_choices
from ctxmode import launch
from ctxmode.doctor import container_engine
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from ctxmode.render import terminal
from ctxmode.render.highlight import size
from images import GROUPS, Group, group

if TYPE_CHECKING:
    import docker

    from images.image_build import Made
    from images.inventory import ImageState

T = TypeVar("T")


Groups: TypeAlias = Annotated[
    tuple[str, ...],
    Arg(f"default: all ({', '.join(each.name for each in GROUPS)})", "GROUP"),
]


def build_images(
    asker: Asker,
    groups: Groups = (),
    *,
    base: Annotated[str, Arg("base image with apt", "IMAGE")] = "",
    network: Annotated[str, Arg("network of builds (default: host)", "MODE")] = "host",
    fresh: Annotated[bool, Arg("install all packages again")] = False,
) -> Answer:
    """Build and test images that are not current."""
    from images.image_build import Builder  # noqa: PLC0415 - loads Docker's SDK

    del asker
    builder = Builder(_progress, base=base or None, network=network, fresh=fresh)
    made = _with_engine(partial(builder.make, groups=_choose(groups)))
    data = {"images": [each.to_json() for each in made]}
    show = partial(_show_made, made)
    return Answer(data, show=show, is_failure=any(each.error for each in made))


def list_images(asker: Asker, groups: Groups = ()) -> Answer:
    """List current, outdated and missing images."""
    from images.inventory import survey  # noqa: PLC0415 - loads Docker's SDK

    del asker
    states = _with_engine(partial(survey, groups=_choose(groups)))
    data = {"images": [state.to_json() for state in states]}
    return Answer(data, show=partial(_show_states, states))


def remove_images(
    asker: Asker,
    groups: Groups = (),
    *,
    outdated: Annotated[bool, Arg("keep those that are current")] = False,
) -> Answer:
    """Remove images built by this program."""
    from images.inventory import remove  # noqa: PLC0415 - loads Docker's SDK

    del asker
    removed = _with_engine(partial(remove, groups=_choose(groups), outdated_only=outdated))
    text = "\n".join(f"removed {name}" for name in removed) or "nothing to remove"
    return Answer({"removed": list(removed)}, text)


def _choose(names: Sequence[str]) -> tuple[Group, ...]:
    known = [each.name for each in GROUPS]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"unknown image {unknown[0]!r}", list_choices(unknown[0], known))
    return tuple(dict.fromkeys(group(name) for name in names)) or GROUPS


OPERATIONS: dict[str, Operation] = {
    "build": build_images,
    "list": list_images,
    "remove": remove_images,
}


def _with_engine(action: Callable[[docker.APIClient], Awaitable[T]]) -> T:
    """Run an action with the container engine; raise its errors as ContextModeError."""
    from images.inventory import ImageError  # noqa: PLC0415 - loads Docker's SDK

    async def use_engine() -> T:
        engine = await container_engine.connect()
        try:
            return await action(engine.api)
        except ImageError as error:
            output = f"\n{error.output}" if error.output else ""
            raise ContextModeError(f"{error.message}{output}", error.hint) from error

    return launch.run_in_trio(use_engine)


def _progress(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


STYLES = {"current": "green", "outdated": "yellow", "missing": "red"}


def _show_states(states: Sequence[ImageState]) -> None:
    """Show the images, and the commands that update those that are not current."""
    table = terminal.build_table("image", "state", "size", "reference")
    for it in states:
        how_large = size(it.size_bytes) if it.size_bytes else ""
        state = Text(it.state.value, STYLES[it.state.value])
        table.add_row(it.group, state, how_large, Text(it.reference))
    console = terminal.console()
    console.print(table)
    for remedy in dict.fromkeys(it.remedy for it in states if it.remedy):
        console.print(Text(f"  {remedy}"))


def _show_made(made: Sequence[Made]) -> None:
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
