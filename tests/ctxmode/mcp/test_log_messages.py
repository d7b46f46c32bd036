"""Which log messages a client gets: from the level on that it asked for."""

from types import SimpleNamespace

import mcp.types as wire
import pytest

from ctxmode.mcp import log_messages
from ctxmode.mcp.log_messages import LEVELS, Levels


def call(level=None):
    return SimpleNamespace(meta=None if level is None else {wire.LOG_LEVEL_META_KEY: level})


@pytest.mark.parametrize(
    ("level", "wanted"),
    [
        ("debug", LEVELS),
        ("error", ("error", "critical", "alert", "emergency")),
        ("emergency", ("emergency",)),
    ],
)
def test_a_level_stands_for_all_that_are_worse(level, wanted):
    levels = Levels()
    levels.set("ada", level)
    assert levels.find_levels(call(), "ada") == frozenset(wanted)
    assert levels.find_levels(call(), "bob") == frozenset()
    assert Levels().find_levels(call(level), "bob") == frozenset(wanted)


def test_a_request_that_names_a_level_is_believed():
    levels = Levels()
    levels.set("ada", "debug")
    assert levels.find_levels(call("emergency"), "ada") == {"emergency"}
    assert levels.find_levels(call("loud"), "ada") == frozenset()


def test_the_conversations_that_asked_last_are_remembered(monkeypatch):
    monkeypatch.setattr(log_messages, "CONVERSATIONS_MAX", 2)
    levels = Levels()
    for owner in ("ada", "bob", "ada", "eve"):
        levels.set(owner, "debug")
    remembered = [owner for owner in ("ada", "bob", "eve") if levels.find_levels(call(), owner)]
    assert remembered == ["ada", "eve"]
