"""Whether pages can be kept, are begun in a project, and whether turns are captured for them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from ctxmode.config.file_names import has_drafts
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError
from ctxmode.operations.page_place import find_repository
from ctxmode.operations.pages import is_captured
from memory.pages.errors import GitError
from memory.pages.git import find_git


@dataclass(frozen=True, slots=True)
class PagesHealth:
    """How pages fare: the program git, empty where there is none; whether they are begun here, and
    turns captured. `reason` and `remedy` say what is amiss."""

    git: str
    is_begun: bool
    captures: bool
    reason: str = ""
    remedy: str = ""

    @property
    def summary(self) -> str:
        """Say it in a line."""
        if self.reason:
            return f"not to be had: {self.reason}"
        if not self.is_begun:
            return f"{self.git}, not begun here (context-mode pages init)"
        return f"{self.git}, begun, turns are {'captured' if self.captures else 'not captured'}"


def check_pages(config: Config, environ: Mapping[str, str] = os.environ) -> PagesHealth:
    """Look whether pages can be kept, and are."""
    captures = is_captured(config, environ)
    try:
        git = find_git()
    except GitError as error:
        begun = has_drafts(str(config.project))
        return PagesHealth("", begun, captures, error.message, error.remedy)
    try:
        is_begun = has_drafts(str(config.project)) and (find_repository(config) / "HEAD").is_file()
    except ContextModeError as error:
        return PagesHealth(git, False, captures, error.message, error.hint)
    return PagesHealth(git, is_begun, captures)
