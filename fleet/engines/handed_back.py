"""What a worker handed back: names that lead nowhere else, contents that are what they seem."""

from __future__ import annotations

from collections.abc import Mapping

from fleet.errors import OutcomeError
from fleet.tree import Digest, digest_of, is_entry_name


def plain_name(name: str) -> str:
    """A name that leads nowhere else.

    Raises:
        OutcomeError: it could.
    """
    if not is_entry_name(name):
        raise OutcomeError(f"no name of an entry: {name[:80]!r}")
    return name


def plain_path(path: str) -> str:
    """A relative path of plain names.

    Raises:
        OutcomeError: it is none.
    """
    for name in path.split("/"):
        plain_name(name)
    return path


def check_contents(
    files: Mapping[str, Digest], contents: Mapping[str, bytes]
) -> dict[Digest, bytes]:
    """The contents that came along, by the digests of their files.

    Raises:
        OutcomeError: one is another than its digest says, or no file's.
    """
    for path, content in contents.items():
        if files.get(path) != digest_of(content):
            raise OutcomeError(f"the content of {path[:200]!r} is another than its digest says")
    return {files[path]: content for path, content in contents.items()}
