"""The verb `run --batch`: run several commands, then search their output."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from base.wording import list_choices
from ctxmode import exit_codes
from ctxmode.commands.run import ask_consent
from ctxmode.errors import UsageError
from ctxmode.launch import print_answer, with_app
from ctxmode.operations.batch import CONCURRENCY_MAX, BatchCommand, BatchRequest, run_batch
from ctxmode.parsing import read_input
from ctxmode.render.results import BY_VERB, batch_text
from ctxmode.render.terminal_output import for_stdout, ignore_progress, waiting
from executor import Caller

Row: TypeAlias = tuple[Any, str, str]
Positive = Annotated[float, Meta(gt=0)]
AtOnce = Annotated[int, Meta(ge=1, le=CONCURRENCY_MAX)]
SEE = "See context-mode run --batch --help"
_WRONG, _NO_TEXTS = "invalid {key} {value!r}", "{key} is not a list of strings"
_TEXTS: Row = (tuple[str, ...], _NO_TEXTS, 'Give "{key}": ["…"].')
KEYS: Mapping[str, Row] = {
    "commands": (list[Any], "the batch has no commands", 'Write {{"commands": ["…"]}}.'),
    "queries": _TEXTS,
    "timeout_s": (Positive | None, _WRONG, "Use a positive number."),
    "concurrency": (AtOnce | None, _WRONG, f"Use 1 to {CONCURRENCY_MAX}."),
    **dict.fromkeys(("cwd", "scope", "profile"), (str | None, _WRONG, "Write a text in quotes.")),
}
_NO_COMMAND: Row = (str, "{item} has no text", 'Write {{"label": "…", "command": "…"}}.')
COMMAND_KEYS = {"label": None, "command": _NO_COMMAND, "language": None, "packages": _TEXTS}
"""The keys: the type of each, and the problem and the remedy for another value."""


def run_verb(args: argparse.Namespace) -> int:
    request = parse(read_input(args.file, "Give a JSON file, or -."))
    # If the user may be asked, no progress line covers the question.
    fetches = any(command.packages for command in request.commands)
    shown = nullcontext(ignore_progress) if args.json or fetches else waiting("running commands")
    fetching = Caller(consent=ask_consent)
    with shown as on_progress:
        answer = with_app(
            args, partial(run_batch, request=request, on_progress=on_progress, fetching=fetching)
        )
    print_answer(args, answer.to_json(), for_stdout(batch_text(answer, BY_VERB)))
    return exit_codes.OK if answer.ok else exit_codes.ERROR


def parse(content: bytes) -> BatchRequest:
    """Read the batch of a JSON document; raise UsageError for invalid JSON, keys or values."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the batch is not JSON: {error}", SEE) from None
    given = _read_keys({"commands": data} if isinstance(data, list) else data, KEYS, "the batch")
    commands = given.pop("commands", [])
    if not commands:
        raise UsageError("the batch has no commands", 'Write {"commands": ["…"]}.')
    found = tuple(_command(number, item) for number, item in enumerate(commands, start=1))
    return BatchRequest(found, **{key: value for key, value in given.items() if value})


def _read_keys(data: object, known: Mapping[str, Row | None], item: str) -> dict[str, Any]:
    """Read the values of an object; raise UsageError for an unknown key or another type."""
    if not isinstance(data, dict):
        raise UsageError(f"{item} is not a JSON object or list", SEE)
    found = {}
    for key, value in data.items():
        if key not in known:
            raise UsageError(f"unknown key {key!r} in {item}", list_choices(key, known))
        kind, problem, remedy = known[key] or (Any, "", "")
        try:
            found[key] = msgspec.convert(value, kind)
        except msgspec.ValidationError:
            said = problem.format(key=key, value=value, item=item)
            raise UsageError(said, remedy.format(key=key)) from None
    return found


def _command(number: int, item: object) -> BatchCommand:
    shaped = {"command": item} if isinstance(item, str) else item
    given = _read_keys(shaped, COMMAND_KEYS, f"command {number}")
    if "command" not in given:
        raise UsageError(f"command {number} has no text", 'Write {"label": "…", "command": "…"}.')
    label, language = given.get("label") or f"cmd_{number}", given.get("language") or "shell"
    packages = given.get("packages", ())
    return BatchCommand(str(label), given["command"], language=str(language), packages=packages)
