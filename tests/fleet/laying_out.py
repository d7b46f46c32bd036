"""A tree in a folder that was not there, as a slot has it from an empty one."""

from __future__ import annotations

from pathlib import Path

from fleet.blob_cache import BlobCache, renew
from fleet.tree import Digest, digest_of, encode_tree

_EMPTY = encode_tree(())
_EMPTY_ROOT = digest_of(_EMPTY)


def lay_out(root: Digest, cache: BlobCache, folder: Path) -> None:
    """Make `folder` that of a tree; see `renew`."""
    cache.add(_EMPTY_ROOT, [_EMPTY])
    folder.mkdir()
    renew(folder, _EMPTY_ROOT, root, cache)
