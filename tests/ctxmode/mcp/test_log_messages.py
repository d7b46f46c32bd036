"""Which log messages a client gets: from the level on that it asked for."""

from types import SimpleNamespace

import pytest

from ctxmode.mcp import conversation
from ctxmode.mcp.conversation import Levels
from ctxmode.mcp.protocol import LEVELS, LOG_LEVEL_KEY


def call(owner, level=None):
    return SimpleNamespace(owner=owner, meta={} if level is None else {LOG_LEVEL_KEY: level})


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
    assert levels.find_levels(call("ada")) == frozenset(wanted)
    assert levels.find_levels(call("bob")) == frozenset()
    assert Levels().find_levels(call("bob", level)) == frozenset(wanted)


def test_a_request_that_names_a_level_is_believed():
    levels = Levels()
    levels.set("ada", "debug")
    assert levels.find_levels(call("ada", "emergency")) == {"emergency"}
    assert levels.find_levels(call("ada", "loud")) == frozenset()


def test_the_conversations_that_asked_last_are_remembered(monkeypatch):
    monkeypatch.setattr(conversation, "CONVERSATIONS_MAX", 2)
    levels = Levels()
    for owner in ("ada", "bob", "ada", "eve"):
        levels.set(owner, "debug")
    remembered = [owner for owner in ("ada", "bob", "eve") if levels.find_levels(call(owner))]
    assert remembered == ["ada", "eve"]
