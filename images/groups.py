"""Groups of languages with one image each: the input of builds, and names by its digest.

An image is current if its name exists; others of its repository are outdated. The prefix
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

from runtimes.languages import list_languages, read_table

_DOCKERFILES: Final = Path(__file__).parent / "dockerfiles"


@dataclass(frozen=True, slots=True)
class Group:
    """One image."""

    name: str
    title: str
    languages: tuple[str, ...]  # names of rows of the table in `runtimes/`

    @property
    def dockerfile(self) -> Path:
        """Return the Dockerfile that installs the group's toolchains on a base."""
        own = _DOCKERFILES / f"{self.name}.Dockerfile"
        return own if own.exists() else _DOCKERFILES / "toolchains.Dockerfile"


def _group(name: str, title: str) -> Group:
    """Return the group of the languages whose `install.toml` names this image."""
    names = list_languages("install.toml")
    tables = ((one, read_table(f"{one}/install.toml")) for one in names)
    return Group(name, title, tuple(one for one, table in tables if table["image"] == name))


GROUPS: Final = (
    _group("scripting", "Scripting"),
    _group("web", "Web"),
    _group("jvm", "Java virtual machine"),
    _group("native", "Native code"),
    _group("beam", "Erlang virtual machine"),
    _group("r", "R"),
    _group("dotnet", ".NET"),
)

_BY_NAME: Final = {group.name: group for group in GROUPS}
_BY_LANGUAGE: Final = {name: group for group in GROUPS for name in group.languages}


class UnknownGroup(LookupError):  # noqa: N818 - reads as what it is
    """An unknown name of a group; the message lists the known ones."""


def group(name: str) -> Group:
    """Return the group of that name.

    Raises:
        UnknownGroup: no group has that name.
    """
    if name not in _BY_NAME:
        raise UnknownGroup(f"unknown image {name!r}. Images: {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def group_for(language: str) -> Group:
    """Return the group whose image runs a language, by the name of its row.

    Raises:
        UnknownGroup: no image does.
    """
    if language not in _BY_LANGUAGE:
        raise UnknownGroup(f"no image runs {language!r}")
    return _BY_LANGUAGE[language]


PREFIX: Final = "localhost/context-mode"
LABEL: Final = "context-mode.image"
"""The label of images made here, and of nothing else: its value is the group's name or `base`."""
BASE_LABEL: Final = "context-mode.base"
"""The label with the ID of an image's base: IDs reveal no names of hosts."""
STAGE_LABEL: Final = "context-mode.stage"
"""The label of a build's stages, with the build's ID, so that it can remove them."""

_DIGITS = 16


def repository(group: Group) -> str:
    """Return the name that all images of a group share, whatever their content."""
    return f"{PREFIX}/{group.name}"


@cache
def reference(group: Group) -> str:
    """Return the name of the group's current image: its repository, with a digest as its tag."""
    inside = {f"image/{name}": content for name, content in for_image().items()}
    return f"{repository(group)}:{digest_entries({**for_toolchains(group), **inside})}"


@cache
def toolchains_reference(group: Group) -> str:
    """Return the name of the toolchain image, to which the current image adds this program."""
    return f"{repository(group)}-toolchains:{digest_entries(for_toolchains(group))}"


def digest_entries(entries: Mapping[str, bytes]) -> str:
    """Return a digest of names and contents, which does not depend on where they are installed."""
    total = hashlib.sha256()
    for name, content in sorted(entries.items()):
        total.update(f"{name}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()[:_DIGITS]


# Files are read once: an image's name matches its content even if a file changes in between.

_HERE: Final = Path(__file__).parent
_ROOMS: Final = _HERE.parent
_IMAGE: Final = _HERE / "dockerfiles" / "image.Dockerfile"
_PROGRAM: Final = {  # what every image holds below /opt/ctxmode, by its name there
    "agent": _ROOMS / "executor" / "containers" / "agent",
    "spawner": _ROOMS / "executor" / "spawner",
    "base": _ROOMS / "base",
    "runtimes": _ROOMS / "runtimes",
}
# Beginnings of names in languages' folders of files that only run outside of images.
_ELSEWHERE: Final = (
    *("definitions.", "guard.", "guard_", "imports.", "imports_", "samples.", "shell.json"),
    "trial.",
)


@cache
def for_toolchains(group: Group) -> Mapping[str, bytes]:
    """Return the group's Dockerfile, the scripts that it runs, and the packages they install."""
    files = {f"build/{p.name}": p.read_bytes() for p in source_files(_HERE / "scripts")}
    tables = [read_table(f"{name}/install.toml") for name in group.languages]
    for manager in ("debian", "npm"):
        names = {package for table in tables for package in table.get(manager, ())}
        files[f"build/packages/{manager}"] = "".join(f"{name}\n" for name in sorted(names)).encode()
    return MappingProxyType({"Dockerfile": group.dockerfile.read_bytes()} | files)


@cache
def for_image() -> Mapping[str, bytes]:
    """Return the Dockerfile that adds this program's part to toolchains, and that part."""
    program = {
        f"ctxmode/{name}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for name, folder in _PROGRAM.items()
        for path in source_files(folder)
        if not (path.name.startswith(_ELSEWHERE) and path.match("languages/*/*"))
    }
    return MappingProxyType({"Dockerfile": _IMAGE.read_bytes()} | program)


def source_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that belong to this program, sorted."""
    for path in sorted(folder.rglob("*")):
        hidden = any(p.startswith((".", "__pycache__")) for p in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


def archive(entries: Mapping[str, bytes]) -> bytes:
    """Build a tar archive of root's files, dated 1970; files that start with #! are executable."""
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
