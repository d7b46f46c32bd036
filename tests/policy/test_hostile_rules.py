"""Rules that a project has written to hold us up: matched in time, or refused by name."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from policy import Decision, RuleFileError, Subject, find_hidden_paths, load_rules
from policy.claude import RULES_MAX, Anchors, parse_rule
from policy.decide import WORK_MAX, evaluate
from policy.matching import match_domain
from policy.model import Rules, RuleSource

SECONDS_MAX = 20.0
"""For what takes milliseconds here and would take years by trying every way."""

ANCHORS = Anchors("/home/u", "/home/u/p", "/home/u/p")
LONG = "e" * 250


def rules(*texts: str, decision: Decision = Decision.DENY) -> Rules:
    parsed = [parse_rule(text, decision, RuleSource("s", 1), ANCHORS)[0] for text in texts]
    return Rules(tuple(rule for rule in parsed if rule is not None))


@pytest.fixture(autouse=True)
def in_time():
    started = time.monotonic()
    yield
    assert time.monotonic() - started < SECONDS_MAX


@pytest.mark.parametrize(
    ("text", "covered", "shown"),
    [
        ("Read(**/" + "*e" * 30 + "*x)", f"{LONG}x", LONG),
        ("Read(**/" + "*e" * 30 + "*[x]*)", f"{LONG}xe", LONG),
        ("Read(" + "?*" * 60 + "x)", f"{LONG}x", LONG),
        ("Read(" + "**/e*/" * 15 + "x)", f"{LONG}/" * 15 + "x", f"{LONG}/" * 15 + "y"),
        ("Read(**/" + "[a-e]*" * 60 + "x)", f"{LONG}x", LONG),
    ],
)
def test_a_path_is_matched_without_trying_every_way(text: str, covered: str, shown: str) -> None:
    hidden = find_hidden_paths(rules(text), ["/home/u/p"])
    assert hidden.covers(f"/home/u/p/{covered}")
    assert not hidden.covers(f"/home/u/p/{shown}")


@pytest.mark.parametrize("unknown", ["$A", "$(cat x)", "*", "?"])
def test_so_is_a_path_that_is_partly_unknown(unknown: str) -> None:
    some = rules("Read(" + "**/*e*e*e*/" * 10 + "x)")
    code = "cat " + f"{LONG}{unknown}{LONG}/" * 10 + "y"
    assert evaluate(Subject("shell", code), some).allowed


@pytest.mark.parametrize(
    ("text", "denied", "allowed"),
    [
        ("Bash(" + "* " * 2_000 + "x)", "true " + "a " * 9_000 + "x", "true " + "a " * 9_000 + "y"),
        ("Bash(" + "*e" * 60 + "*x)", f"echo {LONG}x", f"echo {LONG}"),
        ("Bash(echo " + "*e" * 60 + "*x)", f"echo {LONG}x", f"echo {LONG}"),
        ("Bash(echo " + "e" * 900 + ")", f'echo "{"${A}e" * 400}"', f'echo "{"${A}e" * 400}y"'),
    ],
)
def test_a_command_is_matched_without_trying_every_way(
    text: str, denied: str, allowed: str
) -> None:
    assert not evaluate(Subject("shell", denied), rules(text)).allowed
    assert evaluate(Subject("shell", allowed), rules(text)).allowed


def test_a_host_is_matched_without_trying_every_way() -> None:
    assert match_domain("*a" * 60 + "b.example", "a" * 250 + "b.example")
    assert not match_domain("*a" * 60 + "b.example", "a" * 250 + ".example")


@pytest.mark.parametrize(
    "text",
    [
        "Read(**/" + "*e" * 65 + ")",
        "Read(" + "e" * 2_000 + ")",
        "Bash(" + "e" * 70_000 + ")",
        "WebFetch(domain:" + "*." * 65 + "example)",
        "Read" + " " * 100_000 + "x",
    ],
)
def test_a_rule_over_the_bounds_is_refused_where_it_restricts(tmp_path: Path, text: str) -> None:
    file = tmp_path / "p/.claude/settings.json"
    file.parent.mkdir(parents=True)
    for key in ("deny", "ask"):
        file.write_text(json.dumps({"permissions": {key: ["Bash(x)", text]}}, indent=1))
        with pytest.raises(RuleFileError, match=r"settings.json:.*Write a shorter rule") as raised:
            load_rules(tmp_path / "p", home=tmp_path)
        assert text[:60] in str(raised.value)
        assert len(str(raised.value)) < 500
    file.write_text(json.dumps({"permissions": {"allow": [text]}}))
    loaded = load_rules(tmp_path / "p", home=tmp_path, trust_project_allow=True)
    assert "ignored" in loaded.warnings[0]
    file.write_text(json.dumps({"permissions": {"deny": ["Read(**/*e*e*e)"]}}))
    assert len(load_rules(tmp_path / "p", home=tmp_path).of("read")) == 1


def test_more_rules_than_can_be_compared_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "p/.claude/settings.json"
    file.parent.mkdir(parents=True)
    for count in (RULES_MAX, RULES_MAX + 1):
        file.write_text(
            json.dumps({"permissions": {"deny": [f"Bash(x{i})" for i in range(count)]}})
        )
        if count == RULES_MAX:
            assert len(load_rules(tmp_path / "p", home=tmp_path).of("command")) == count
        else:
            with pytest.raises(RuleFileError, match="over 2,000 rules"):
                load_rules(tmp_path / "p", home=tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        '{"permissions": {"deny": ["Bash(rm *)"], "deny": []}}',
        '{"permissions": {"deny": ["Bash(rm *)"]}, "permissions": {}}',
        '{"permissions": {}, "x": NaN}',
        '{"permissions": {}, "x": ' + "9" * 5_000 + "}",
        "[" * 100_000,
    ],
    ids=lambda text: text[:30],
)
def test_json_that_means_two_things_or_none_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "p/.claude/settings.json"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(RuleFileError, match=r"settings.json:1: not valid JSON"):
        load_rules(tmp_path / "p", home=tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 100_000,
        ".".join(["a"] * 100_000) + " = 1",
        "[" + ".".join(['"a b"'] * 100_000) + "]",
        "x = { " + " . ".join(["a"] * 100_000) + " = 1 }",
        "x = " + "9" * 5_000,
        "default = 'ask'\ndefault = 'allow'",
    ],
    ids=lambda text: text[:20],
)
def test_toml_that_takes_long_or_means_two_things_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "p/.ctxmode/policy.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(RuleFileError, match=r"policy.toml:1: .*|policy.toml:2: .*") as raised:
        load_rules(tmp_path / "p", home=tmp_path)
    assert "not valid TOML" in str(raised.value)


def test_a_file_of_rules_is_not_followed_out_of_the_project(tmp_path: Path) -> None:
    project, outside = tmp_path / "p", tmp_path / "outside.json"
    outside.write_text(json.dumps({"permissions": {"deny": ["Bash(x)"]}}))
    (project / ".claude").mkdir(parents=True)
    (project / "inside.json").write_bytes(outside.read_bytes())
    link = project / ".claude/settings.json"
    link.symlink_to("../inside.json")
    assert len(load_rules(project, home=tmp_path).of("command")) == 1
    link.unlink()
    link.symlink_to(outside)
    with pytest.raises(RuleFileError, match="points outside"):
        load_rules(project, home=tmp_path)


def test_what_is_too_much_to_compare_takes_the_strictest_rule() -> None:
    some = rules(*(f"Bash(x{n})" for n in range(RULES_MAX)))
    commands = WORK_MAX // RULES_MAX
    few = "\n".join(f"echo {n}" for n in range(commands // 2))
    many = "\n".join(f"echo {n}" for n in range(commands + 1))
    assert evaluate(Subject("shell", few), some).allowed
    verdict = evaluate(Subject("shell", many), some)
    assert verdict.decision is Decision.DENY
    assert "too much to compare" in verdict.message
