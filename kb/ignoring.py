"""What git would ignore: the patterns that hold in a folder, its parents' and the repository's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kb.plain_files import read_plain

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

BYTES_MAX = 1024 * 1024  # of one file
IGNORE_FILES = (".git/info/exclude", ".gitignore")
"""In a folder's order of precedence, the weakest first."""


@dataclass(frozen=True, slots=True)
class Ignores:
    """The ignore files that hold in one folder, outermost first."""

    files: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def within(self, folder: Path) -> Ignores:
        """Those that hold in `folder`, which lies in the one of these."""
        found = tuple(_read(folder))
        return Ignores((*self.files, *found)) if found else self

    def match(self, path: str, *, is_folder: bool) -> bool:
        """Whether the innermost file that says anything about the path ignores it, as git does."""
        ending = "/" if is_folder else ""
        for folder, spec in reversed(self.files):
            verdict = spec.check_file(path[len(folder) :] + ending).include
            if verdict is not None:
                return verdict
        return False


def above(root: Path) -> Ignores:
    """What the repository that `root` lies in says about it from above; nothing where it ignores
    all of `root`, for whoever names an ignored folder means it."""
    parents = list(root.parents)
    top = next((at for at, folder in enumerate(parents) if (folder / ".git").exists()), None)
    if top is None or (root / ".git").exists():
        return Ignores()
    ignores = Ignores()
    for folder in reversed(parents[: top + 1]):
        ignores = ignores.within(folder)
        if ignores.match(str(_child(folder, root)), is_folder=True):
            return Ignores()
    return ignores


def _child(folder: Path, below: Path) -> Path:
    """The entry of `folder` on the way to `below`."""
    return folder / below.relative_to(folder).parts[0]


def _read(folder: Path) -> Iterator[tuple[str, GitIgnoreSpec]]:
    for name in IGNORE_FILES:
        try:
            text = read_plain(folder / name, BYTES_MAX).decode("utf-8", "replace")
        except OSError:
            continue
        from pathspec import GitIgnoreSpec  # noqa: PLC0415 - only where there is something to read

        yield f"{str(folder).rstrip('/')}/", GitIgnoreSpec.from_lines(text.splitlines())
