"""What of a repository's own folder may be committed, in which order, and what ends an operation.

See gitrepository-layout(5), and Mercurial's `help internals`. What stands in no list waits for a
person: a version to come, or an extension, may obey it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UnitRules:
    """One version control system's; paths are relative to its own folder.

    `marks` make a folder a repository. `never` is the least that is never committed, whatever the
    table of names says. `ongoing` exists while an operation is in progress. `fixed` never changes
    once it is there. `litter` is dropped. `phases` are in order; what matches none comes first.
    """

    marks: Callable[[Callable[[str], bool]], bool]
    known: re.Pattern[str]
    never: re.Pattern[str]
    ongoing: re.Pattern[str]
    fixed: re.Pattern[str]
    litter: re.Pattern[str]
    phases: tuple[re.Pattern[str], ...]
    ending: str  # what ends an operation

    def phase(self, inside: str) -> int:
        """When a path is put into place, among those of its repository."""
        for number, pattern in reversed([*enumerate(self.phases, 1)]):
            if pattern.match(inside):
                return number
        return 0


def _paths(*alternatives: str) -> re.Pattern[str]:
    """A path that is one of these, or below it."""
    return re.compile(rf"(?:{'|'.join(alternatives)})(?:/|\Z)", re.DOTALL)


_WORKTREE = r"(?:worktrees/[^/]+/)?"  # of another working tree, in the same repository

GIT = UnitRules(
    marks=lambda has: has("HEAD") and (has("objects") or has("commondir")),
    known=_paths(
        r"objects", r"packed-refs", r"shallow", r"sharedindex\.[0-9a-f]+", r"description",
        r"info", r"rr-cache", r"lfs", r"reftable", r"gc\.log", r"worktrees", r"worktrees/[^/]+",
        rf"{_WORKTREE}(?:refs|logs|index|[A-Z_]*HEAD|[A-Z_]*MSG|EDIT_DESCRIPTION|MERGE_MODE)",
        rf"{_WORKTREE}(?:MERGE_RR|MERGE_AUTOSTASH|AUTO_MERGE|BISECT_[A-Z_]*|locked)",
        rf"{_WORKTREE}(?:rebase-merge|rebase-apply|sequencer|RENAMED-REF|addp-hunk-edit\.diff)",
        rf"{_WORKTREE}info",
    ),
    never=_paths(
        r"hooks", r"config[^/]*", r"commondir", r"gitdir", r"modules", r"info/attributes",
        r"info/grafts", r"info/exclude", r"refs/replace", r"objects/info/(?:http-)?alternates",
        r"remotes", r"branches",
        r"worktrees/[^/]+/(?:commondir|gitdir|config[^/]*|hooks|modules|info/attributes)",
    ),
    ongoing=_paths(
        rf"{_WORKTREE}(?:rebase-merge|rebase-apply|sequencer|MERGE_HEAD|CHERRY_PICK_HEAD)",
        rf"{_WORKTREE}(?:REVERT_HEAD|BISECT_LOG|BISECT_START)",
    ),
    fixed=re.compile(r"objects/(?:[0-9a-f]{2}/[0-9a-f]{38,62}|pack/pack-[0-9a-f]+\.(?:pack|idx))\Z"),
    litter=re.compile(
        r"(?:.*/)?(?:[^/]+\.lock|gc\.pid|tmp_(?:obj|pack|idx|rev|bitmap)_[^/]*)\Z", re.DOTALL
    ),
    phases=(
        re.compile(r"objects/(?:info|pack/(?!.*\.pack\Z))"),
        _paths(r"shallow", r"packed-refs", r"logs", r"reftable", r"[A-Z_]*MSG"),
        _paths(rf"{_WORKTREE}refs"),
        _paths(rf"{_WORKTREE}(?:HEAD|index)"),
    ),
    ending="git rebase --abort, git merge --abort or the like",
)  # fmt: skip

HG = UnitRules(
    marks=lambda has: has("requires") or has("store") or has("00changelog.i"),
    known=_paths(
        r"store", r"dirstate[^/]*", r"bookmarks[^/]*", r"branch", r"cache", r"wcache", r"undo[^/]*",
        r"journal\.[^/]*",  # of what was not completed: a shelf leaves some
        r"00changelog\.i", r"last-message\.txt", r"strip-backup", r"shelved",
        r"shelve-backup", r"localtags",
        r"rebasestate", r"graftstate", r"histedit-state", r"histedit-last-edit\.txt",
        r"updatestate", r"merge", r"shelvedstate", r"bisect\.state", r"commitstate",
    ),
    never=_paths(r"hgrc[^/]*", r"sharedpath", r"shared", r"requires", r"store/hgrc[^/]*",
                 r"store/requires"),
    ongoing=_paths(
        r"rebasestate", r"graftstate", r"histedit-state", r"updatestate", r"merge/state[^/]*",
        r"shelvedstate", r"bisect\.state", r"store/journal",
    ),
    fixed=re.compile(r"(?!)"),
    litter=re.compile(r"(?:wlock|store/lock|(?:.*/)?\.[^/]*~|.*-[0-9a-z_]{8}~)\Z", re.DOTALL),
    phases=(
        re.compile(r"store/00manifest"),
        re.compile(r"store/00changelog"),
        re.compile(r"store/(?:phaseroots|obsstore|fncache|undo)"),
        _paths(r"dirstate[^/]*", r"bookmarks[^/]*", r"branch", r"undo[^/]*"),
    ),
    ending="hg rebase --abort, hg update --clean . or the like",
)  # fmt: skip

RULES: Mapping[str, UnitRules] = {".git": GIT, ".hg": HG}
