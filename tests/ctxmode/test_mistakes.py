"""Mistakes with actions and ids: one line says what is wrong, the next what to type."""

from __future__ import annotations

import re
import shlex

import pytest

from ctxmode import cli, errors, exit_codes, parsing
from ctxmode.commands.table import FORMER, VERBS, find_former, find_verb
from executor import SandboxUnavailableError, UnknownRuntimeError

# A command line; its problem; how its remedy begins.
MISTAKES = (
    (
        "kept outputs show",
        "kept outputs show: missing ID",
        "Usage: context-mode kept outputs show ID",
    ),
    (
        "kept outputs diff a",
        "kept outputs diff: missing B",
        "Usage: context-mode kept outputs diff A B",
    ),
    ("kept outputs ls", "kept outputs has no action 'ls'", "Use: context-mode kept outputs list"),
    (
        "kept outputs shw x",
        "kept outputs has no action 'shw'",
        "Did you mean show? Choose from: list, show",
    ),
    ("kept outputs zz", "kept outputs has no action 'zz'", "Choose from: list, show, diff."),
    (
        "kept outputs get",
        "kept outputs has no action 'get'",
        "Use: context-mode kept outputs show ID",
    ),
    (
        "kept outputs show zz",
        "no output 'zz': there are none yet",
        "Make one: context-mode run shell",
    ),
    (
        "kept outputs diff a b",
        "no output 'a': there are none yet",
        "Make one: context-mode run shell",
    ),
    (
        "doctor packages remove x",
        "no package layer 'x': there are none yet",
        "Add one: context-mode doctor pack",
    ),
    (
        "doctor packages remove",
        "doctor packages remove: missing KEY",
        "Usage: context-mode doctor packages remove KEY",
    ),
    (
        "doctor packages remove --all x",
        "doctor packages remove: KEY and --all exclude each other",
        "Usage: ",
    ),
    (
        "doctor packages add",
        "doctor packages add: missing SPEC",
        "Usage: context-mode doctor packages add SPEC...",
    ),
    (
        "doctor packages rm x",
        "doctor packages has no action 'rm'",
        "Use: context-mode doctor packages remove",
    ),
    (
        "doctor packages lok x",
        "doctor packages has no action 'lok'",
        "Did you mean lock? Choose from: list, ",
    ),
    (
        "changes show zz",
        "no change set 'zz': there are none yet",
        "Make one: context-mode run --st",
    ),
    (
        "changes drop zz",
        "no change set 'zz': there are none yet",
        "Make one: context-mode run --st",
    ),
    (
        "changes apply",
        "changes apply: missing ID",
        "Usage: context-mode changes apply ID [PATH...]",
    ),
    ("changes --merge apply", "changes apply: missing ID", "Usage: context-mode changes apply ID"),
    ("changes ls", "changes has no action 'ls'", "Use: context-mode changes list"),
    ("changes delete x", "changes has no action 'delete'", "Use: context-mode changes drop ID..."),
    ("sessions ls", "sessions has no action 'ls'", "Use: context-mode sessions list"),
    ("sessions rm x", "sessions has no action 'rm'", "Use: context-mode sessions forget ID..."),
    ("sessions show zz", "no session 'zz': there are none yet", "Read them: context-mode sessions"),
    ("memory ls", "memory has no action 'ls'", "Use: context-mode memory list"),
    ("memory rm x", "memory has no action 'rm'", "Use: context-mode memory forget ID"),
    ("memory add", "memory has no action 'add'", "Use: context-mode memory remember TEXT"),
    ("memory decision", "memory has no action 'decision'", "Use: context-mode memory remember --c"),
    ("memory zz", "memory has no action 'zz'", "Choose from: remember, prime, pin, unpin, forget"),
    ("memory show zz", "no fact 'zz'", "List them: context-mode memory list"),
    ("memory log --branch zz", "no branch 'zz'", "List them: context-mode memory branch"),
    ("memory restore zz", "no snapshot 'zz'", "List them: context-mode memory snapshots"),
    ("setup zz", "unknown host 'zz'", "Choose from: claude-code, cline, codebuddy, "),
    (
        "doctor completion zz",
        "doctor completion: invalid SHELL 'zz'",
        "Choose from: bash, zsh, fish, ",
    ),
    ("run zz", "no such file or language: zz", "Choose from: javascript, typescript, "),
    ("memory", "memory: missing ACTION", "Choose from: remember, prime, pin, unpin, forget"),
    ("pages ls", "pages has no action 'ls'", "Use: context-mode pages list"),
    ("pages show x", "pages has no action 'show'", "Use: context-mode pages read SLUG"),
    ("pages read zz", "no page 'zz'", "List them: context-mode pages list"),
    ("pages read", "pages read: missing SLUG", "Usage: context-mode pages read SLUG"),
    ("kept show zz", "no source 'zz': there are none yet", "Add one: context-mode index PATH"),
    ("kept show", "kept show: missing SOURCE", "Usage: context-mode kept show SOURCE"),
    (
        "ps stop zz",
        "no running program 'zz': there are none yet",
        "Start one: context-mode run FILE",
    ),
    ("policy refusals 99", "no run '99'", "List them: context-mode policy refusals"),
    (
        "doctor images rm web",
        "doctor images has no action 'rm'",
        "Use: context-mode doctor images remove [GROUP...]",
    ),
    ("doctor images remove zz", "unknown image 'zz'", "Choose from: scripting, web, "),
    ("doctor images", "doctor images: missing ACTION", "Choose from: build, list, remove."),
    ("policy ls", "policy has no action 'ls'", "Use: context-mode policy list"),
    ("policy test", "policy test: missing --rules", "Usage: context-mode policy test FILE.tsv|- -"),
    ("doctor config zz", "doctor config has no action 'zz'", "Choose from: show, init, schema."),
    (
        "doctor config get",
        "doctor config has no action 'get'",
        "Use: context-mode doctor config show",
    ),
    ("serve cluster zz", "serve cluster has no action 'zz'", "Choose from: key, check."),
    (
        "kept zz",
        "kept has no action 'zz'",
        "Choose from: ls, show, outputs, diff, rm, stats, size, ",
    ),
    ("kept list", "kept has no action 'list'", "Use: context-mode kept ls"),
    ("kept remove x", "kept has no action 'remove'", "Use: context-mode kept rm"),
    ("kept diff a", "kept diff: missing B", "Usage: context-mode kept diff A B"),
    ("kept backup", "kept backup: missing FILE", "Usage: context-mode kept backup FILE"),
    ("ps ls", "ps has no action 'ls'", "Use: context-mode ps list"),
    (
        "run --timeout abc python -c 1",
        "run: invalid --timeout 'abc'",
        "Use --timeout SECONDS: a number.",
    ),
    ("pack -b abc", "pack: invalid --budget 'abc'", "Use --budget TOKENS: a whole number."),
    ("kept ls --json=3", "kept ls: --json takes no value", "List the options: context-mode kept"),
    ("kept ls --limit", "kept ls: --limit needs a value", "List the options: context-mode kept"),
    ("search kind:foo", "unknown kind 'foo'", "Choose from: asciidoc, code, "),
    ("search x --kind foo", "unknown kind 'foo'", "Choose from: asciidoc, code, "),
    (
        "memory import deploy.py",
        "cannot import deploy.py: it is a program (python), not a file of facts",
        "Give an export in JSON, a CLAUDE.md or a DECISIONS.md; --format reads any file.",
    ),
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty project, in which nothing is stored."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / "deploy.py").write_text("print(1)\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CONTEXT_MODE_DIR", str(tmp_path / "data"))
    for name in ("CONTEXT_MODE_PROJECT_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def parse_named(text: str) -> int:
    """Parse each command line that a text names; return how many it names."""
    named = re.split(r"context-mode ", text)[1:]
    for one in named:
        line = re.split(r", | or $|\. ", one)[0]
        found = find_verb(shlex.split(re.sub(r"\[.*\]|\.\.\.", "", line)))
        assert found is not None, line
        if "--help" not in found[1]:
            parsing.parse(*found)
    return len(named)


@pytest.mark.parametrize(("line", "problem", "remedy"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_mistake_has_a_problem_and_a_remedy(place, capsys, line, problem, remedy):
    assert cli.main(line.split()) == exit_codes.USAGE
    said = capsys.readouterr()
    first, second = said.err.splitlines()
    assert (said.out, first) == ("", f"context-mode: {problem}")
    assert second.startswith(f"  {remedy}")
    assert not second.rstrip().endswith((":", ": .", "none."))
    if "--category decide" not in second:  # that lacks its text, as it is said beside it
        parse_named(second)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("kept outputs", "No outputs here yet. Make one: context-mode run shell -c 'seq 20000'"),
        ("changes", "No change sets here yet. Make one: context-mode run --stage FILE"),
        (
            "doctor packages",
            "No package layers here yet. Add one: context-mode doctor packages add SPEC",
        ),
        ("kept ls", "No sources here yet. Add one: context-mode index PATH"),
        ("kept ls zz", "No sources here yet. Add one: context-mode index PATH"),
        ("memory list", "No facts here yet. Add one: context-mode memory remember TEXT"),
        ("pages list", "No pages here yet. Write one: context-mode pages write SLUG"),
        ("sessions list", "No sessions here yet. Read them: context-mode sessions track"),
        (
            "sessions list --agent codex",
            "No sessions of agent 'codex' here yet. Agents that can be read: claude_code, codex, ",
        ),
        ("sessions list --status paused", "No sessions with status 'paused' here yet. Read them: "),
    ],
)
def test_an_empty_list_names_what_fills_it(place, capsys, line, shown):
    assert cli.main(line.split()) == exit_codes.OK
    told = capsys.readouterr().out
    assert told.startswith(shown)
    assert parse_named(told) == 1


def test_what_is_not_among_the_stored_names_the_list(place, capsys):
    (place / "notes.md").write_text("# One\n\nText.\n")
    assert cli.main(["index", "notes.md"]) == exit_codes.OK
    capsys.readouterr()
    assert cli.main(["kept ls", "zz"]) == exit_codes.OK
    matches_none = "No source matches 'zz' (1 stored). List all: context-mode kept ls\n"
    assert capsys.readouterr().out == matches_none
    assert cli.main(["kept show", "zz"]) == exit_codes.USAGE
    assert capsys.readouterr().err == (
        "context-mode: no source 'zz'\n  List them: context-mode kept ls\n"
    )


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("900-999", "source 1 has no lines 900-999: it ends at line 3"),
        ("9-3", "invalid --lines '9-3'"),
        ("x", "invalid --lines 'x'"),
    ],
)
def test_lines_that_a_source_does_not_have_are_an_error(place, capsys, lines, problem):
    (place / "notes.md").write_text("# One\n\nText.\n")
    cli.main(["index", "notes.md"])
    capsys.readouterr()
    assert cli.main(["kept", "show", "1", "--lines", lines]) == exit_codes.USAGE
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"context-mode: {problem}"
    assert "3." in second  # where the source ends


def test_one_source_is_counted_in_the_singular(place, capsys):
    (place / "notes.md").write_text("# One\n\nText.\n")
    cli.main(["index", "notes.md"])
    assert cli.main(["kept", "size"]) == exit_codes.OK
    assert "\n1 source (0 superseded), 1 chunk, " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "text", "shown"),
    [
        ("policy.toml", "[[rules]]\n", (":1: unknown key 'rules'\n",)),
        (
            "config.toml",
            '[limits]\nwall_s = "x"\n',
            (
                ":2: limits.wall_s: 'x' is not",
                "\n  Set limits.wall_s to a number of seconds, such a",
            ),
        ),
    ],
)
def test_errors_in_rules_and_settings_have_one_exit_code(place, capsys, file, text, shown):
    (place / ".ctxmode").mkdir()
    (place / ".ctxmode" / file).write_text(text)
    assert cli.main(["run", "python", "-c", "1"]) == exit_codes.USAGE
    told = capsys.readouterr().err
    assert all(part in told for part in shown)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (UnknownRuntimeError("the engine has no runtime 'x'", "Choose from: runc."), "the engine"),
        (SandboxUnavailableError("no user namespaces", "Choose"), "no sandbox is available: no "),
    ],
)
def test_a_missing_sandbox_exits_with_125(error, message):
    with pytest.raises(errors.ContextModeError) as raised, errors.translate_errors():
        raise error
    assert raised.value.message.startswith(message)
    assert raised.value.hint.startswith("Choose")
    assert raised.value.exit_code == 125


@pytest.mark.parametrize("kind", errors.LISTS)
def test_each_command_of_a_kind_is_one(kind):
    assert parse_named(errors.command(errors.LISTS[kind])) == 1
    assert parse_named(errors.describe_making(kind)) == 1


def test_several_that_begin_alike_are_named():
    error = errors.unknown_id("output", "out-", ["out-1", "out-2"], is_empty=False)
    assert error.message == "several outputs match 'out-': out-1, out-2"
    assert error.hint == "Give the whole id. List them: context-mode kept outputs"


@pytest.mark.parametrize("line", ["--json --limit 3", "--limit 3 --json", "list --json --limit 3"])
def test_a_list_is_meant_where_no_action_is_given(place, line):
    parsed = parsing.parse(VERBS["kept outputs"], line.split())
    assert (parsed.action, parsed.limit, parsed.json) == ("list", 3, True)


def test_options_may_stand_before_the_action(place):
    words = ["--language", "javascript", "add", "--project", "x", "nanoid", "--json"]
    parsed = parsing.parse(VERBS["doctor packages"], words)
    assert (parsed.action, parsed.specs, parsed.language) == ("add", ["nanoid"], "javascript")
    assert (parsed.project, parsed.json) == ("x", True)


@pytest.mark.parametrize(
    "former",
    [
        *("sources", "outputs", "packages", "refusals", "task show", "config show", "kb check"),
        *("top --once", "cluster key --name a"),
    ],
)
def test_a_former_verb_prints_on_stdout_what_the_new_one_does(place, capsys, former):
    words = find_former(former.split())
    assert cli.main([*FORMER[words].split(), *former[len(words) :].split(), "--json"]) == 0
    now = capsys.readouterr()
    assert cli.main([*former.split(), "--json"]) == 0
    then = capsys.readouterr()
    assert then.out == now.out != ""
    assert (then.err.count(" is now "), now.err.count(" is now ")) == (1, 0)
