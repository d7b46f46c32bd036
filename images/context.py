"""What a build is given: an archive made in memory, the same bytes for the same files."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from images.groups import Group
from images.naming import IMAGE_DOCKERFILE, PROGRAM, SCRIPTS, source_files


def for_toolchains(group: Group, settings: Mapping[str, bytes]) -> bytes:
    """The group's Dockerfile, the scripts it runs, and this host's settings for them."""
    entries = {"Dockerfile": group.dockerfile.read_bytes()}
    entries |= {f"build/{path.name}": path.read_bytes() for path in source_files(SCRIPTS)}
    entries |= {f"build/settings/{name}": content for name, content in settings.items()}
    return archive(entries)


def for_image() -> bytes:
    """The Dockerfile that adds this program's part to toolchains, and that part."""
    entries = {"Dockerfile": IMAGE_DOCKERFILE.read_bytes()}
    entries |= {
        f"ctxmode/{name}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for name, folder in PROGRAM.items()
        for path in source_files(folder)
    }
    return archive(entries)


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
