"""The groups of languages, an image each: what is used together lies together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

_DOCKERFILES: Final = Path(__file__).parent / "dockerfiles"


@dataclass(frozen=True, slots=True)
class Group:
    """One image. `languages` are names of rows of the table in `runtimes/`."""

    name: str
    title: str
    languages: tuple[str, ...]

    @property
    def dockerfile(self) -> Path:
        """What installs the group's toolchains on a base."""
        return _DOCKERFILES / f"{self.name}.Dockerfile"


GROUPS: Final[tuple[Group, ...]] = (
    Group("scripting", "Scripting", ("python", "shell", "ruby", "php", "perl", "lua")),
    Group("web", "Web", ("javascript", "typescript")),
    Group("jvm", "Java virtual machine", ("java",)),
    Group("native", "Native code", ("go", "rust", "c", "cpp")),
    Group("beam", "Erlang virtual machine", ("elixir",)),
    Group("r", "R", ("r",)),
    Group("dotnet", ".NET", ("csharp",)),
)

_BY_NAME: Final = {group.name: group for group in GROUPS}
_BY_LANGUAGE: Final = {name: group for group in GROUPS for name in group.languages}


class UnknownGroup(LookupError):  # noqa: N818 - reads as what it is
    """No group is called that; the message names those there are."""


def group(name: str) -> Group:
    """The group of that name.

    Raises:
        UnknownGroup: there is none.
    """
    if name not in _BY_NAME:
        raise UnknownGroup(f"unknown image {name!r}. Images: {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def group_for(language: str) -> Group:
    """The group whose image runs a language, by the name of its row.

    Raises:
        UnknownGroup: no image does.
    """
    if language not in _BY_LANGUAGE:
        raise UnknownGroup(f"no image runs {language!r}")
    return _BY_LANGUAGE[language]
