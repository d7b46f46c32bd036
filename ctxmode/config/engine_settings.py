"""Settings of the executor for a project, merged from the settings and profiles of all files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from base.wording import list_choices
from ctxmode.config.files import PROJECT_FILE, USER_FILE, ConfigFile, read_config_file
from ctxmode.config.locations import Config
from ctxmode.config.settings import TABLES, Configured, Setting, load_settings, parse_value
from ctxmode.errors import UsageError, why
from executor import PROFILES, Profile, ProjectAccess, SessionLimits, Settings
from executor.engine import FLOORS
from executor.network import parse
from executor.packages import PackageSettings, Registry

# [packages]
# allow = ["python"]                  # ecosystems that fetch without asking the user
# cooldown_days = 3                   # exclude younger releases, if the tool can; 0 excludes none
# bytes = "4G"                        # size of the store; the least recently used are deleted
# layer_bytes = "2G"                  # unpacked size of the packages of one run
#
# [packages.python]
# registry = "https://packages.example.com/simple"
# hosts = ["files.example.com"]       # other names that its files come from
# private = true                      # these are addresses of a private network
# ca = "~/company-ca.pem"             # certificates to trust in addition to the system's

PACKAGES_KEYS = ("allow", "cooldown_days", "bytes", "layer_bytes")
SIZES = {"bytes": "bytes_max", "layer_bytes": "layer_bytes"}
TEXTS: tuple[Any, str, str] = (
    *(tuple[str, ...], "must be a list of texts", 'Write a list of texts, such as ["a", "b"].'),
)
REGISTRY_KEYS: Mapping[str, tuple[Any, str, str]] = {
    "registry": (str, "must be a text", "Set it to a URL in quotes."),
    "hosts": TEXTS,
    "private": (bool, "is neither true nor false", "Set it to true or false."),
    "ca": (str, "must be a path", "Set it to a path in quotes."),
}
"""The keys: the type of each, and the problem and remedy of another value."""

CA_BYTES_MAX = 1024 * 1024
DAYS_MAX = 3650
Days = Annotated[int, Meta(ge=0, le=DAYS_MAX)]
_BYTES = Setting("packages.bytes", "bytes", PackageSettings().bytes_max, 'a size such as "4G"')
HINT = "See docs/packages.md."


def load_packages(project: Path, config_home: Path) -> tuple[PackageSettings, tuple[str, ...]]:
    """Load the user's package settings; return also a warning if a project's file has some. Raise
    UsageError if a key or value is invalid."""
    user = read_config_file(config_home / USER_FILE)
    of_project = read_config_file(project / PROJECT_FILE, project)
    settings = _read_table(user) if "packages" in user.data else PackageSettings()
    return settings, of_project.refuse_tables(user, "packages")


def _read_table(file: ConfigFile) -> PackageSettings:
    from runtimes.packages import BY_NAME  # noqa: PLC0415 - most files do not set packages

    given: dict[str, Any] = {}
    registries: dict[str, Registry] = {}
    kind, problem, remedy = TEXTS
    for key, value in file.table("packages", known=(*PACKAGES_KEYS, *BY_NAME)).items():
        where = ("packages", key)
        if key in BY_NAME:
            registries[key] = _read_registry(file, key)
        elif key == "allow":
            names = file.read(where, value, *(kind, f"packages.allow {problem}", remedy))
            for name in names:
                if name not in BY_NAME:
                    raise file.unknown((*where, name), BY_NAME)
            given["allow"] = frozenset(names)
        elif key == "cooldown_days":
            remedy = f"Set packages.{key} to a whole number from 0 to {DAYS_MAX:,}."
            problem = f"packages.{key}: invalid value {value!r}"
            given[key] = file.read(where, value, Days, problem, remedy)
        else:
            try:
                given[SIZES[key]] = int(parse_value(_BYTES, value))
            except ValueError as error:
                remedy = _BYTES.explain(f"packages.{key}")
                raise file.error(where, f"packages.{key}: {error}", remedy) from None
    return PackageSettings(**given, registries=registries)


def _read_registry(file: ConfigFile, name: str) -> Registry:
    from executor.packages import reach_of  # noqa: PLC0415 - only if a registry is set
    from runtimes.packages import BY_NAME  # noqa: PLC0415

    where, given = ("packages", name), {}
    for key, value in file.table(*where, known=REGISTRY_KEYS).items():
        kind, problem, remedy = REGISTRY_KEYS[key]
        at = (*where, key)
        given[key] = file.read(at, value, kind, f"{'.'.join(at)} {problem}", remedy)
    registry = Registry(
        given.get("registry", ""),
        given.get("hosts", ()),
        given.get("private", False),
        _read_ca(file, (*where, "ca"), given["ca"]) if "ca" in given else "",
    )
    try:
        reach_of(BY_NAME[name], registry)
    except ValueError as error:
        raise file.error(where, f"packages.{name}: {error}", HINT) from None
    return registry


def _read_ca(file: ConfigFile, where: tuple[str, ...], given: str) -> str:
    """Read the certificates of a registry."""
    path = Path(os.path.expanduser(given))
    try:
        with path.open("rb") as source:
            return source.read(CA_BYTES_MAX).decode("ascii", "replace")
    except OSError as error:
        problem = f"{'.'.join(where)}: cannot read {path}: {why(error)}"
        raise file.error(where, problem, "Set it to a file of certificates (PEM).") from error


# [profiles.online]
# base = "analyze"                    # analyze, build, or a profile defined above
# project = "cow"                     # cow, commit, read_only, live (weaker: see SECURITY.md)
# network = ["api.github.com", "*.example.com", "localhost:8080"]
# env = ["GH_TOKEN"]
# read = ["~/.config/gh"]
# floor = "A"                         # weakest tier allowed: A or B
# sockets = ["dev.sock"]              # Unix sockets of the project that programs may use
# stage = true                        # hold its changes for `context-mode changes apply`

KEYS = ("base", "project", "network", "env", "read", "floor", "sockets", "stage")
# From the widest to the narrowest.
ACCESS = (
    ProjectAccess.LIVE,
    ProjectAccess.COMMIT,
    ProjectAccess.COPY_ON_WRITE,
    ProjectAccess.READ_ONLY,
)
WEAKEST_FIRST = FLOORS[::-1]


def load_profiles(
    project: Path, config_home: Path
) -> tuple[Mapping[str, Profile], tuple[str, ...]]:
    """Load the built-in and the user's profiles by name, tightened as this project asks; return
    also warnings of what only the user may grant. Raise ContextModeError if a file, key or value is
    invalid."""
    profiles = dict(PROFILES)
    user_file = read_config_file(config_home / USER_FILE)
    for name, table in _tables(user_file).items():
        profiles[name] = _read_profile(user_file, name, table, profiles)
    warnings: list[str] = []
    project_file = read_config_file(project / PROJECT_FILE, project)
    for name, table in _tables(project_file).items():
        base = profiles.get(name) or _base(project_file, name, table, profiles)
        on_base = {**table, "base": base.name}
        wanted = _read_profile(project_file, name, on_base, {**profiles, name: base})
        profiles[name], refused = tighten(base, wanted)
        warnings += [
            f"{project_file.at('profiles', name)}: profile {name}: a project cannot grant {what}; "
            f"to allow it, set it in {user_file.path}"
            for what in refused
        ]
    return profiles, tuple(warnings)


def tighten(base: Profile, wanted: Profile) -> tuple[Profile, list[str]]:
    """Reduce `wanted` to what `base` grants; list the refused parts."""
    refused = []
    rules = tuple(rule for rule in wanted.network.rules if rule in base.network.rules)
    ports = tuple(p for p in wanted.network.loopback_ports if p in base.network.loopback_ports)
    network = replace(wanted.network, rules=rules, loopback_ports=ports)
    if network != wanted.network:
        refused.append("network")
    env = tuple(name for name in wanted.env if name in base.env)
    read = tuple(path for path in wanted.read if path in base.read)
    sockets = tuple(path for path in wanted.sockets if path in base.sockets)
    lists = (
        ("env", env, wanted.env),
        ("read", read, wanted.read),
        ("sockets", sockets, wanted.sockets),
    )
    refused += [name for name, granted, asked in lists if granted != asked]
    access = max(base.project, wanted.project, key=ACCESS.index)
    floor = max(base.floor, wanted.floor, key=WEAKEST_FIRST.index)
    if access is not wanted.project:
        refused.append(f"project = {wanted.project.value!r}")
    if floor != wanted.floor:
        refused.append(f"floor = {wanted.floor!r}")
    stage = base.stage or wanted.stage
    if stage != wanted.stage:
        refused.append("stage = false")
    return Profile(wanted.name, access, network, env, read, floor, sockets, stage), refused


def _tables(file: ConfigFile) -> Mapping[str, Mapping[str, Any]]:
    """Return the `[profiles.*]` tables of a file; none if there is no file."""
    for key in file.data:
        if key not in TABLES:
            raise file.unknown((key,), TABLES)
    tables = file.data.get("profiles", {})
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise file.error(("profiles",), "profiles must be tables", "Write [profiles.NAME].")
    return tables


def _base(
    file: ConfigFile, name: str, table: Mapping[str, Any], known: Mapping[str, Profile]
) -> Profile:
    base = table.get("base", "analyze")
    if base not in known:
        where = ("profiles", name, "base")
        problem = f"profile {name}: unknown base {base!r}"
        raise file.error(where, problem, list_choices(str(base), known))
    return known[base]


def _read_profile(
    file: ConfigFile, name: str, table: Mapping[str, Any], known: Mapping[str, Profile]
) -> Profile:
    for key in table:
        if key not in KEYS:
            raise file.unknown(("profiles", name, key), KEYS)
    base = _base(file, name, table, known)
    readers: Mapping[str, Callable[[Any], Any]] = {
        "project": ProjectAccess,
        "network": lambda value: parse(_texts(value)),
        "env": _texts,
        "read": _paths,
        "floor": _floor,
        "sockets": _texts,
        "stage": _truth,
    }
    given = {}
    for key, reader in readers.items():
        if key in table:
            try:
                given[key] = reader(table[key])
            except ValueError as error:
                where = ("profiles", name, key)
                problem = f"profile {name}: {key}: {error}"
                raise file.error(where, problem, "See docs/profiles.md.") from error
    profile = replace(base, name=name, **given)
    if profile.stage and profile.project is ProjectAccess.COPY_ON_WRITE:
        return replace(profile, project=ProjectAccess.COMMIT)
    return profile


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"must be a list of strings, not {value!r}")
    return tuple(value)


def _paths(value: object) -> tuple[str, ...]:
    paths = _texts(value)
    for path in paths:
        if not path.startswith(("/", "~/")) or ".." in Path(path).parts:
            raise ValueError(f"{path!r} must start with / or ~/ and must not contain ..")
    return paths


def _floor(value: object) -> str:
    if value not in FLOORS:
        raise ValueError(f"must be one of {', '.join(WEAKEST_FIRST)}, not {value!r}")
    return str(value)


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {value!r}")
    return value


# The table that a user writes:
#
# [names]
# ".vscode" = "held"                  # never, held or commit
# "docs/.idea" = "commit"
# "*.secret" = "never"
# "/Procfile" = "held"                # only in the project's top folder


def load_names(project: Path, config_home: Path) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Load the user's verdicts for names of files; return also a warning if a project's file has
    some. Raise UsageError if a file is not TOML or a verdict is unknown."""
    user = read_config_file(config_home / USER_FILE)
    of_project = read_config_file(project / PROJECT_FILE, project)
    warnings = of_project.refuse_tables(user, "names") if of_project.table("names") else ()
    table = user.table("names")
    if table:
        # Most files have no such table, and the import is slow.
        from executor.project import check_move  # noqa: PLC0415
    for name, verdict in table.items():
        try:
            check_move(name, verdict)
        except ValueError as error:
            problem = f"names: {name}: {error}"
            raise user.error(("names", name), problem, "See docs/configuration.md.") from error
    return table, warnings


def engine_settings(
    config: Config, configured: Configured | None = None
) -> tuple[Settings, tuple[str, ...]]:
    """Build the executor's settings; return also warnings of what only the user may grant.
    `configured` are all settings, if they are loaded already. Raise ContextModeError if a file, key
    or value is invalid."""
    configured = configured or load_settings(config.project, config.config_home)
    profiles, profile_warnings = load_profiles(config.project, config.config_home)
    moves, move_warnings = load_names(config.project, config.config_home)
    packages, package_warnings = load_packages(config.project, config.config_home)
    values: Mapping[str, Any] = configured.values
    settings = Settings(
        inline_bytes=values["output.inline_bytes"],
        concurrency=values["run.concurrency"],
        profiles=profiles,
        sessions=SessionLimits(
            values["sessions.count"], values["sessions.idle_s"], values["sessions.life_s"]
        ),
        prewarm=values["prewarm.enabled"],
        prewarm_bytes=values["prewarm.bytes"],
        limits=configured.limits,
        isolation=config.isolation or values["sandbox.isolation"],
        runtime=config.runtime or values["sandbox.runtime"],
        name_moves=moves,
        storage=config.data_dir,
        packages=packages,
    )
    if config.runtime and settings.isolation != "container":
        raise UsageError("--runtime works only with containers", "Add --isolation container.")
    warnings = (*configured.warnings, *profile_warnings, *move_warnings, *package_warnings)
    return settings, warnings
