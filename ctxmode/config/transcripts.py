"""Settings for recording sessions and for prices of tokens.

Read without the table of all settings: hooks must be fast.

The user's file decides; a project's file can only turn recording off. `[transcripts] events` is on
by default, `messages` (full texts) is off. `[transcripts.sources.AGENT]` sets for one host whether
its transcripts are read, from which folder, and which files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from base.named_tuples import NamedTuple
from ctxmode.config.file_names import PROJECT_FILE, USER_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path
    from typing import TypeAlias

    from ctxmode.config.files import ConfigFile

DEFAULTS = {"events": True, "messages": False}
NO_CHOICES: Mapping[str, SourceChoice] = {}
NOBODY: Mapping[str, str] = {}
SOURCE_KEYS = {
    "enabled": "true or false",
    "path": 'a folder, such as "~/transcripts"',
    "pattern": 'a pattern for names of files, such as "*.jsonl"',
}


class SourceChoice(NamedTuple):
    """Settings of the user for one host's transcripts."""

    enabled: bool = True
    path: str = ""  # folder to use instead of the host's own; empty: the host's own
    pattern: str = ""  # pattern for names of files; empty: the host's own
    off_by: str = ""  # `file:line` that turned it off
    set_by: str = ""  # `file:line` that set the other values


class Recording(NamedTuple):
    """Settings for recording sessions."""

    events: bool = True
    messages: bool = False
    off_by: str = ""  # the file or variable that turned events off
    sources: Mapping[str, SourceChoice] = NO_CHOICES  # settings by host
    by: Mapping[str, str] = NOBODY  # the file or variable that set each switch

    def choice(self, agent: str) -> SourceChoice:
        """Return the settings for a host's transcripts."""
        return self.sources.get(agent, SourceChoice())


def load_recording(project: str, config_home: str, environ: Mapping[str, str]) -> Recording:
    """Read the settings for recording a project's sessions. Raise UsageError if a file cannot be
    read."""
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
    """Read the settings of a file for hosts' transcripts. Raise UsageError if a host or a key is
    unknown, or a value is invalid."""
    from ctxmode.hosts.registry import list_agents  # noqa: PLC0415 - few files have such settings

    place = ("transcripts", "sources")
    for agent in file.table(*place, known=list_agents(), below="AGENT"):
        here = (*place, agent)
        chosen = file.table(*here, known=SOURCE_KEYS)
        for key, value in chosen.items():
            if not _is_fit(key, value):
                problem = f"{'.'.join((*here, key))}: invalid value {value!r}"
                raise file.error((*here, key), problem, f"Set {key} to {SOURCE_KEYS[key]}.")
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
    """Turn a host off if a project's file does; ignore the rest of the project's settings."""
    if wanted.enabled or not before.enabled:
        return before
    return before._replace(enabled=False, off_by=wanted.off_by)


def read_if_there(path: str, root: str) -> ConfigFile | None:
    """Read a file; None if it is missing, the usual case."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        pass  # reading it reports the error
    from pathlib import Path  # noqa: PLC0415 - slow; a hook without a file does not need it

    from ctxmode.config.files import read_config_file  # noqa: PLC0415

    return read_config_file(Path(path), Path(root))


TABLE, NAME = "memory", "session_start"
VARIABLE = "CONTEXT_MODE_MEMORY_SESSION_START"
_TRUTHS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def is_wanted(project: str, config_home: str, environ: Mapping[str, str]) -> bool:
    """Return whether an agent gets the pinned facts when a conversation begins. Raise UsageError if
    a file cannot be read."""
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


PRICED = ("input", "output", "cache_read", "cache_write")
NEEDED = ("input", "output")
KEY = ("transcripts", "prices")
PRICE_MAX = 1_000_000
HINT = 'Write, for example: "some-model" = { input = 3, output = 15, cache_read = 0.3 }'


Price: TypeAlias = "Mapping[str, Decimal]"
"""Prices per million tokens by kind, in any currency."""

Prices: TypeAlias = Mapping[str, Price]
"""Prices by prefix of model names."""


def find_price(prices: Prices, model: str) -> Price | None:
    """Return the price whose name is the longest prefix of the model's name."""
    names = (name for name in prices if model.startswith(name))
    return prices.get(max(names, key=len, default=""))


def load_prices(project: Path, config_home: Path) -> tuple[Prices, tuple[str, ...]]:
    """Load the user's prices; return also a warning if a project's file has prices. Raise
    UsageError if a file cannot be read, or a price is invalid."""
    from ctxmode.config.files import read_config_file  # noqa: PLC0415 - hooks do without

    user = read_config_file(config_home / USER_FILE)
    by_model = {model: _read_price(user, model) for model in user.table(*KEY)}
    of_project = read_config_file(project / PROJECT_FILE, project)
    return by_model, of_project.refuse_tables(user, *KEY)


def _read_price(file: ConfigFile, model: str) -> Price:
    if not model:
        raise file.error(KEY, "transcripts.prices: a model's name is empty", HINT)
    key = (*KEY, model)
    given = file.table(*key, known=PRICED)
    if missing := [name for name in NEEDED if name not in given]:
        raise file.error(key, f"{model!r} has no price for {' and '.join(missing)}", HINT)
    return {name: _read_amount(file, (*key, name), it) for name, it in given.items()}


def _read_amount(file: ConfigFile, key: tuple[str, ...], given: object) -> Decimal:
    from decimal import Decimal  # noqa: PLC0415 - as above

    is_switch = isinstance(given, bool)
    if isinstance(given, int | float) and not is_switch and 0 <= given <= PRICE_MAX:
        return Decimal(str(given))
    problem = f"{given!r} is not a price per million tokens"
    raise file.error(key, problem, f"Give a number from 0 to {PRICE_MAX:,}.")
