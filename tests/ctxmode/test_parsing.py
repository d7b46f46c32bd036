"""Mistakes on a command line name what was probably meant and where to read on."""

from __future__ import annotations

import pytest

from ctxmode import cli, exit_codes, parsing
from ctxmode.commands.table import VERBS


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run python --jsno -c 1", ["run: unknown option --jsno", "Did you mean --json?"]),
        ("run python -c 1 --verbose", ["--verbose", "… -- --verbose"]),
        ("run pythn", ["no such file or language: pythn", "Did you mean python?"]),
        ("run python -c 1 --limit memry=1", ["Did you mean memory_bytes?"]),
        ("run python -c 1 --isolation cotainer", ["--isolation", "Did you mean container?"]),
        ("run python -c 1 --timeout soon", ["--timeout", "'soon'", "Use --timeout SECONDS"]),
        ("run python --timeout", ["--timeout needs a value"]),
        ("policy chek x", ["policy has no action 'chek'", "Did you mean check?"]),
        ("policy check x --sruface agent", ["policy check: unknown option", "--surface?"]),
        ("doctor config shw", ["Did you mean show?"]),
        ("kept chekc", ["kept has no action 'chekc'", "Did you mean check?"]),
        ("ps stpo", ["ps has no action", "Did you mean stop?"]),
        ("policy refusal", ["Did you mean refusals?"]),
        ("doctor imags", ["unexpected word", "Did you mean images?"]),
        ("index a b", ["unexpected word", "one file or folder"]),
        ("index a https://b.example", ["URLs and paths"]),
        ("index https://b.example --watch", ["--watch does not apply to web pages"]),
        ("index a --ttl 1d", ["--ttl does not apply to files"]),
        ("doctor images buld", ["Did you mean build?"]),
        ("doctor images list wbe", ["unknown image 'wbe'", "Did you mean web?"]),
        ("doctor images build --bas x", ["doctor images build: unknown option --bas", "--base?"]),
        ("index . --kind markdwn", ["invalid --kind 'markdwn'", "Did you mean markdown?"]),
        ("kept outputs shw x", ["Did you mean show?"]),
        ("setup claude-cod", ["Did you mean claude-code?"]),
        ("serve --tools ctx_exec", ["Did you mean ctx_execute?"]),
        ("run -i pyton", ["did you mean python"]),
        ("kept show a b", ["unexpected word 'b'"]),
        ("search", ["missing QUERY", "Usage: context-mode search QUERY..."]),
        ("--json doctor", ["option --json comes before the command"]),
        ("docter", ["Did you mean doctor?"]),
    ],
)
def test_a_mistake_is_a_usage_error_with_a_remedy(capsys, line, said):
    assert cli.main(line.split()) == exit_codes.USAGE
    shown = capsys.readouterr().err
    assert shown.startswith("context-mode: ")
    assert len(shown.splitlines()) == 2  # what is wrong, and what to do
    assert [part for part in said if part not in shown] == []


def test_an_unknown_profile_names_the_nearest(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = ["run", "shell", "-c", "true", "--profile", "analyse", "--project", str(tmp_path)]
    assert cli.main(line) == exit_codes.USAGE
    assert "Did you mean analyze?" in capsys.readouterr().err


def test_no_option_may_be_shortened():
    with pytest.raises(parsing.UsageError, match="unknown option --inte"):
        parsing.parse(VERBS["run"], ["python", "-c", "1", "--inte", "x"])


def test_dashes_part_the_programs_arguments_from_ours():
    parsed = parsing.parse(VERBS["run"], ["a.py", "--json", "--", "--json", "--", "x"])
    assert parsed.json
    assert parsed.program_args == ["--json", "--", "x"]


@pytest.mark.parametrize("line", ["--timeout 5 ruby -", "ruby --timeout 5 -", "ruby - --timeout 5"])
def test_options_may_stand_between_words(line):
    parsed = parsing.parse(VERBS["run"], line.split())
    assert (parsed.target, parsed.file, parsed.timeout) == ("ruby", "-", 5)


def list_leaves():
    """Every verb and action that takes words: its words, and what is put between them."""
    for verb in VERBS.values():
        parser = parsing.verb_parser(verb)
        below = parsing.subparsers(parser)
        for name, leaf in (below or {"": parser}).items():
            words = [
                str(next(iter(one.choices or ["1"])))
                for one in leaf._actions
                if not one.option_strings
                for _ in range(2 if one.nargs in {"*", "+"} else 1)
            ]
            if len(words) > 1 and "--budget" in parsing._options(leaf):
                yield pytest.param(verb, [name] if name else [], words, id=f"{verb.name} {name}")


@pytest.mark.parametrize(("verb", "action", "words"), [*list_leaves()])
def test_options_may_stand_between_the_words_of_every_verb_and_action(verb, action, words):
    option = ["--budget", "99"]
    first = parsing.parse(verb, [*action, *option, *words])
    for at in range(1, len(words) + 1):
        assert parsing.parse(verb, [*action, *words[:at], *option, *words[at:]]) == first


def test_a_page_is_written_with_its_type_before_the_file():
    given = parsing.parse(VERBS["pages"], ["write", "a", "--type", "concept", "f.md", "--tag", "t"])
    assert (given.slug, given.kind, given.file, given.tags) == ("a", "concept", "f.md", ["t"])


def test_dashes_only_end_the_options_of_a_verb_that_runs_no_program():
    assert parsing.parse(VERBS["search"], ["--", "-x"]).queries == ["-x"]


@pytest.mark.parametrize("line", [["help", "search"], ["search", "-h"]], ids=str)
def test_help_is_asked_for_in_either_order(capsys, line):
    assert cli.main(line) == exit_codes.OK
    assert "context-mode search" in capsys.readouterr().out


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "hook"])
def test_every_option_says_what_it_does(verb):
    parsers = [parsing.verb_parser(VERBS[verb])]
    parsers += parsing.subparsers(parsers[0]).values()
    silent = [
        action.option_strings
        for parser in parsers
        for action in parser._actions
        if action.option_strings and not action.help
    ]
    assert silent == []
