"""Interpreters that are started before their program is known: what to place and to start."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from runtimes.model import Candidate, PrewarmCommand, PrewarmPlan, ProgramText, Step

_DRIVERS: Final = Path(__file__).parent / "drivers"
_FOLDER: Final = ".prewarm"  # the folder of what is gone before the program starts
_LOADED: Final = ("LD_PRELOAD", "LD_LIBRARY_PATH")  # by which any program's start reads more


def helper(candidate: Candidate) -> str | None:
    """The program that this toolchain compiles in order to wait by its help, if it needs one.

    Raises:
        OSError: it cannot be read.
    """
    command = candidate.toolchain.prewarm
    return _text(command.file).decode() if command and command.compiled else None


def as_helper(candidate: Candidate) -> Candidate:
    """The candidate by which the `helper`, which is whole and named for its class, is prepared."""
    toolchain = candidate.toolchain
    file = toolchain.prewarm.file if toolchain.prewarm else ""
    whole = replace(toolchain, wrap=lambda code: ProgramText(code, name=file))
    return candidate._replace(toolchain=whole)


def plan_prewarming(  # noqa: PLR0913 - keyword-only what differs from program to program
    command: PrewarmCommand,
    step: Step,
    *,
    job_dir: str,
    source: str,
    env: Mapping[str, str],
    compiled: Mapping[str, bytes],
) -> PrewarmPlan:
    """How to start an interpreter, or a compiler, by `step`, to wait for a program's `source`.

    Raises:
        OSError: the text by which it waits cannot be read.
    """
    gate = source if command.gate == "{source}" else command.gate
    files = {f"{_FOLDER}/{name}": _text(name) for name in command.beside}
    if command.manifest:
        files[command.place] = _archive(command.manifest, tuple(sorted(compiled.items())))
    elif command.compiled:
        files[command.place] = next(iter(compiled.values()))
    elif command.file:
        files[command.place] = _text(command.file)
    if command.opened:
        files[source] = b"\n"
    return PrewarmPlan(
        job_dir=job_dir,
        steps=(step,),
        env=env,
        files=files,
        gate=gate,
        only_before=(_FOLDER,) if gate.startswith(f"{_FOLDER}/") else (),
        reads_early=command.reads_early,
        not_with=(*_LOADED, *command.not_with),
    )


@cache
def _text(file: str) -> bytes:
    return (_DRIVERS / file).read_bytes()


@cache
def _archive(manifest: str, compiled: tuple[tuple[str, bytes], ...]) -> bytes:
    """The same bytes for the same files, as what waits is known by what it was given."""
    import zipfile  # noqa: PLC0415 - for a JVM's archive alone

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF"), manifest)
        for path, content in compiled:
            _, _, name = path.partition("/")  # without the product's own folder
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()
