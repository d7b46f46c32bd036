"""NAME=VALUE options of `run`: limits with units, environment variables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from ctxmode.errors import UsageError
from ctxmode.suggestions import or_all
from executor.model import Limits

UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
LIMIT_NAMES = tuple(limit.name for limit in fields(Limits))


def limits(pairs: Sequence[str], usual: Limits | None = None) -> Limits | None:
    """Set the limits that the options name in the usual ones; None when they name none. A
    UsageError names an unknown limit, or a value that is no positive number."""
    given: dict[str, float | int] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name not in LIMIT_NAMES:
            hint = or_all(name, LIMIT_NAMES, "Limits", cutoff=0.4)
            raise UsageError(f"unknown limit {name!r}", hint)
        given[name] = _amount(name, value)
    try:
        return replace(usual or Limits(), **given) if given else None  # type: ignore[arg-type]
    except ValueError as error:
        raise UsageError(str(error), "Give a positive number.") from error


def _amount(name: str, value: str) -> float | int:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmg]?)(?:i?b)?", value.strip(), re.IGNORECASE)
    if match is None:
        raise UsageError(
            f"limit {name} cannot be {value!r}",
            "Give a positive number, with K, M or G for bytes: --limit memory_bytes=512M",
        )
    amount = float(match[1]) * UNITS[match[2].lower()]
    return amount if name.endswith("_s") else int(amount)


def environment(pairs: Sequence[str]) -> Mapping[str, str]:
    """Read the variables that the options set; a UsageError names one that is not NAME=VALUE."""
    given = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise UsageError(f"--env {pair!r} is not NAME=VALUE", "For example --env LANG=C")
        given[name] = value
    return given
