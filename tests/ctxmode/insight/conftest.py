"""A project with a past, and the page over it without a network."""

import random
import time

import pytest

from ctxmode.config.locations import prepare_storage
from tests.ctxmode.insight.made_project import Amounts, fill_counts, make_place
from tests.ctxmode.insight.visitors import Browser


@pytest.fixture
def config(tmp_path):
    return make_place(tmp_path.resolve())


@pytest.fixture
def counted(config):
    """A project with counts and runs."""
    prepare_storage(config)
    fill_counts(config, Amounts(days=3, runs=120), random.Random(1), time.time())
    return config


@pytest.fixture
def browser(config):
    return Browser(config)


@pytest.fixture
def visitor(counted):
    """One who spent the key of a project with a past."""
    browser = Browser(counted)
    browser.enter()
    return browser
