"""One change that a run made to the project at its worker, as the worker tells of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from executor.project.view.walking import DEPTH_MAX
from fleet.forms import FormError

NAME_BYTES_MAX: Final = 255  # linux/limits.h
PATH_BYTES_MAX: Final = 4095
MODE_MAX: Final = 0o777
GROUP_MAX: Final = 2**31
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Changed:
    """One entry that is not as it was laid out: `executor.project.store.manifest.Change` in a form.

    Names that are no UTF-8 stand by surrogates. `size` is in bytes, `mode` has permissions alone.
    `target` is a link's. Hard links to one another share a `group` above 0; `source` is an
    unchanged file beside them. `sha256` is that of a file's content, which comes with the outcome;
    what was deleted has none.
    """

    path: str
    change: Literal["created", "modified", "deleted", "mode", "times"]
    kind: Literal["file", "folder", "link"]
    mode: int
    size: int
    mtime_ns: int
    target: str = ""
    source: str = ""
    group: int = 0
    sha256: str = ""

    def __post_init__(self) -> None:
        """Refuse what no run can leave behind.

        Raises:
            FormError: it says what.
        """
        for path in (self.path, *filter(None, (self.source,))):
            if not is_plain(path):
                raise FormError(f"no path of a changed file: {path[:200]!r}")
        if not 0 <= self.mode <= MODE_MAX or self.size < 0 or not 0 <= self.group < GROUP_MAX:
            raise FormError(f"no mode, size or group of a changed file: {self.path[:200]!r}")
        if bool(self.target) is not (self.kind == "link" and self.change != "deleted"):
            raise FormError(f"a link leads somewhere, and nothing else: {self.path[:200]!r}")
        if "\0" in self.target or len(os.fsencode(self.target)) > PATH_BYTES_MAX:
            raise FormError(f"the link {self.path[:200]!r} can't lead anywhere")
        if self.has_content is not bool(self.sha256) or not is_sha256(self.sha256 or "0" * 64):
            raise FormError(f"a file has a digest, and nothing else: {self.path[:200]!r}")
        if (self.size and not self.has_content and self.change != "deleted") or (
            self.source and not self.group
        ):
            raise FormError(f"its size or source is another's: {self.path[:200]!r}")

    @property
    def has_content(self) -> bool:
        """Whether its content comes with the outcome."""
        return self.kind == "file" and self.change != "deleted"


def check_changes(changes: Iterable[Changed]) -> None:
    """Refuse changes that contradict one another.

    Raises:
        FormError: a path stands twice or leads through a file, or hard links differ.
    """
    kinds: dict[str, str] = {}
    groups: dict[int, tuple[str, int, int, str]] = {}
    for one in changes:
        if one.path in kinds:
            raise FormError(f"a changed file stands twice: {one.path[:200]!r}")
        kinds[one.path] = "gone" if one.change == "deleted" else one.kind
        if one.group:
            inode = (one.sha256, one.size, one.mode, one.source)
            if not one.has_content or groups.setdefault(one.group, inode) != inode:
                raise FormError(f"no hard link to another: {one.path[:200]!r}")
    for path, kind in kinds.items():
        folder = path.rpartition("/")[0] if kind != "gone" else ""
        while folder:
            if kinds.get(folder, "folder") != "folder":
                raise FormError(f"it leads through what is no folder: {path[:200]!r}")
            folder = folder.rpartition("/")[0]


def is_plain(path: str) -> bool:
    """Whether a path is relative, says where it is by names alone, and is none too long."""
    parts = path.split("/")
    if "\0" in path or not {"", ".", ".."}.isdisjoint(parts) or len(parts) > DEPTH_MAX + 2:
        return False
    encoded = os.fsencode(path)
    return len(encoded) <= PATH_BYTES_MAX and max(map(len, encoded.split(b"/"))) <= NAME_BYTES_MAX


def is_sha256(text: str) -> bool:
    """Whether a text is a digest of sha256 in lower-case hexadecimal."""
    return _SHA256.fullmatch(text) is not None
