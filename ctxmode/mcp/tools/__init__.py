"""The tools, a module each; a new one is a file here and its name in `NAMES`.

A module is loaded when its tool is first called.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ctxmode.config.file_names import has_drafts

if TYPE_CHECKING:
    from ctxmode.mcp.tool import Tool

NAMES = (
    "ctx_execute",
    "ctx_execute_file",
    "ctx_background",
    "ctx_batch_execute",
    "ctx_index",
    "ctx_fetch_and_index",
    "ctx_search",
    "ctx_pack",
    "ctx_session",
    "ctx_memory",
    "ctx_pages",
    "ctx_purge",
    "ctx_changes",
    "ctx_stats",
    "ctx_doctor",
)
STAGED_ONLY = "ctx_changes"
PAGES_ONLY = "ctx_pages"


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that are served, by their names. Who goes through it finds those of pages only
    once pages are begun in one of the projects: each `tools/list` looks anew."""

    everywhere: tuple[str, ...]
    with_pages: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[str]:
        are_pages_begun = any(map(has_drafts, self.projects))
        return iter(self.with_pages if are_pages_begun else self.everywhere)

    @property
    def callable(self) -> tuple[str, ...]:
        """All that are ever listed: a call without pages says how they are begun."""
        return self.with_pages or self.everywhere


def load(name: str) -> Tool:
    """Return the row of one of `NAMES`."""
    module = importlib.import_module(f"{__name__}.{name.removeprefix('ctx_')}")
    return cast("Tool", module.TOOL)


def list_offered(*, staging: bool = False, pages: bool = False) -> tuple[str, ...]:
    """List the names of the tools that are served where nobody chose any: some only where runs are
    staged, or pages are begun."""
    absent = {STAGED_ONLY: not staging, PAGES_ONLY: not pages}
    return tuple(name for name in NAMES if not absent.get(name))
