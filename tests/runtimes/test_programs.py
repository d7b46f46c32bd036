"""Every language really runs: what its programs print, how they end, what they receive."""

from __future__ import annotations

import pytest

from runtimes.languages import read_table
from runtimes.registry import LANGUAGES, language
from tests.samples import BIG, UNICODE

# What only a part of C#'s compilers has by itself.
MODERN_CSHARP = [
    ("int F(int x) { return x + 1; }\nConsole.WriteLine(F(2));", "3\n"),
    ("static int F(int x) => x + 1;\nConsole.WriteLine(F(2));", "3\n"),
    (
        "async Task<int> F() { await Task.Delay(1); return 3; }\nConsole.WriteLine(await F());",
        "3\n",
    ),
    ("T Id<T>(T x) => x;\nif (true) { Console.WriteLine(Id(3)); }", "3\n"),
    ("Console.WriteLine(new P { X = 3 }.X);\nclass P { public int X { get; set; } }", "3\n"),
    (
        'Console.WriteLine(string.Join(",", new[] { 1, 2 }.Select(x => { return x * 2; })));',
        "2,4\n",
    ),
]

each_language = pytest.mark.parametrize("name", [row.name for row in LANGUAGES])


def samples_and_runners(name, runners):
    return read_table(f"{name}/samples.toml"), runners(language(name))


@each_language
def test_hello_prints_what_its_row_says(name, runners):
    for run in runners(language(name)):
        outcome = run(language(name).hello)
        assert (run.name, outcome.stdout) == (run.name, language(name).hello_output)
        assert (run.name, outcome.stderr) == (run.name, "")


@each_language
def test_a_failing_program_keeps_its_exit_code_and_stderr(name, runners):
    samples, each = samples_and_runners(name, runners)
    for run in each:
        outcome = run(samples["fails"])
        assert (run.name, outcome.exit_code, outcome.stdout) == (run.name, 3, "")
        assert (run.name, outcome.stderr) == (run.name, "to stderr\n")


@each_language
def test_text_beyond_ascii_comes_out_as_it_was_written(name, runners):
    samples, each = samples_and_runners(name, runners)
    for run in each:
        outcome = run(samples["unicode"])
        assert (run.name, outcome.stdout) == (run.name, UNICODE + "\n"), outcome.stderr


@each_language
def test_a_large_output_is_whole(name, runners):
    samples, each = samples_and_runners(name, runners)
    for run in each:
        outcome = run(samples["big"])
        assert (run.name, len(outcome.stdout)) == (run.name, len(BIG)), outcome.stderr
        assert outcome.stdout == BIG


@each_language
def test_arguments_arrive_unchanged(name, runners):
    samples, each = samples_and_runners(name, runners)
    args = ("one", "two words", "-x", "--flag=é", "$HOME", "*")
    for run in each:
        outcome = run(samples["args"], args=args)
        assert (run.name, tuple(outcome.stdout.splitlines())) == (run.name, args), outcome.stderr


@each_language
def test_a_program_reads_its_stdin(name, runners):
    samples, each = samples_and_runners(name, runners)
    for run in each:
        outcome = run(samples["stdin"], stdin=b"a\nb\nc\n")
        assert (run.name, outcome.stdout) == (run.name, "3\n"), outcome.stderr


@pytest.mark.parametrize(("code", "printed"), MODERN_CSHARP)
def test_csharp_takes_top_level_statements_and_functions(code, printed, runners):
    for run in runners(language("csharp")):
        outcome = run(code)
        assert (run.name, outcome.stdout) == (run.name, printed), outcome.stderr
