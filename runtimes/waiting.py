"""Interpreters that are started before their program is known: what to place and to start."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from runtimes.model import Ahead, Step, Waiting

_DRIVERS: Final = Path(__file__).parent / "drivers"
_AHEAD: Final = ".ahead"  # the folder of what is gone before the program starts


def ahead(
    waiting: Waiting,
    argv: tuple[str, ...],
    *,
    job_dir: str,
    source: str,
    env: Mapping[str, str],
) -> Ahead:
    """How to start an interpreter by `argv`, to wait for a program called `source`.

    Raises:
        OSError: the text by which it waits cannot be read.
    """
    gate = source if waiting.gate == "{source}" else waiting.gate
    files = {}
    if waiting.file:
        files[waiting.place] = _text(waiting.file)
    if waiting.opened:
        files[source] = b"\n"
    return Ahead(
        job_dir=job_dir,
        steps=(Step(argv, "run"),),
        env=env,
        files=files,
        gate=gate,
        only_ahead=(_AHEAD,) if gate.startswith(f"{_AHEAD}/") else (),
        reads_early=waiting.reads_early,
    )


@cache
def _text(file: str) -> bytes:
    return (_DRIVERS / file).read_bytes()
