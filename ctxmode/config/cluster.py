"""The user's settings for other machines that run programs: the engine and the owners' quotas.

[cluster]
url = "dask+tls://scheduler.example.com"
ca = "~/fleet/ca.pem"               # authority that signs the engine's certificate
certificate = "~/fleet/front.pem"   # certificate of this front
key = "~/fleet/front.key"

[cluster.owners.ci]                 # name of a token of `serve --http`, or of a project
weight = 2                          # its share compared with others
running = 20                        # runs at the engine at the same time
queued = 1000                       # runs that wait
cpu_s_a_day = 36000
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmode.config.files import PROJECT_FILE, USER_FILE, ConfigFile, read_config_file
from ctxmode.config.locations import Config
from ctxmode.config.settings import Configured, load_settings
from ctxmode.errors import UsageError

if TYPE_CHECKING:  # loaded only if runs are sent
    from fleet import ClusterSettings, Quota, Send

_NUMBER, _WHOLE = (int | float, "number"), (int, "whole number")
QUOTA_KEYS: Mapping[str, tuple[Any, str]] = {
    "weight": _NUMBER, "running": _WHOLE, "queued": _WHOLE, "cpu_s_a_day": _NUMBER,
}  # fmt: skip
SEAL_FILE = "front.key"
PEMS = ("ca", "certificate", "key")
HINT = "See docs/fleet.md."


def find_cluster_url(config: Config) -> str:
    """Find the URL of the engine that runs are sent to; empty if there is none."""
    if config.cluster:
        return config.cluster
    return str(load_settings(config.project, config.config_home).values["cluster.url"])


def load_seal(config: Config) -> Path:
    """Load the path of the key that orders are sealed with."""
    configured = load_settings(config.project, config.config_home)
    seal = str(configured.values["cluster.seal"])
    return _path(config, seal) if seal else config.config_home / "ctxmode" / SEAL_FILE


def load_cluster(config: Config, url: str) -> ClusterSettings:
    """Load the settings of a fleet whose engine has this URL. Raise UsageError if a key or value is
    invalid, or a project's file sets owners."""
    from fleet import (  # noqa: PLC0415
        ClusterSettings,
        Credentials,
        Fallback,
        Terms,
    )

    configured = load_settings(config.project, config.config_home)
    values: Mapping[str, Any] = configured.values
    user = read_config_file(config.config_home / USER_FILE)
    given = [name for name in PEMS if values[f"cluster.{name}"]]
    if given and len(given) < len(PEMS):
        missing = next(name for name in PEMS if name not in given)
        raise UsageError(f"cluster.{missing} is missing", f"Set all of {', '.join(PEMS)}. {HINT}")
    paths = {name: _path(config, values[f"cluster.{name}"]) for name in PEMS}
    names = tuple(name.strip() for name in str(values["cluster.leave_out"]).split(","))
    try:
        terms = Terms(tuple(filter(None, names)), values["cluster.bytes_max"])
    except ValueError as error:
        raise _wrong(configured, "cluster.bytes_max", str(error)) from error
    _refuse_owners(config, user)
    return ClusterSettings(
        url=url,
        seal=load_seal(config),
        credentials=Credentials(**paths) if given else None,
        blobs=values["cluster.blobs"],
        send=_choose_send(config, configured),
        fallback=Fallback(values["cluster.fallback"]),
        sends_secrets=values["cluster.secrets"] == "send",
        at_once=values["cluster.at_once"],
        wait_s=values["cluster.wait_s"],
        terms=terms,
        owners=_read_owners(user),
    )


def _choose_send(config: Config, configured: Configured) -> Send:
    """Choose which runs are sent: all if a command names the cluster and cluster.send is unset."""
    from fleet import Send  # noqa: PLC0415 - only if runs are sent

    if config.cluster and configured.origins["cluster.send"] == "default":
        return Send.ALWAYS
    return Send(str(configured.values["cluster.send"]))


def _refuse_owners(config: Config, user: ConfigFile) -> None:
    of_project = read_config_file(config.project / PROJECT_FILE, config.project)
    if "owners" in of_project.data.get("cluster", {}):
        hint = f"Move them to {user.path}."
        raise of_project.error(("cluster", "owners"), "a project cannot set owners", hint)


def _read_owners(file: ConfigFile) -> dict[str, Quota]:
    from fleet import Quota  # noqa: PLC0415 - only if runs are sent

    quotas = {}
    for name in file.table("cluster", "owners", below="NAME"):
        where = ("cluster", "owners", name)
        table = file.table(*where, known=QUOTA_KEYS)
        for key, value in table.items():
            at = (*where, key)
            kind, said = QUOTA_KEYS[key]
            problem = f"{'.'.join(at)}: {value!r} is not a {said}"
            file.read(at, value, kind, problem, f"Set {key} to a {said}.")
        try:
            quotas[name] = Quota(**table)
        except ValueError as error:
            raise file.error(where, f"{'.'.join(where)}: {error}", HINT) from error
    return quotas


def _wrong(configured: Configured, key: str, problem: str) -> UsageError:
    return UsageError(f"{configured.origins[key]}: {key}: {problem}", HINT)


def _path(config: Config, text: str) -> Path:
    """Resolve a path as the user writes it; relative paths start in the folder of their file."""
    return (config.config_home / "ctxmode" / Path(text).expanduser()).absolute()
