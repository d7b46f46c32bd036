"""Rule files: where they lie, what they may do, and how a bad one is named."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from policy import (
    Decision,
    RuleFileError,
    Rules,
    Subject,
    evaluate_fetch,
    evaluate_read,
    evaluate_tool,
    evaluate_write,
    load,
    load_file,
    load_rules,
)
from policy.decide import evaluate
from policy.load import CurrentRules, Disk, main_checkout
from policy.model import Surface


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    (tmp_path / "project" / ".ctxmode").mkdir()
    return tmp_path / "project"


def settings(path: Path, **permissions: object) -> None:
    path.write_text(json.dumps({"permissions": permissions}, indent=2))


def decision(code: str, rules: Rules) -> Decision:
    return evaluate(Subject("shell", code, surface="agent_shell"), rules).decision


def test_no_file_at_all_is_no_error_and_allows(home: Path, project: Path) -> None:
    rules = load_rules(project, home=home)
    assert rules.sources == ()
    assert decision("sudo id", rules) is Decision.ALLOW


def test_rules_of_every_file_hold_together(home: Path, project: Path) -> None:
    settings(home / ".claude" / "settings.json", deny=["Bash(a *)"])
    settings(project / ".claude" / "settings.json", deny=["Bash(b *)"], ask=["Bash(c *)"])
    settings(project / ".claude" / "settings.local.json", deny=["Bash(d *)"])
    rules = load_rules(project, home=home)
    assert rules.sources == (
        "~/.claude/settings.json",
        ".claude/settings.json",
        ".claude/settings.local.json",
    )
    found = [decision(f"{name} x", rules).word for name in "abcde"]
    assert found == ["deny", "deny", "ask", "deny", "allow"]


def test_an_allow_rule_never_carves_out_of_a_deny(home: Path, project: Path) -> None:
    settings(home / ".claude" / "settings.json", allow=["Bash(rm -rf build)"], deny=["Bash(rm *)"])
    assert decision("rm -rf build", load_rules(project, home=home)) is Decision.DENY


def test_allow_rules_of_a_project_wait_for_trust(home: Path, project: Path) -> None:
    settings(project / ".claude" / "settings.json", allow=["Bash(ls *)"])
    untrusted = load_rules(project, home=home)
    assert "not in force" in untrusted.warnings[0]
    trusted = load_rules(project, home=home, trust_project_allow=True)
    assert [rule.text for rule in trusted.of("command")] == ["Bash(ls *)"]


def trust(home: Path, *folders: str) -> None:
    path = home / ".config" / "ctxmode" / "policy.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"trusted_projects = {list(folders)}\n", encoding="utf-8")


@pytest.mark.parametrize("above", [False, True])
def test_a_folder_that_the_user_trusts_has_its_allow_rules_in_force(
    home: Path, project: Path, above: bool
) -> None:
    settings(project / ".claude" / "settings.json", allow=["Bash(ls *)"])
    trust(home, str(project.parent if above else project))
    rules = load_rules(project, home=home)
    assert [rule.text for rule in rules.of("command")] == ["Bash(ls *)"]
    assert rules.untrusted == ()


def test_trust_in_one_folder_is_none_in_another_or_in_one_whose_name_begins_alike(
    home: Path, project: Path
) -> None:
    settings(project / ".claude" / "settings.json", allow=["Bash(ls *)"])
    trust(home, "~/elsewhere", str(project)[:-1])
    assert [rule.text for rule in load_rules(project, home=home).untrusted] == ["Bash(ls *)"]


def test_a_project_cannot_trust_itself(home: Path, project: Path) -> None:
    path = project / ".ctxmode" / "policy.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('default = "ask"\ntrusted_projects = ["/"]\n', encoding="utf-8")
    with pytest.raises(RuleFileError, match=r"policy\.toml:2: a project cannot trust itself"):
        load_rules(project, home=home)


@pytest.mark.parametrize("written", ['"src"', '["src"]', "[1]"])
def test_a_trusted_folder_is_written_as_a_whole_path(
    home: Path, project: Path, written: str
) -> None:
    trust(home)
    path = home / ".config" / "ctxmode" / "policy.toml"
    path.write_text(f"trusted_projects = {written}\n", encoding="utf-8")
    with pytest.raises(RuleFileError, match="trusted_projects"):
        load_rules(project, home=home)


def test_rules_name_their_file_and_line(home: Path, project: Path) -> None:
    settings(project / ".claude" / "settings.json", deny=["Bash(a *)", "Bash(sudo *)"])
    verdict = evaluate(Subject("shell", "true; sudo id"), load_rules(project, home=home))
    (match,) = verdict.matches
    assert (match.source.path, match.source.line) == (".claude/settings.json", 5)
    assert verdict.message.startswith(
        "denied by Bash(sudo *) in .claude/settings.json:5: `sudo id`."
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", 1),
        ('{\n "permissions": []\n}', 2),
        ('{\n "permissions": {\n  "deny": "Bash"\n }\n}', 3),
        ('{\n "permissions": {\n  "deny": [\n   1\n ]}\n}', 3),
        ("[]", 1),
        ("\ufeff\x00", 1),
    ],
)
def test_a_bad_settings_file_is_an_error_that_names_file_and_line(
    home: Path, project: Path, text: str, line: int
) -> None:
    path = project / ".claude" / "settings.json"
    path.write_text(text)
    with pytest.raises(RuleFileError) as caught:
        load_rules(project, home=home)
    assert (caught.value.path, caught.value.line) == (str(path), line)


DENY_A = '"deny": ["Bash(a *)"]'
ODD = {
    "a byte order mark": (f'\ufeff{{"permissions": {{{DENY_A}}}}}', "deny", ""),
    "nothing": ("", "allow", "it is empty"),
    "blank lines": ("\ufeff \n\n", "allow", "it is empty"),
    "a repeated key": (
        f'{{"model": "x", "permissions": {{{DENY_A}}}, "model": "y"}}', "deny", "'model' is rep"
    ),
    "a key of hooks that is repeated": (
        f'{{"hooks": {{"Stop": [], "Stop": []}}, "permissions": {{{DENY_A}}}}}',
        "deny",
        "'Stop' is repeated",
    ),
    "null for permissions": ('{"permissions": null}', "allow", ""),
    "null for a list": (
        '{"permissions": {"deny": null, "ask": ["Bash(a *)"]}}', "ask", "permissions.deny is null"
    ),
    "null for allow": (f'{{"permissions": {{"allow": null, {DENY_A}}}}}', "deny", "allow is null"),
    "no list for allow": (
        f'{{"permissions": {{"allow": "Bash", {DENY_A}}}}}', "deny", "allow is not a list"
    ),
    "no text in allow": (
        f'{{"permissions": {{"allow": [7], {DENY_A}}}}}', "deny", "entries that are not rules"
    ),
    "a byte that is not UTF-8": (
        f'{{"model": "caf\udce9", "permissions": {{{DENY_A}}}}}', "deny", "bytes that are not UTF-8"
    ),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_settings_file_is_read_as_claude_code_reads_it(
    home: Path, project: Path, odd: str
) -> None:
    text, expected, warning = ODD[odd]
    (home / ".claude" / "settings.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    rules = load_rules(project, home=home)
    assert decision("a x", rules).word == expected
    assert any(warning in one for one in rules.warnings) if warning else rules.warnings == ()


@pytest.mark.parametrize(
    "permissions",
    [
        '"deny": ["Bash(rm caf\udce9 *)"]',
        '"ask": [""]',
        '"deny": [null]',
        '"deny": [["Bash(a *)"]]',
        '"deny": {"Bash(a *)": true}',
        '"deny": ["Bash(a *)"], "deny": "Bash"',
    ],
)
def test_what_cannot_be_understood_of_a_list_that_restricts_is_an_error(
    home: Path, project: Path, permissions: str
) -> None:
    text = f'{{"permissions": {{{permissions}}}}}'
    (home / ".claude" / "settings.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(RuleFileError):
        load_rules(project, home=home)


def test_a_file_that_cannot_be_decoded_is_an_error(home: Path, project: Path) -> None:
    (project / ".claude" / "settings.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(RuleFileError, match="cannot be read"):
        load_rules(project, home=home)


def test_a_folder_in_place_of_a_file_is_an_error(home: Path, project: Path) -> None:
    (project / ".claude" / "settings.json").mkdir()
    with pytest.raises(RuleFileError, match="cannot be read"):
        load_rules(project, home=home)


def test_rules_that_are_never_consulted_are_warned_about(home: Path, project: Path) -> None:
    settings(project / ".claude" / "settings.json", deny=["Write(x)"])
    (warning,) = load_rules(project, home=home).warnings
    assert warning.startswith(".claude/settings.json:4: Write(x)")


def test_our_own_rules_are_read_from_user_and_project(home: Path, project: Path) -> None:
    user = home / ".config" / "ctxmode"
    user.mkdir(parents=True)
    (user / "policy.toml").write_text('[[rule]]\ndecision = "deny"\ncommands = ["a *"]\n')
    (project / ".ctxmode" / "policy.toml").write_text(
        '[[rule]]\ndecision = "ask"\ncommands = ["b *"]\n'
    )
    rules = load_rules(project, home=home)
    assert rules.sources == ("~/.config/ctxmode/policy.toml", ".ctxmode/policy.toml")
    assert [decision(f"{name} x", rules).word for name in "ab"] == ["deny", "ask"]


def test_a_project_may_tighten_the_default_but_not_loosen_it(home: Path, project: Path) -> None:
    path = project / ".ctxmode" / "policy.toml"
    path.write_text('default = "ask"\n')
    assert load_rules(project, home=home).default is Decision.ASK
    user = home / ".config" / "ctxmode"
    user.mkdir(parents=True)
    (user / "policy.toml").write_text('default = "ask"\n')
    path.write_text('default = "allow"\n')
    assert load_rules(project, home=home).default is Decision.ASK


def test_one_file_can_be_loaded_alone(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    settings(path, deny=["Bash(x)"])
    assert decision("x", load_file(path, project=None, home=tmp_path)) is Decision.DENY
    with pytest.raises(RuleFileError, match="no such file"):
        load_file(tmp_path / "missing.json", project=None, home=tmp_path)


@pytest.fixture
def managed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "etc" / "managed-settings.json"
    path.parent.mkdir()
    monkeypatch.setattr(load, "MANAGED", path)
    return path


def test_managed_settings_and_the_folder_beside_them_are_read(
    home: Path, project: Path, managed: Path
) -> None:
    settings(managed, deny=["Bash(a *)"])
    managed.with_suffix(".d").mkdir()
    settings(managed.with_suffix(".d") / "10-team.json", deny=["Bash(b *)"])
    rules = load_rules(project, home=home)
    assert [decision(f"{name} x", rules).word for name in "abc"] == ["deny", "deny", "allow"]


def test_managed_settings_may_be_the_only_ones(home: Path, project: Path, managed: Path) -> None:
    only = {"allowManagedPermissionRulesOnly": True, "permissions": {"deny": ["Bash(a *)"]}}
    managed.write_text(json.dumps(only))
    settings(home / ".claude" / "settings.json", deny=["Bash(b *)"])
    settings(project / ".claude" / "settings.json", ask=["Bash(c *)"])
    rules = load_rules(project, home=home)
    assert [decision(f"{name} x", rules).word for name in "abc"] == ["deny", "allow", "allow"]


def test_the_users_settings_may_lie_elsewhere(home: Path, project: Path, tmp_path: Path) -> None:
    (tmp_path / "claude").mkdir()
    settings(tmp_path / "claude" / "settings.json", deny=["Bash(a *)", "Read(/notes)"])
    rules = load_rules(project, home=home, claude_home=tmp_path / "claude")
    assert decision("a x", rules) is Decision.DENY
    assert rules.of("read")[0].anchor == str(tmp_path / "claude")


def test_a_project_within_another_is_held_to_what_that_one_denies(
    home: Path, project: Path
) -> None:
    """Or `git init sub && cd sub` would leave its rules behind."""
    inner = project / "sub"
    (inner / ".git").mkdir(parents=True)
    settings(project / ".claude" / "settings.json", deny=["Bash(a *)"], allow=["Bash(z *)"])
    (project / ".ctxmode" / "policy.toml").write_text('default = "ask"\n')
    rules = load_rules(inner, home=home)
    assert [decision(f"{name} x", rules).word for name in "ab"] == ["deny", "ask"]
    assert rules.warnings == rules.untrusted == ()
    assert [rule.text for rule in rules.rules if rule.decision is Decision.ALLOW] == []


@pytest.mark.parametrize("name", [".claude/settings.json", ".ctxmode/policy.toml"])
@pytest.mark.parametrize("target", ["/dev/zero", "/dev/stdin", "pipe"])
def test_a_projects_rules_neither_fill_the_memory_nor_hold_up_the_server(
    home: Path, project: Path, name: str, target: str
) -> None:
    if target == "pipe":
        os.mkfifo(project / name)
    else:
        (project / name).symlink_to(target)
    with pytest.raises(RuleFileError, match="not a regular file"):
        load_rules(project, home=home)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".claude/settings.json", '{"permissions":' + "[" * 200_000),
        (".ctxmode/policy.toml", "a = " + "[" * 200_000),
    ],
)
def test_rules_that_are_nested_too_deeply_are_an_error(
    home: Path, project: Path, name: str, text: str
) -> None:
    (project / name).write_text(text)
    with pytest.raises(RuleFileError, match="not valid"):
        load_rules(project, home=home)


@pytest.mark.parametrize(
    ("managed", "user", "project_says", "is_trusted", "expected"),
    [
        ({}, {"defaultMode": "dontAsk"}, {}, False, Decision.DENY),
        ({}, {}, {"defaultMode": "dontAsk"}, False, Decision.DENY),
        ({}, {"defaultMode": "acceptEdits"}, {}, False, Decision.ASK),
        ({}, {"defaultMode": "dontAsk"}, {"defaultMode": "default"}, False, Decision.DENY),
        ({}, {"defaultMode": "dontAsk"}, {"defaultMode": "default"}, True, Decision.ASK),
        ({"defaultMode": "dontAsk"}, {"defaultMode": "default"}, {}, True, Decision.DENY),
        ({"defaultMode": "default"}, {"defaultMode": "dontAsk"}, {}, True, Decision.ASK),
        ({}, {"denyInsteadOfPrompting": True}, {"defaultMode": "default"}, True, Decision.DENY),
        ({}, {"denyInsteadOfPrompting": False}, {}, True, Decision.ASK),
    ],
)
def test_where_nobody_is_to_be_asked_rules_that_ask_deny(  # noqa: PLR0917
    home: Path,
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    managed: dict[str, object],
    user: dict[str, object],
    project_says: dict[str, object],
    is_trusted: bool,
    expected: Decision,
) -> None:
    (tmp_path / "etc").mkdir()
    monkeypatch.setattr(load, "MANAGED", tmp_path / "etc" / "managed-settings.json")
    settings(tmp_path / "etc" / "managed-settings.json", **managed)
    settings(home / ".claude" / "settings.json", ask=["Bash(git push *)"], **user)
    settings(project / ".claude" / "settings.json", **project_says)
    rules = load_rules(project, home=home, trust_project_allow=is_trusted)
    assert decision("git push", rules) is expected


ALLOWED = {
    "npm test": "allow", "npm run x": "deny", "make": "deny", "curl -o f https://x.example": "deny",
    "ls -la src": "allow", "git status": "allow", "cat a | grep b": "allow", "echo a > b": "deny",
    "git log --output=x": "deny", "git push": "deny", "find . -delete": "deny", "find . $x": "deny",
    "find . -name a": "allow", "PATH=/x ls": "deny", "ls $(npm run x)": "deny", "$x": "deny",
    "git diff $x": "deny", "echo a > docs/b": "allow", "rm -rf /": "deny", "which make": "allow",
}  # fmt: skip


@pytest.mark.parametrize("code", ALLOWED)
@pytest.mark.parametrize("surface", ["agent_shell", "sandbox"])
@pytest.mark.parametrize("setting", [{"defaultMode": "dontAsk"}, {"denyInsteadOfPrompting": True}])
def test_where_nobody_is_to_be_asked_a_command_that_no_rule_allows_is_denied(
    home: Path, project: Path, code: str, surface: Surface, setting: dict[str, object]
) -> None:
    allow = ["Bash(npm test *)", "Edit(docs/**)"]
    settings(home / ".claude" / "settings.json", allow=allow, **setting)
    rules = load_rules(project, home=home)
    subject = Subject("shell", code, str(project), str(project), str(home), surface=surface)
    assert evaluate(subject, rules).decision.word == ALLOWED[code]
    settings(home / ".claude" / "settings.json", allow=allow)
    freely = evaluate(subject, load_rules(project, home=home)).decision
    assert freely in {Decision.ALLOW, Decision.REDIRECT}


def test_where_nobody_is_to_be_asked_a_tool_that_no_rule_allows_is_denied(
    home: Path, project: Path
) -> None:
    allow = ["WebFetch(domain:good.example)", "mcp__a-b__*", "Edit(/docs/**)"]
    settings(project / ".claude" / "settings.json", allow=allow, defaultMode="dontAsk")
    rules = load_rules(project, home=home, trust_project_allow=True)
    verdicts = {
        "allow": [
            evaluate_fetch("https://good.example/", rules),
            evaluate_tool("mcp__a-b__get", rules),
            evaluate_write(f"{project}/docs/x", rules),
            evaluate_read(f"{project}/x", rules),
        ],
        "deny": [
            evaluate_fetch("https://other.example/", rules),
            evaluate_tool("mcp__other__get", rules),
            evaluate_write(f"{project}/x", rules),
        ],
    }
    assert {
        expected: {verdict.decision.word for verdict in found}
        for expected, found in verdicts.items()
    } == {"allow": {"allow"}, "deny": {"deny"}}
    assert "dontAsk" in verdicts["deny"][0].message


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("defaultMode", "plan", "defaultMode 'plan' is Claude Code's own"),
        ("defaultMode", "bypassPermissions", "changes nothing here"),
        ("defaultMode", ["plan"], "changes nothing here"),
        ("additionalDirectories", ["../docs"], "here profiles set the visible"),
        ("blockReadsOutsideWorkingDirectories", True, "here profiles set the visible"),
        ("dney", ["Bash(rm *)"], "unknown key 'dney'"),
    ],
)
def test_a_key_that_changes_nothing_here_is_told(
    home: Path, project: Path, key: str, value: object, words: str
) -> None:
    settings(project / ".claude" / "settings.json", **{key: value})
    (warning,) = load_rules(project, home=home).warnings
    assert warning.startswith(".claude/settings.json: ")
    assert words in warning


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("defaultMode", "default"),
        ("defaultMode", "manual"),
        ("defaultMode", "dontAsk"),
        ("additionalDirectories", []),
        ("disableBypassPermissionsMode", "disable"),
    ],
)
def test_a_key_that_is_kept_to_or_changes_nothing_is_no_warning(
    home: Path, project: Path, key: str, value: object
) -> None:
    settings(project / ".claude" / "settings.json", **{key: value})
    assert load_rules(project, home=home).warnings == ()


@pytest.mark.parametrize(
    ("link", "rule", "path"),
    [
        ("home/keys", "Read(~/keys/**)", "real/id"),
        ("home/keys", "Read(~/keys/id)", "real/id"),
        ("project/sub", "Read(/sub/*.pem)", "real/a.pem"),
        ("project/sub", "Edit(./sub/x)", "real/x"),
    ],
)
def test_a_rule_written_through_a_link_holds_at_its_real_place(  # noqa: PLR0917
    home: Path, project: Path, tmp_path: Path, link: str, rule: str, path: str
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / link).symlink_to(tmp_path / "real")
    settings(project / ".claude" / "settings.json", deny=[rule])
    rules = load_rules(project, home=home)
    assert evaluate_write(str(tmp_path / path), rules).decision is Decision.DENY
    assert evaluate_write(str(tmp_path / "real2" / "id"), rules).decision is Decision.ALLOW


def test_a_worktree_keeps_to_the_local_settings_of_its_main_checkout(
    home: Path, project: Path, tmp_path: Path
) -> None:
    main = tmp_path / "main"
    (main / ".claude").mkdir(parents=True)
    settings(main / ".claude" / "settings.local.json", deny=["Bash(sudo *)", "Read(/x)"])
    settings(main / ".claude" / "settings.json", deny=["Bash(git push *)"])
    (project / ".git").write_text(f"gitdir: {main}/.git/worktrees/project\n")
    rules = load_rules(project, home=home)
    assert decision("sudo id", rules) is Decision.DENY
    assert decision("git push", rules) is Decision.ALLOW
    assert evaluate_write(str(project / "x"), rules).decision is Decision.DENY


@pytest.mark.parametrize("text", ["", "gitdir: ../.git/modules/x", "gitdir: relative", "\0"])
def test_a_project_that_is_no_worktree_has_no_main_checkout(project: Path, text: str) -> None:
    (project / ".git").write_text(text)
    assert main_checkout(str(project), Disk()) is None


def test_rules_of_a_project_around_this_one_are_seen_from_there(home: Path) -> None:
    outer, inner = home / "outer", home / "outer" / "vendor" / "inner"
    for folder in (outer, inner):
        (folder / ".git").mkdir(parents=True)
    (outer / ".claude").mkdir()
    settings(outer / ".claude" / "settings.json", deny=["Read(.env)", "Read(./a)"])
    rules = load_rules(inner, home=home)
    denied = [outer / ".env", inner / ".env", outer / "a"]
    assert {evaluate_write(str(path), rules).decision for path in denied} == {Decision.DENY}
    assert evaluate_write(str(inner / "a"), rules).allowed
    assert evaluate_write(str(home / ".env"), rules).allowed


@pytest.fixture
def current(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> CurrentRules:
    """Rules that are kept at once; `real` is a folder that a rule names by a link."""
    monkeypatch.setattr(load, "SETTLED_NS", 0)
    monkeypatch.setattr(load, "MANAGED", home.parent / "etc" / "managed-settings.json")
    (home.parent / "etc" / "managed-settings.d").mkdir(parents=True)
    (home / "real").mkdir()
    (home / "other").mkdir()
    (home / "link").symlink_to(home / "real")
    (home / ".config" / "ctxmode").mkdir(parents=True)
    settings(home / ".claude" / "settings.json", deny=["Bash(a *)", f"Read(/{home}/link/**)"])
    (project / ".claude" / "settings.local.json").symlink_to(project / "target")
    return CurrentRules(project, home, home / ".config", home / ".claude")


def _change_settings(home: Path, project: Path) -> None:
    settings(home / ".claude" / "settings.json", deny=["Bash(a *)"])


def _change_a_link_in_a_rule(home: Path, project: Path) -> None:
    (home / "link").unlink()
    (home / "link").symlink_to(home / "other")


def _make_what_a_link_names(home: Path, project: Path) -> None:
    settings(project / "target", deny=["Bash(b *)"])


def _make_managed_settings(home: Path, project: Path) -> None:
    settings(home.parent / "etc" / "managed-settings.d" / "x.json", deny=["Bash(c *)"])


def _make_users_rules(home: Path, project: Path) -> None:
    rule = '[[rule]]\nid = "x"\ndecision = "deny"\nreason = "r"\ncommands = ["git push *"]\n'
    (home / ".config" / "ctxmode" / "policy.toml").write_text(rule)


def _make_a_projects_settings(home: Path, project: Path) -> None:
    settings(project / ".claude" / "settings.json", ask=["Bash(d *)"])


def _become_a_worktree(home: Path, project: Path) -> None:
    main = home.parent / "main"
    (main / ".claude").mkdir(parents=True)
    settings(main / ".claude" / "settings.local.json", deny=["Bash(e *)"])
    (project / ".git").write_text(f"gitdir: {main}/.git/worktrees/project\n")


@pytest.mark.parametrize(
    "change",
    [
        _change_settings,
        _change_a_link_in_a_rule,
        _make_what_a_link_names,
        _make_managed_settings,
        _make_users_rules,
        _make_a_projects_settings,
        _become_a_worktree,
    ],
)
def test_rules_are_kept_until_a_file_or_link_that_decides_them_changes(
    home: Path, project: Path, current: CurrentRules, change: Callable[[Path, Path], None]
) -> None:
    before = current.load()
    assert current.load() is before
    change(home, project)
    after = current.load()
    assert after == load_rules(
        project, home=home, config_home=home / ".config", claude_home=home / ".claude"
    )
    assert after != before


def test_rules_around_a_project_are_found_when_they_come(
    home: Path, project: Path, current: CurrentRules
) -> None:
    inner = project / "inner"
    inner.mkdir()
    kept = CurrentRules(inner, home, home / ".config", home / ".claude")
    assert kept.load() is kept.load()
    settings(project / ".claude" / "settings.json", deny=["Bash(f *)"])
    assert decision("f x", kept.load()) is Decision.DENY


def test_rules_that_cannot_be_read_are_not_kept(
    home: Path, project: Path, current: CurrentRules
) -> None:
    current.load()
    (home / ".claude" / "settings.json").write_text("{")
    for _ in range(2):
        with pytest.raises(RuleFileError):
            current.load()


def test_rules_that_changed_just_now_are_read_again(
    home: Path, project: Path, current: CurrentRules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "SETTLED_NS", 10**12)
    assert current.load() is not current.load()
