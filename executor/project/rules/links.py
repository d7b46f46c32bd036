"""Where a link that a run made would lead: it must not lead out of the project."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence

HOPS_MAX = 40  # as the kernel's own
# What every view shows for reading only, and no program of a run can have written.
SYSTEM_TREES = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt")


class Links:
    """Follows links by name alone: of the project, and of the changes that are to be applied."""

    def __init__(
        self, project: str, link_at: Callable[[str], str | None], shown: Sequence[str]
    ) -> None:
        """Ask `link_at` for the target of a relative path, None where there is no link."""
        self.project = project
        self.link_at = link_at
        self.trees = [os.path.realpath(tree) for tree in (*SYSTEM_TREES, *shown)]

    def why_refused(self, path: str, target: str) -> str:
        """Return why a link of the project must not be made; nothing where it may."""
        if not target or "\0" in target:
            return "it leads nowhere"
        if _goes_down_and_up(target):
            # What it goes through may be exchanged for a link by a later run.
            return "its target goes into a folder and out of it again"
        if not self._stays(os.path.dirname(os.path.join(self.project, path)), target):
            return "it leads out of the project"
        return ""

    def _stays(self, beside: str, target: str) -> bool:
        """Return whether a link in the folder `beside` ends in the project, or a system's tree."""
        at = "/" if target.startswith("/") else beside
        left = target.split("/")[::-1]
        hops = 1
        while left:
            name = left.pop()
            if name in ("", "."):
                continue
            at = os.path.dirname(at) if name == ".." else os.path.join(at, name)
            if not self._is_inside(at):
                if self.project.startswith(at.rstrip("/") + "/"):
                    continue  # on the way to it
                return self._is_shown(os.path.join(at, *left[::-1]))
            onward = self.link_at(at[len(self.project) + 1 :])
            if onward is None:
                continue
            hops += 1
            if hops > HOPS_MAX:
                return False
            at = "/" if onward.startswith("/") else os.path.dirname(at)
            left += onward.split("/")[::-1]
        return self._is_inside(at)

    def _is_inside(self, path: str) -> bool:
        return path == self.project or path.startswith(f"{self.project}/")

    def _is_shown(self, path: str) -> bool:
        real = os.path.realpath(path)
        return any(real == tree or real.startswith(f"{tree}/") for tree in self.trees)


def _goes_down_and_up(target: str) -> bool:
    """Return whether `..` comes after a name."""
    names = (name for name in target.split("/") if name not in ("", "."))
    return ".." in itertools.dropwhile("..".__eq__, names)
