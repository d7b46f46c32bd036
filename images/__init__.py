"""Container images in which the languages run, and their builder. Data first.

Only `images.image_build`, `images.base` and `images.inventory` use an engine and load Docker's SDK.
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
