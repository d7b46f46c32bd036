"""The verb `run --batch`: run several commands, then search their output."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from base.wording import list_choices
from ctxmode import exit_codes
from ctxmode.commands.run import ask_consent
from ctxmode.errors import UsageError
from ctxmode.launch import print_answer, with_app
from ctxmode.operations.answers import BatchCommand
from ctxmode.operations.batch import CONCURRENCY_MAX, BatchRequest, run_batch
from ctxmode.parsing import read_input
from ctxmode.render.live_output import ignore_progress, waiting
from ctxmode.render.results import BY_VERB, batch_text
from ctxmode.render.terminal_output import for_stdout
from executor import Caller

SEE = "See context-mode run --batch --help"
KEYS = ("commands", "queries", "timeout_s", "concurrency", "cwd", "scope", "profile")
COMMAND_KEYS = ("label", "command", "language", "packages")


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
    given = _check_keys({"commands": data} if isinstance(data, list) else data, KEYS, "the batch")
    commands = given.get("commands")
    if not isinstance(commands, list) or not commands:
        raise UsageError("the batch has no commands", 'Write {"commands": ["…"]}.')
    return BatchRequest(
        commands=tuple(_command(number, item) for number, item in enumerate(commands, start=1)),
        queries=_strings(given.get("queries", []), "queries"),
        timeout_s=_number(given, "timeout_s"),
        concurrency=_concurrency(given),
        cwd=_text(given, "cwd"),
        scope=_text(given, "scope") or "batch",
        profile=_text(given, "profile") or "analyze",
    )


def _check_keys(data: object, known: tuple[str, ...], what: str) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise UsageError(f"{what} is not a JSON object or list", SEE)
    unknown = [key for key in data if key not in known]
    if unknown:
        hint = list_choices(unknown[0], known)
        raise UsageError(f"unknown key {unknown[0]!r} in {what}", hint)
    return data


def _command(number: int, item: object) -> BatchCommand:
    shaped = {"command": item} if isinstance(item, str) else item
    given = _check_keys(shaped, COMMAND_KEYS, f"command {number}")
    command = given.get("command")
    if not isinstance(command, str):
        raise UsageError(f"command {number} has no text", 'Write {"label": "…", "command": "…"}.')
    label, language = given.get("label") or f"cmd_{number}", given.get("language") or "shell"
    packages = _strings(given.get("packages", []), "packages")
    return BatchCommand(str(label), command, language=str(language), packages=packages)


def _strings(value: object, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{key} is not a list of strings", f'Give "{key}": ["…"].')
    return tuple(value)


def _text(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"invalid {key} {value!r}", "Write a text in quotes.")
    return value


def _concurrency(data: Mapping[str, Any]) -> int | None:
    asked = _number(data, "concurrency")
    if asked is not None and (asked > CONCURRENCY_MAX or not asked.is_integer()):
        raise UsageError(
            f"invalid concurrency {data['concurrency']}", f"Use 1 to {CONCURRENCY_MAX}."
        )
    return None if asked is None else int(asked)


def _number(data: Mapping[str, Any], key: str) -> float | None:
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise UsageError(f"invalid {key} {value!r}", "Use a positive number.")
    return float(value)
