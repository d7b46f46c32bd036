"""Container images in which the languages run, and their builder. Data first."""

from images.groups import GROUPS, Group, UnknownGroup, group, group_for
from images.naming import LABEL, reference, repository

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
