"""The verb `images`: make, list or remove the container images in which programs run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ctxmode import exit_codes, launch
from ctxmode.doctor import container_engine
from ctxmode.errors import ContextModeError, UsageError, or_all
from ctxmode.launch import print_answer, print_json
from images import GROUPS, Group, group

if TYPE_CHECKING:
    import docker

T = TypeVar("T")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    build = actions.add_parser("build", help="make what is not current, and prove it")
    build.add_argument("--base", metavar="IMAGE", help="what to build on: anything with apt")
    build.add_argument(
        "--network", metavar="MODE", default="host", help="the builds' network (default: host)"
    )
    build.add_argument("--fresh", action="store_true", help="install all packages anew")
    listing = actions.add_parser("list", help="show which are current, outdated or missing")
    remove = actions.add_parser("remove", help="remove images that this program made")
    remove.add_argument("--outdated", action="store_true", help="keep those that are current")
    for action in (build, listing, remove):
        names = ", ".join(each.name for each in GROUPS)
        action.add_argument("groups", nargs="*", metavar="GROUP", help=f"default: all ({names})")
        action.add_argument("--json", action="store_true", help="as docs/cli.md tells")


def run(args: argparse.Namespace) -> int:
    known = [each.name for each in GROUPS]
    unknown = [name for name in args.groups if name not in known]
    if unknown:
        raise UsageError(f"unknown image {unknown[0]!r}", or_all(unknown[0], known, "Choose from"))
    groups = tuple(dict.fromkeys(group(name) for name in args.groups)) or GROUPS
    action: Callable[[argparse.Namespace, tuple[Group, ...]], int] = ACTIONS[args.action]
    return action(args, groups)


def _build(args: argparse.Namespace, groups: tuple[Group, ...]) -> int:
    from images.making import Order, make  # noqa: PLC0415 - loads Docker's SDK

    order = Order(groups, args.base, args.network, args.fresh)
    made = _with_engine(partial(make, order=order, report=_progress))
    if args.json:
        print_json({"images": [each.to_json() for each in made]})
    else:
        from ctxmode.render.image_tables import show_made  # noqa: PLC0415 - rich is for people only

        show_made(made)
    return exit_codes.ERROR if any(each.error for each in made) else exit_codes.OK


def _list(args: argparse.Namespace, groups: tuple[Group, ...]) -> int:
    from images.inventory import survey  # noqa: PLC0415 - loads Docker's SDK

    states = _with_engine(partial(survey, groups=groups))
    if args.json:
        print_json({"images": [state.to_json() for state in states]})
    else:
        from ctxmode.render.image_tables import show_states  # noqa: PLC0415 - rich is for people only

        show_states(states)
    return exit_codes.OK


def _remove(args: argparse.Namespace, groups: tuple[Group, ...]) -> int:
    from images.inventory import remove  # noqa: PLC0415 - loads Docker's SDK

    removed = _with_engine(partial(remove, groups=groups, outdated_only=args.outdated))
    text = "\n".join(f"removed {name}" for name in removed) or "nothing to remove"
    print_answer(args, {"removed": list(removed)}, text)
    return exit_codes.OK


ACTIONS: dict[str, Callable[[argparse.Namespace, tuple[Group, ...]], int]] = {
    "build": _build,
    "list": _list,
    "remove": _remove,
}


def _with_engine(action: Callable[[docker.APIClient], Awaitable[T]]) -> T:
    """Do one thing with the engine that answers; word what it refuses as a ContextModeError."""
    from images.inventory import ImageError  # noqa: PLC0415 - loads Docker's SDK

    async def use_engine() -> T:
        engine = await container_engine.connect()
        try:
            return await action(engine.api)
        except ImageError as error:
            output = f"\n{error.output}" if error.output else ""
            raise ContextModeError(f"{error.message}{output}", error.hint) from error

    return launch.run(use_engine)


def _progress(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
