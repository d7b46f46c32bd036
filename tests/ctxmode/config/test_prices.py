"""Prices of tokens: from the user's own file alone, and refused in words."""

from decimal import Decimal

import jsonschema
import pytest

from base.strict_data import load_toml
from ctxmode.commands.config import describe_config
from ctxmode.config.files import PROJECT_FILE, USER_FILE
from ctxmode.config.locations import Config
from ctxmode.config.settings import load_settings
from ctxmode.config.transcripts import find_price, load_prices
from ctxmode.errors import UsageError
from docs.config_schema import build_schema

GOOD = """
[transcripts]
keep_days = 9

[transcripts.prices]
"gpt-5.1" = { input = 1.25, output = 10 }
"claude-opus-4" = { input = 15, output = 75.0, cache_read = 1.5, cache_write = 18.75 }
"""


@pytest.fixture
def write(tmp_path):
    """Write the user's and the project's file; the configuration."""
    config = Config(tmp_path / "project", tmp_path, tmp_path / "data", config_home=tmp_path / "c")

    def make(user="", project=""):
        for path, text in (
            (config.config_home / USER_FILE, user),
            (config.project / PROJECT_FILE, project),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return config

    return make


def load(config):
    return load_prices(config.project, config.config_home)


def test_prices_are_read_beside_other_settings(write):
    config = write(GOOD)
    found, warnings = load(config)
    assert found["gpt-5.1"] == {"input": Decimal("1.25"), "output": Decimal(10)}
    assert found["claude-opus-4"]["cache_write"] == Decimal("18.75")
    assert warnings == ()
    values = load_settings(config.project, config.config_home, {}).values
    assert values["transcripts.keep_days"] == 9


def test_without_a_file_there_are_none(write):
    assert load(write()) == ({}, ())


def test_a_projects_file_sets_none_and_is_named(write):
    config = write(GOOD, '[transcripts.prices]\n"gpt-5.1" = { input = 0, output = 0 }\n')
    found, (warning,) = load(config)
    assert found["gpt-5.1"]["input"] == Decimal("1.25")
    assert f"{config.project / PROJECT_FILE}:1: a project cannot set prices" in warning
    assert warning in describe_config(config)["warnings"]


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("gpt-5.1", "gpt-5.1"),
        ("gpt-5.1-codex-20260101", "gpt-5.1-co"),
        ("gpt-5", None),
        ("", None),
        ("x-gpt-5.1", None),
    ],
)
def test_the_longest_beginning_counts(model, found):
    prices = {
        name: {"input": Decimal(len(name)), "output": Decimal(1)}
        for name in ("gpt-5.1", "gpt-5.1-co")
    }
    price = find_price(prices, model)
    assert price == (None if found is None else prices[found])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[transcripts]\nprices = 3", "must be a table"),
        ("[transcripts]\nprices = []", "must be a table"),
        ("[transcripts.prices]\nm = 3", "must be a table"),
        ("[transcripts.prices.m]\ninput = 1", "no price for output"),
        ("[transcripts.prices.m]\ninput = 1\noutput = 1\ncached = 1", "unknown key"),
        ("[transcripts.prices.m]\ninput = -1\noutput = 1", "-1 is not a price"),
        ("[transcripts.prices.m]\ninput = nan\noutput = 1", "nan is not a price"),
        ("[transcripts.prices.m]\ninput = inf\noutput = 1", "inf is not a price"),
        ("[transcripts.prices.m]\ninput = true\noutput = 1", "True is not a price"),
        ("[transcripts.prices.m]\ninput = '1'\noutput = 1", "'1' is not a price"),
        ("[transcripts.prices.m]\ninput = 1e9\noutput = 1", "is not a price"),
        (f"[transcripts.prices.m]\ninput = {'9' * 4000}\noutput = 1", "is not a price"),
        ("[transcripts.prices]\n'' = { input = 1, output = 1 }", "name is empty"),
    ],
)
def test_what_is_no_price_is_refused_with_its_place(write, text, problem):
    config = write(text)
    with pytest.raises(UsageError, match=problem) as raised:
        load(config)
    assert str(config.config_home / USER_FILE) in raised.value.message
    if "nan" not in text:  # JSON has no such number
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(load_toml(text), build_schema())


def test_the_schema_knows_them():
    jsonschema.validate(load_toml(GOOD), build_schema())
