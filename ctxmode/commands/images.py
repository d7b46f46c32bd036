"""The verb `doctor images`: build, list or remove container images."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

from base.wording import list_choices
from ctxmode import launch
from ctxmode.doctor import container_engine
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from images import GROUPS, Group, group

if TYPE_CHECKING:
    import docker

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
    from ctxmode.render import image_tables  # noqa: PLC0415 - rich
    from images.image_build import Order, make  # noqa: PLC0415 - loads Docker's SDK

    del asker
    order = Order(_choose(groups), base or None, network, fresh)
    made = _with_engine(partial(make, order=order, report=_progress))
    data = {"images": [each.to_json() for each in made]}
    show = partial(image_tables.show_made, made)
    return Answer(data, show=show, is_failure=any(each.error for each in made))


def list_images(asker: Asker, groups: Groups = ()) -> Answer:
    """List current, outdated and missing images."""
    from ctxmode.render import image_tables  # noqa: PLC0415 - rich
    from images.inventory import survey  # noqa: PLC0415 - loads Docker's SDK

    del asker
    states = _with_engine(partial(survey, groups=_choose(groups)))
    data = {"images": [state.to_json() for state in states]}
    return Answer(data, show=partial(image_tables.show_states, states))


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
