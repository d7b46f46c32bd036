"""The settings that files and the environment may give, as a table, and how they come together.

A later place outweighs an earlier one: the default, the user's file, the project's file, the
environment, a command's options. A project's file may only tighten; a warning names what it may not
loosen.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from ctxmode.config.files import PROJECT_FILE, USER_FILE, ConfigFile, read
from ctxmode.errors import UsageError, did_you_mean
from executor import Limits, Settings
from kb.tokens import DEAREST, FAMILIES

Value = float | int | bool | str
UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)(?:i?b)?", re.IGNORECASE)
_TRUTHS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `project_may` says in which way a project's file may change it."""

    key: str
    kind: Literal["seconds", "count", "bytes", "switch", "choice", "text"]
    default: Value
    about: str
    project_may: Literal["lower", "turn off", "not change"] = "not change"
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The environment variable that gives it."""
        return f"CONTEXT_MODE_{self.key.replace('.', '_').upper()}"

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.key.split("."))


_LIMITS = {
    "wall_s": "seconds until a run is ended",
    "cpu_s": "processor seconds of all its processes together",
    "memory_bytes": "memory of all its processes together",
    "processes": "processes and threads",
    "file_bytes": "one file",
    "scratch_bytes": "all that it writes",
    "scratch_inodes": "number of files that it writes",
    "open_files": "open files, per process",
    "output_bytes": "both streams together",
    "artifact_bytes": "files that it hands back",
}


def _limit_kind(name: str) -> Literal["seconds", "count", "bytes"]:
    return "seconds" if name.endswith("_s") else "bytes" if name.endswith("_bytes") else "count"


_OF_EXECUTOR = Settings()
SETTINGS: tuple[Setting, ...] = (
    *(
        Setting(
            f"limits.{limit.name}",
            _limit_kind(limit.name),
            getattr(Limits(), limit.name),
            _LIMITS[limit.name],
            "lower",
        )
        for limit in fields(Limits)
    ),
    Setting("run.concurrency", "count", 2 * (os.cpu_count() or 1), "programs at once", "lower"),
    Setting(
        "output.inline_bytes",
        "bytes",
        _OF_EXECUTOR.inline_bytes,
        "how much of each stream an answer holds",
        "lower",
    ),
    Setting(
        "prewarm.enabled", "switch", _OF_EXECUTOR.prewarm, "programs wait for runs", "turn off"
    ),
    Setting(
        "prewarm.bytes",
        "bytes",
        _OF_EXECUTOR.prewarm_bytes,
        "memory for what waits, in all servers together",
        "lower",
    ),
    Setting("sessions.count", "count", _OF_EXECUTOR.sessions.count, "sessions at once", "lower"),
    Setting(
        "sessions.idle_s",
        "seconds",
        _OF_EXECUTOR.sessions.idle_s,
        "until an idle one ends",
        "lower",
    ),
    Setting("sessions.life_s", "seconds", _OF_EXECUTOR.sessions.life_s, "until any ends", "lower"),
    Setting(
        "quota.project_bytes",
        "bytes",
        2 * UNITS["g"],
        "what is kept of a project, on disk; the oldest goes",
        "lower",
    ),
    Setting("quota.all_bytes", "bytes", 8 * UNITS["g"], "the same of all projects together"),
    Setting(
        "quota.sessions_bytes",
        "bytes",
        512 * UNITS["m"],
        "what is kept of a project's sessions, on disk; archived ones go first",
        "lower",
    ),
    Setting(
        "transcripts.events",
        "switch",
        True,
        "what happened in agents' sessions is recorded",
        "turn off",
    ),
    Setting(
        "transcripts.messages",
        "switch",
        False,
        "the full texts of sessions are kept, and can be searched",
        "turn off",
    ),
    Setting(
        "transcripts.keep_days",
        "count",
        30,
        "days from a session's last activity until it goes",
        "lower",
    ),
    Setting(
        "transcripts.poll_ms",
        "count",
        5000,
        "milliseconds between looks for new lines, where folders cannot be watched",
    ),
    Setting(
        "memory.agents_pin",
        "choice",
        "ask",
        "agents may pin facts, which begin every later recall: a person is asked, or not",
        choices=("ask", "allow", "deny"),
    ),
    Setting(
        "memory.session_start",
        "switch",
        True,
        "a conversation begins with the pinned facts, in at most 400 tokens",
        "turn off",
    ),
    Setting(
        "pages.repository",
        "text",
        "",
        "where pages are pushed to, outside of projects; {project} is a project's name",
    ),
    Setting("map.file_bytes", "bytes", 512 * UNITS["k"], "larger files are not in a map", "lower"),
    Setting("map.files", "count", 20_000, "the most files that a map has", "lower"),
    Setting(
        "tokens.family",
        "choice",
        DEAREST,
        "whose tokens a pack is counted in; the default is the family that takes the most",
        choices=tuple(FAMILIES),
    ),
    Setting(
        "sandbox.isolation",
        "choice",
        _OF_EXECUTOR.isolation,
        "cells, and only where none works containers; or containers",
        choices=("auto", "container"),
    ),
    Setting("sandbox.runtime", "text", _OF_EXECUTOR.runtime, "of containers, such as runsc"),
    Setting(
        "cluster.url", "text", "", "the Dask cluster that runs are sent to, such as dask+tls://host"
    ),
    Setting(
        "cluster.send",
        "choice",
        "overflow",
        "which runs are sent: those for which this machine has no room, or all",
        choices=("overflow", "always"),
    ),
    Setting(
        "cluster.fallback",
        "choice",
        "local",
        "what becomes of runs while the engine is silent: done here, they wait, or they fail",
        choices=("local", "wait", "fail"),
    ),
    Setting(
        "cluster.secrets",
        "choice",
        "refuse",
        "whether secrets in a request's variables, input, files or code may be sent",
        choices=("refuse", "send"),
    ),
    Setting(
        "cluster.blobs",
        "text",
        "",
        "storage that all machines of the cluster reach, outside of the project",
    ),
    Setting("cluster.ca", "text", "", "a PEM file: who may be the engine"),
    Setting("cluster.certificate", "text", "", "a PEM file: who this front is"),
    Setting("cluster.key", "text", "", "a PEM file: the certificate's key"),
    Setting(
        "cluster.seal", "text", "", "the key that orders are sealed with; made where it is missing"
    ),
    Setting("cluster.at_once", "count", 64, "runs that are with the engine at once"),
    Setting("cluster.wait_s", "seconds", 3600, "how long a run waits for a worker"),
    Setting("cluster.bytes_max", "bytes", UNITS["g"], "the largest project that travels"),
    Setting(
        "cluster.leave_out",
        "text",
        ".git, node_modules, .venv, target, __pycache__",
        "names of folders that do not travel",
    ),
)
BY_KEY = {setting.key: setting for setting in SETTINGS}
OF_OTHERS = ("profiles", "names", "packages")  # tables that others read
SUBTABLES = {
    "transcripts": ("sources", "prices"),
    "cluster": ("owners",),
}  # tables in tables, that others read
TABLES = (*OF_OTHERS, *dict.fromkeys(setting.path[0] for setting in SETTINGS))


@dataclass(frozen=True, slots=True)
class Configured:
    """Every setting's value and where it comes from; what a project's file may not do."""

    values: Mapping[str, Value]
    origins: Mapping[str, str]
    warnings: tuple[str, ...] = field(default=())

    @property
    def limits(self) -> Limits:
        """The limits of a run that names none."""
        given: dict[str, Any] = {f.name: self.values[f"limits.{f.name}"] for f in fields(Limits)}
        return Limits(**given)


def load_settings(
    project: Path | None, config_home: Path, environ: Mapping[str, str] = os.environ
) -> Configured:
    """Load all settings for a project, or the user's own for None; a UsageError names a file that
    cannot be read, or a wrong value."""
    values: dict[str, Value] = {setting.key: setting.default for setting in SETTINGS}
    origins = dict.fromkeys(values, "default")
    warnings: list[str] = []
    user = read(config_home / USER_FILE)
    for setting, value in _read_values(user):
        values[setting.key], origins[setting.key] = value, user.at(*setting.path)
    of_project = read(project / PROJECT_FILE, project) if project else user
    for setting, value in _read_values(of_project) if project else ():
        where = of_project.at(*setting.path)
        if _tightens(setting, values[setting.key], value):
            values[setting.key], origins[setting.key] = value, where
        elif value != values[setting.key]:
            warnings.append(
                f"{where}: {setting.key} is not for a project to set to {value!r}; "
                f"to allow it, put it into {user.path}"
            )
    for setting in SETTINGS:
        if (text := environ.get(setting.variable)) is not None:
            try:
                values[setting.key] = parse_value(setting, text)
            except ValueError as error:
                raise UsageError(f"{setting.variable}: {error}", setting.about) from None
            origins[setting.key] = setting.variable
    return Configured(values, origins, (*warnings, *_unknown_variables(environ)))


def _unknown_variables(environ: Mapping[str, str]) -> Iterator[str]:
    """Warn of variables that set nothing: a misspelt limit must not be taken for one that is
    set."""
    known = [setting.variable for setting in SETTINGS]
    tables = tuple(f"CONTEXT_MODE_{setting.path[0].upper()}_" for setting in SETTINGS)
    for name in environ:
        if name.startswith(tables) and name not in known:
            meant = did_you_mean(name, known).rstrip()
            yield f"{name} sets nothing. {meant or 'docs/configuration.md has all variables.'}"


def parse_value(setting: Setting, given: object) -> Value:
    """Read a value of the setting's kind; ValueError if it is of another."""
    if setting.kind == "switch":
        return _switch(given)
    if setting.kind in ("choice", "text"):
        if not isinstance(given, str):
            raise ValueError(f"{given!r} is not a text")
        if setting.choices and given not in setting.choices:
            raise ValueError(f"{given!r} is none of {', '.join(setting.choices)}")
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
    found = _AMOUNT.fullmatch(given.strip()) if isinstance(given, str) else None
    if found is None or (found[2] and setting.kind != "bytes"):
        units = ', or a text like "512M"' if setting.kind == "bytes" else ""
        raise ValueError(f"{given!r} is not a positive number{units}")
    return float(found[1]) * UNITS[found[2].lower()]


def _read_values(file: ConfigFile) -> list[tuple[Setting, Value]]:
    """Read what a file sets, each value checked."""
    found = []
    for table, content in file.data.items():
        if table not in TABLES:
            raise file.unknown((table,), TABLES)
        if table in OF_OTHERS:
            continue
        if not isinstance(content, dict):
            raise file.error((table,), f"{table} is a table", f"Write [{table}].")
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
                raise file.error(setting.path, f"{setting.key}: {error}", setting.about) from None
    return found


def _tightens(setting: Setting, present: Value, wanted: Value) -> bool:
    if setting.project_may == "lower":
        return float(wanted) <= float(present)
    return setting.project_may == "turn off" and wanted is False
