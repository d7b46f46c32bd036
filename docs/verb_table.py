"""Writes verbs.md, and the table of groups in cli.md, from the verbs' own rows and parsers.

Run it as `python docs/verb_table.py` from the checkout after a verb has changed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from ctxmode import parsing
from ctxmode.commands.table import SECTIONS, VERBS, list_verbs

PAGE = Path(__file__).with_name("verbs.md")
GROUPS_PAGE = Path(__file__).with_name("cli.md")
BEGIN, END = "<!-- by docs/verb_table.py -->\n", "<!-- end -->\n"
HEAD = """\
# Verbs and options

Written by `python docs/verb_table.py` from the parsers themselves; a test holds it true. `--help`
of each verb has examples, too. All but `hook` and `setup` take `--project DIR`: the project,
where it is not the one that is found.
"""
LEFT_OUT = ("show this help message and exit", "the project folder")


def page() -> str:
    """The whole text."""
    return HEAD + "".join(f"\n{section}" for verb in VERBS for section in _sections(verb))


def groups_page() -> str:
    """The whole text of cli.md, with the table of groups as it is now."""
    before, _, rest = GROUPS_PAGE.read_text().partition(BEGIN)
    rows = [
        f"| **{title}** | | |\n" + "".join(map(_group, names))
        for title, (names, _) in SECTIONS.items()
    ]
    head = "| group | | its verbs |\n| --- | --- | --- |\n"
    return "".join((before, BEGIN, head, *rows, END, rest.partition(END)[2]))


def _group(name: str) -> str:
    verbs = [f"`{verb.name}`: {verb.summary}" for verb in list_verbs(name)]
    return f"| `{name}` | {VERBS[name].summary} | {'<br>'.join(verbs)} |\n"


def _sections(verb: str) -> Iterator[str]:
    parser = parsing.verb_parser(VERBS[verb])
    text = parsing.describe_verb(VERBS[verb])
    first = " ".join(text.split("\n\n")[0].split())
    yield f"## {verb}\n\n{first}\n" + _table(parser)
    for name, below in parsing.subparsers(parser).items():
        yield f"### {verb} {name}\n" + _table(below)


def _table(parser: argparse.ArgumentParser) -> str:
    rows = [
        f"| {_name(action)} | {_escaped(action.help or '')}{_choices(action)} |"
        for action in parser._actions
        if action.help not in LEFT_OUT and not isinstance(action, argparse._SubParsersAction)
    ]
    return "\n| | |\n| --- | --- |\n" + "\n".join(rows) + "\n" if rows else ""


def _name(action: argparse.Action) -> str:
    value = str(action.metavar or (action.dest if action.nargs != 0 else ""))
    if action.choices is not None and action.option_strings and not action.metavar:
        value = action.dest.upper()
    words = [*action.option_strings, value] if value else list(action.option_strings)
    return f"`{_escaped(' '.join(words))}`"


def _choices(action: argparse.Action) -> str:
    if action.choices is None:
        return ""
    return f" ({', '.join(str(choice) for choice in action.choices)})"


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
    GROUPS_PAGE.write_text(groups_page())
