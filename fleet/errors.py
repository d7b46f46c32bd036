"""Errors between a front and its engine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from executor import RequestError


class ClusterError(RequestError):
    """The engine cannot be used as configured; `hint` says what to do. Nothing was run."""


class UnreachableError(Exception):
    """The engine does not answer now, in its own words; trying again later can help."""


class BlobError(Exception):
    """A blob is missing at the engine, or does not match its digest."""


class OutcomeError(Exception):
    """A worker's answer breaks its order's limits: that worker lost the run."""


@contextlib.contextmanager
def single_error() -> Iterator[None]:
    """Raise the error that nurseries have wrapped, or the first of several."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
