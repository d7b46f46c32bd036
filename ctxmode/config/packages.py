"""What the user sets of packages: who may fetch without asking, from where, how old a release is.

[packages]
allow = ["python"]                  # ecosystems that fetch without asking a person
cooldown_days = 3                   # younger releases are left out, where the tool can; 0 is none
bytes = "4G"                        # what is kept; the least recently used goes
layer_bytes = "2G"                  # what the packages of one run may unpack to

[packages.python]
registry = "https://packages.example.com/simple"
hosts = ["files.example.com"]       # further names that its files come from
private = true                      # they lie on addresses of a private network
ca = "~/company-ca.pem"             # certificates to trust besides the system's
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxmode.config.files import PROJECT_FILE, USER_FILE, ConfigFile, read
from ctxmode.config.settings import Setting, parse_value
from ctxmode.errors import why
from executor.packages import PackageSettings, Registry

KEYS = ("allow", "cooldown_days", "bytes", "layer_bytes")
SIZES = {"bytes": "bytes_max", "layer_bytes": "layer_bytes"}
REGISTRY_KEYS = ("registry", "hosts", "private", "ca")
CA_BYTES_MAX = 1024 * 1024
DAYS_MAX = 3650
_BYTES = Setting("packages.bytes", "bytes", PackageSettings().bytes_max, 'a size such as "4G"')
HINT = "See docs/packages.md."


def load_packages(project: Path, config_home: Path) -> tuple[PackageSettings, tuple[str, ...]]:
    """Load what the user's file sets of packages, and warn of what a project's file asked for that
    only the user may grant; a UsageError names the wrong key or value."""
    user = read(config_home / USER_FILE)
    of_project = read(project / PROJECT_FILE, project)
    warnings: tuple[str, ...] = ()
    if "packages" in of_project.data:
        where = of_project.at("packages")
        warnings = (f"{where}: packages are not for a project to set; put them into {user.path}",)
    settings = _read_table(user) if "packages" in user.data else PackageSettings()
    return settings, warnings


def _read_table(file: ConfigFile) -> PackageSettings:
    from runtimes.packages import BY_NAME  # noqa: PLC0415 - most files set nothing of them

    table = file.data["packages"]
    if not isinstance(table, dict):
        raise file.error(("packages",), "packages is a table", "Write [packages].")
    given: dict[str, Any] = {}
    registries: dict[str, Registry] = {}
    for key, value in table.items():
        where = ("packages", key)
        if key in BY_NAME:
            registries[key] = _read_registry(file, key, value)
        elif key == "allow":
            names = _texts(file, where, value)
            for name in names:
                if name not in BY_NAME:
                    raise file.unknown((*where, name), BY_NAME)
            given["allow"] = frozenset(names)
        elif key == "cooldown_days":
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= DAYS_MAX:
                problem = f"packages.{key}: {value!r} is no number of days from 0 to {DAYS_MAX}"
                raise file.error(where, problem, HINT)
            given["cooldown_days"] = value
        elif key in SIZES:
            try:
                given[SIZES[key]] = int(parse_value(_BYTES, value))
            except ValueError as error:
                raise file.error(where, f"packages.{key}: {error}", HINT) from None
        else:
            raise file.unknown(where, (*KEYS, *BY_NAME))
    return PackageSettings(**given, registries=registries)


def _read_registry(file: ConfigFile, name: str, table: object) -> Registry:
    from executor.packages import reach_of  # noqa: PLC0415 - where there is one
    from runtimes.packages import BY_NAME  # noqa: PLC0415

    where = ("packages", name)
    if not isinstance(table, dict):
        raise file.error(where, f"packages.{name} is a table", f"Write [packages.{name}].")
    for key in table:
        if key not in REGISTRY_KEYS:
            raise file.unknown((*where, key), REGISTRY_KEYS)
    url = table.get("registry", "")
    if not isinstance(url, str):
        raise file.error((*where, "registry"), f"packages.{name}.registry is no text", HINT)
    private = table.get("private", False)
    if not isinstance(private, bool):
        problem = f"packages.{name}.private is neither true nor false"
        raise file.error((*where, "private"), problem, HINT)
    hosts = _texts(file, (*where, "hosts"), table.get("hosts", []))
    registry = Registry(url, hosts, private, _read_ca(file, name, table))
    try:
        reach_of(BY_NAME[name], registry)
    except ValueError as error:
        raise file.error(where, f"packages.{name}: {error}", HINT) from None
    return registry


def _read_ca(file: ConfigFile, name: str, table: Mapping[str, Any]) -> str:
    """Read the certificates that a registry's table names."""
    if "ca" not in table:
        return ""
    where = ("packages", name, "ca")
    if not isinstance(table["ca"], str):
        raise file.error(where, f"packages.{name}.ca is no path", HINT)
    path = Path(os.path.expanduser(table["ca"]))
    try:
        with path.open("rb") as source:
            return source.read(CA_BYTES_MAX).decode("ascii", "replace")
    except OSError as error:
        problem = f"packages.{name}.ca: {path} can't be read: {why(error)}"
        raise file.error(where, problem, "Name a file of certificates (PEM).") from error


def _texts(file: ConfigFile, where: tuple[str, ...], value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise file.error(where, f"{'.'.join(where)} must be a list of texts", HINT)
    return tuple(value)
