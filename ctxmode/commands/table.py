"""The verbs, a row each; the module of a verb is imported when its command line is parsed."""

from __future__ import annotations

import importlib
import keyword
from types import ModuleType
from typing import NamedTuple


class Verb(NamedTuple):
    """One row of `context-mode --help`, and how the verb's command line is read."""

    name: str
    summary: str
    takes_program_arguments: bool = False  # behind `--`
    has_own_project_option: bool = False
    stays_open: bool = False  # until it is ended, and has no answer that a budget could bound
    loads_more: bool = False  # than its options need; the module resumes the collector itself

    def load(self) -> ModuleType:
        """Import the verb's module; `try` is a word of Python's."""
        name = f"{self.name}_" if keyword.iskeyword(self.name) else self.name
        return importlib.import_module(f"ctxmode.commands.{name}")


VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb(
            "run",
            "run a program in the sandbox and show what it prints",
            takes_program_arguments=True,
        ),
        Verb(
            "repl",
            "type programs, see what they print and are; variables are kept",
            stays_open=True,
        ),
        Verb("changes", "show, apply or forget what runs changed and was kept for you to decide"),
        Verb("refusals", "list what the sandbox refused the latest runs, and what grants it"),
        Verb("batch", "run several commands, then search what they printed"),
        Verb("packages", "lock, fetch, list or remove the packages that programs import"),
        Verb("index", "make files, folders or stdin searchable"),
        Verb("search", "find exact passages in everything that was kept"),
        Verb("fetch", "fetch pages and make them searchable"),
        Verb("sources", "list what is kept"),
        Verb("outputs", "list, read or compare what runs printed"),
        Verb("sessions", "see, resume, summarise or forget what agents did in their sessions"),
        Verb("memory", "remember facts, recall those that fit a budget, branch and merge them"),
        Verb("pack", "pack the files that a task is about, within a budget of tokens"),
        Verb("map", "show what a project is made of, within a budget of tokens"),
        Verb("task", "keep the task that pack and map are for"),
        Verb("pages", "keep knowledge as versioned pages: write, push, compare, distil sessions"),
        Verb("show", "show a kept source, exactly"),
        Verb("purge", "forget what is kept, for good"),
        Verb("stats", "show what tools produced, returned and kept out of the context"),
        Verb(
            "insight",
            "look at what is kept in a browser, or write it into one file",
            stays_open=True,
        ),
        Verb("kb", "check, back up or measure the store of what is kept"),
        Verb("hook", "answer an event of an agent's host (registered by setup)", stays_open=True),
        Verb(
            "setup",
            "register with an agent's host: its server, its hooks, its rules file",
            has_own_project_option=True,
        ),
        Verb(
            "policy",
            "ask what the rules say of a program, list them, try them, read the log",
            takes_program_arguments=True,
        ),
        Verb("top", "show what runs now, against its limits, and stop it", stays_open=True),
        Verb("stop", "stop a program that runs now"),
        Verb("ci", "run a pipeline of steps, each in the sandbox, and report on it"),
        Verb("cluster", "look after the other machines that runs are sent to"),
        Verb("config", "show settings and where each comes from, or start a file of them"),
        Verb("completion", "print a script that completes verbs and options in a shell"),
        Verb("doctor", "show what works here, and how to get what does not"),
        Verb("images", "make, list or remove the container images in which programs run"),
        Verb(
            "serve",
            "serve agents over stdio or HTTP (Model Context Protocol)",
            stays_open=True,
            loads_more=True,
        ),
        Verb(
            "worker",
            "do runs that other machines order",
            stays_open=True,
            loads_more=True,
        ),
        Verb("try", "see it work on real input of this machine, in under a minute"),
    )
}
