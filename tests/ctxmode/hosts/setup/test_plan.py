"""Setting up each host on files of its own form: found again, repeated, taken out."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from ctxmode import cli, exit_codes
from ctxmode.hosts.adapters import HOSTS as HOOK_HOSTS
from ctxmode.hosts.adapters import find_adapter
from ctxmode.hosts.routing import ROUTING
from ctxmode.hosts.setup import marked_text
from ctxmode.hosts.setup.hosts import BY_NAME, HOSTS, Host
from ctxmode.hosts.setup.json_syntax import parse
from ctxmode.hosts.setup.plan import Target, plan, write
from executor.project.rules.names import NAMES, ChangeVerdict

SCOPES = [(h, s) for h in HOSTS for s in ("user", "project") if h.servers.of(s)]
EVERY = pytest.mark.parametrize(("host", "scope"), SCOPES, ids=lambda v: getattr(v, "name", v))


@pytest.fixture
def target(tmp_path: Path):
    def of(scope) -> Target:
        return Target(scope, tmp_path / "home", tmp_path / "project", ("context-mode",))

    return of


def files_of(host: Host, target: Target) -> dict[str, Path]:
    places = {
        "servers": host.servers,
        "hooks": host.hooks.places if host.hooks else None,
        "plugin": host.plugin,
        "rules": host.rules,
    }
    return {
        kind: target.path(place)
        for kind, of in places.items()
        if of and (place := of.of(target.scope))
    }


def read(path: Path):
    text = path.read_text()
    return tomllib.loads(text) if path.suffix == ".toml" else parse(text).value


def set_up(host: Host, target: Target, **options) -> int:
    changes = plan(host, target, **options)
    for change in changes:
        write(change)
    return len(changes)


def test_there_are_at_least_twelve_hosts_each_with_a_source():
    assert len(HOSTS) >= 12
    assert len(BY_NAME) == len(HOSTS)
    assert all(host.source for host in HOSTS)


def test_every_host_with_hooks_has_an_adapter_that_knows_its_events():
    assert {host.name for host in HOSTS if host.hooks or host.plugin} == set(HOOK_HOSTS)
    for host in HOSTS:
        if host.hooks:
            spoken = find_adapter(host.name)
            assert set(host.hooks.entries) <= {*spoken.PRE_TOOL, *spoken.SESSION_START}


def test_what_makes_a_host_start_programs_is_protected_from_runs_in_the_sandbox():
    """Else a program could plant a server or a hook in the project that it works in."""
    places = [
        of.project
        for host in HOSTS
        for of in (host.servers, host.hooks and host.hooks.places, host.plugin)
        if of and of.project
    ]
    covered = [
        place
        for place in places
        if (row := NAMES.judge(place)) and row.verdict is ChangeVerdict.NEVER
    ]
    assert covered == places


@EVERY
def test_every_host_is_told_when_to_use_which_tool_by_a_hook_or_a_file(host, scope):
    says = host.hooks and find_adapter(host.name).SESSION_START
    assert says or host.rules


@EVERY
def test_a_host_without_files_gets_them_and_loses_them_again(host, scope, target, tmp_path):
    there = target(scope)
    assert set_up(host, there) == len(set(files_of(host, there).values()))
    entry = read(there.path(host.servers.of(scope)))
    for key in host.key:
        entry = entry[key]
    assert "serve" in json.dumps(entry)
    assert set_up(host, there) == 0  # again
    set_up(host, there, remove=True)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


FOREIGN_JSON = """\
// A person's own.
{
  "editor": {"size": 12}, // points
  %s
}
"""


@EVERY
def test_comments_and_entries_of_others_stay(host, scope, target):
    there = target(scope)
    files = files_of(host, there)
    before = {}
    for kind, path in files.items():
        if kind == "plugin":
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".toml":
            text = f'# mine\nmodel = "m"\n\n[{host.key[0]}.other]\ncommand = "o"\n'
        elif kind == "rules":
            text = "# House rules\n\nBe kind.\n"
        else:
            inner = {host.key[0]: {"other": {"command": "o"}}}
            if host.hooks:
                event = next(iter(host.hooks.entries))
                inner["hooks"] = {event: [{"command": "their hook"}]}
            text = FOREIGN_JSON % json.dumps(inner)[1:-1]
        path.write_text(text)
        before[path] = text
    set_up(host, there)
    for path in before:
        after = path.read_text()
        assert re.search(r"mine|A person's own\.|House rules", after)
        if path.suffix not in (".md",):
            assert read(path)[host.key[0]]["other"] == {"command": "o"}
    if host.hooks:
        event = next(iter(host.hooks.entries))
        hooks = read(files["hooks"])["hooks"]
        assert hooks[event][0] == {"command": "their hook"}
        assert len(hooks[event]) == 2
    assert set_up(host, there) == 0
    set_up(host, there, remove=True)
    assert {path: path.read_text() for path in before} == before


@pytest.mark.parametrize("host", [h for h in HOSTS if h.hooks], ids=lambda h: h.name)
def test_the_commands_of_hooks_are_words_that_the_program_takes(host, target):
    there = target("user")
    set_up(host, there)
    text = files_of(host, there)["hooks"].read_text()
    lines = re.findall(r'"command": "([^"]* hook [^"]*)"', text)
    words = [shlex.split(line) for line in lines]
    assert words == [["context-mode", "hook", host.name, event] for event in host.hooks.entries]


@pytest.mark.parametrize(
    ("host", "scope"),
    [(h, s) for h, s in SCOPES if h.rules and h.rules.of(s)],
    ids=lambda v: getattr(v, "name", v),
)
def test_files_of_rules_hold_the_routing_text_between_markers(host, scope, target):
    there = target(scope)
    set_up(host, there)
    text = files_of(host, there)["rules"].read_text()
    assert text == f"{marked_text.BEGIN}\n{ROUTING.strip()}\n{marked_text.END}\n"


def test_a_broken_file_is_named_with_its_line_and_nothing_is_written(target, tmp_path):
    there = target("user")
    broken = there.path("~/.claude/settings.json")
    broken.parent.mkdir(parents=True)
    broken.write_text('{\n  "hooks": [,\n}')
    with pytest.raises(Exception, match=r"settings\.json cannot be edited: line 2"):
        plan(BY_NAME["claude-code"], there)
    assert not there.path("~/.claude.json").exists()


def test_a_link_is_written_through_and_the_mode_is_kept(target, tmp_path):
    there = target("user")
    real = tmp_path / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}")
    real.chmod(0o600)
    link = there.path("~/.cursor/mcp.json")
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    set_up(BY_NAME["cursor"], there)
    assert link.is_symlink()
    assert "context-mode" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600


def test_a_byte_order_mark_and_line_ends_stay(target):
    there = target("user")
    path = there.path("~/.cursor/mcp.json")
    path.parent.mkdir(parents=True)
    path.write_bytes('\ufeff{\r\n  "mcpServers": {}\r\n}\r\n'.encode())
    set_up(BY_NAME["cursor"], there)
    made = path.read_bytes()
    assert made.startswith(b"\xef\xbb\xbf{\r\n")
    assert made.count(b"\n") == made.count(b"\r\n")


@pytest.fixture
def place(tmp_path: Path, monkeypatch) -> Path:
    (tmp_path / "home" / "project" / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CONTEXT_MODE_PROJECT_DIR", raising=False)
    monkeypatch.chdir(tmp_path / "home" / "project")
    return tmp_path / "home"


def test_the_verb_writes_tells_and_takes_out(place, capsys):
    assert cli.main(["setup", "cursor", "--dry-run"]) == 0
    assert '+    "context-mode": {' in capsys.readouterr().out
    assert not (place / ".cursor").exists()
    assert cli.main(["setup", "cursor"]) == 0
    assert f"wrote {place}/.cursor/mcp.json" in capsys.readouterr().out
    assert cli.main(["setup", "cursor"]) == 0
    assert "nothing to change" in capsys.readouterr().out
    assert cli.main(["setup", "cursor", "--remove"]) == 0
    assert os.listdir(place / ".cursor") == []


def test_what_a_person_has_to_do_besides_is_told(place, capsys):
    assert cli.main(["setup", "codex"]) == 0
    assert "type /hooks in it" in capsys.readouterr().out
    assert cli.main(["setup", "codex", "--remove"]) == 0
    assert "type /hooks" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("folder", "bare"), [("venv/bin", False), ("home/.local/bin", True)], ids=str
)
def test_a_persons_files_name_the_path_unless_every_host_finds_the_program(
    folder, bare, place, monkeypatch
):
    program = place.parent / folder / "context-mode"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert cli.main(["setup", "claude-code"]) == 0
    made = json.loads((place / ".claude.json").read_text())
    command = made["mcpServers"]["context-mode"]["command"]
    assert command == ("context-mode" if bare else str(program))


def test_a_projects_files_name_no_path_of_this_machine(place, capsys):
    assert cli.main(["setup", "claude-code", "--project"]) == 0
    capsys.readouterr()
    made = json.loads((place / "project" / ".mcp.json").read_text())
    assert made["mcpServers"]["context-mode"] == {
        "type": "stdio",
        "command": "context-mode",
        "args": ["serve"],
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cursr"], "Did you mean cursor?"),
        ([], "no host is named"),
        (["cline", "--project"], "Use --user."),
        (["cursor", "--user", "--project"], "not allowed with"),
    ],
)
def test_what_is_malformed_is_told(place, capsys, arguments, said):
    assert cli.main(["setup", *arguments]) == exit_codes.USAGE
    assert said in capsys.readouterr().err


def test_the_hosts_are_listed(place, capsys):
    assert cli.main(["setup", "--list"]) == 0
    assert all(host.name in capsys.readouterr().out for host in HOSTS[:1])
