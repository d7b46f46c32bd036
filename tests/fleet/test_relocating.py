"""A front's rules on paths hold at a worker for the same files of the project, elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.slot import relocate
from policy.decide import evaluate_read
from policy.model import Decision, Rule, Rules, RuleSource
from policy.path_patterns import match_path

FRONT, HERE = "/home/ann/work/site", "/var/lib/worker/slots/0/project"


def rule(spec: str, anchor: str | None = FRONT, kind: str = "read") -> Rule:
    return Rule("r", kind, spec, spec, Decision.DENY, RuleSource("rules", 1), anchor)


def is_denied(path: str, *rules: Rule) -> bool:
    relocated = relocate(Rules(rules), FRONT, HERE)
    return evaluate_read(path, relocated).decision is Decision.DENY


@pytest.mark.parametrize(
    ("spec", "anchor", "denied", "free"),
    [
        ("/keys/**", FRONT, "keys/a", "lib/keys/a"),
        ("*.pem", FRONT, "deep/x.pem", "x.pen"),
        ("**/secret/**", FRONT, "a/secret/b", "a/secrets/b"),
        ("/a", f"{FRONT}/sub", "sub/a", "a"),
        ("/home/ann/work/site/keys/**", "/", "keys/a", "a"),
        ("/work/*/keys", "/home/ann", "keys/a", "key"),
        ("/work/**/keys/*", "/home/ann", "keys/a", "a"),
        ("/work/**/keys/*", "/home/ann", "x/keys/a", "x/a"),
        ("/**/site/keys", "/home/ann", "keys", "a"),
        ("keys", None, "x/keys/a", "x/key/a"),
        ("*.pem", "/home/ann", "x.pem", "x"),
    ],
)
def test_it_names_the_same_files_of_the_project(spec, anchor, denied, free):
    written = rule(spec, anchor)
    assert match_path(spec, anchor, f"{FRONT}/{denied}")  # the control: so it is at the front
    assert not match_path(spec, anchor, f"{FRONT}/{free}")
    assert is_denied(f"{HERE}/{denied}", written)
    assert not is_denied(f"{HERE}/{free}", written)


@pytest.mark.parametrize(
    ("spec", "anchor"),
    [("/work/**", "/home/ann"), ("/site", "/home/ann/work"), ("ann", "/"), ("**", "/home")],
)
def test_what_denies_a_folder_around_the_project_denies_all_of_it(spec, anchor):
    assert is_denied(f"{HERE}/any/file", rule(spec, anchor))


@pytest.mark.parametrize(
    ("spec", "anchor"),
    [
        ("/var/**", "/"),
        ("/lib/**", "/var"),
        ("project", None),
        ("slots", "/"),
        ("/*/lib/worker", "/"),
    ],
)
def test_what_speaks_of_the_way_to_a_slot_by_chance_says_nothing(spec, anchor):
    assert not is_denied(f"{HERE}/any/file", rule(spec, anchor))


@pytest.mark.parametrize(
    ("spec", "anchor", "path"),
    [("/ssh/**", "/etc", "/etc/ssh/x"), ("/.ssh/**", "/home/ann", "/home/ann/.ssh/id")],
)
def test_what_names_another_place_stays(spec, anchor, path):
    assert is_denied(path, rule(spec, anchor))


def test_rules_that_name_no_path_stay_as_they_are():
    rules = Rules((rule("rm -rf *", None, "command"), rule("example.com", None, "fetch")))
    assert relocate(rules, FRONT, HERE) == rules


NAMES = st.sampled_from(["a", "b", "site", "work", "home", "*", "**", "a*", "x.pem", "*.pem"])


@given(
    spec=st.lists(NAMES, min_size=1, max_size=5),
    is_anchored=st.booleans(),
    anchor=st.sampled_from(["/", "/home", "/home/ann", "/home/ann/work", FRONT, f"{FRONT}/a"]),
    path=st.lists(st.sampled_from(["a", "b", "site", "x.pem", "ab"]), min_size=1, max_size=4),
)
def test_at_random_what_the_front_denies_in_the_project_is_denied(spec, is_anchored, anchor, path):
    pattern = "/" * is_anchored + "/".join(spec)
    if not match_path(pattern, anchor, f"{FRONT}/{'/'.join(path)}"):
        return
    assert is_denied(f"{HERE}/{'/'.join(path)}", rule(pattern, anchor))
