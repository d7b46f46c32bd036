"""Where a pack goes: stdout, a file, or a host's file; compressed if that is asked for."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError
from ctxmode.operations.compression import COMPRESSORS
from ctxmode.operations.exporters import EXPORTERS, make_head
from ctxmode.operations.pack_files import check_replaceable, prepare_folder, write_text
from ctxmode.operations.packs import PackAnswer
from ctxmode.operations.project_maps import redact
from kb.tokens import estimate
from repomap.reading import HEADS, JSON_HEAD, MARK


@dataclass(frozen=True, slots=True)
class Output:
    """A place for a pack."""

    path: Path | None = None  # None is stdout
    head: str = ""  # begins the text
    usage: str = ""  # how it is loaded


def prepare_output(config: Config, *, export: str, output: str, is_json: bool) -> Output:
    """Choose the place, and make sure that it may be written before any work is done.

    Raises:
        UsageError: a file that is not ours stands there, or its folder does not.
    """
    exporter = EXPORTERS.get(export)
    if not (exporter or output):
        return Output()
    if output:
        path = Path.cwd() / Path(output).expanduser()
    else:
        assert exporter is not None
        path = prepare_folder(config.project) / exporter[0]
    check_replaceable(path, (JSON_HEAD,) if is_json else HEADS)
    if exporter is None:
        return Output(path, MARK if is_json else make_head(path.name))
    below = path.is_relative_to(config.project)
    shown = path.relative_to(config.project) if below else path
    return Output(path, make_head(path.name), exporter[1].format(path=shown))


def write_pack(output: Output, answer: PackAnswer, *, compress: str, keeps: bool) -> int:
    """Write a pack to its place; return its tokens. With `keeps` secrets are left in it.

    Raises:
        ContextModeError: it cannot be compressed or written; no file is changed then.
    """
    pack = answer.pack
    text, used = pack.text, pack.used
    if compress != "none":
        text, used = _compress(output.head, answer, compress, keeps=keeps)
    if output.path is None:
        sys.stdout.write(text)
    else:
        write_text(output.path, text)
    return used


def _compress(head: str, answer: PackAnswer, way: str, *, keeps: bool) -> tuple[str, int]:
    """Compress all behind the mark; what comes back is redacted and counted as any other text."""
    pack = answer.pack
    start = f"{head}\n\n" if head else ""
    body = COMPRESSORS[way](pack.text.removeprefix(start), budget=pack.budget)
    text = start + (body if keeps else redact(body)[0])
    if not text.endswith("\n"):
        text += "\n"
    used = estimate(text, pack.estimator)
    if used > pack.budget:
        raise ContextModeError(
            f"compressed it takes {used} tokens, over the budget of {pack.budget}",
            "Leave --compress out.",
        )
    return text, used
