"""For whom a host is set up, and the reading of its files there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from base.host_homes import find_place
from base.plain_files import read_plain
from ctxmode.errors import ContextModeError, why
from ctxmode.hosts.setup.host import Command, Scope
from policy import real_path
from policy.project_file import read_project_file

BYTES_MAX = 16 << 20  # a host may keep its history beside its servers


@dataclass(frozen=True, slots=True)
class Target:
    """For whom a host is set up: a person, or everybody in a project. `environ` may have variables
    that move a person's files. Without `records_sessions`
    no hook tells us what happens in a session. With `is_command_given` a person named the command.
    """

    scope: Scope
    home: Path
    project: Path
    command: Command
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    records_sessions: bool = True
    is_command_given: bool = False

    @property
    def root(self) -> Path:
        """The folder out of which no link is followed: a project is another's, a home is not."""
        return self.project if self.scope == "project" else Path("/")

    def path(self, place: str) -> Path:
        """Return the path of a host's file: a user's own lies where the host's variables say."""
        if place.startswith("~/"):
            return Path(find_place(place, str(self.home), self.environ))
        return self.project / place


def read(path: Path, root: Path = Path("/")) -> str | None:
    """A file's text as it is, line ends and all; None if there is none.

    Raises:
        ContextModeError: it cannot be read, is no regular file, or lies outside of `root`.
    """
    real = inside(path, root)
    try:
        if root == Path("/"):  # the user's own
            return read_plain(real, BYTES_MAX).decode("utf-8")
        return read_project_file(str(real), str(root), None, BYTES_MAX).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ContextModeError(
            f"{path} cannot be read: {why(error)}",
            "Make it a file of text, or remove it. Nothing was changed.",
        ) from error


def inside(path: Path, root: Path) -> Path:
    """Where a path really is.

    Raises:
        ContextModeError: that is outside of `root`.
    """
    real = Path(real_path(str(path)))
    if not real.is_relative_to(root.resolve()):
        raise ContextModeError(
            f"{path} leads out of the project, to {real}",
            "Put a file or a folder of the project in the link's place. Nothing was changed.",
        )
    return real
