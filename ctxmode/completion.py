"""Completion scripts for shells, built from the verbs' parsers by shtab.

A script contains every verb, option and fixed word, so that completing starts no program. It asks
`context-mode doctor completion sources|profiles` for labels and profiles alone, since these change.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

import shtab

import kb
from ctxmode import parsing
from ctxmode.commands.run import LIMIT_NAMES
from ctxmode.commands.table import Verb
from ctxmode.hosts.setup.hosts import HOSTS
from ctxmode.mcp.tools import NAMES as TOOL_NAMES
from images import GROUPS
from runtimes import LANGUAGES

_LANGUAGES = tuple(row.name for row in LANGUAGES)
# Words with other characters are skipped: a shell could run parts of them, and programs set labels.
_HARMLESS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+@-]*")

Completer = dict[str, Any]


def harmless(words: Iterable[str]) -> Iterator[str]:
    """Yield the words that no shell changes, without duplicates."""
    return (word for word in dict.fromkeys(words) if _HARMLESS.fullmatch(word))


def script(shell: str, verbs: Iterable[Verb]) -> str:
    """Build the completion script for a shell from verbs; a group comes before its verbs."""
    root = argparse.ArgumentParser(prog="context-mode", add_help=False)
    groups = root.add_subparsers()
    for verb in verbs:
        parser = parsing.verb_parser(verb)
        for each in (parser, *parsing.subparsers(parser).values()):
            for action in each._actions:
                _complete(action)
        group, _, word = verb.name.rpartition(" ")
        if word.startswith("-"):  # an option of the group
            continue
        below = _find_words(groups.choices[group]) if group else groups
        if below is not None:
            below.add_parser(word, help=word)  # words without help are skipped
            below.choices[word] = parser
    made: str = shtab.complete(root, shell)
    return made


def _find_words(group: argparse.ArgumentParser) -> argparse._SubParsersAction[Any] | None:
    """Return the place for a group's verbs; None if it has no verbs."""
    places = [action for action in group._actions if not action.option_strings]
    if not places:
        return group.add_subparsers()
    return places[0] if isinstance(places[0], argparse._SubParsersAction) else None


def _build_completer(kind: str) -> Completer:
    """Return the completion of words that the script requests from this program."""
    name, command = f"_context_mode_{kind}", f"context-mode doctor completion {kind} 2>/dev/null"
    return {
        "bash": name,
        "zsh": name,
        "fish": f"(context-mode doctor completion {kind} 2>/dev/null)",
        "preamble": {
            "bash": f"{name}() {{\n  local word\n  {command} | while IFS= read -r word; do\n"
            '    [[ $word == "$1"* ]] && echo "$word"\n  done\n}',
            "zsh": f'{name}() {{\n  compadd -- ${{(f)"$({command})"}}\n}}',
        },
    }


def _words_or_files(name: str, words: Iterable[str]) -> Completer:
    function, listed = f"_context_mode_{name}", " ".join(map(shlex.quote, words))
    return {
        "bash": function,
        "zsh": function,
        "fish": f"(printf '%s\\n' {listed}; __fish_complete_path (commandline -ct))",
        "preamble": {
            "bash": f'{function}() {{\n  compgen -W "{listed}" -- "$1"\n  compgen -f -- "$1"\n}}',
            "zsh": f"{function}() {{\n  compadd -- {listed}\n  _files\n}}",
        },
    }


SOURCES, PROFILES = _build_completer("sources"), _build_completer("profiles")
BY_OPTION: dict[str, Completer | tuple[str, ...]] = {
    "--profile": PROFILES,
    "--source": SOURCES,
    "--lang": _LANGUAGES,
    "--language": _LANGUAGES,
    "--tools": TOOL_NAMES,
    "--kind": tuple(sorted(kb.CHUNKERS)),
}
BY_METAVAR: dict[str, Completer | tuple[str, ...]] = {
    "LANGUAGE": _LANGUAGES,
    "LANGUAGE|FILE": _words_or_files("programs", _LANGUAGES),
    "HOST": (*(host.name for host in HOSTS), "list"),
    "GROUP": tuple(group.name for group in GROUPS),
    "SOURCE": SOURCES,
    "PART": SOURCES,
    "DIR": shtab.DIRECTORY,
}
_FILES = re.compile(r"FILE|PATH")


def _complete(action: argparse.Action) -> None:
    """Set the completion of an option's value or a word; new labels have none."""
    if action.choices is not None or action.nargs == 0:
        return
    metavar = str(action.metavar or "")
    names = {name: BY_OPTION[name] for name in action.option_strings if name in BY_OPTION}
    found = next(iter(names.values()), BY_METAVAR.get(metavar))
    if "--limit" in action.option_strings and metavar == "NAME=VALUE":
        found = tuple(f"{name}=" for name in LIMIT_NAMES)
    if found is None and _FILES.search(metavar) and metavar != "PART":
        found = shtab.FILE
    if isinstance(found, tuple):
        action.choices = found
    elif found is not None:
        action.complete = found  # type: ignore[attr-defined]
