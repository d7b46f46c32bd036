"""What packages a failed run lacked."""

from __future__ import annotations

from dataclasses import replace

from executor.model import Result, Status


def with_missing(result: Result, language: str) -> Result:
    """A result that says which packages the program lacked, if it failed for that."""
    if result.status is not Status.NONZERO_EXIT:
        return result
    from runtimes.packages.missing import find_missing  # noqa: PLC0415 - most runs lack none

    return replace(result, missing_packages=find_missing(language, result.stderr.text))
