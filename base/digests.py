"""The digests of `hashlib`, without loading OpenSSL for them: that takes a hook 5 ms."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import blake2b, sha256
else:
    try:
        from _blake2 import blake2b

        if sys.version_info >= (3, 12):
            from _sha2 import sha256
        else:
            from _sha256 import sha256
    except ImportError:  # a Python that was built without its own
        from hashlib import blake2b, sha256

__all__ = ["blake2b", "sha256"]
