"""Prices of tokens: `[transcripts.prices]` of the user's own file, never of a project's file."""

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
HINT = 'Write, for example: "some-model" = { input = 3, output = 15, cache_read = 0.3 }'


Price: TypeAlias = Mapping[str, Decimal]
"""Prices per million tokens by kind, in any currency."""

Prices: TypeAlias = Mapping[str, Price]
"""Prices by prefix of model names."""


def find_price(prices: Prices, model: str) -> Price | None:
    """Return the price whose name is the longest prefix of the model's name."""
    names = (name for name in prices if model.startswith(name))
    return prices.get(max(names, key=len, default=""))


def load_prices(project: Path, config_home: Path) -> tuple[Prices, tuple[str, ...]]:
    """Load the user's prices; return also a warning if a project's file has prices. Raise
    UsageError if a file cannot be read, or a price is invalid."""
    user = read_config_file(config_home / USER_FILE)
    by_model = {model: _read_price(user, model) for model in user.table(*KEY)}
    of_project = read_config_file(project / PROJECT_FILE, project)
    return by_model, of_project.refuse_tables(user, *KEY)


def _read_price(file: ConfigFile, model: str) -> Price:
    if not model:
        raise file.error(KEY, "transcripts.prices: a model's name is empty", HINT)
    key = (*KEY, model)
    given = file.table(*key, known=PRICED)
    if missing := [name for name in NEEDED if name not in given]:
        raise file.error(key, f"{model!r} has no price for {' and '.join(missing)}", HINT)
    return {name: _read_amount(file, (*key, name), it) for name, it in given.items()}


def _read_amount(file: ConfigFile, key: tuple[str, ...], given: object) -> Decimal:
    is_switch = isinstance(given, bool)
    if isinstance(given, int | float) and not is_switch and 0 <= given <= PRICE_MAX:
        return Decimal(str(given))
    problem = f"{given!r} is not a price per million tokens"
    raise file.error(key, problem, f"Give a number from 0 to {PRICE_MAX:,}.")
