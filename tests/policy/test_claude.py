"""Rules in Claude Code's syntax: kinds, anchors, and those that are never consulted."""

from __future__ import annotations

import pytest

from policy.claude import Anchors, parse_rule
from policy.model import Decision, RuleSource

ANCHORS = Anchors(home="/home/u", own="/own", current="/w")
SOURCE = RuleSource("settings.json", 3)


@pytest.mark.parametrize(
    ("text", "kind", "spec", "anchor"),
    [
        ("Bash", "command", "*", None),
        ("Bash(*)", "command", "*", None),
        ("Bash(npm run:*)", "command", "npm run:*", None),
        ("Bash(echo (a))", "command", "echo (a)", None),
        ("Read(.env)", "read", ".env", "/w"),
        ("Read(**/.env)", "read", "**/.env", "/w"),
        ("Read(//**/.env)", "read", "/**/.env", "/"),
        ("Read(src/**)", "read", "**/src/**", "/w"),
        ("Read(/src/**)", "read", "/src/**", "/own"),
        ("Edit(./Finance (2024)/**)", "edit", "/Finance (2024)/**", "/w"),
        (" Bash( ls * ) ", "command", "ls *", None),
        ("Read(./x)", "read", "/x", "/w"),
        ("Read(a/b/**)", "read", "/a/b/**", "/w"),
        ("Read(//etc/x)", "read", "/etc/x", "/"),
        ("Read(~/.ssh/**)", "read", "/.ssh/**", "/home/u"),
        ("Edit(/x)", "edit", "/x", "/own"),
        ("WebFetch(domain:example.com)", "fetch", "example.com", None),
        ("WebFetch", "fetch", "*", None),
        ("WebFetch(*)", "fetch", "*", None),
        ("WebFetch( )", "fetch", "*", None),
        ("Write(*)", "tool", "Write", None),
        ("Write()", "tool", "Write", None),
        ("Agent( * )", "tool", "Agent", None),
        ("Read(*)", "read", "**", None),
        ("Edit()", "edit", "**", None),
        ("mcp__server__tool(*)", "tool", "mcp__server__tool", None),
        ("Bash(command:*)", "command", "command:*", None),
        ("mcp__server__tool", "tool", "mcp__server__tool", None),
        ("Bash(run_in_background:true)", "tool", "Bash(run_in_background:true)", None),
        ("Read(limit:*)", "tool", "Read(limit:*)", None),
        ("WebFetch(prompt:*)", "tool", "WebFetch(prompt:*)", None),
        ("Agent(model : opus)", "tool", "Agent(model : opus)", None),
        ("Some_Tool", "tool", "Some_Tool", None),
    ],
)
def test_deny_rules_are_read(text: str, kind: str, spec: str, anchor: str | None) -> None:
    rule, warning = parse_rule(text, Decision.DENY, SOURCE, ANCHORS)
    assert rule is not None
    assert (rule.kind, rule.spec, rule.anchor, warning) == (kind, spec, anchor, "")


def test_an_allow_rule_for_a_bare_name_holds_below_the_current_folder_only() -> None:
    rule, _ = parse_rule("Read(src/**)", Decision.ALLOW, SOURCE, ANCHORS)
    assert rule is not None
    assert rule.anchor == "/w"


@pytest.mark.parametrize(
    "text",
    [
        "Write(x)",
        "NotebookEdit(x)",
        "Glob(x)",
        "mcp__server__tool(x)",
        "WebFetch(example.com)",
        "Agent(command:x)",
        "Bash(command:rm *)",
        "Bash( command : rm * )",
        "Read(file_path:.env)",
        "Edit(file_path:.env)",
        "WebFetch(url:https://example.com)",
        "Bash(unclosed",
        "Read(!x)",
    ],
)
def test_rules_that_are_never_consulted_are_kept_out_with_a_warning(text: str) -> None:
    rule, warning = parse_rule(text, Decision.DENY, SOURCE, ANCHORS)
    assert rule is None
    assert warning


def test_a_prefix_mark_before_the_end_is_literal_and_warned_about() -> None:
    rule, warning = parse_rule("Bash(git:* push)", Decision.DENY, SOURCE, ANCHORS)
    assert rule is not None
    assert "only at the end" in warning


def test_an_unknown_tool_is_kept_and_warned_about() -> None:
    rule, warning = parse_rule("Bsah", Decision.DENY, SOURCE, ANCHORS)
    assert rule is not None
    assert "unknown tool Bsah" in warning


def test_an_allow_rule_may_use_a_glob_only_behind_a_server() -> None:
    assert parse_rule("mcp__*", Decision.ALLOW, SOURCE, ANCHORS)[0] is None
    assert parse_rule("mcp__server__*", Decision.ALLOW, SOURCE, ANCHORS)[0] is not None
    assert parse_rule("mcp__a-b__get_*", Decision.ALLOW, SOURCE, ANCHORS)[0] is not None
    assert parse_rule("mcp__a-*__get", Decision.ALLOW, SOURCE, ANCHORS)[0] is None
    assert parse_rule("mcp__a__b(*)", Decision.ALLOW, SOURCE, ANCHORS)[0] is None


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("Agent(Explore)", Decision.DENY),
        ("PowerShell(rm *)", Decision.DENY),
        ("Skill(x)", Decision.ASK),
        ("Cd(~/code/*)", Decision.DENY),
        ("Bash(run_in_background:true)", Decision.ALLOW),
        ("Agent(model:opus)", Decision.ALLOW),
    ],
)
def test_a_spec_for_a_tool_that_is_ruled_by_name_is_warned_about(
    text: str, decision: Decision
) -> None:
    rule, warning = parse_rule(text, decision, SOURCE, ANCHORS)
    assert rule is None
    assert "by name" in warning


@pytest.mark.parametrize(
    ("text", "spec", "anchor"),
    [
        ("Read(.)", "**", "/w"),
        ("Read(./)", "**", "/w"),
        ("Read(/)", "**", "/own"),
        ("Read(~)", "**", "/home/u"),
        ("Read(~/)", "**", "/home/u"),
        ("Read(//)", "**", "/"),
        ("Read(../x)", "/x", "/"),
        ("Read(~/../v/x/**)", "/v/x/**", "/home"),
        ("Read(./a/../b)", "/b", "/w"),
        ("Read(..)", "**", "/"),
        ("Read(...)", "...", "/w"),
    ],
)
def test_a_folder_and_what_leads_out_of_it_are_read_as_paths(
    text: str, spec: str, anchor: str
) -> None:
    for decision in (Decision.DENY, Decision.ALLOW):
        rule, warning = parse_rule(text, decision, SOURCE, ANCHORS)
        assert rule is not None
        assert (rule.spec, rule.anchor, warning) == (spec, anchor, "")


def test_a_path_from_the_root_with_one_slash_is_warned_about() -> None:
    rule, warning = parse_rule("Read(/home/u/x)", Decision.DENY, SOURCE, ANCHORS)
    assert rule is not None
    assert "begin with //" in warning
