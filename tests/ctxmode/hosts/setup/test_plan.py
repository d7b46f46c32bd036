"""Setting up each host on files of its own form: found again, repeated, taken out."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from base.plain_files import replace_file
from ctxmode import cli, exit_codes
from ctxmode.errors import ContextModeError
from ctxmode.hosts.instructions import read_routing
from ctxmode.hosts.registry import HOSTS as HOOK_HOSTS
from ctxmode.hosts.registry import find_adapter
from ctxmode.hosts.setup import hook_edits
from ctxmode.hosts.setup import plan as setup_plan
from ctxmode.hosts.setup.hosts import BY_NAME, HOSTS, Host
from ctxmode.hosts.setup.json_edits import parse
from ctxmode.hosts.setup.plan import plan, write
from ctxmode.hosts.setup.target import Target, is_registered
from executor.model import Limits
from executor.project.rules.names import NAMES

SCOPES = [(h, s) for h in HOSTS for s in ("user", "project") if h.servers.get(s, "")]
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
        **{f"plugin{n or ''}": one.places for n, one in enumerate(host.plugins)},
        "skill": host.skill,
        "rules": host.rules,
    }
    return {
        kind: target.path(place)
        for kind, of in places.items()
        if of and (place := of.get(target.scope, ""))
    }


def read(path: Path):
    text = path.read_text()
    return tomllib.loads(text) if path.suffix == ".toml" else parse(text).value


def set_up(host: Host, target: Target, **options) -> int:
    changes = plan(host, target, **options)
    write(changes)
    return len(changes)


def test_there_are_at_least_twelve_hosts_each_with_a_source():
    assert len(HOSTS) >= 12
    assert len(BY_NAME) == len(HOSTS)
    assert all(host.source for host in HOSTS)


def test_every_host_with_hooks_has_an_adapter_that_knows_its_events():
    assert {host.adapter for host in HOSTS if host.hooks or host.plugins} == set(HOOK_HOSTS)
    for host in HOSTS:
        if host.hooks:
            assert "judge" in host.events().values()
            assert set(host.hooks.left_out) <= set(find_adapter(host.adapter).EVENTS)


def test_what_makes_a_host_start_programs_is_protected_from_runs_in_the_sandbox():
    """Else a program could plant a server or a hook in the project that it works in."""
    places = [
        of["project"]
        for host in HOSTS
        for of in (
            host.servers,
            host.hooks and host.hooks.places,
            *(one.places for one in host.plugins),
        )
        if of and of.get("project")
    ]
    assert all(map(NAMES.judge, places))


@EVERY
def test_every_host_is_told_when_to_use_which_tool_by_a_hook_or_a_file(host, scope):
    assert "open" in host.events().values() or host.rules


@EVERY
def test_a_host_without_files_gets_them_and_loses_them_again(host, scope, target, tmp_path):
    there = target(scope)
    assert set_up(host, there) == len(set(files_of(host, there).values()))
    entry = read(there.path(host.servers.get(scope, "")))
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
        if kind.rstrip("0123456789") in OURS:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".toml":
            text = f'# mine\nmodel = "m"\n\n[{host.key[0]}.other]\ncommand = "o"\n'
        elif kind == "rules":
            text = "# House rules\n\nBe kind.\n"
        else:
            inner = {host.key[0]: {"other": {"command": "o"}}}
            if host.hooks:
                event = next(iter(host.events()))
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
        event = next(iter(host.events()))
        hooks = read(files["hooks"])["hooks"]
        assert hooks[event][0] == {"command": "their hook"}
        assert len(hooks[event]) == 2
    assert set_up(host, there) == 0
    set_up(host, there, remove=True)
    assert {path: path.read_text() for path in before} == before


OURS = ("plugin", "skill")
# What a file of each form may hold before it is set up. None stands for no file.
BLANK = {
    "missing": None,
    "empty": b"",
    "a blank line": b"\n",
    "blank lines": b"\n \n\n",
    "blank lines of CRLF": b"\r\n\r\n",
    "spaces": b"  ",
    "mark": b"\xef\xbb\xbf",
}
HELD = {
    "json": b'// c\n{\n    "x": {"y": 1}, // d\n    "z": [1,\n 2]\n}\n',
    "toml": b"# c\nx = 1\n\n[y]\nz = 1 # d\n",
    "md": b"# Theirs\n\nBe kind.\n",
}
EMPTY = {"{}": b"{}", "{} and a new line": b"{}\n", "an empty object": b'{"mcpServers": {}}\n'}


def contents_of(path: Path) -> dict[str, bytes | None]:
    form = {".toml": "toml", ".md": "md"}.get(path.suffix, "json")
    held = HELD[form]
    ways = BLANK | {
        "LF": held,
        "CRLF": held.replace(b"\n", b"\r\n"),
        "no new line at its end": held.rstrip(),
        "no new line at its end, CRLF": held.replace(b"\n", b"\r\n").rstrip(),
        "blank lines at its end": held + b"\n\n",
        "a mark": b"\xef\xbb\xbf" + held,
    }
    one_line = {"on one line": b'{"x": 1, "hooks": {"A": []}}'}
    return ways | EMPTY | one_line if form == "json" else ways


@EVERY
def test_what_is_set_up_and_removed_is_restored_to_the_byte(host, scope, target):
    there = target(scope)
    files = files_of(host, there)
    shared = {path for kind, path in files.items() if kind.rstrip("0123456789") not in OURS}
    for path in shared:
        for way, content in contents_of(path).items():
            for each in shared:
                each.unlink(missing_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is not None:
                path.write_bytes(content)
            set_up(host, there)
            assert set_up(host, there) == 0, way
            set_up(host, there, remove=True)
            left = path.read_bytes() if path.exists() else None
            assert (way, left) == (way, content)


WITH_HOOKS = pytest.mark.parametrize("host", [h for h in HOSTS if h.hooks], ids=lambda h: h.name)
WAYS = {
    "beside ours": lambda hook: [hook, {"type": "command", "command": "/mine/lint"}],
    "before ours": lambda hook: [{"type": "command", "command": "/mine/lint"}, hook],
    "around ours": lambda hook: [
        {
            **hook,
            **{name: f"sh -c 'time {hook[name]}'" for name in ("command", "bash") & hook.keys()},
        }
    ],
    "a script": lambda hook: [{"type": "command", "command": "/mine/context-mode.sh hook"}],
}


def edit_hooks(path: Path, edit) -> dict:
    """Rewrite the hooks of a file as a person may, each list of them by `edit`."""
    document = read(path)
    for event, items in document["hooks"].items():
        document["hooks"][event] = [
            one
            for item in items
            for one in (
                [item | {"hooks": edit(item["hooks"][0])}] if "hooks" in item else edit(item)
            )
        ]
    path.write_text(json.dumps(document, indent=2))
    return document


def list_commands(document: dict) -> list[str]:
    items = [item for items in document.get("hooks", {}).values() for item in items]
    return [hook["command"] for item in items for hook in item.get("hooks", [item])]


@WITH_HOOKS
@pytest.mark.parametrize("way", WAYS)
def test_a_persons_hook_stays_where_ours_is_set_up_again_or_removed(host, way, target):
    there = target("user")
    set_up(host, there)
    path = files_of(host, there)["hooks"]
    document = edit_hooks(path, WAYS[way])
    theirs = [line for line in list_commands(document) if not line.startswith("context-mode ")]
    assert len(theirs) == len(host.events())
    newer = replace(there, command=("/new/context-mode",))
    set_up(host, newer)
    again = list_commands(read(path))
    assert [line for line in again if line in theirs] == theirs
    own = [line for line in again if line.startswith("/new/context-mode ")]
    assert len(own) == (0 if way == "around ours" else len(host.events()))
    assert set_up(host, newer) == 0
    set_up(host, newer, remove=True)
    assert list_commands(read(path)) == theirs


@EVERY
def test_what_a_person_added_to_our_entries_stays_when_setup_runs_again(host, scope, target):
    there = target(scope)
    set_up(host, there)
    files = files_of(host, there)
    added = {"env": {"A": "1"}, "timeout": 7, "startup_timeout_sec": 7}
    if host.hooks:
        edit_hooks(files["hooks"], lambda hook: [hook | {"timeout": 7}])
        document = read(files["hooks"])
        for items in document["hooks"].values():
            items[0]["matcher"] = "Mine"
        files["hooks"].write_text(json.dumps(document))
    if files["servers"].suffix == ".toml":
        text = files["servers"].read_text().replace("startup_timeout_sec = 30", "")
        more = 'startup_timeout_sec = 7\ntimeout = 7\n\n[mcp_servers.context-mode.env]\nA = "1"\n'
        files["servers"].write_text(text.rstrip() + "\n" + more)
    else:
        document = read(files["servers"])
        document[host.key[0]][host.key[1]] |= added
        files["servers"].write_text(json.dumps(document))
    set_up(host, replace(there, command=("/new/context-mode",)))
    entry = read(files["servers"])[host.key[0]][host.key[1]]
    assert {name: entry[name] for name in added} == added
    assert "/new/context-mode" in (entry["command"], entry["command"][0])
    if host.hooks:
        items = [items[0] for items in read(files["hooks"])["hooks"].values()]
        assert {item["matcher"] for item in items} == {"Mine"}
        hooks = [item.get("hooks", [item])[0] for item in items]
        assert {hook["timeout"] for hook in hooks} == {7}
        assert all(hook["command"].startswith("/new/context-mode ") for hook in hooks)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "sh", "args": ["-c", "time context-mode serve"]},
        {"command": "nice", "args": ["-n", "5", "context-mode", "serve"]},
        {"command": "/mine/wrapper", "args": ["serve"]},
        {"command": "context-mode", "args": ["serve", "--tools", "ctx_execute"]},
        {"type": "http", "url": "http://127.0.0.1:8765/mcp"},
    ],
)
def test_a_persons_command_of_our_server_stays(entry, target):
    there = target("user")
    path = there.path("~/.claude.json")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"mcpServers": {"context-mode": entry}}))
    set_up(BY_NAME["claude-code"], there)
    found = read(path)["mcpServers"]["context-mode"]
    assert {name: found[name] for name in entry} == entry


def test_a_server_with_a_command_of_the_persons_is_told(place, capsys):
    entry = {"command": "sh", "args": ["-c", "time context-mode serve"]}
    (place / ".claude.json").write_text(json.dumps({"mcpServers": {"context-mode": entry}}))
    assert cli.main(["setup", "claude-code"]) == 0
    assert "keeps your own command or address" in capsys.readouterr().out


def test_a_command_that_is_named_takes_the_place_of_one_that_was(target):
    there = replace(target("user"), command=("/typo",), is_command_given=True)
    set_up(BY_NAME["claude-code"], there)
    set_up(BY_NAME["claude-code"], replace(there, command=("/right",)))
    for path in (there.path("~/.claude.json"), there.path("~/.claude/settings.json")):
        assert "/right" in path.read_text()
        assert "/typo" not in path.read_text()
    set_up(BY_NAME["claude-code"], target("user"), remove=True)
    assert not there.path("~/.claude/settings.json").exists()


MOVED_HOSTS = {
    "claude-code": ("CLAUDE_CONFIG_DIR", [".claude.json", "settings.json"]),
    "codex": ("CODEX_HOME", ["config.toml", "hooks.json"]),
    "gemini-cli": ("GEMINI_CLI_HOME", [".gemini/settings.json"]),
    "copilot-cli": ("COPILOT_HOME", ["hooks/context-mode.json", "mcp-config.json"]),
    "vscode-copilot": ("COPILOT_HOME", ["hooks/context-mode.json"]),
    "qwen-code": ("QWEN_HOME", ["settings.json"]),
    "cline": ("CLINE_DIR", ["data/settings/cline_mcp_settings.json"]),
    "crush": ("CRUSH_GLOBAL_CONFIG", ["CRUSH.md", "crush.json"]),
    "opencode": ("XDG_CONFIG_HOME", ["opencode/opencode.json"]),
}


@pytest.mark.parametrize("name", MOVED_HOSTS)
def test_a_host_whose_folder_a_variable_moves_is_set_up_there_and_told(
    name, place, capsys, monkeypatch
):
    variable, files = MOVED_HOSTS[name]
    moved = place.parent / "moved"
    monkeypatch.setenv(variable, str(moved))
    assert cli.main(["setup", name]) == 0
    said = capsys.readouterr().out
    made = {str(path.relative_to(moved)) for path in moved.rglob("*") if path.is_file()}
    assert made >= set(files)
    assert [f"wrote {moved / file}\n" in said for file in files] == [True] * len(files)
    host = BY_NAME[name]
    assert (
        not (place / host.servers["user"].removeprefix("~/")).exists() or name == "vscode-copilot"
    )
    assert is_registered(host.adapter, str(place / "project"), str(place), os.environ)
    assert cli.main(["setup", name, "--remove"]) == 0
    assert [path for path in moved.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("name", "key", "written", "expected"),
    [
        ("cline", "timeout", None, 3600),
        ("cline", "timeout", 60, 3600),  # as earlier versions wrote it
        ("cline", "timeout", 90, 90),
        ("roo-code", "timeout", None, 3600),
        ("codex", "tool_timeout_sec", None, 3600),
    ],
)
def test_a_host_waits_for_calls_as_long_as_they_may_take(name, key, written, expected, target):
    there, host = target("user"), BY_NAME[name]
    path = there.path(host.servers["user"])
    if written is not None:
        path.parent.mkdir(parents=True)
        entry = {"command": "context-mode", "args": ["serve"], key: written}
        path.write_text(json.dumps({host.key[0]: {host.key[1]: entry}}))
    set_up(host, there)
    assert read(path)[host.key[0]][host.key[1]][key] == expected
    assert expected == written or expected > Limits().wall_s


@pytest.mark.parametrize("fails_at", [1, 2])
def test_several_files_are_written_all_or_none(fails_at, target, monkeypatch):
    there = target("user")
    changes = plan(BY_NAME["claude-code"], there)
    held = {changes[0].path: '{"mine": 1}'}
    changes[0].path.parent.mkdir(parents=True)
    changes[0].path.write_text(held[changes[0].path])
    changes[0].path.chmod(0o600)
    changes = plan(BY_NAME["claude-code"], there)

    def fail(path, *given, **options):
        if str(path) == str(changes[fails_at].path):
            raise OSError(28, "No space left on device")
        replace_file(path, *given, **options)

    monkeypatch.setattr(setup_plan, "replace_file", fail)
    with pytest.raises(ContextModeError, match=r"no space left"):
        write(changes)
    left = [path for path in there.home.rglob("*") if path.is_file()]
    assert {path: path.read_text() for path in left} == held
    assert changes[0].path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_changed_since_the_plan_is_not_written_over(target):
    there = target("user")
    changes = plan(BY_NAME["cursor"], there)
    there.path("~/.cursor").mkdir(parents=True)
    there.path("~/.cursor/hooks.json").write_text("{}")
    with pytest.raises(ContextModeError, match="has just changed"):
        write(changes)
    assert [path.name for path in there.path("~/.cursor").iterdir()] == ["hooks.json"]
    assert there.path("~/.cursor/hooks.json").read_text() == "{}"


@pytest.mark.parametrize("content", [None, b"", b"\n"])
@pytest.mark.parametrize("host", [h for h in HOSTS if h.plugins or h.skill], ids=lambda h: h.name)
def test_a_file_of_ours_alone_leaves_what_was_there(host, content, target):
    scope = "project" if host.name == "kiro" else "user"  # it has hooks of projects alone
    there = target(scope)
    files = files_of(host, there)
    path = files["skill" if host.skill else "plugin"]
    path.parent.mkdir(parents=True)
    if content is not None:
        path.write_bytes(content)
    set_up(host, there)
    assert set_up(host, there) == 0
    set_up(host, there, remove=True)
    assert (path.read_bytes() if path.exists() else None) == content


@pytest.mark.parametrize("host", [h for h in HOSTS if h.hooks], ids=lambda h: h.name)
def test_the_commands_of_hooks_are_words_that_the_program_takes(host, target):
    there = target("user")
    set_up(host, there)
    text = files_of(host, there)["hooks"].read_text()
    lines = re.findall(r'"command": "([^"]* hook [^"]*)"', text)
    words = [shlex.split(line) for line in lines]
    assert words == [["context-mode", "hook", host.adapter, event] for event in host.events()]


@pytest.mark.parametrize(
    ("host", "scope"),
    [(h, s) for h, s in SCOPES if h.rules.get(s)],
    ids=lambda v: getattr(v, "name", v),
)
def test_files_of_rules_hold_the_routing_text_between_markers(host, scope, target):
    there = target(scope)
    set_up(host, there)
    text = files_of(host, there)["rules"].read_text()
    assert text == f"{hook_edits.BEGIN}\n{read_routing().strip()}\n{hook_edits.END}\n"


def test_a_program_that_a_host_runs_is_executable_and_calls_the_hook(target):
    there = target("user")
    set_up(BY_NAME["cline"], there)
    program = there.path("~/Documents/Cline/Hooks/PreToolUse")
    assert program.stat().st_mode & 0o111 == 0o111
    assert program.read_text().splitlines()[-1] == "exec context-mode hook cline PreToolUse"


CLINE_TURNS = ("UserPromptSubmit", "TaskComplete")


def test_programs_for_turns_are_there_unless_no_sessions_are_to_be_recorded(target):
    there = target("user")
    programs = [there.path(f"~/Documents/Cline/Hooks/{event}") for event in CLINE_TURNS]
    set_up(BY_NAME["cline"], there)
    assert [one.read_text().split()[-3:] for one in programs] == [
        ["hook", "cline", event] for event in CLINE_TURNS
    ]
    set_up(BY_NAME["cline"], replace(there, records_sessions=False))
    assert not any(one.exists() for one in programs)
    assert there.path("~/Documents/Cline/Hooks/PreToolUse").exists()


def test_a_program_for_turns_gives_way_to_somebody_elses(target):
    there = target("user")
    theirs = there.path("~/Documents/Cline/Hooks/TaskComplete")
    theirs.parent.mkdir(parents=True)
    theirs.write_text("exec mine")
    set_up(BY_NAME["cline"], there)
    set_up(BY_NAME["cline"], there, remove=True)
    assert theirs.read_text() == "exec mine"


@pytest.mark.parametrize("records", [True, False])
def test_kiros_hooks_of_turns_are_there_where_sessions_are_recorded(target, records):
    there = replace(target("project"), records_sessions=records)
    set_up(BY_NAME["kiro"], there)
    hooks = read(there.path(".kiro/hooks/context-mode.json"))["hooks"]
    triggers = ["PreToolUse", *(("UserPromptSubmit", "Stop") if records else ())]
    assert [hook["trigger"] for hook in hooks] == triggers
    assert [shlex.split(hook["action"]["command"])[-1] for hook in hooks] == triggers


@pytest.mark.parametrize(("text", "hinders"), [("exec mine", True), ("a hook cline x", False)])
def test_a_program_of_somebody_else_stays(text, hinders, target):
    there = target("user")
    program = there.path("~/Documents/Cline/Hooks/PreToolUse")
    program.parent.mkdir(parents=True)
    program.write_text(text)
    if hinders:
        with pytest.raises(ContextModeError, match="not from context-mode"):
            plan(BY_NAME["cline"], there)
    else:
        set_up(BY_NAME["cline"], there)
        set_up(BY_NAME["cline"], there, remove=True)
    assert program.read_text() == text


def test_a_skill_of_somebody_else_in_the_place_of_ours_stays_and_hinders_nothing(target):
    there = target("user")
    path = there.path("~/.qwen/skills/context-mode/SKILL.md")
    path.parent.mkdir(parents=True)
    path.write_text("# Theirs")
    set_up(BY_NAME["qwen-code"], there)
    assert there.path("~/.qwen/settings.json").exists()
    set_up(BY_NAME["qwen-code"], there, remove=True)
    assert path.read_text() == "# Theirs"


def test_a_server_that_codex_must_wait_for_is_required(target):
    there = target("user")
    set_up(BY_NAME["codex"], there)
    entry = read(there.path("~/.codex/config.toml"))["mcp_servers"]["context-mode"]
    assert (entry["required"], entry["startup_timeout_sec"]) == (True, 30)


def test_a_broken_file_is_named_with_its_line_and_nothing_is_written(target, tmp_path):
    there = target("user")
    broken = there.path("~/.claude/settings.json")
    broken.parent.mkdir(parents=True)
    broken.write_text('{\n  "hooks": [,\n}')
    with pytest.raises(Exception, match=r"cannot edit .*settings\.json: line 2"):
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
    assert "type /hooks in Codex" in capsys.readouterr().out
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
        ([], "missing HOST"),
        (["windsurf", "--project"], "Use --user."),
        (["cursor", "--user", "--project"], "exclude each other"),
    ],
)
def test_what_is_malformed_is_told(place, capsys, arguments, said):
    assert cli.main(["setup", *arguments]) == exit_codes.USAGE
    assert said in capsys.readouterr().err


def test_the_hosts_are_listed_with_how_each_is_known(place, capsys):
    assert cli.main(["setup", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [host.name for host in HOSTS]
    assert re.search(r"user, project +hooks, skill +run \d+\.\d+\.\d+, 20\d\d", lines[0])
    assert any(re.search(r"rules file +by its documents, 20\d\d", line) for line in lines)
    assert cli.main(["setup", "--list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["hosts"]
    assert {name for row in rows for name in row} == {
        *("name", "title", "scopes", "means", "run", "date", "source")
    }
    assert rows[0]["scopes"] == ["user", "project"]


def test_seven_hosts_were_run_and_each_says_its_version():
    run = {host.name for host in HOSTS if host.known.get("version")}
    assert run >= {
        *("claude-code", "codex", "opencode", "gemini-cli", "qwen-code", "copilot-cli", "cline")
    }


def test_hooks_that_two_hosts_read_stay_until_neither_is_set_up(target):
    there = target("user")
    both = [BY_NAME["vscode-copilot"], BY_NAME["copilot-cli"]]
    shared = files_of(both[0], there)["hooks"]
    assert shared == files_of(both[1], there)["hooks"]
    for host in both:
        set_up(host, there)
    set_up(both[0], there, remove=True)
    assert shared.exists()
    set_up(both[1], there, remove=True)
    assert not shared.exists()
