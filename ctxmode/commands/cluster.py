"""The verb `serve cluster`: show this front's key, or check a cluster."""

from __future__ import annotations

import json
import re
import socket
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

from ctxmode.config.cluster import find_cluster_url, load_seal
from ctxmode.errors import UsageError, translate_errors
from ctxmode.launch import with_app_of
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from ctxmode.render.health import cluster_lines

if TYPE_CHECKING:
    from ctxmode.app import App
    from fleet import FleetHealth

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def show_key(
    asker: Asker,
    *,
    name: Annotated[str, Arg("name of this front (default: the host name)", "NAME")] = "",
    owner: Annotated[
        tuple[str, ...],
        Arg("user it may send for (repeatable; default: anyone)", "NAME"),
    ] = (),
) -> Answer:
    """Show this front's public key for workers' lists."""
    from fleet import have_key, write_public  # noqa: PLC0415 - who asks for it

    name = name or re.sub(r"[^A-Za-z0-9_-]+", "-", socket.gethostname())[:64] or "front"
    if not _NAME.fullmatch(name):
        raise UsageError(f"invalid --name {name!r}", "Use letters, digits, - and _.")
    with translate_errors():
        public = write_public(have_key(load_seal(asker.config)))
    owners = list(owner) or ["*"]
    row = f"[fronts.{name}]\nkey = {json.dumps(public)}\nowners = {json.dumps(owners)}"
    return Answer({"name": name, "key": public, "owners": owners}, row)


def check_cluster(
    asker: Asker,
    *,
    cluster: Annotated[str, Arg("cluster address (default: cluster.url)", "URL")] = "",
) -> Answer:
    """Test the engine and a worker."""
    if not cluster and not find_cluster_url(asker.config):
        raise UsageError("no cluster is set", "Add --cluster URL, or set cluster.url.")
    health = with_app_of(replace(asker.config, cluster=cluster), _examine)
    return Answer(asdict(health), "\n".join(cluster_lines(health)), is_failure=not health.runs)


async def _examine(app: App) -> FleetHealth:
    if app.fleet is None:
        raise UsageError("no cluster is set", "Add --cluster URL, or set cluster.url.")
    return await app.fleet.examine()


OPERATIONS: dict[str, Operation] = {"key": show_key, "check": check_cluster}
