"""The verbs, a row each, in fifteen groups; a module is imported when its verb is asked for."""

from __future__ import annotations

import importlib
import keyword
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import NamedTuple


class Verb(NamedTuple):
    """One row of `--help`, and how the verb's command line is read.

    Attributes:
        name: its words, as they are typed: `kept show`.
        module: that of ctxmode.commands which does it; "" for a group that only has verbs.
        first: what its module reads before the words behind it, or the action that it is.
        usual: of a group without a module, the verb that its name alone stands for.
    """

    name: str
    module: str
    summary: str
    first: str = ""
    usual: str = ""
    takes_program_arguments: bool = False  # behind `--`
    has_own_project_option: bool = False
    stays_open: bool = False  # until it is ended, and has no answer that a budget could bound
    loads_more: bool = False  # than its options need; the module resumes the collector itself

    def load(self) -> ModuleType:
        """Import the verb's module; `try` is a word of Python's."""
        name = f"{self.module}_" if keyword.iskeyword(self.module) else self.module
        return importlib.import_module(f"ctxmode.commands.{name}")


VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("try", "try", "see it work on real input of this machine, in under a minute"),
        Verb(
            "setup",
            "setup",
            "register with an agent's host: its server, its hooks, its rules file",
            has_own_project_option=True,
        ),
        Verb(
            "setup list",
            "setup",
            "list the hosts, and how each is registered with",
            first="--list",
            has_own_project_option=True,
        ),
        Verb(
            "run",
            "run",
            "run a program in the sandbox and show what it prints",
            takes_program_arguments=True,
        ),
        Verb(
            "run -i",
            "repl",
            "type programs, see what they print and are; variables are kept",
            stays_open=True,
        ),
        Verb("run --batch", "batch", "run several commands, then search what they printed"),
        Verb("doctor", "doctor", "show what works here, and how to get what does not"),
        Verb("doctor images", "images", "make, list or remove the images in which programs run"),
        Verb("doctor packages", "packages", "lock, fetch, list or remove what programs import"),
        Verb("doctor config", "config", "show settings and where each is from, or start a file"),
        Verb("doctor completion", "completion", "print a script that completes words in a shell"),
        Verb(
            "doctor insight",
            "insight",
            "look at what is kept in a browser, or write it into one file",
            stays_open=True,
        ),
        Verb("ps", "", "list what runs now, watch it, or stop it", usual="ps list"),
        Verb("ps list", "top", "list what runs now, against its limits", first="--once"),
        Verb("ps top", "top", "show what runs now, kept up to date, and stop it", stays_open=True),
        Verb("ps stop", "stop", "stop a program that runs now"),
        Verb("changes", "changes", "show, apply or forget what runs changed and was kept for you"),
        Verb("ci", "ci", "run a pipeline of steps, each in the sandbox, and report on it"),
        Verb("index", "index", "make files, folders, stdin or web pages searchable"),
        Verb("search", "search", "find exact passages in everything that was kept"),
        Verb("kept", "", "list, show, compare, remove or back up what is kept", usual="kept ls"),
        Verb("kept ls", "kept", "list what is kept", first="ls"),
        Verb("kept show", "kept", "show a kept source, exactly", first="show"),
        Verb("kept outputs", "outputs", "list, read or compare what runs printed"),
        Verb("kept diff", "outputs", "compare what two runs printed", first="diff"),
        Verb("kept rm", "kept", "forget what is kept, for good", first="rm"),
        Verb("kept stats", "stats", "show what tools produced, returned and kept out of contexts"),
        Verb("kept size", "kept", "measure the store: sources, chunks and bytes", first="size"),
        Verb("kept check", "kept", "verify the store, and repair its indexes", first="check"),
        Verb("kept backup", "kept", "copy the store while others read and write", first="backup"),
        Verb("memory", "memory", "remember facts, recall those that fit, branch and merge them"),
        Verb("pages", "pages", "keep knowledge as versioned pages: write, push, compare"),
        Verb("sessions", "sessions", "see, resume, summarise or forget agents' sessions"),
        Verb("pack", "pack", "pack the files that a task is about, within a budget of tokens"),
        Verb("pack map", "map", "show what a project is made of, within a budget of tokens"),
        Verb("pack task", "task", "keep the task that pack and map are for"),
        Verb(
            "policy",
            "policy",
            "ask what the rules say of a program, list them, try them, read the log",
            takes_program_arguments=True,
        ),
        Verb("policy refusals", "refusals", "list what the sandbox refused, and what grants it"),
        Verb(
            "serve",
            "serve",
            "serve agents over stdio or HTTP (Model Context Protocol)",
            stays_open=True,
            loads_more=True,
        ),
        Verb(
            "serve worker",
            "worker",
            "do runs that other machines order",
            stays_open=True,
            loads_more=True,
        ),
        Verb("serve cluster", "cluster", "look after the machines that runs are sent to"),
        Verb("hook", "hook", "answer an event of an agent's host", stays_open=True),
    )
}

# What a newcomer needs comes first. `hook` is called by hosts alone, and is in no section.
SECTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "start here": (("try", "setup", "run", "doctor"), "run python -c 'print(6 * 7)'"),
    "what runs, and what it changed": (("ps", "changes", "ci"), "ps"),
    "what is kept, and finding it": (
        ("index", "search", "kept"),
        'search "connection refused"',
    ),
    "what agents know": (
        ("memory", "pages", "sessions", "pack"),
        'memory remember "Deploys go through staging."',
    ),
    "rules and servers": (("policy", "serve"), "policy check 'git push --force'"),
}

MODES = {"-i": "run -i", "--interactive": "run -i", "--batch": "run --batch"}
"""Options of `run` that make it another verb, wherever they stand."""

FORMER = {
    "repl": "run -i",
    "batch": "run --batch",
    "images": "doctor images",
    "packages": "doctor packages",
    "config": "doctor config",
    "completion": "doctor completion",
    "insight": "doctor insight",
    "top": "ps top",
    "stop": "ps stop",
    "fetch": "index --urls",
    "sources": "kept ls",
    "show": "kept show",
    "outputs diff": "kept diff",
    "outputs": "kept outputs",
    "purge": "kept rm",
    "stats": "kept stats",
    "kb stats": "kept size",
    "kb check": "kept check",
    "kb backup": "kept backup",
    "kb": "kept",
    "map": "pack map",
    "task": "pack task",
    "refusals": "policy refusals",
    "worker": "serve worker",
    "cluster": "serve cluster",
}
"""What verbs were called before there were groups. They work as before, and say the new words."""


def find_former(words: Sequence[str]) -> str:
    """Return the former verb that a command line begins with; "" if there is none."""
    return next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in FORMER), "")


def find_verb(words: Sequence[str]) -> tuple[Verb, list[str]] | None:
    """Return the verb that a command line begins with, and the words behind it; None if none is
    called so."""
    group, rest = words[0], list(words[1:])
    if group == "run":
        own = rest[: rest.index("--")] if "--" in rest else rest
        for at, word in enumerate(own):
            option, equals, value = word.partition("=")
            if option in MODES:
                rest[at : at + 1] = [value] if equals else []
                return VERBS[MODES[option]], rest
    if rest and f"{group} {rest[0]}" in VERBS:
        return VERBS[f"{group} {rest[0]}"], rest[1:]
    verb = VERBS.get(group)
    if verb is None or (verb.usual and rest and not rest[0].startswith("-")):
        return None
    if verb.usual and not {"-h", "--help"} & {*rest}:
        return VERBS[verb.usual], rest
    return verb, rest


def list_verbs(group: str) -> Iterator[Verb]:
    """Yield the verbs that a group has besides its name alone."""
    return (verb for verb in VERBS.values() if verb.name.startswith(f"{group} "))
