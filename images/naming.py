"""What images are called: by a digest of all that goes into them.

An image is current if one of its name is there; others of its repository are outdated. The prefix
`localhost/` keeps an engine from ever looking for them at a public registry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Final

from images import context
from images.groups import Group

PREFIX: Final = "localhost/context-mode"
LABEL: Final = "context-mode.image"
"""Every image of ours bears it, and nothing else does: its value is the group's name, or `base`."""
BASE_LABEL: Final = "context-mode.base"
"""The id of what an image was built on: ids tell no names of hosts."""
STAGE_LABEL: Final = "context-mode.stage"
"""What a build leaves behind bears it, with the build's own id, so that it can take it away."""

_DIGITS = 16


def repository(group: Group) -> str:
    """What all images of a group are called, whichever their content."""
    return f"{PREFIX}/{group.name}"


@cache
def reference(group: Group) -> str:
    """The name of the group's current image: its repository, and what it holds as its tag."""
    inside = {f"image/{name}": content for name, content in context.for_image().items()}
    return f"{repository(group)}:{digest({**context.for_toolchains(group), **inside})}"


@cache
def toolchains_reference(group: Group) -> str:
    """The name of what the current image is built on: its toolchains, without this program."""
    return f"{repository(group)}-toolchains:{digest(context.for_toolchains(group))}"


def digest(entries: Mapping[str, bytes]) -> str:
    """Of names and contents: the same wherever the program is installed."""
    total = hashlib.sha256()
    for name, content in sorted(entries.items()):
        total.update(f"{name}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()[:_DIGITS]
