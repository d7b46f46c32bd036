"""What can go wrong between a front and its engine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from executor import RequestError


class ClusterError(RequestError):
    """The engine can't be used as it is set up; `hint` says what to do. Nothing was run."""


class UnreachableError(Exception):
    """The engine does not answer now, in its own words; to ask again later is right."""


class BlobError(Exception):
    """A blob is absent at the engine, or is not what its digest says."""


class OutcomeError(Exception):
    """What a worker handed back is not what its order allows: that worker lost the run."""


@contextlib.contextmanager
def single_error() -> Iterator[None]:
    """Raise an error as what it is where nurseries wrap it, or the first of several."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
