"""From a judged request to what the cluster is given: the sealed order, and its project's files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from base.secrets import find_secrets, is_secret_path, kind_of
from executor import JudgedRequest, Request
from executor.run import grant_environment
from fleet.cluster import ClusterSettings
from fleet.model import GRACE_S, OWNER_CHARACTERS_MAX, Order, why_here
from fleet.snapshot import Snapshot
from fleet.travel import StaysHereError
from fleet.tree import Digest
from policy import Rules

SHELL_NAMES: Final = frozenset({"PWD", "OLDPWD"})
"""Variables that look like passwords and say where a shell is."""
NAME_CHARACTERS_SHOWN = 80


def find_reason_to_stay(judged: JudgedRequest, settings: ClusterSettings) -> str:
    """Why a judged request is not to be sent, whatever the project is; nothing if it may be."""
    request, profile = judged.checked.request, judged.checked.profile
    if reason := why_here(request, profile):
        return reason
    if judged.packages is not None:
        return "its packages are kept on this machine"
    if not settings.sends_secrets and (secret := find_secret(_with_environment(judged))):
        return f'{secret}, and is not to be sent (cluster.secrets = "send" would)'
    return ""


def check_travels(judged: JudgedRequest, snapshot: Snapshot) -> None:
    """See that the request's own files are in the snapshot.

    Raises:
        StaysHereError: one is not.
    """
    checked = judged.checked
    for path in filter(None, (checked.cwd, checked.script, checked.bind_file)):
        inside = os.path.relpath(path, snapshot.project)
        for left, reason in snapshot.left_out.items():
            if f"{inside}/".startswith(f"{left}/"):
                raise StaysHereError(f"{inside} does not travel: {reason}")


def make_order(
    judged: JudgedRequest, root: Digest, project: Path, run_id: str, wait_s: float
) -> Order:
    """What a worker is asked for: the request with paths relative to the project.

    Raises:
        FormError: another machine can't run it.
    """
    checked = judged.checked
    profile, limits = checked.profile, checked.limits
    cwd = os.path.relpath(checked.cwd, project)
    request = replace(
        _with_environment(judged),
        cwd=None if cwd == "." else cwd,
        path=checked.script and os.path.relpath(checked.script, checked.cwd),
        bind_file=checked.bind_file and os.path.relpath(checked.bind_file, checked.cwd),
        background=False,
        limits=limits,
        timeout_s=None,
    )
    return Order(
        run_id=run_id,
        owner=name_owner(judged, project),
        request=request,
        root=root,
        rules=judged.rules or Rules(),
        profile=replace(profile, env=()),
        limits=limits,
        project=str(project),
        not_after=time.time() + wait_s + limits.wall_s + GRACE_S,
        verdict=judged.verdict,
    )


def name_owner(judged: JudgedRequest, project: Path) -> str:
    """For whom a run is: the name of who asked the server, else the project's."""
    name = judged.caller.holder or project.name or "project"
    printable = "".join(one if one.isprintable() else "?" for one in name)
    return printable[:OWNER_CHARACTERS_MAX]


def _with_environment(judged: JudgedRequest) -> Request:
    """The request with the variables that its profile passes through: a worker has others."""
    request = judged.checked.request
    passed = {
        name: value
        for name, value in grant_environment(judged.checked.profile).items()
        if name in judged.checked.profile.env
    }
    return replace(request, env={**passed, **request.env})


def find_secret(request: Request) -> str:
    """Say which value of a request is a secret, and why; nothing if none is.

    Secret is what bears a secret's name and is not empty, and what holds a token, a private key, or
    another secret by its form. The answer never holds the value. It takes time in proportion to
    the values: 12 MiB, the most that an order holds, took 0.7 to 4.4 s, so call it in a thread.
    """
    for name, value in request.env.items():
        if value and name not in SHELL_NAMES and kind_of(name.encode("utf-8", "surrogatepass")):
            return f"env {_shown(name)} bears a secret's name"
    for name, content in request.files.items():
        if content and is_secret_path(name):
            return f"file {_shown(name)} bears a secret's name"
    for where, given in _values(request):
        if found := find_secrets(given):
            return f"{where} holds a {found[0].kind}"
    return ""


def _values(request: Request) -> Iterator[tuple[str, str | bytes]]:
    """All that a caller may write freely, and how it is called."""
    for name, value in request.env.items():
        yield "the name of a variable", name
        yield f"env {_shown(name)}", value
    for name, content in request.files.items():
        yield "the name of a file", name
        yield f"file {_shown(name)}", content
    yield "stdin", request.stdin or b""
    yield "the code", request.code or ""
    yield "an argument", "\n".join(request.args)
    yield "the name of a package", "\n".join(request.packages)
    yield "the name of an artifact", "\n".join(request.artifacts)
    yield "the intent", request.intent or ""


def _shown(name: str) -> str:
    if name.isprintable() and len(name) <= NAME_CHARACTERS_SHOWN:
        return name
    return repr(name[:NAME_CHARACTERS_SHOWN])
