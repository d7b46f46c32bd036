"""Whether sessions are recorded, and how much of them: read without the table of all settings,
since hooks have no time for it.

The user's file decides; a project's file can only turn off. `[transcripts] events` is what
happened, and on; `messages` is the full text, and off. `[transcripts.sources.AGENT]` says of one
host's transcripts whether they are read, where they are, and which of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from base.named_tuples import NamedTuple
from ctxmode.config.file_names import PROJECT_FILE, USER_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxmode.config.files import ConfigFile

DEFAULTS = {"events": True, "messages": False}
NO_CHOICES: Mapping[str, SourceChoice] = {}
NOBODY: Mapping[str, str] = {}
SOURCE_KEYS = {
    "enabled": "true or false",
    "path": 'a folder, such as "~/transcripts"',
    "pattern": 'names of files, such as "*.jsonl"',
}


class SourceChoice(NamedTuple):
    """Choices of a person for one host's transcripts."""

    enabled: bool = True
    path: str = ""  # a folder in place of the host's own; empty is the host's
    pattern: str = ""  # for names of files; empty is the host's
    off_by: str = ""  # the place in a file that turned it off
    set_by: str = ""  # the place in a file where the rest stands


class Recording(NamedTuple):
    """Choices of what is recorded."""

    events: bool = True
    messages: bool = False
    off_by: str = ""  # the file or the variable that turned events off
    sources: Mapping[str, SourceChoice] = NO_CHOICES  # hosts with choices
    by: Mapping[str, str] = NOBODY  # the file or the variable of each switch that is set

    def choice(self, agent: str) -> SourceChoice:
        """Return what is chosen for a host's transcripts."""
        return self.sources.get(agent, SourceChoice())


def load_recording(project: str, config_home: str, environ: Mapping[str, str]) -> Recording:
    """Read what is recorded of a project's sessions.

    Raises:
        UsageError: a file cannot be read.
    """
    values = dict(DEFAULTS)
    by: dict[str, str] = {}
    sources: dict[str, SourceChoice] = {}
    for path, root, may_turn_on in (
        (os.path.join(config_home, USER_FILE), "/", True),
        (os.path.join(project, PROJECT_FILE), project, False),
    ):
        file = read_if_there(path, root)
        table = file.data.get("transcripts") if file is not None else None
        for name in DEFAULTS:
            wanted = table.get(name) if isinstance(table, Mapping) else None
            if wanted is False or (wanted is True and may_turn_on):
                values[name] = wanted
                by[name] = path
        if file is not None and isinstance(table, Mapping) and "sources" in table:
            for agent, choice in read_choices(file):
                before = sources.get(agent, SourceChoice())
                sources[agent] = choice if may_turn_on else _tighten(before, choice)
    for name in DEFAULTS:
        given = environ.get(f"CONTEXT_MODE_TRANSCRIPTS_{name.upper()}", "").lower()
        if given in ("1", "true", "yes", "0", "false", "no"):
            values[name] = given in ("1", "true", "yes")
            by[name] = f"CONTEXT_MODE_TRANSCRIPTS_{name.upper()}"
    events, messages = values["events"], values["messages"] and values["events"]
    return Recording(events, messages, "" if events else by.get("events", ""), sources, by)


def read_choices(file: ConfigFile) -> Iterator[tuple[str, SourceChoice]]:
    """Read the choices of a file for hosts' transcripts.

    Raises:
        UsageError: a host or a key is unknown, or a value is of another form.
    """
    from memory.sessions.importers import MODULES  # noqa: PLC0415 - few files have choices

    table = file.data.get("transcripts", {})
    table = table.get("sources", {}) if isinstance(table, Mapping) else {}
    place = ("transcripts", "sources")
    if not isinstance(table, Mapping):
        raise file.error(place, "transcripts.sources is a table", "Write [transcripts.sources.…].")
    for agent, chosen in table.items():
        here = (*place, agent)
        if agent not in MODULES:
            raise file.unknown(here, MODULES)
        if not isinstance(chosen, Mapping):
            raise file.error(here, f"{agent} is a table", f"Write [{'.'.join(here)}].")
        for key, value in chosen.items():
            if key not in SOURCE_KEYS:
                raise file.unknown((*here, key), SOURCE_KEYS)
            if not _is_fit(key, value):
                problem = f"{'.'.join((*here, key))}: {value!r} is not {SOURCE_KEYS[key]}"
                raise file.error((*here, key), problem, "Mend the value.")
        enabled = chosen.get("enabled", True)
        where = file.at(*here)
        yield (
            agent,
            SourceChoice(
                enabled,
                chosen.get("path", ""),
                chosen.get("pattern", ""),
                "" if enabled else where,
                where,
            ),
        )


def _is_fit(key: str, value: object) -> bool:
    if key == "enabled":
        return isinstance(value, bool)
    if not isinstance(value, str) or not value or not value.isprintable():
        return False
    if key == "pattern":
        return "/" not in value
    return os.path.isabs(value) or value.startswith("~/")


def _tighten(before: SourceChoice, wanted: SourceChoice) -> SourceChoice:
    """Take of a project's choice only that it turns the host off."""
    if wanted.enabled or not before.enabled:
        return before
    return before._replace(enabled=False, off_by=wanted.off_by)


def read_if_there(path: str, root: str) -> ConfigFile | None:
    """Read a file; None where there is none, as mostly."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        pass  # reading says what is wrong
    from pathlib import Path  # noqa: PLC0415 - a hook has no time for it where there is no file

    from ctxmode.config.files import read_config_file  # noqa: PLC0415

    return read_config_file(Path(path), Path(root))


TABLE, NAME = "memory", "session_start"
VARIABLE = "CONTEXT_MODE_MEMORY_SESSION_START"
_TRUTHS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def is_wanted(project: str, config_home: str, environ: Mapping[str, str]) -> bool:
    """Tell whether an agent gets the pinned facts when a conversation begins.

    Raises:
        UsageError: a file cannot be read.
    """
    wanted = True
    for path, root, may_turn_on in (
        (os.path.join(config_home, USER_FILE), "/", True),
        (os.path.join(project, PROJECT_FILE), project, False),
    ):
        file = read_if_there(path, root)
        table = file.data.get(TABLE) if file is not None else None
        said = table.get(NAME) if isinstance(table, Mapping) else None
        if said is False or (said is True and may_turn_on):
            wanted = said
    return _TRUTHS.get(environ.get(VARIABLE, "").lower(), wanted)
