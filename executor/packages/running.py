"""A run that sees a layer of packages, whose seal is verified beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import trio

import runtimes
from executor.engine.engine import Completed, PackagesAnswer
from executor.errors import PackagesError
from executor.model import Result, Status
from executor.packages.layers import Packages
from executor.packages.model import Layer, Wanted
from executor.request import Caller
from executor.toolchains.catalog import ProvenToolchain

KEY_VARIABLE = "CONTEXT_MODE_PACKAGES"
BROKEN = "its packages were changed on disk since they were fetched, and are removed"
AGAIN = "run it again: they are fetched anew"

Start = Callable[[runtimes.Candidate, tuple[tuple[str, str], ...]], Awaitable[Completed]]
"""Runs a program by a toolchain, in a box that is shown further paths."""


async def run_with(  # noqa: PLR0913 - keyword-only how sure it must be
    packages: Packages,
    wanted: Wanted,
    toolchain: ProvenToolchain,
    caller: Caller,
    start: Start,
    *,
    verify_first: bool,
) -> Completed:
    """One run with its packages, which are had first where they are not kept.

    With `verify_first` nothing is started before every file is known to be as it was sealed: what
    such a run changes reaches the project.

    Raises:
        PackagesError: they can't be had, or are not what was sealed.
    """
    async with packages.layer(wanted, toolchain, caller) as layer:
        equipped = equip(toolchain.candidate, layer)
        sound = not layer.was_kept or (
            verify_first and await packages.is_sound(layer, in_full=True)
        )
        if sound or not verify_first:
            completed, sound = await _run(packages, layer, equipped, start, is_sound=sound)
    if not sound:
        await packages.drop(layer)
        if verify_first:
            raise PackagesError(BROKEN, AGAIN)
    result = replace(completed.result, packages="kept" if layer.was_kept else "now")
    return replace(completed, result=result if sound else _spoil(result))


async def have(  # noqa: PLR0913 - keyword-only what is to be done
    packages: Packages,
    wanted: Wanted,
    toolchain: ProvenToolchain,
    caller: Caller,
    *,
    fetch: bool,
    fresh: bool,
) -> PackagesAnswer:
    """Lock packages, and `fetch` them, unless they are kept; `fresh` locks anew.

    Raises:
        PackagesError: they can't be had.
    """
    if not fetch:
        files, _ = await packages.lock(wanted, toolchain, caller, fresh=fresh)
        return PackagesAnswer(wanted.ecosystem, files)
    async with packages.layer(wanted, toolchain, caller, fresh=fresh) as layer:
        return PackagesAnswer(wanted.ecosystem, layer.lock, layer.key, layer.was_kept)


def equip(candidate: runtimes.Candidate, layer: Layer) -> runtimes.Candidate:
    """The candidate with all by which its programs find a layer."""
    env = dict(candidate.env)
    for name, text in layer.env.items():
        is_list = name in env and name.endswith(("PATH", "PERL5LIB"))
        env[name] = f"{text.rstrip(':')}:{env[name]}" if is_list else text
    paths = {**candidate.paths, **layer.paths}
    return candidate._replace(
        paths=paths, env={**env, KEY_VARIABLE: layer.key}, packages=layer.arguments
    )


async def _run(
    packages: Packages,
    layer: Layer,
    equipped: runtimes.Candidate,
    start: Start,
    *,
    is_sound: bool,
) -> tuple[Completed, bool]:
    """The run, and whether the layer was sound, which is found out beside it."""
    found = [is_sound]

    async def verify() -> None:
        found[0] = await packages.is_sound(layer, in_full=False)

    async with trio.open_nursery() as nursery:
        if not is_sound:
            nursery.start_soon(verify)
        completed = await start(equipped, layer.shown)
    return completed, found[0]


def _spoil(result: Result) -> Result:
    return replace(result, status=Status.SANDBOX_ERROR, message=f"{BROKEN}: {AGAIN}")
