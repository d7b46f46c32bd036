"""A tree in a folder that was not there, as a slot has it from an empty one."""

from __future__ import annotations

from pathlib import Path

from fleet.blob_cache import BlobCache, renew
from fleet.tree import Digest, build

_EMPTY = build(())


def lay_out(root: Digest, cache: BlobCache, folder: Path) -> None:
    """Make `folder` that of a tree; see `renew`."""
    cache.add(_EMPTY.root, [_EMPTY.encoded])
    folder.mkdir()
    renew(folder, _EMPTY.root, root, cache)
