"""Claude Code's rules in docs/claude-rules.md: each row of the tables is run by the hooks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ctxmode.config.rules import load
from ctxmode.hosts.hooks.hook_types import Ground
from ctxmode.hosts.hooks.run import ruling
from ctxmode.hosts.hooks.tool_names import tool_call
from policy import Decision, Rules
from policy import load as policy_load

DOCUMENT = (Path(__file__).parents[4] / "docs" / "claude-rules.md").read_text("utf-8")
ARGUMENTS = {"WebFetch": "url", "NotebookEdit": "notebook_path", "Grep": "path", "Glob": "path"}
DEFAULTS = {"applied": Decision.DENY}
RULED = {"deny": "deny", "ask": "ask", "allow": "pass"}


def cells(line: str) -> tuple[str, ...]:
    """A table's row, without the marks of code."""
    found = re.split(r"(?<!\\)\|", line.strip().strip("|"))
    return tuple(cell.strip().strip("`").replace("\\|", "|") for cell in found)


def rows(heading: str) -> list[tuple[str, ...]]:
    """The rows of the table below a heading."""
    section = DOCUMENT.split(f"## {heading}\n", 1)[1].split("\n#", 1)[0]
    return [cells(line) for line in section.splitlines() if line.startswith("| `")]


HEADINGS = ("As documented", "Stricter", "Other")
TABLE = [(heading, *row) for heading in HEADINGS for row in rows(heading)]


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setattr(policy_load, "MANAGED", tmp_path / "etc" / "managed-settings.json")
    home, project = tmp_path / "home", tmp_path / "home" / "project"
    for folder in (project / ".claude", project / ".git", home / ".config" / "ctxmode"):
        folder.mkdir(parents=True)
    (project / "link-to-key").symlink_to("../.ssh/id_rsa")
    (project / ".env").write_text("KEY=1\n")
    return Ground(str(project), str(home), {})


def with_settings(ground: Ground, **permissions: object) -> Rules:
    """The rules of a project with such permissions, all of them in force."""
    settings = Path(ground.project, ".claude", "settings.json")
    settings.write_text(json.dumps({"permissions": permissions}))
    default = "ask" if "allow" in permissions else "allow"
    own = Path(ground.home, ".config", "ctxmode", "policy.toml")
    own.write_text(f'default = "{default}"\ntrusted_projects = ["~/project"]\n')
    return load(ground.project, ground.home, {})


def outcome(rule: str, where: str, written: str, ground: Ground) -> str:
    """Whether the rule speaks of the call: yes or no; or that the rule is warned about."""
    rules = with_settings(ground, **{where: [rule]})
    if rule not in {found.text for found in rules.rules}:
        assert any(rule in warning for warning in rules.warnings)
        return "warned"
    name, colon, value = written.partition(": ")
    if not colon or not re.fullmatch(r"[\w-]+", name):
        name, value = "Bash", json.dumps({"command": written})
    given = json.loads(value) if value[:1] == "{" else {ARGUMENTS.get(name, "file_path"): value}
    call = tool_call(name, given, ground.project)
    if call is None:
        return "no"
    said, _ = ruling(call, ground, lambda: True)
    return "yes" if said.kind == RULED[where] and (where == "allow" or rule in said.text) else "no"


@pytest.mark.parametrize(("heading", "rule", "where", "call", "documented", "here"), TABLE)
def test_a_row_is_true(  # noqa: PLR0917
    heading: str, rule: str, where: str, call: str, documented: str, here: str, ground: Ground
) -> None:
    assert outcome(rule, where, call, ground) == here
    strictness = (documented == here, here == ("no" if where == "allow" else "yes"))
    assert (
        strictness
        == {
            "As documented": (True, strictness[1]),
            "Stricter": (False, True),
            "Other": (False, False),
        }[heading]
    )


@pytest.mark.parametrize(("setting", "here"), [row[:2] for row in rows("Other settings")])
def test_a_setting_does_what_its_row_says(setting: str, here: str, ground: Ground) -> None:
    given = json.loads(f"{{{setting}}}")
    rules = with_settings(ground, ask=["Bash(git push *)"], **given)
    call = tool_call("Bash", {"command": "git push"}, ground.project)
    assert call is not None
    kind = ruling(call, ground, lambda: True)[0].kind
    found = "applied" if kind == "deny" else "warned" if rules.warnings else "no effect"
    assert (found, rules.default) == (here, DEFAULTS.get(here, Decision.ALLOW))


@pytest.mark.parametrize(
    ("name", "given", "kind"),
    [
        ("Bash", {"command": "date -u"}, "pass"),
        ("Bash", {"command": "date -u && npm x"}, "deny"),
        ("Bash", {"command": "git status"}, "pass"),
        ("Write", {"file_path": "x"}, "pass"),
        ("Edit", {"file_path": "x"}, "deny"),
        ("Edit", {"file_path": "docs/x"}, "pass"),
        ("Read", {"file_path": "x"}, "pass"),
        ("Grep", {"pattern": "x"}, "pass"),
        ("WebFetch", {"url": "https://example.com/"}, "deny"),
        ("mcp__a-b__get", {}, "pass"),
        ("mcp__other__get", {}, "deny"),
        ("mcp__context-mode__ctx_execute", {"code": "x"}, "pass"),
        ("mcp_context-mode_ctx_search", {}, "pass"),
        ("mcp:ctx_search", {}, "pass"),
        ("mcp__other__ctx_search", {}, "deny"),
    ],
)
def test_where_what_no_rule_allows_is_denied_a_hook_says_so(
    name: str, given: dict[str, str], kind: str, ground: Ground
) -> None:
    allow = ["Bash(date *)", "Write", "Edit(docs/**)", "mcp__a-b__*"]
    with_settings(ground, allow=allow, defaultMode="dontAsk")
    call = tool_call(name, given, ground.project)
    assert call is not None
    assert ruling(call, ground, lambda: True)[0].kind == kind


def test_the_tables_hold_every_kind_of_rule() -> None:
    assert len(TABLE) >= 80
    assert {row[2] for row in TABLE} == set(RULED)
