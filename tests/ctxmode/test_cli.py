"""The command's dispatch and its one boundary for errors, in this process and in fresh ones."""

import os
import subprocess
import sys

import pytest

from ctxmode import __version__, cli, command_line, exit_codes
from ctxmode.commands.table import VERBS
from ctxmode.errors import ContextModeError, UsageError, unwrap
from ctxmode.repl import session


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
    [("serch", "search"), ("docter", "doctor"), ("RUN", "Verbs:"), ("", "Verbs:")],
)
def test_an_unknown_verb_is_a_usage_error_that_names_what_was_meant(capsys, verb, meant):
    assert cli.main([verb]) == exit_codes.USAGE
    assert meant in capsys.readouterr().err


def test_no_verb_shows_the_overview_and_is_a_usage_error(capsys):
    assert cli.main([]) == exit_codes.USAGE
    shown = capsys.readouterr()
    assert all(verb in shown.err for verb in VERBS)
    assert shown.out == ""


def test_help_shows_every_verb_and_succeeds(capsys):
    assert cli.main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(verb in shown for verb in VERBS)
    assert all(f"  {code:>3}  " in shown for code in exit_codes.MEANINGS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(capsys, verb):
    assert cli.main([verb, "--help"]) == 0
    assert f"context-mode {verb}" in capsys.readouterr().out


# A hook is silent on whatever it does not understand: a host would take an error for a refusal.
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "hook"])
def test_every_verb_refuses_an_unknown_option(capsys, verb):
    assert cli.main([verb, "--no-such-option"]) == exit_codes.USAGE
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
    [lambda text: command_line._report(ContextModeError(text, text)), session.say],
    ids=["an error", "a session"],
)
def test_what_is_said_is_no_order_to_a_terminal(capsys, tell):
    tell("a file\x1b[2J\rof\nothers")
    said = capsys.readouterr().err
    assert all(line.isprintable() for line in said.splitlines())
    assert "a file\\x1b[2J\\x0dof\n" in said
