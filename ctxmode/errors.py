"""Errors that a caller can fix: a message with the problem, a hint with the remedy."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from base.wording import list_choices
from ctxmode import exit_codes

if TYPE_CHECKING:
    from policy import RuleFileError

OUT_OF_ROOM_OR_RIGHTS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


class ContextModeError(Exception):
    """An expected failure outside the program that was run. It is shown without a traceback.

    Attributes:
        message: the problem.
        hint: the remedy, shown on a second line.
        exit_code: the exit code of the command line.
    """

    exit_code = exit_codes.ERROR

    def __init__(self, message: str, hint: str = "", exit_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


def why(error: Exception) -> str:
    """Return the reason of an error: a system's error in lower case, without number and path."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    reason = error.strerror if isinstance(error, OSError) else ""
    return f"{reason[0].lower()}{reason[1:]}" if reason else str(error)


def unwrap(raised: BaseException) -> BaseException:
    """Return the first exception inside the groups in which nurseries wrap it."""
    while isinstance(raised, BaseExceptionGroup):
        raised = raised.exceptions[0]
    return raised


class UsageError(ContextModeError):
    """An invalid request: the same request cannot succeed."""

    exit_code = exit_codes.USAGE


# Commands in messages, by kind: the one that lists all, and the one that creates the first.
LISTS: dict[str, str] = {
    "output": "kept outputs",
    "source": "kept ls",
    "change set": "changes",
    "package layer": "doctor packages",
    "session": "sessions list",
    "fact": "memory list",
    "page": "pages list",
    "run": "policy refusals",
    "running program": "ps",
}
MAKES: dict[str, tuple[str, str]] = {
    "output": ("Make one", "run shell -c 'seq 20000'"),
    "source": ("Add one", "index PATH"),
    "change set": ("Make one", "run --stage FILE"),
    "package layer": ("Add one", "doctor packages add SPEC"),
    "session": ("Read them", "sessions track"),
    "fact": ("Add one", "memory remember TEXT"),
    "page": ("Write one", "pages write SLUG"),
    "run": ("Start one", "run FILE"),
    "running program": ("Start one", "run FILE"),
}

IDS_NAMED = 5

SAME_ACTIONS = (
    ("list", "ls", "all"),
    ("show", "read", "get", "cat", "view", "open"),
    ("remove", "forget", "drop", "rm", "delete", "del", "purge"),
    ("add", "write", "remember", "new", "create", "put"),
    ("diff", "compare"),
)
"""Words for the same action; a verb has one of them."""


def command(words: str) -> str:
    """Return a command as the user types it."""
    return f"context-mode {words}"


def find_same_action(word: str, known: Iterable[str]) -> str:
    """Find the known action with the meaning of another word; empty if there is none."""
    names = tuple(known)
    alike = next((row for row in SAME_ACTIONS if word in row), ())
    return next((name for name in alike if name in names), "")


def unknown_action(verb: str, word: str, known: Iterable[str], instead: str = "") -> UsageError:
    """Return the error with a verb's actions, or with the command that replaces `word`."""
    names = tuple(known)
    hint = f"Use: {instead}" if instead else list_choices(word, names)
    return UsageError(f"{verb} has no action {word!r}", hint)


def unknown_id(kind: str, wanted: str, found: Iterable[str] = (), *, is_empty: bool) -> UsageError:
    """Return the error for an ID that nothing has, or several things have.

    Args:
        kind: a key of LISTS.
        found: the ids that begin with `wanted`, if several do.
        is_empty: nothing of this kind is stored.
    """
    several = tuple(found)
    if is_empty and not several:
        return nothing_kept(kind, wanted)
    listed = f"List them: {command(LISTS[kind])}"
    if several:
        names = ", ".join(several[:IDS_NAMED])
        message = f"several {kind}s match {wanted!r}: {names}"
        return UsageError(message, f"Give the whole id. {listed}")
    return UsageError(f"no {kind} {wanted!r}", listed)


def nothing_kept(kind: str, wanted: str = "") -> UsageError:
    """Return the error for a kind of which nothing is stored."""
    message = f"no {kind} {wanted!r}: there are none yet" if wanted else f"no {kind}s yet"
    return UsageError(message, describe_making(kind))


def describe_making(kind: str) -> str:
    """Return the remedy that creates the first of a kind."""
    done, words = MAKES[kind]
    return f"{done}: {command(words)}"


def describe_empty(kind: str) -> str:
    """Return the text for an empty list, with the next command."""
    return f"No {kind}s here yet. {describe_making(kind)}"


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise errors of the other rooms that a caller can fix as ContextModeError."""
    try:
        yield
    except Exception as error:
        cause = unwrap(error)  # what opens in a nursery fails in a group
        translation = _translate(cause) if isinstance(cause, Exception) else None
        if translation is None:
            raise
        raise translation from error


def explain_rule_file(error: RuleFileError) -> ContextModeError:
    """Return the error for a rule file, with the exit code of errors in config.toml."""
    problem = f"{error.path}:{error.line}: {error.problem}"
    return ContextModeError(problem, error.remedy, exit_codes.USAGE)


def _translate(error: Exception) -> ContextModeError | None:
    """Return the error as a ContextModeError; None if it is a defect."""
    from executor import (  # noqa: PLC0415 - only errors pay
        PackagesError,
        RequestError,
        SandboxUnavailableError,
        UnknownRuntimeError,
    )
    from kb import StoreError  # noqa: PLC0415
    from policy import RuleFileError  # noqa: PLC0415

    if isinstance(error, RuleFileError):
        return explain_rule_file(error)
    if isinstance(error, RequestError):
        return UsageError(error.message, error.hint)
    if isinstance(error, SandboxUnavailableError):
        is_choice = isinstance(error, UnknownRuntimeError)
        problem = error.reason if is_choice else f"no sandbox is available: {error.reason}"
        return ContextModeError(problem, error.remedy, exit_codes.NO_SANDBOX)
    if isinstance(error, StoreError | PackagesError):
        return ContextModeError(str(error), getattr(error, "hint", ""))
    if isinstance(error, OSError) and error.errno in OUT_OF_ROOM_OR_RIGHTS:
        place = f": {error.filename}" if error.filename else ""
        hint = "Free some space there, or check its owner and mode."
        return ContextModeError(f"{error.strerror}{place}", hint)
    return None
