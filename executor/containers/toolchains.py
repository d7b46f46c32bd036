"""The toolchains of an image: requested once from its agent, and stored by the image's ID."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import trio

import runtimes
from base.plain_files import read_json, write_json
from executor.containers.agent.messages import FoundCandidate, FromAgent
from executor.containers.box import start
from executor.containers.create import ContainerSpec, of_box
from executor.containers.engine import DockerEngine, EngineError
from executor.containers.link import Link
from executor.engine import box
from executor.engine.box import UNPRIVILEGED_ID
from executor.engine.orders import check_message
from executor.model import Limits, SandboxError

FoundToolchains = dict[str, list[FoundCandidate]]
"""The toolchains of an image, by language."""
DISCOVERY_S_MAX = 60.0
ABREAST = 2
BUILD = "`context-mode doctor images build` makes it"


async def discover(
    engine: DockerEngine,
    runtime: str,
    images: Mapping[str, str],
    folder: Path,
    labels: Mapping[str, str],
) -> dict[str, runtimes.Discovery]:
    """Find the toolchains of every language's image; `images` are references by language.

    Raises:
        EngineError: the engine does not answer, or an image's agent does not.
    """
    found: dict[str, runtimes.Discovery] = {}
    slots = trio.CapacityLimiter(ABREAST)

    async def ask(reference: str, languages: list[str]) -> None:
        async with slots:
            said = await _of_image(engine, _spec(reference, runtime), folder, labels)
            for name in languages:
                found[name] = _parse_discovery(runtimes.language(name), reference, said)

    by_image: dict[str, list[str]] = {}
    for name, reference in images.items():
        by_image.setdefault(reference, []).append(name)
    failures: list[EngineError] = []

    async def ask_or_note(reference: str, languages: list[str]) -> None:
        try:
            await ask(reference, languages)
        except EngineError as error:
            failures.append(error)

    async with trio.open_nursery() as nursery:
        for reference, languages in by_image.items():
            nursery.start_soon(ask_or_note, reference, languages)
    if failures:
        raise failures[0]
    return found


async def image_id(engine: DockerEngine, reference: str) -> str:
    """Return an image's own ID, without its kind; "" if the engine does not have the image."""
    found = await engine.call("images", name=reference)
    return str(found[0]["Id"]).rpartition(":")[2] if found else ""


def _spec(reference: str, runtime: str) -> ContainerSpec:
    return ContainerSpec(
        image=reference,
        runtime=runtime,
        user=(UNPRIVILEGED_ID, UNPRIVILEGED_ID),
        project=box.HOME,
        access="read_only",
        limits=of_box(Limits()),
    )


async def _of_image(
    engine: DockerEngine, spec: ContainerSpec, folder: Path, labels: Mapping[str, str]
) -> FoundToolchains | None:
    """Return its agent's report; None if the image does not exist."""
    identity = await image_id(engine, spec.image)
    if not identity:
        return None
    kept = folder / f"image-{identity}.json"
    if (known := await trio.to_thread.run_sync(_load, kept)) is not None:
        return known
    said = await _ask(engine, spec, labels)
    await trio.to_thread.run_sync(_save, kept, said)
    return said


async def _ask(
    engine: DockerEngine, spec: ContainerSpec, labels: Mapping[str, str]
) -> FoundToolchains:
    answer: FromAgent = {}
    why = ""
    async with trio.open_nursery() as nursery:

        def serve(link: Link) -> None:
            nursery.start_soon(link.serve)

        try:
            container = await start(engine, spec, None, labels, serve)
        except EngineError as error:
            why = str(error)
        else:
            try:
                with trio.move_on_after(DISCOVERY_S_MAX):
                    await container.link.order("discover")
                    answer = await container.link.message()
                if "discovered" not in answer:
                    why, _ = await container.fate()
            finally:
                with trio.CancelScope(shield=True):
                    await container.remove()
    if why:
        raise EngineError(f"image {spec.image} can't be searched for toolchains: {why}")
    return answer["discovered"]


def _parse_discovery(
    row: runtimes.Language, reference: str, said: FoundToolchains | None
) -> runtimes.Discovery:
    """Return the table's rows by their names, without those that the table has dropped."""
    if said is None:
        return (), (f"image {reference} is not here: {BUILD}",)
    return tuple(_candidates(row, said.get(row.name, ()))), ()


def _candidates(
    row: runtimes.Language, told: Iterable[FoundCandidate]
) -> Iterable[runtimes.Candidate]:
    by_name = {toolchain.name: toolchain for toolchain in row.toolchains}
    for order, found in enumerate(told):
        if found["toolchain"] in by_name:
            yield runtimes.Candidate(
                language=row,
                toolchain=by_name[found["toolchain"]],
                paths=found["paths"],
                real_paths=found["real_paths"],
                binds=(),
                fingerprint=tuple(
                    (path, mtime, size) for path, mtime, size in found["fingerprint"]
                ),
                env=found["env"],
                order=order,
            )


def _load(file: Path) -> FoundToolchains | None:
    """Return the stored toolchains; None if the file is missing or of another form."""
    with contextlib.suppress(SandboxError):
        return check_message({"discovered": read_json(file)}, FromAgent)["discovered"]
    return None


def _save(file: Path, said: FoundToolchains) -> None:
    """Save the toolchains. A failure only costs the next start a container."""
    with contextlib.suppress(OSError):
        write_json(file, said)
