"""The language tables: every query fits its grammar, every recipe exists."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from policy import grammars
from policy.analysis import analyse
from policy.host.language import _by_name, load_language, parse_recipes
from policy.host.transforms import _TRANSFORMS, apply
from policy.host.tree import read_tree
from policy.model import Command, FileAccess, Subject
from policy.shell.state import ShellState
from tests.samples import read_samples

STARTED_BY = read_samples("starts_tool")
USED_FILES = [
    ("python", "import fileinput\nfor x in fileinput.input('a/b', inplace=True): print(x)", True),
    ("python", "import fileinput\nfor x in fileinput.input('a/b'): print(x)", False),
    ("perl", "local ($^I, @ARGV) = ('.bak', 'a/b'); while (<>) { print }", True),
    ("perl", "local @ARGV = ('a/b'); while (<>) { print }", False),
    ("perl", 'open(my $f, ">>", "$ENV{ROOT}/a/b");', True),
    (
        "rust",
        'fn main() { std::fs::OpenOptions::new().create(true).append(true).open("a/b"); }',
        True,
    ),
    ("rust", 'fn main() { std::fs::OpenOptions::new().read(true).open("a/b"); }', False),
    ("go", "package main\n//go:embed a/b\nvar x []byte", False),
    ("typescript", "import x = require('./a/b');", False),
    ("php", "<?php include_once 'a/b';", False),
]
NOT_TRANSFORMS = {"module", "getattr", "function", "env", "home", "cwd", "expanduser"}
NOT_TRANSFORMS |= {"walk", "enumerate", "zip", "items", "item", "each", "map"}  # of loops and maps
NOT_TRANSFORMS |= {"default", "default_third", "temporary"}


@pytest.mark.parametrize("name", STARTED_BY)
def test_a_started_program_is_seen_with_its_arguments(name: str) -> None:
    effects = analyse(Subject(name, STARTED_BY[name])).effects
    assert ("tool", "x") in [e.argv[:2] for e in effects if isinstance(e, Command)]


@pytest.mark.parametrize(("name", "code", "is_write"), USED_FILES)
def test_a_file_is_seen_to_be_read_or_written(name: str, code: str, is_write: bool) -> None:
    effects = analyse(Subject(name, code, env={"ROOT": "/"})).effects
    assert ("/a/b", is_write) in [
        (e.path, e.is_write) for e in effects if isinstance(e, FileAccess)
    ]


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


def test_a_language_is_not_a_path() -> None:
    assert load_language("python") is not None
    assert load_language("../python") is None


@pytest.mark.parametrize("words", ["nonsense 0", "shell", "shell 0 1", "builder x", "eval"])
def test_a_recipe_that_is_not_known_or_lacks_a_word_is_an_error(words: str) -> None:
    with pytest.raises((KeyError, ValueError, TypeError)):
        parse_recipes(words)


def wide(language: str, count: int) -> dict[str, str]:
    """Programs of one kind that grow in one direction."""
    start, call = STARTED_BY[language].split("tool")[0], STARTED_BY[language]
    plus = {"php": ".", "perl": ".", "lua": "..", "elixir": "<>"}.get(language, "+")
    quote = start[-1]
    chain = f"{quote} {plus} {quote}".join(["a"] * count)
    name = "$v" if language in ("php", "perl") else "v"
    return {
        "one sum": call.replace("tool", chain, 1),
        "calls": call + "".join(f"\nf({quote}a{quote});" for _ in range(count)),
        "one name": call + "".join(f"\n{name} = {quote}a{quote};" for _ in range(count)),
        "a name that grows": call + f"\n{name} = {name} {plus} {quote}a{quote};" * count,
        "chained calls": f"{call}\n{name}" + ".b().c(1)" * count,
        "nested calls": call + "\n" + "f(" * count + "1" + ")" * count,
        "nested lists": call + "\n" + "[" * count + "]" * count,
        "one text": call.replace("tool", "a b " * count, 1),
        "starts": (call.split(";")[-1] or call) + f"\n{call}" * (count // 20),
    }


@pytest.mark.parametrize("name", STARTED_BY)
@pytest.mark.parametrize("kind", wide("python", 1))
def test_a_program_that_is_large_in_one_way_takes_little_time(name: str, kind: str) -> None:
    started = time.process_time()
    analyse(Subject(name, wide(name, 20_000 if name == "python" else 4_000)[kind]))
    assert time.process_time() - started < 5  # 1 s or less where nothing else runs


@pytest.mark.parametrize("code", ["x #", "é#", "print 1; x# y", "a(b#", "my $x = $y#", "#"])
def test_a_perl_comment_that_ends_with_the_text_ends_the_parse(code: str) -> None:
    """In a child, as a scanner that does not return cannot be interrupted."""
    parse = f"from policy import grammars; grammars.parse('perl', {code.encode()!r})"
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_CPU, (5, 5)); {parse}"
    subprocess.run([sys.executable, "-c", limited], check=True, timeout=60)


def test_a_parse_that_takes_too_long_is_stopped_and_the_next_one_starts_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grammars, "PARSE_SECONDS_MAX", 0)
    assert grammars.parse("lua", b"[" * grammars.CHUNK_BYTES * 3) is None
    tree = grammars.parse("lua", b"x = 1")
    assert tree is not None
    assert not tree.root_node.has_error


@pytest.mark.parametrize(
    ("name", "code"), [("php", "<?php " + "(" * 38_000), ("rust", "[" * 40_000)]
)
def test_a_text_that_is_one_wide_error_is_not_searched(name: str, code: str) -> None:
    language = load_language(name)
    assert language is not None
    assert read_tree(language, code) is None


def test_a_name_has_one_recipe_and_alternatives_only_at_its_end() -> None:
    with pytest.raises(ValueError, match="two recipes"):
        _by_name("sinks", {"read 0": "a.b", "write 0": "a.b"})
    with pytest.raises(ValueError, match="last part"):
        _by_name("sinks", {"read 0": "a|b.c"})


@pytest.mark.parametrize("operation", _TRANSFORMS)
def test_an_operation_without_arguments_gives_something(operation: str) -> None:
    """A program may call `strrev()` with nothing in it."""
    assert isinstance(apply(operation, (), ShellState({}, "/h", "/w")), str | tuple)
