"""What builds are given, and archives of it: the same bytes for the same files.

It is read once: a name and what it names are the same, even if a file changes between the two.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from images.groups import Group

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
