"""What deny rules against reading hide: paths named outright, and patterns to look for."""

from __future__ import annotations

import pytest

from policy import Decision, find_hidden_paths
from policy.claude import Anchors, parse_rule
from policy.model import Rules, RuleSource

PROJECT = "/home/u/p"
ANCHORS = Anchors("/home/u", PROJECT, PROJECT)


def rules(*texts: str, decision: Decision = Decision.DENY) -> Rules:
    parsed = [parse_rule(text, decision, RuleSource("s"), ANCHORS)[0] for text in texts]
    return Rules(tuple(rule for rule in parsed if rule is not None))


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("Read(./secrets/**)", f"{PROJECT}/secrets"),
        ("Read(/config/prod.json)", f"{PROJECT}/config/prod.json"),
        ("Read(~/p/data/key.txt)", f"{PROJECT}/data/key.txt"),
        ("Read(//home/u/p/x)", f"{PROJECT}/x"),
        ("Read(~/**)", "/home/u"),
        ("Read", PROJECT),
    ],
)
def test_a_path_named_outright_is_hidden_with_all_below_it(text: str, literal: str) -> None:
    hidden = find_hidden_paths(rules(text), [PROJECT])
    assert hidden.literal == (literal,) or text == "Read"
    assert hidden.covers(f"{literal}/below") or hidden.covers(literal)


@pytest.mark.parametrize(
    ("text", "covered", "shown"),
    [
        ("Read(.env)", "sub/.env", "sub/.env.example"),
        ("Read(*.pem)", "a/b/key.pem", "a/b/key.txt"),
        ("Read(secrets/**)", "a/secrets/x", "a/secret/x"),
        ("Read(./conf/*.key)", "conf/a.key", "other/a.key"),
        ("Read(**/private/*)", "a/private/x", "a/public/x"),
    ],
)
def test_a_pattern_covers_what_fits_it(text: str, covered: str, shown: str) -> None:
    hidden = find_hidden_paths(rules(text), [PROJECT])
    assert hidden.literal == ()
    assert hidden.covers(f"{PROJECT}/{covered}")
    assert not hidden.covers(f"{PROJECT}/{shown}")


def test_what_lies_outside_the_folders_asked_about_is_left_out() -> None:
    some = rules("Read(~/.ssh/**)", "Read(//etc/shadow)", "Read(~/q/*.txt)")
    assert find_hidden_paths(some, [PROJECT]).literal == ()
    assert find_hidden_paths(some, [PROJECT, "/etc"]).literal == ("/etc/shadow",)


def test_rules_that_ask_allow_or_speak_of_writing_hide_nothing() -> None:
    assert find_hidden_paths(rules("Read(.env)", decision=Decision.ASK), [PROJECT]).patterns == ()
    assert find_hidden_paths(rules("Read(.env)", decision=Decision.ALLOW), [PROJECT]).patterns == ()
    assert find_hidden_paths(rules("Edit(.env)"), [PROJECT]).patterns == ()
