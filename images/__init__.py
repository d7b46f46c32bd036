"""Container images in which the languages run, and their builder. Data first.

What talks to an engine is in `images.image_build` and `images.inventory`, which load Docker's SDK.
"""

from images.groups import (
    GROUPS,
    LABEL,
    Group,
    UnknownGroup,
    group,
    group_for,
    reference,
    repository,
)

__all__ = [
    "GROUPS",
    "LABEL",
    "Group",
    "UnknownGroup",
    "group",
    "group_for",
    "reference",
    "repository",
]
