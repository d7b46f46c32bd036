"""The task that is worked on now: kept as a fact of the session, used by packs and maps."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ctxmode.config.locations import Config
from ctxmode.config.rules import make_hides
from ctxmode.errors import UsageError
from ctxmode.operations.facts import PERSON, open_memory
from memory.facts import Author, Draft, UnknownFactError
from policy.project_file import read_project_file

PATH = "/sessions/current/task"
"""Facts below /sessions/ expire after 30 days; none of a project stands in the way."""

CONTEXTOS_FOLDER = ".contextos"
CONTEXTOS_FILES = ("CURRENT_TASK.md", "MEMORY.md", "DECISIONS.md")
"""ContextOS's own files: the first is the task where none is given; files that they name are
mentioned, as if the task named them."""

CONTEXTOS_BYTES = 256 * 1024
Source = Literal["", "given", "kept", "file"]


class Task(NamedTuple):
    """A task, and where it is from: the call, what `pack task` keeps, or the file of ContextOS;
    nowhere where there is none."""

    text: str
    source: Source


def find_task(config: Config, given: str, texts: dict[str, str]) -> Task:
    """Choose the task: the one that is given, else the one that is kept, else that of a file."""
    if given.strip():
        return Task(given.strip(), "given")
    if kept := read_task(config):
        return Task(kept, "kept")
    from_file = texts.get(CONTEXTOS_FILES[0], "").strip()
    return Task(from_file, "file" if from_file else "")


def read_task(config: Config) -> str:
    """Return the task that is kept; empty where there is none."""
    with open_memory(config) as memory:
        try:
            return memory.find(PATH).text
        except UnknownFactError:
            return ""


def keep_task(config: Config, text: str) -> int:
    """Keep a task in place of the one before; return how many secrets were left out of it.

    Raises:
        UsageError: it is empty, or has more than 16 KiB.
    """
    if not text.strip():
        raise UsageError("the task is empty", "Say what to do, or: context-mode pack task clear")
    draft = Draft(text.strip(), title="Current task", path=PATH, scope="session")
    with open_memory(config, Author(PERSON), to_write="project") as memory:
        return memory.remember(draft).redactions


def clear_task(config: Config) -> bool:
    """Forget the task that is kept; return whether there was one."""
    if not read_task(config):
        return False
    with open_memory(config, Author(PERSON)) as memory:
        memory.forget(PATH)
    return True


def read_contextos(config: Config) -> dict[str, str]:
    """Return the texts of ContextOS's files that are there and may be read, by name."""
    found = {}
    hides = make_hides(config.project, config.home)
    for name in CONTEXTOS_FILES:
        path = f"{CONTEXTOS_FOLDER}/{name}"
        try:
            data = read_project_file(path, str(config.project), hides, CONTEXTOS_BYTES)
        except OSError:
            continue
        found[name] = data.decode("utf-8", "replace")
    return found
