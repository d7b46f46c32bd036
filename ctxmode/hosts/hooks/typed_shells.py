"""Commands that begin a prompt, into which a host may type what no hook is told of."""

from __future__ import annotations

import os
from itertools import groupby

_SHELLS = frozenset(("bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh"))
_PROMPTS = frozenset((
    *("python", "python2", "python3", "ipython", "node", "bun", "deno", "irb", "pry", "php", "R"),
    *("lua", "luajit", "julia", "ghci", "iex", "erl", "perl", "ruby", "sqlite3", "psql", "mysql"),
))  # fmt: skip
_NAMES = _SHELLS | _PROMPTS
# They start the program that their words name.
_STARTERS = frozenset(("exec", "command", "env", "sudo", "nohup", "setsid", "time", "nice"))
_SEPARATORS = frozenset((";", "&&", "||", "&", "(", ")"))


def begins_prompt(command: str) -> bool:
    """Say whether a command of a shell leaves a shell or an interpreter at its prompt.

    That is one with options alone, none of which gives it a program, and nothing led into it.
    """
    if not any(os.path.basename(word) in _NAMES for word in command.replace(";", " ").split()):
        return False
    import shlex  # noqa: PLC0415 - few commands name one

    words = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    words.commenters = ""
    try:
        parts = groupby(words, _SEPARATORS.__contains__)
        return any(_is_prompt(list(part)) for is_end, part in parts if not is_end)
    except ValueError:  # an open quote: the rules see to it
        return False


def _is_prompt(words: list[str]) -> bool:
    if any(word[:1] in ("|", "<") for word in words):
        return False
    while words and ("=" in words[0] or words[0] in _STARTERS or words[0].startswith("-")):
        words = words[1:]
    name = os.path.basename(words[0]) if words else ""
    if name not in _NAMES:
        return False
    return "-i" in words or not any(_gives_program(word, name) for word in words[1:])


def _gives_program(word: str, name: str) -> bool:
    """Whether an argument is a program, its file, or an option that comes with one."""
    if not word.startswith(("-", "+")) or word == "-":
        return True
    if word.startswith("--"):
        return word in ("--version", "--help", "--eval", "--print", "--command")
    return any(letter in word[1:] for letter in ("c" if name in _SHELLS else "cemprV"))
