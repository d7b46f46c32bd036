"""Errors of the rooms below that a caller can mend, in the front door's words."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import kb
import policy
from ctxmode.errors import ContextModeError

OUT_OF_ROOM_OR_RIGHTS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def translated() -> Iterator[None]:
    """What rules, the store and the disk say.

    Raises:
        ContextModeError: in place of theirs.
    """
    try:
        yield
    except policy.RuleFileError as error:
        raise ContextModeError(
            f"{error.path}:{error.line}: {error.problem}", error.remedy
        ) from error
    except kb.StoreError as error:
        raise ContextModeError(str(error)) from error
    except OSError as error:
        if error.errno not in OUT_OF_ROOM_OR_RIGHTS:
            raise
        place = f": {error.filename}" if error.filename else ""
        raise ContextModeError(
            f"{error.strerror}{place}", "Free some space there, or check its owner and mode."
        ) from error
