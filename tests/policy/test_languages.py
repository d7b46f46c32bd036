"""The language tables: every query fits its grammar, every recipe exists."""

from __future__ import annotations

import pytest

from policy.analysis import analyse
from policy.effects import Command
from policy.host.language import load_language
from policy.host.recipe import parse_recipes
from policy.host.transforms import _TRANSFORMS
from policy.host.tree import read_tree
from policy.model import Subject

STARTED_BY = {
    "python": "import os\nos.system('tool x')",
    "javascript": "require('child_process').exec('tool x')",
    "typescript": "import { exec } from 'child_process'; exec('tool x' as string)",
    "ruby": "system('tool', 'x')",
    "go": 'package main\nimport "os/exec"\nfunc main() { exec.Command("tool", "x").Run() }',
    "rust": 'fn main() { std::process::Command::new("tool").arg("x").status(); }',
    "php": "<?php exec('tool x');",
    "perl": "system('tool', 'x');",
    "r": 'system2("tool", "x")',
    "elixir": 'System.cmd("tool", ["x"])',
    "csharp": 'System.Diagnostics.Process.Start("tool", "x");',
    "java": 'class A { void f() { new ProcessBuilder("tool", "x").start(); } }',
    "c": 'int main() { execlp("tool", "tool", "x", 0); }',
    "cpp": 'int main() { std::system("tool x"); }',
    "lua": "os.execute('tool x')",
}
NOT_TRANSFORMS = {"module", "getattr", "function", "env", "home", "cwd", "expanduser"}
NOT_TRANSFORMS |= {"walk", "enumerate", "zip", "items", "item", "each", "map"}  # of loops and maps


@pytest.mark.parametrize("name", STARTED_BY)
def test_a_started_program_is_seen_with_its_arguments(name: str) -> None:
    effects = analyse(Subject(name, STARTED_BY[name])).effects
    assert ("tool", "x") in [e.argv[:2] for e in effects if isinstance(e, Command)]


@pytest.mark.parametrize("name", STARTED_BY)
def test_every_recipe_and_operation_of_the_tables_exists(name: str) -> None:
    language = load_language(name)
    assert language is not None
    assert all(language.sinks.values())  # a word that no recipe knows fails at loading
    for table in (language.folds, language.methods):
        for function, operation in table.items():
            assert operation in _TRANSFORMS or operation in NOT_TRANSFORMS, function


@pytest.mark.parametrize("name", STARTED_BY)
@pytest.mark.parametrize("code", ["", "\x00", "(((((", "'\"`", "é\ud800", "x" * 2000, "))}}]]"])
def test_text_that_is_no_program_gives_a_tree_all_the_same(name: str, code: str) -> None:
    language = load_language(name)
    assert language is not None
    read_tree(language, code)
    analyse(Subject(name, code))


@pytest.mark.parametrize("name", STARTED_BY)
@pytest.mark.parametrize("code", ["(" * 3000, "f(" * 1500 + ")" * 1500, "a." * 3000, "[" * 3000])
def test_nesting_without_bound_is_survived(name: str, code: str) -> None:
    analyse(Subject(name, code))


def test_other_names_of_a_language_mean_the_same() -> None:
    assert load_language("js") is not None
    assert load_language("C++") is not None
    assert load_language("../python") is None


@pytest.mark.parametrize("words", ["nonsense 0", "shell", "shell 0 1", "builder x", "eval"])
def test_a_recipe_that_is_not_known_or_lacks_a_word_is_an_error(words: str) -> None:
    with pytest.raises((KeyError, ValueError, TypeError)):
        parse_recipes(words)
