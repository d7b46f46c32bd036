"""Groups of languages, an image each: what builds are given, and names by its digest.

An image is current if one of its name is there; others of its repository are outdated. The prefix
`localhost/` keeps an engine from ever looking for them at a public registry.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

_DOCKERFILES: Final = Path(__file__).parent / "dockerfiles"


@dataclass(frozen=True, slots=True)
class Group:
    """One image."""

    name: str
    title: str
    languages: tuple[str, ...]  # names of rows of the table in `runtimes/`

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


PREFIX: Final = "localhost/context-mode"
LABEL: Final = "context-mode.image"
"""Every image of ours bears it, and nothing else does: its value is the group's name, or `base`."""
BASE_LABEL: Final = "context-mode.base"
"""The id of what an image was built on: ids tell no names of hosts."""
STAGE_LABEL: Final = "context-mode.stage"
"""What a build leaves behind bears it, with the build's own id, so that it can take it away."""

_DIGITS = 16


def repository(group: Group) -> str:
    """What all images of a group are called, whichever their content."""
    return f"{PREFIX}/{group.name}"


@cache
def reference(group: Group) -> str:
    """The name of the group's current image: its repository, and what it holds as its tag."""
    inside = {f"image/{name}": content for name, content in for_image().items()}
    return f"{repository(group)}:{digest_entries({**for_toolchains(group), **inside})}"


@cache
def toolchains_reference(group: Group) -> str:
    """The name of what the current image is built on: its toolchains, without this program."""
    return f"{repository(group)}-toolchains:{digest_entries(for_toolchains(group))}"


def digest_entries(entries: Mapping[str, bytes]) -> str:
    """Of names and contents: the same wherever the program is installed."""
    total = hashlib.sha256()
    for name, content in sorted(entries.items()):
        total.update(f"{name}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()[:_DIGITS]


# It is read once: a name and what it names are the same, even if a file changes between the two.

_HERE: Final = Path(__file__).parent
_ROOMS: Final = _HERE.parent
_SCRIPTS: Final = _HERE / "scripts"
_IMAGE: Final = _HERE / "dockerfiles" / "image.Dockerfile"
_PROGRAM: Final = {
    "agent": _ROOMS / "executor" / "containers" / "agent",
    "spawner": _ROOMS / "executor" / "spawner",
    "base": _ROOMS / "base",
    "runtimes": _ROOMS / "runtimes",
}
"""Folders of this program that every image holds below /opt/ctxmode, by their name there."""


@cache
def for_toolchains(group: Group) -> Mapping[str, bytes]:
    """The group's Dockerfile, and the scripts that it runs."""
    entries = {"Dockerfile": group.dockerfile.read_bytes()}
    scripts = {f"build/{p.name}": p.read_bytes() for p in source_files(_SCRIPTS)}
    return MappingProxyType(entries | scripts)


@cache
def for_image() -> Mapping[str, bytes]:
    """The Dockerfile that adds this program's part to toolchains, and that part."""
    program = {
        f"ctxmode/{name}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for name, folder in _PROGRAM.items()
        for path in source_files(folder)
    }
    return MappingProxyType({"Dockerfile": _IMAGE.read_bytes()} | program)


def source_files(folder: Path) -> Iterator[Path]:
    """The files of a folder that belong to this program, in an order of their own."""
    for path in sorted(folder.rglob("*")):
        hidden = any(p.startswith((".", "__pycache__")) for p in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


def archive(entries: Mapping[str, bytes]) -> bytes:
    """A tar of files that belong to root and are as old as time; what starts with #! may be run."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        folders = {str(parent) for name in entries for parent in Path(name).parents} - {"."}
        for folder in sorted(folders):
            member = tarfile.TarInfo(folder)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(member)
        for name, content in sorted(entries.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o755 if content.startswith(b"#!") else 0o644
            tar.addfile(member, io.BytesIO(content))
    return made.getvalue()
