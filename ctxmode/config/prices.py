"""What tokens cost, as the user's own file says: `[transcripts.prices]`, never a project's."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

from ctxmode.config.files import PROJECT_FILE, USER_FILE, ConfigFile, read_config_file

PRICED = ("input", "output", "cache_read", "cache_write")
NEEDED = ("input", "output")
KEY = ("transcripts", "prices")
PRICE_MAX = 1_000_000
HINT = 'Write for example: "some-model" = { input = 3, output = 15, cache_read = 0.3 }'


Price: TypeAlias = Mapping[str, Decimal]
"""Prices per million tokens by kind, in whatever money the user thinks in."""

Prices: TypeAlias = Mapping[str, Price]
"""Prices by the beginning of a model's name."""


def find_price(prices: Prices, model: str) -> Price | None:
    """Return the price with the longest name that the model's begins with."""
    names = (name for name in prices if model.startswith(name))
    return prices.get(max(names, key=len, default=""))


def load_prices(project: Path, config_home: Path) -> tuple[Prices, tuple[str, ...]]:
    """Load the user's prices, and warnings of a project's file that has some.

    Raises:
        UsageError: a file cannot be read, or says something that is no price.
    """
    user = read_config_file(config_home / USER_FILE)
    by_model = {model: _read_price(user, model, given) for model, given in _table(user).items()}
    of_project = read_config_file(project / PROJECT_FILE, project)
    warnings: tuple[str, ...] = ()
    if _given(of_project) is not None:
        where = of_project.at(*KEY)
        warnings = (f"{where}: prices are not for a project to set; put them into {user.path}",)
    return by_model, warnings


def _given(file: ConfigFile) -> object:
    transcripts = file.data.get(KEY[0])
    return transcripts.get(KEY[1]) if isinstance(transcripts, Mapping) else None


def _table(file: ConfigFile) -> Mapping[str, object]:
    given = _given(file)
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise file.error(KEY, "transcripts.prices is a table", HINT)
    if "" in given:
        raise file.error(KEY, "a model without a name has no price", HINT)
    return given


def _read_price(file: ConfigFile, model: str, given: object) -> Price:
    key = (*KEY, model)
    if not isinstance(given, Mapping):
        raise file.error(key, f"the price of {model!r} is a table", HINT)
    for name in given:
        if name not in PRICED:
            raise file.unknown((*key, name), PRICED)
    if missing := [name for name in NEEDED if name not in given]:
        raise file.error(key, f"{model!r} has no price of {' and '.join(missing)}", HINT)
    return {name: _read_amount(file, (*key, name), it) for name, it in given.items()}


def _read_amount(file: ConfigFile, key: tuple[str, ...], given: object) -> Decimal:
    is_switch = isinstance(given, bool)
    if isinstance(given, int | float) and not is_switch and 0 <= given <= PRICE_MAX:
        return Decimal(str(given))
    problem = f"{given!r} is no price per million tokens"
    raise file.error(key, problem, f"Give a number from 0 to {PRICE_MAX}.")
