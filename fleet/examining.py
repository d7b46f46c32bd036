"""Trying a fleet part by part: whether its engine answers, keeps a blob, and has a run done."""

from __future__ import annotations

import io
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import trio

from executor.caller import Caller
from executor.engine.engine import Completed
from executor.errors import RequestError
from executor.model import Request, Status
from fleet.errors import BlobError, UnreachableError
from fleet.sending import GiveUpError
from fleet.settings import ClusterSettings
from fleet.travel import StaysHereError
from fleet.tree import digest_of

if TYPE_CHECKING:
    from fleet.front import Fleet

RUN_S_MAX: Final = 60.0
"""How long a worker may take to have the trial: without one of this release nothing comes."""
_WORD: Final = "here"


@dataclass(frozen=True, slots=True)
class FleetHealth:
    """How a fleet fares: what works, and the reason why the next part does not.

    `worker` did the trial run, in `run_s` seconds, in a box of `tier`. `advice` is what makes it
    slow, though it works.
    """

    url: str
    answers: bool = False
    keeps_blobs: bool = False
    runs: bool = False
    reason: str = ""
    remedy: str = ""
    worker: str = ""
    tier: str = ""
    run_s: float | None = None
    advice: str = ""


async def examine(fleet: Fleet) -> FleetHealth:
    """Try a fleet; a part that does not work is a value."""
    inside = list_inside(fleet.desk.local.project, fleet.settings)
    advice = f"{inside[0]} lies in the project: move it out, then set it again" if inside else ""
    health = FleetHealth(fleet.settings.url, advice=advice)
    try:
        engine = await fleet.desk.connection.engine()
        health = replace(health, answers=True)
        data = os.urandom(32)
        digest = digest_of(data)
        await engine.blobs.put({digest: lambda: [data]})
        back = io.BytesIO()
        await engine.blobs.get(digest, back.write)
        health = replace(health, keeps_blobs=back.getvalue() == data)
        return await _try_run(fleet, health)
    except RequestError as error:
        return replace(health, reason=error.message, remedy=error.hint)
    except (UnreachableError, BlobError, StaysHereError, GiveUpError) as error:
        return replace(health, reason=str(error), remedy="see that it runs, and its certificates")


def list_inside(project: Path, settings: ClusterSettings) -> list[str]:
    """List the settings whose files lie in the project: each look at it covers them, and stored
    files change it with every run."""
    paths = {"cluster.seal": settings.seal}
    blobs = urlsplit(settings.blobs)
    if blobs.scheme in ("", "file", "local"):
        paths["cluster.blobs"] = Path(unquote(blobs.path))
    if settings.credentials is not None:
        files = settings.credentials
        paths |= {"cluster.key": files.key, "cluster.certificate": files.certificate}
        paths["cluster.ca"] = files.ca
    return sorted(name for name, path in paths.items() if path.resolve().is_relative_to(project))


async def _try_run(fleet: Fleet, health: FleetHealth) -> FleetHealth:
    """Have a run done elsewhere, whatever is set."""
    request = Request("shell", code=f"echo {_WORD}", timeout_s=RUN_S_MAX)
    judged = await fleet.desk.local.judge(request, Caller())
    if isinstance(judged, Completed):
        return replace(health, reason=f"a rule refuses the trial: {judged.result.message}")
    began, result = time.monotonic(), None
    run = await fleet.desk.accept(judged)
    with trio.move_on_after(RUN_S_MAX):
        result = (await fleet.sending.follow(run)).result
    if result is None:
        reason = f"no worker had the trial run within {RUN_S_MAX:.0f} s"
        return replace(health, reason=reason, remedy="start one: context-mode worker --cluster URL")
    if result.status is not Status.OK or result.stdout.text.strip() != _WORD:
        return replace(health, reason=f"the trial run ended {result.status}: {result.message}")
    took_s = time.monotonic() - began
    tier, worker = result.isolation.tier, result.worker or "?"
    return replace(health, runs=True, worker=worker, tier=tier, run_s=took_s)
