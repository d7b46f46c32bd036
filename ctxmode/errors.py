"""Errors a caller can act on: a message says what is wrong, a hint says what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Find the nearest known word; empty where none is near."""
    import difflib  # noqa: PLC0415 - only a mistake pays for it

    return next(iter(difflib.get_close_matches(word, tuple(known), n=1, cutoff=cutoff)), "")


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Write `Did you mean X? `, or nothing."""
    meant = nearest(word, known, cutoff)
    return f"Did you mean {meant}? " if meant else ""


def or_all(word: str, known: Iterable[str], what: str = "Choose from", cutoff: float = 0.6) -> str:
    """Write the whole hint: what was probably meant, and all that there is."""
    names = tuple(known)
    return f"{did_you_mean(word, names, cutoff)}{what}: {', '.join(names)}."


OUT_OF_ROOM_OR_RIGHTS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


class ContextModeError(Exception):
    """Something expected went wrong outside the program that was run. A person sees `message` and,
    on a line of its own, `hint`; never a traceback."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


def why(error: Exception) -> str:
    """Say what was wrong: a system's error without its number and its path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def unwrap(raised: BaseException) -> BaseException:
    """Return the one exception inside the groups that nurseries wrap it in, or the first of
    several."""
    while isinstance(raised, BaseExceptionGroup):
        raised = raised.exceptions[0]
    return raised


class UsageError(ContextModeError):
    """What was asked for is malformed; asking again in the same way cannot succeed."""

    exit_code = 2


# The one place where messages get commands from: by kind of thing, what lists all of them, and what
# makes the first.
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
"""Words for the same action, of which a verb knows one."""


def command(words: str) -> str:
    """Write a command as it is typed."""
    return f"context-mode {words}"


def find_same_action(word: str, known: Iterable[str]) -> str:
    """Find the known action that does what another word asks for; empty where there is none."""
    names = tuple(known)
    alike = next((row for row in SAME_ACTIONS if word in row), ())
    return next((name for name in alike if name in names), "")


def unknown_action(verb: str, word: str, known: Iterable[str], instead: str = "") -> UsageError:
    """Name the known actions of a verb, or the whole command that `word` is known by here."""
    names = tuple(known)
    hint = f"Use: {instead}" if instead else or_all(word, names)
    return UsageError(f"{verb} has no action {word!r}", hint)


def unknown_id(kind: str, wanted: str, found: Iterable[str] = (), *, is_empty: bool) -> UsageError:
    """Say that nothing, or more than one thing, has an id, and how to list what is there.

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
    """Say that nothing of a kind is there, and what makes one."""
    message = f"no {kind} {wanted!r}: there are none yet" if wanted else f"no {kind} is there yet"
    return UsageError(message, describe_making(kind))


def describe_making(kind: str) -> str:
    """Write what makes the first of a kind."""
    done, words = MAKES[kind]
    return f"{done}: {command(words)}"


def describe_empty(kind: str) -> str:
    """Write an empty list: what is empty, and the next command."""
    return f"No {kind}s here yet. {describe_making(kind)}"


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise errors of the rooms below that a caller can mend as errors of the front door."""
    try:
        yield
    except Exception as error:
        cause = unwrap(error)  # what opens in a nursery fails in a group
        translation = _translate(cause) if isinstance(cause, Exception) else None
        if translation is None:
            raise
        raise translation from error


def _translate(error: Exception) -> ContextModeError | None:
    """Word the error for the front door; None if it is a defect."""
    from executor import (  # noqa: PLC0415 - only errors pay
        PackagesError,
        RequestError,
        SandboxUnavailableError,
    )
    from kb import StoreError  # noqa: PLC0415
    from policy import RuleFileError  # noqa: PLC0415

    if isinstance(error, RuleFileError):
        return ContextModeError(f"{error.path}:{error.line}: {error.problem}", error.remedy)
    if isinstance(error, RequestError):
        return UsageError(error.message, error.hint)
    if isinstance(error, SandboxUnavailableError):
        return ContextModeError(f"no sandbox is available: {error.reason}", error.remedy)
    if isinstance(error, StoreError | PackagesError):
        return ContextModeError(str(error), getattr(error, "hint", ""))
    if isinstance(error, OSError) and error.errno in OUT_OF_ROOM_OR_RIGHTS:
        place = f": {error.filename}" if error.filename else ""
        hint = "Free some space there, or check its owner and mode."
        return ContextModeError(f"{error.strerror}{place}", hint)
    return None
