"""Output routing: which part of a run's output goes into the answer, and where the rest is.

A small output is the answer. For a large one, the answer has the head and the tail, or the sections
that match the intent. The whole stream is stored under an output ID and can be searched.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import trio

from executor.model import Request, Result, Stream
from kb import StoreError

if TYPE_CHECKING:
    from executor.engine.engine import Completed
    from kb import Hit, Indexed, SourceSpec, Store

OUTPUT_PREFIX = "out-"
"""The prefix of the ID of every stored output."""


def make_output_id() -> str:
    """Return a new ID."""
    return f"{OUTPUT_PREFIX}{secrets.token_hex(4)}"


T = TypeVar("T")

SECTIONS_MAX = 5
SECTIONS_COUNTED = 100
SECTIONS_BYTES_MAX = 4096
"""Limit of all sections of an answer together; the first is shown whatever its length."""

INDEX_STEP_BYTES = 512 * 1024
"""Size of one indexing step after an answer, so that a search never waits long for it."""

FURTHER_S = 0.6
"""Time that an answer with an intent waits for more than beginning and end to be indexed."""


class KeptOutput(NamedTuple):
    """The stored output of one run."""

    output_id: str
    streams: Mapping[str, Indexed]  # each a source of its own, by the stream's name

    @property
    def bytes_total(self) -> int:
        return sum(stream.bytes_total for stream in self.streams.values())

    @property
    def bytes_indexed(self) -> int:
        return sum(stream.bytes_indexed for stream in self.streams.values())


OutputSection = tuple[str, "Hit"]
"""A stored stream's name, and a part of it that matches the intent."""

_STREAM_KEYS = ("source_id", "label", "bytes_total", "bytes_indexed")
_SECTION_KEYS = ("title", "text", "start_byte", "end_byte")


@dataclass(frozen=True, slots=True)
class Answer:
    """A result, and the place of the rest of its output."""

    result: Result
    kept: KeptOutput | None = None
    # Shown instead of the streams, even if it is an empty tuple; None: no intent was applied.
    sections: tuple[OutputSection, ...] | None = None
    sections_total: int = 0  # all that match, up to SECTIONS_COUNTED
    note: str = ""  # why a large output could not be stored

    def to_json(self) -> dict[str, Any]:
        """Return the whole answer in its JSON form."""
        return {
            "result": self.result.to_json(),
            "kept": None if self.kept is None else _to_json(self.kept),
            "sections": None if self.sections is None else _list(self.sections, _SECTION_KEYS),
            "sections_total": self.sections_total,
            "note": self.note,
        }


def _to_json(kept: KeptOutput) -> dict[str, Any]:
    return {
        "output_id": kept.output_id,
        "bytes_total": kept.bytes_total,
        "bytes_indexed": kept.bytes_indexed,
        "streams": _list(kept.streams.items(), _STREAM_KEYS),
    }


def _list(parts: Iterable[tuple[str, object]], keys: Sequence[str]) -> list[dict[str, Any]]:
    return [{"stream": name} | {key: getattr(part, key) for key in keys} for name, part in parts]


class Keep:
    """The storage of outputs, which indexes after an answer what would have delayed it.

    Long writes run in `writing`, one after another. An answer waits only for other answers. A
    stream waits in `spool_dir` for its indexing, also after the end of this process.
    """

    def __init__(self, open_store: Callable[[], Store], spool_dir: Path) -> None:
        self.writing = trio.CapacityLimiter(1)
        self._answering = trio.CapacityLimiter(1)
        self._open_store = open_store
        self._opened: Store | None = None
        self._opening = threading.Lock()
        self._spool_dir = spool_dir
        self._queued = trio.Event()

    @property
    def store(self) -> Store:
        """Return the store, opened at the first use.

        Raises:
            StoreError: it cannot be opened.
        """
        with self._opening:
            if self._opened is None:
                self._opened = self._open_store()
            return self._opened

    @property
    def is_open(self) -> bool:
        """Return whether the store was opened."""
        return self._opened is not None

    @property
    def notices(self) -> tuple[str, ...]:
        """Return messages for the user about the store, if it is open."""
        return self._opened.notices if self._opened else ()

    def close(self) -> None:
        """Close the store if it was opened."""
        if self._opened is not None:
            self._opened.close()

    async def answer(
        self, completed: Completed, request: Request, *, name: str = "", always: bool = False
    ) -> Answer:
        """Return the answer to a run: whole if small, else stored with a reference.

        The run's spool files are taken over. `name` is the run's name for readers; `always` stores
        small outputs too, for a caller that will search them.
        """
        result = completed.result
        streams = {
            "stdout": (result.stdout, completed.stdout_spool),
            "stderr": (result.stderr, completed.stderr_spool),
        }
        wanted = {
            stream: (shown, spool)
            for stream, (shown, spool) in streams.items()
            if spool is not None or (always and shown.bytes_total)
        }
        if not wanted:
            return Answer(result)
        # Most runs store nothing, and do not need the store.
        from kb import Origin, SourceSpec  # noqa: PLC0415

        output_id = make_output_id()
        about = f"{request.language} {name}".strip()
        command = _identity(request)
        added: dict[str, Indexed] = {}
        note = ""
        try:
            for stream, (shown, spool) in wanted.items():
                label = f"{output_id}/{stream} ({about})"
                series = f"{stream} of {command}"
                spec = SourceSpec(label, Origin.RUN, session=request.session, series=series)
                added[stream] = await self._add(spec, shown, spool)
        except (StoreError, OSError) as error:
            _discard(spool for _, spool in wanted.values())
            note = f"the output could not be stored: {error}"
            if not added:
                return Answer(result, note=note)
        self.wake()
        if request.intent is not None:
            added = await self._further_indexed(added)
        kept = KeptOutput(output_id, added)
        answer = Answer(replace(result, output_id=output_id), kept, note=note)
        return answer if request.intent is None else await self._filter(answer, request.intent)

    def wake(self) -> None:
        """Wake `index_behind` to look for streams to index."""
        self._queued.set()

    async def _further_indexed(self, streams: Mapping[str, Indexed]) -> dict[str, Indexed]:
        """Index more of these streams for up to FURTHER_S, and return their new state: the sections
        that match an intent are chosen from the indexed part."""

        def index_step(stream: Indexed) -> Indexed:
            self.store.index_pending(INDEX_STEP_BYTES, stream.source_id)
            return replace(stream, bytes_indexed=self.store.source(stream.source_id).bytes_indexed)

        found = dict(streams)
        with trio.move_on_after(FURTHER_S), suppress(StoreError):  # for example if one was deleted
            for name, stream in streams.items():
                while found[name].bytes_indexed < stream.bytes_total:
                    step = partial(index_step, stream)
                    found[name] = await trio.to_thread.run_sync(step, limiter=self.writing)
        return found

    async def index_behind(self) -> None:
        """Index what answers left over, in small steps, forever; also for earlier processes."""
        while True:
            await self.index_queued()
            await self._queued.wait()
            self._queued = trio.Event()

    async def index_queued(self) -> None:
        """Index until nothing is queued, delete superseded and excess outputs, and return.

        It returns early if nothing more can be stored.
        """
        if self._opened is None:
            try:
                if not any(self._spool_dir.iterdir()):  # an earlier process left nothing, either
                    return  # the store need not be opened for that
            except FileNotFoundError:
                return
        while True:
            step = partial(self.store.settle, INDEX_STEP_BYTES)
            async with self._answering:  # an answer comes first: nothing is started during one
                pass
            try:
                more = await trio.to_thread.run_sync(step, limiter=self.writing)
            except StoreError:
                return  # the queue stays: the next output, or process, tries again
            if not more:
                return

    async def _add(self, spec: SourceSpec, shown: Stream, spool: Path | None) -> Indexed:
        if spool is None:
            return await self._in_thread(self.store.add, spec, shown.head.encode())
        return await self._in_thread(self._add_spool, spec, spool)

    def _add_spool(self, spec: SourceSpec, spool: Path) -> Indexed:
        self._spool_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        queued = self._spool_dir / secrets.token_hex(8)
        spool.rename(queued)
        try:
            return self.store.add_spool(spec, queued)
        except (StoreError, OSError):
            queued.unlink(missing_ok=True)
            raise

    async def _filter(self, answer: Answer, intent: str) -> Answer:
        assert answer.kept is not None
        found: list[OutputSection] = []
        for stream, kept in answer.kept.streams.items():
            best = partial(self.store.best_chunks, kept.source_id, intent, SECTIONS_COUNTED)
            found += [(stream, hit) for hit in await self._in_thread(best)]
        return replace(answer, sections=_affordable(found), sections_total=len(found))

    async def _in_thread(self, call: Callable[..., T], *args: object) -> T:
        return await trio.to_thread.run_sync(partial(call, *args), limiter=self._answering)


def _identity(request: Request) -> str:
    """Return a digest of the program and its inputs, without limits and intent.

    The output of a run supersedes that of an earlier one with the same digest.
    """
    parts = (
        request.language,
        request.code,
        request.path,
        request.bind_file,
        request.cwd,
        request.args,
        sorted(request.env.items()),
        sorted((name, hashlib.sha256(data).hexdigest()) for name, data in request.files.items()),
        hashlib.sha256(request.stdin or b"").hexdigest(),
        request.profile,
        request.session,
        request.keeps_with,
    )
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _affordable(sections: Sequence[OutputSection]) -> tuple[OutputSection, ...]:
    """Return the best sections that fit into the answer."""
    room = SECTIONS_BYTES_MAX
    taken: list[OutputSection] = []
    for section in sections[:SECTIONS_MAX]:
        room -= len(section[1].text.encode())
        if taken and room < 0:
            break
        taken.append(section)
    return tuple(taken)


def _discard(spools: Iterable[Path | None]) -> None:
    for spool in spools:
        if spool is not None:
            spool.unlink(missing_ok=True)
