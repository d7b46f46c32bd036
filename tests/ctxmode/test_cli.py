"""The command's dispatch and its one boundary for errors, in this process and in fresh ones."""

import itertools
import os
import re
import shlex
import subprocess
import sys

import pytest

from ctxmode import __version__, cli, command_line, exit_codes, parsing
from ctxmode.commands import repl
from ctxmode.commands.table import FORMER, SECTIONS, VERBS, find_verb, list_verbs
from ctxmode.errors import ContextModeError, UsageError, unwrap

GROUPS = [name for names, _ in SECTIONS.values() for name in names]


@pytest.mark.parametrize("argument", ["--version", "-V"])
def test_the_version_is_told(capsys, argument):
    assert cli.main([argument]) == 0
    assert capsys.readouterr().out == f"context-mode {__version__}\n"


def test_the_version_imports_neither_trio_nor_mcp_nor_any_room():
    program = (
        "import sys; from ctxmode.cli import main; main(['--version']); "
        "print(sorted({m.split('.')[0] for m in sys.modules}"
        " & {'trio', 'mcp', 'anyio', 'rich', 'executor', 'kb', 'policy', 'runtimes'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("verb", "meant"),
    [("serch", "search"), ("docter", "doctor"), ("RUN", "mean run?"), ("", "Choose from:")],
)
def test_an_unknown_verb_is_a_usage_error_that_names_what_was_meant(capsys, verb, meant):
    assert cli.main([verb]) == exit_codes.USAGE
    assert meant in capsys.readouterr().err


def test_no_verb_shows_the_overview_and_is_a_usage_error(capsys):
    assert cli.main([]) == exit_codes.USAGE
    shown = capsys.readouterr()
    assert all(f"\n  {group} " in shown.err for group in GROUPS)
    assert shown.out == ""


def test_help_shows_five_headings_and_the_newcomers_way_first(capsys):
    assert cli.main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert len(SECTIONS) == 5
    assert [line[:-1] for line in shown.splitlines() if line[:-1] in SECTIONS] == [*SECTIONS]
    assert shown.count("\n  example:  context-mode ") == 5
    found = [line.split()[0] for line in shown.splitlines() if line[:10].strip() in GROUPS]
    assert found == GROUPS
    assert found[:4] == ["try", "setup", "run", "doctor"]
    assert all(f"  {code:>3}  " in shown for code in exit_codes.MEANINGS)


def test_there_are_fifteen_groups_and_each_verb_is_in_one():
    assert len(GROUPS) - len(["try"]) == 15
    grouped = [name for group in GROUPS for name in (group, *(v.name for v in list_verbs(group)))]
    assert sorted(grouped) == sorted(VERBS.keys() - {"hook"})


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(capsys, verb):
    assert cli.main([*verb.split(), "--help"]) == 0
    shown = capsys.readouterr()
    assert f"context-mode {verb}" in shown.out
    assert shown.err == ""


@pytest.mark.parametrize("group", [name for name in GROUPS if any(list_verbs(name))])
def test_a_group_shows_its_verbs(capsys, group):
    assert cli.main(["help", group]) == 0
    shown = capsys.readouterr().out
    missing = [v.name for v in list_verbs(group) if f"\n  {v.name} " not in shown]
    assert missing == []


def read_example(line: str) -> list[str]:
    """Read the words of an example up to a pipe, a redirection or a closing bracket."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    return [*itertools.takewhile(lambda word: not set(word) <= {*"|&<>()"}, reader)]


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "hook"])
def test_every_verb_has_an_example_and_it_is_parsed(verb):
    text = parsing.describe_verb(VERBS[verb])
    examples = re.findall(r"^  .*?context-mode (.*)$", text.partition("\nexample")[2], re.MULTILINE)
    assert examples
    for line in examples:
        found = find_verb(read_example(line))
        assert found is not None, line
        parsing.parse(*found)


@pytest.mark.parametrize("former", FORMER)
def test_a_former_verb_says_its_new_words_once_and_does_the_same(capsys, former):
    words = FORMER[former]
    for rest, code in (["--help"], exit_codes.OK), (["--no-such-option"], exit_codes.USAGE):
        assert cli.main([*words.split(), *rest]) == code
        now = capsys.readouterr()
        assert cli.main([*former.split(), *rest]) == code
        then = capsys.readouterr()
        assert then.out == now.out
        assert then.err == f'context-mode: "{former}" is now "context-mode {words}"\n{now.err}'


@pytest.mark.parametrize(
    ("line", "name", "rest"),
    [
        ("kept", "kept ls", []),
        ("kept --json", "kept ls", ["--json"]),
        ("kept --help", "kept", ["--help"]),
        ("ps", "ps list", []),
        ("run -i python --profile build", "run -i", ["python", "--profile", "build"]),
        ("run python --interactive", "run -i", ["python"]),
        ("run --batch - --json", "run --batch", ["-", "--json"]),
        ("run --batch=a.json", "run --batch", ["a.json"]),
        ("run a.py -- -i --batch", "run", ["a.py", "--", "-i", "--batch"]),
        ("pack --task map", "pack", ["--task", "map"]),
        ("pack map --json", "pack map", ["--json"]),
        ("setup list", "setup list", []),
    ],
)
def test_the_verb_is_found_by_its_words(line, name, rest):
    assert find_verb(line.split()) == (VERBS[name], rest)


# A hook is silent on whatever it does not understand: a host would take an error for a refusal.
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "hook"])
def test_every_verb_refuses_an_unknown_option(capsys, verb):
    assert cli.main([*verb.split(), "--no-such-option"]) == exit_codes.USAGE
    said = capsys.readouterr().err
    # A verb that takes something asks for that first.
    assert "--no-such-option" in said or ": missing " in said


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (ContextModeError("it broke", "mend it"), 1, "context-mode: it broke\n  mend it\n"),
        (UsageError("it is wrong"), 2, "context-mode: it is wrong\n"),
        (KeyboardInterrupt(), 130, ""),
        (
            ExceptionGroup("g", [ExceptionGroup("h", [UsageError("deep")])]),
            2,
            "context-mode: deep\n",
        ),
    ],
)
def test_expected_errors_are_a_message_and_a_code(capsys, monkeypatch, raised, code, said):
    monkeypatch.setattr(command_line, "_dispatch", _raiser(raised))
    assert cli.main(["run"]) == code
    assert capsys.readouterr().err == said


def test_a_defect_is_one_sentence_and_a_log_with_the_versions_and_the_traceback(
    capsys, monkeypatch, tmp_path
):
    monkeypatch.setenv("CONTEXT_MODE_DIR", str(tmp_path))
    monkeypatch.setattr(command_line, "_dispatch", _raiser(ZeroDivisionError("oh no")))
    assert cli.main(["run"]) == exit_codes.BUG
    said = capsys.readouterr().err
    assert "Traceback" not in said
    (log,) = (tmp_path / "logs").iterdir()
    assert str(log) in said
    content = log.read_text()
    assert "ZeroDivisionError: oh no" in content
    assert "Traceback" in content
    assert "python: " in content
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_reader_that_leaves_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "ctxmode", "--help"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_sole_exception_of_nested_groups_is_found():
    error = UsageError("x")
    assert unwrap(BaseExceptionGroup("a", [ExceptionGroup("b", [error])])) is error
    assert unwrap(error) is error


def _raiser(error):
    def dispatch(arguments):
        raise error

    return dispatch


@pytest.mark.parametrize(
    "tell",
    [lambda text: command_line._report(ContextModeError(text, text)), repl.say],
    ids=["an error", "a session"],
)
def test_what_is_said_is_no_order_to_a_terminal(capsys, tell):
    tell("a file\x1b[2J\rof\nothers")
    said = capsys.readouterr().err
    assert all(line.isprintable() for line in said.splitlines())
    assert "a file\\x1b[2J\\x0dof\n" in said
