"""Settings from files and the environment, and how they are merged. `settings.json` has the table.

Later places override earlier ones: the default, the user's file, the project's file, the
environment, a command's options. A project's file may only tighten; a warning names what it may not
loosen.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from base.wording import suggest_nearest
from ctxmode.config.files import PROJECT_FILE, USER_FILE, ConfigFile, read_config_file
from ctxmode.errors import UsageError
from executor import Limits

Value = float | int | bool | str
UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmg]?)(?:i?b)?", re.IGNORECASE)
_TRUTHS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


REMEDIES = {
    "seconds": "a number of seconds, such as {:g}",
    "count": "a whole number, such as {}",
    "bytes": 'a size, such as "512M"',
    "switch": "true or false",
    "text": "a text in quotes",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        key: the table and the name in it, joined with a dot.
        project_may: how a project's file may change it.
        choices: all values of a choice.
    """

    key: str
    kind: Literal["seconds", "count", "bytes", "switch", "choice", "text"]
    default: Value
    about: str
    project_may: Literal["lower", "turn off", "not change"] = "not change"
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"CONTEXT_MODE_{self.key.replace('.', '_').upper()}"

    def explain(self, name: str = "") -> str:
        """Write the remedy for a wrong value; `name` is the variable that holds it, if one does."""
        if self.choices:
            return f"Choose from: {', '.join(self.choices)}."
        return f"Set {name or self.key} to {REMEDIES[self.kind].format(self.default)}."

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.key.split("."))


_ROWS = json.loads(Path(__file__).with_name("settings.json").read_bytes())
_ROWS["run.concurrency"]["default"] = 2 * (os.cpu_count() or 1)
SETTINGS = tuple(
    Setting(key, **row | {"choices": tuple(row.get("choices", ()))}) for key, row in _ROWS.items()
)
BY_KEY = {setting.key: setting for setting in SETTINGS}
OF_OTHERS = ("profiles", "names", "packages")  # tables that other modules read
SUBTABLES = {
    "transcripts": ("sources", "prices"),
    "cluster": ("owners",),
}  # tables in tables that other modules read
TABLES = (*OF_OTHERS, *dict.fromkeys(setting.path[0] for setting in SETTINGS))


@dataclass(frozen=True, slots=True)
class Configured:
    """Values of all settings and their origins; warnings of what a project's file may not do."""

    values: Mapping[str, Value]
    origins: Mapping[str, str]
    warnings: tuple[str, ...] = field(default=())

    @property
    def limits(self) -> Limits:
        """Default limits of a run."""
        given: dict[str, Any] = {f.name: self.values[f"limits.{f.name}"] for f in fields(Limits)}
        return Limits(**given)


def load_settings(
    project: Path | None, config_home: Path, environ: Mapping[str, str] = os.environ
) -> Configured:
    """Load all settings for a project, or the user's own for None. Raise UsageError if a file
    cannot be read or a value is invalid."""
    values: dict[str, Value] = {setting.key: setting.default for setting in SETTINGS}
    origins = dict.fromkeys(values, "default")
    warnings: list[str] = []
    user = read_config_file(config_home / USER_FILE)
    for setting, value in _read_values(user):
        values[setting.key], origins[setting.key] = value, user.at(*setting.path)
    of_project = read_config_file(project / PROJECT_FILE, project) if project else user
    for setting, value in _read_values(of_project) if project else ():
        where = of_project.at(*setting.path)
        if _tightens(setting, values[setting.key], value):
            values[setting.key], origins[setting.key] = value, where
        elif value != values[setting.key]:
            warnings.append(
                f"{where}: a project cannot set {setting.key} to {value!r}; "
                f"to allow it, set it in {user.path}"
            )
    for setting in SETTINGS:
        if (text := environ.get(setting.variable)) is not None:
            try:
                values[setting.key] = parse_value(setting, text)
            except ValueError as error:
                hint = setting.explain(setting.variable)
                raise UsageError(f"{setting.variable}: {error}", hint) from None
            origins[setting.key] = setting.variable
    return Configured(values, origins, (*warnings, *_unknown_variables(environ)))


def _unknown_variables(environ: Mapping[str, str]) -> Iterator[str]:
    """Warn of unknown variables: nobody should believe that a misspelt limit is set."""
    known = [setting.variable for setting in SETTINGS]
    tables = tuple(f"CONTEXT_MODE_{setting.path[0].upper()}_" for setting in SETTINGS)
    for name in environ:
        if name.startswith(tables) and name not in known:
            meant = suggest_nearest(name, known).rstrip()
            yield f"{name} sets nothing. {meant or 'docs/configuration.md lists all variables.'}"


def parse_value(setting: Setting, given: object) -> Value:
    """Read a value of the setting's kind; raise ValueError for any other."""
    if setting.kind == "switch":
        return _switch(given)
    if setting.kind in ("choice", "text"):
        if not isinstance(given, str):
            raise ValueError(f"{given!r} is not a text")
        if setting.choices and given not in setting.choices:
            raise ValueError(f"unknown value {given!r}")
        return given
    amount = _amount(setting, given)
    if not amount > 0 or amount == float("inf"):
        raise ValueError(f"{given!r} is not a positive number")
    return amount if setting.kind == "seconds" else int(amount)


def _switch(given: object) -> bool:
    switch = _TRUTHS.get(given.lower()) if isinstance(given, str) else given
    if not isinstance(switch, bool):
        raise ValueError(f"{given!r} is neither true nor false")
    return switch


def _amount(setting: Setting, given: object) -> float:
    if isinstance(given, bool):
        raise ValueError(f"{given!r} is not a number")
    if isinstance(given, int | float):
        return given
    found = AMOUNT.fullmatch(given.strip()) if isinstance(given, str) else None
    if found is None or (found[2] and setting.kind != "bytes"):
        kind = "size" if setting.kind == "bytes" else "positive number"
        raise ValueError(f"{given!r} is not a {kind}")
    return float(found[1]) * UNITS[found[2].lower()]


def _read_values(file: ConfigFile) -> list[tuple[Setting, Value]]:
    """Read and check the values that a file sets."""
    found = []
    for table, content in file.data.items():
        if table not in TABLES:
            raise file.unknown((table,), TABLES)
        if table in OF_OTHERS:
            continue
        if not isinstance(content, dict):
            raise file.error((table,), f"{table} must be a table", f"Write [{table}].")
        names = [s.path[1] for s in SETTINGS if s.path[0] == table]
        names += SUBTABLES.get(table, ())
        for name, value in content.items():
            if name in SUBTABLES.get(table, ()):
                continue
            if name not in names:
                raise file.unknown((table, name), names)
            setting = BY_KEY[f"{table}.{name}"]
            try:
                found.append((setting, parse_value(setting, value)))
            except ValueError as error:
                hint = setting.explain()
                raise file.error(setting.path, f"{setting.key}: {error}", hint) from None
    return found


def _tightens(setting: Setting, present: Value, wanted: Value) -> bool:
    if setting.project_may == "lower":
        return float(wanted) <= float(present)
    return setting.project_may == "turn off" and wanted is False
