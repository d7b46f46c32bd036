"""Streams and artifacts come back whole; what no honest worker hands back leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from executor.engine.engine import Completed
from executor.model import Artifact, LeftOut, Limits, Request, Result, Status, Stream
from executor.project.store.manifest import Change
from executor.request import ANALYZE
from executor.run.capture import Capture
from fleet import model
from fleet.model import BYTES_MAX, Delivery, Outcome, OutcomeError
from fleet.result_files import OUTPUT_SLACK_BYTES
from fleet.tree import BlobError, Digest, digest_of
from tests.fleet.returning import RUN_ID, Ends

MIXED = b"".join(bytes([n % 256]) * (n % 97) + b"\n" for n in range(4000))
OUTPUTS = {
    "nothing": b"",
    "a line": b"one\n",
    "no text": b"\xff\x00\xfe",
    "as much as is told": b"x" * 4096,
    "one byte more": b"x" * 4097,
    "long lines": b"\n".join(b"l" * 3000 for _ in range(40)),
    "many lines": b"\n".join(b"%d" % n for n in range(50_000)),
    "characters of several bytes": "ä€😀\n".encode() * 2000,
    "no text, and much": MIXED,
}


@pytest.fixture
async def ends(project: Path, tmp_path: Path) -> Ends:
    (project / "a.txt").write_text("a\n")
    (project / "b.txt").write_text("b\n")
    made = Ends(project, tmp_path / "ends")
    await made.send()
    return made


def captured(data: bytes, folder: Path, inline_bytes: int) -> tuple[Stream, bytes | None]:
    """A stream as a local run gives it, and the whole of it where that is more."""
    folder.mkdir(exist_ok=True)
    taken = Capture(folder / "stream", inline_bytes)
    for at in range(0, len(data), 1000):
        taken.feed(data[at : at + 1000])
    taken.close()
    return taken.stream(), taken.spool.read_bytes() if taken.spool else None


def at_worker(ends: Ends, data: bytes, inline_bytes: int) -> Completed:
    """What a worker's engine gives of a run with this output, on both streams."""
    spools = []
    for name in ("stdout", "stderr"):
        taken = Capture(ends.place / f"worker.{name}", inline_bytes)
        taken.feed(data)
        taken.close()
        spools.append(taken.spool)
    stream = taken.stream()
    return Completed(Result(Status.OK, exit_code=0, stdout=stream, stderr=stream), *spools)


@pytest.mark.parametrize("data", OUTPUTS.values(), ids=OUTPUTS.keys())
@pytest.mark.parametrize("inline_bytes", [4096, 16_384, 512])
async def test_streams_are_as_of_a_run_here(ends: Ends, data: bytes, inline_bytes: int):
    """Whatever a worker keeps in its results: here it is 4,096 bytes."""
    ends.inline_bytes = inline_bytes
    completed = await ends.bring_back(ends.hand_over(at_worker(ends, data, 4096)))
    stream, whole = captured(data, ends.place / "here", inline_bytes)
    for told, spool in (
        (completed.result.stdout, completed.stdout_spool),
        (completed.result.stderr, completed.stderr_spool),
    ):
        assert (told, spool and spool.read_bytes()) == (stream, whole)


async def test_output_that_was_discarded_is_counted_as_there(ends: Ends):
    ends.request = Request("shell", "true", profile="build", drain=True)
    taken = Capture(ends.place / "worker.stdout", 4096)
    taken.feed(b"first\n" * 10_000)
    taken.discarding = True
    taken.feed(b"last\n" * 1_000_000)
    taken.close()
    result = Result(Status.OK, exit_code=0, stdout=taken.stream())
    completed = await ends.bring_back(ends.hand_over(Completed(result, taken.spool)))
    assert completed.result.stdout == result.stdout
    assert completed.stdout_spool
    assert completed.stdout_spool.read_bytes() == b"first\n" * 10_000


async def test_output_beyond_the_limit_is_cut_where_a_run_was_ended_for_it(ends: Ends):
    ends.limits = Limits(output_bytes=1000)
    size = 1000 + OUTPUT_SLACK_BYTES
    completed = replace(at_worker(ends, b"x\n" * size, 4096))
    result = replace(completed.result, status=Status.OUTPUT_LIMIT)
    brought = await ends.bring_back(ends.hand_over(replace(completed, result=result)))
    assert brought.stdout_spool
    assert len(brought.stdout_spool.read_bytes()) == size
    assert brought.result.stdout == result.stdout


async def test_artifacts_are_copied_under_the_names_that_they_have_here(ends: Ends):
    folder = ends.place / "artifacts"
    folder.mkdir()
    names = ["out/a.png", "a.png", "x" * 200, "-rf", "\ufffd ü", ".", *(f"n{n}" for n in range(14))]
    contents = [bytes([n]) * n * 100 for n in range(len(names))]
    made = []
    for number, (name, content) in enumerate(zip(names, contents, strict=True), 1):
        path = folder / f"{number:02d}"
        path.write_bytes(content)
        made.append(Artifact(name, len(content), str(path)))
    skipped = Artifact("big", reason="too large")
    result = Result(Status.OK, exit_code=0, artifacts=(*made, skipped))
    brought = (await ends.bring_back(ends.hand_over(Completed(result)))).result.artifacts
    assert brought[-1] == skipped
    assert [(a.name, a.bytes) for a in brought[:-1]] == [(a.name, a.bytes) for a in made]
    assert [Path(str(a.path)).read_bytes() for a in brought[:-1]] == contents
    assert {Path(str(a.path)).parent for a in brought[:-1]} == {ends.landing}
    assert Path(str(brought[0].path)).name == "01-a.png"


FILE = Change("new", "created", "file", 0o644, 3, 1, sha256=digest_of(b"new").hash)
HONEST = Outcome(
    RUN_ID,
    "worker-1",
    Result(Status.OK, exit_code=0, artifacts=(Artifact("a", 1, "01-a"),)),
    (FILE,),
)
FILES = {"stdout": b"o" * 5000, "artifacts/01-a": b"a", "changed": b"new"}
TOLD = replace(
    HONEST, result=replace(HONEST.result, stdout=Stream("o", bytes_total=5000, bytes_omitted=4999))
)


def deliver(ends: Ends, outcome: Outcome, files: Mapping[str, bytes]) -> Delivery:
    """What a worker hands back that says what it likes."""
    named = {"outcome.json": model.encode(outcome), **files}
    return Delivery({path: ends.blobs.add(data) for path, data in named.items()})


async def test_an_outcome_that_holds_is_taken(ends: Ends):
    """The control of all that are not."""
    completed = await ends.bring_back(deliver(ends, TOLD, FILES))
    assert (ends.project / "new").read_bytes() == b"new"
    assert completed.result.stdout.bytes_total == 5000
    assert completed.result.worker == "worker-1"


def with_file(**more: Any) -> Outcome:
    return replace(TOLD, changed=(replace(FILE, **more),))


def with_result(**more: Any) -> Outcome:
    return replace(TOLD, result=replace(TOLD.result, **more))


LIES: dict[str, tuple[Outcome, Mapping[str, bytes]]] = {
    "another run": (replace(TOLD, run_id="run-00000002"), FILES),
    "another content": (TOLD, {**FILES, "changed": b"old"}),
    "more content": (TOLD, {**FILES, "changed": b"newer"}),
    "less content": (TOLD, {**FILES, "changed": b"ne"}),
    "no content": (TOLD, {path: data for path, data in FILES.items() if path != "changed"}),
    "a larger file": (with_file(size=4), FILES),
    "another file's digest": (with_file(sha256="0" * 64), FILES),
    "an empty file that is not": (with_file(size=0), {**FILES, "changed": b""}),
    "no artifact": (TOLD, {path: data for path, data in FILES.items() if "01-a" not in path}),
    "an artifact too many": (TOLD, {**FILES, "artifacts/02-b": b"b"}),
    "a larger artifact": (TOLD, {**FILES, "artifacts/01-a": b"aa"}),
    "an artifact elsewhere": (TOLD, {**FILES, "artifacts/../../x": b"x"}),
    "an artifact in a folder": (TOLD, {**FILES, "artifacts/x/y": b"x"}),
    "a strange file": (TOLD, {**FILES, "order": b"x"}),
    "a file above": (TOLD, {**FILES, "../outcome.json": b"x"}),
    "no whole output": (TOLD, {path: data for path, data in FILES.items() if path != "stdout"}),
    "output counted below nothing": (with_result(stderr=Stream(bytes_total=-1)), FILES),
    "much more output": (
        TOLD,
        {**FILES, "stderr": bytes(OUTPUT_SLACK_BYTES), "stdout": bytes(100_001)},
    ),
    "artifacts beyond the limit": (
        with_result(artifacts=(Artifact("a", 200_000, "01-a"),)),
        {**FILES, "artifacts/01-a": bytes(200_000)},
    ),
    "101 artifacts": (
        with_result(artifacts=tuple(Artifact("a", 0, f"a{n}") for n in range(101))),
        {**FILES, **{f"artifacts/a{n}": b"" for n in range(101)}},
    ),
    "a result that never ends": (with_result(message="x" * (5 << 20)), FILES),
    "half a character": (with_result(message="\udcff"), FILES),
    "changes of a run that never ended": (with_result(exit_code=None), FILES),
}


@pytest.mark.parametrize(("outcome", "files"), LIES.values(), ids=LIES.keys())
async def test_a_lie_leaves_nothing_behind(
    ends: Ends, outcome: Outcome, files: Mapping[str, bytes]
):
    ends.limits = Limits(output_bytes=100_000, artifact_bytes=100_000)
    with pytest.raises(OutcomeError):
        await ends.bring_back(deliver(ends, outcome, files))
    assert_nothing_came(ends)


def assert_nothing_came(ends: Ends) -> None:
    assert list(ends.landing.iterdir()) == []
    assert sorted(one.name for one in ends.project.iterdir()) == ["a.txt", "b.txt"]
    assert not (ends.place / "changes" / "kept").exists()


@pytest.mark.parametrize("form", [b"", b"{}", b"[]", b"null", b"[" * 100_000, b"\xff" * 100])
async def test_what_is_no_outcome_is_none(ends: Ends, form: bytes):
    with pytest.raises(OutcomeError):
        await ends.bring_back(Delivery({"outcome.json": ends.blobs.add(form)}))
    assert_nothing_came(ends)


async def test_without_an_outcome_there_is_none(ends: Ends):
    with pytest.raises(OutcomeError, match="no outcome"):
        await ends.bring_back(Delivery({"stdout": ends.blobs.add(b"x")}))


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("outcome.json", BYTES_MAX + 1),
        ("stdout", 1 << 40),
        ("artifacts/a", 1 << 40),
        ("changed", 1 << 40),
    ],
)
async def test_nothing_that_is_too_large_is_fetched(ends: Ends, name: str, size: int):
    delivery = deliver(ends, TOLD, FILES)
    large = replace(delivery, files={**delivery.files, name: Digest("0" * 64, size)})
    with pytest.raises(OutcomeError, match="the limit is"):
        await ends.bring_back(large)
    assert ends.blobs.fetched == []


async def test_a_run_that_may_change_nothing_changes_nothing(ends: Ends):
    ends.profile, ends.request = ANALYZE, Request("shell", "true")
    for outcome, files in ((TOLD, FILES), (replace(TOLD, changed=()), FILES)):
        with pytest.raises(OutcomeError):
            await ends.bring_back(deliver(ends, outcome, files))
    without = {path: data for path, data in FILES.items() if path != "changed"}
    await ends.bring_back(deliver(ends, replace(TOLD, changed=()), without))
    assert not (ends.project / "new").exists()


@pytest.mark.parametrize("gone", ["outcome.json", *FILES])
async def test_a_blob_that_is_gone_leaves_nothing_behind(ends: Ends, gone: str):
    delivery = deliver(ends, TOLD, FILES)
    kept = ends.blobs.kept.pop(delivery.files[gone])
    with pytest.raises(BlobError):
        await ends.bring_back(delivery)
    assert_nothing_came(ends)
    ends.blobs.add(kept)
    await ends.bring_back(delivery)
    assert (ends.project / "new").exists()


async def test_who_stops_waiting_leaves_nothing_behind(
    ends: Ends, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
):
    delivery = deliver(ends, TOLD, FILES)
    given = ends.blobs.get

    async def stick(digest: Digest, write: Callable[[bytes], object]) -> None:
        if digest == delivery.files["changed"]:
            await trio.sleep_forever()
        await given(digest, write)

    monkeypatch.setattr(ends.blobs, "get", stick)
    with trio.move_on_after(1) as waited:
        await ends.bring_back(delivery)
    assert waited.cancelled_caught
    assert_nothing_came(ends)


ELSEWHERE: dict[str, tuple[Change, ...]] = {
    "through a link of the project": (replace(FILE, path="link/new"),),
    "below a file": (replace(FILE, path="a.txt/new"),),
    "in a folder that is nowhere": (replace(FILE, path="nowhere/new"),),
    "a file that was never there": (replace(FILE, path="b/new", change="mode"),),
    "the project's own link as a file": (replace(FILE, path="link", change="mode"),),
}


@pytest.mark.parametrize("changed", ELSEWHERE.values(), ids=ELSEWHERE.keys())
async def test_changes_lead_nowhere_else(
    project: Path, tmp_path: Path, changed: tuple[Change, ...]
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "a.txt").write_text("a\n")
    (project / "link").symlink_to(outside)
    ends = Ends(project, tmp_path / "ends")
    await ends.send()
    await ends.bring_back(deliver(ends, replace(TOLD, changed=changed), FILES))
    assert list(outside.iterdir()) == []
    assert (project / "a.txt").read_text() == "a\n"


async def test_a_hard_link_shows_no_file_that_the_worker_did_not_have(ends: Ends):
    """Its name alone would give a run to come what is kept from programs."""
    (ends.project / ".env").write_text("TOKEN=secret")
    (ends.project / "late").write_text("late")
    links = (
        replace(FILE, path="one", group=1, source=".env"),
        replace(FILE, path="two", group=2, source="late"),
        replace(FILE, path="three", group=3, source="a.txt"),
    )
    ends.record = await ends.commits.record(ends.profile)
    files = {**FILES, "changed": b"new" * 3}
    await ends.bring_back(deliver(ends, replace(TOLD, changed=links), files))
    for name in ("one", "two", "three"):
        made = ends.project / name
        assert made.read_bytes() == b"new"
        assert made.stat().st_nlink == 1


async def test_a_worker_says_only_which_names_it_refused(ends: Ends):
    """What is held, closed or conflicting is for the front to say."""
    told = (LeftOut("x", "a fifo", "refused"), LeftOut("y", "a lie", "conflict"))
    outcome = with_result(not_committed=told, persists=True, changes_id="../../x", session="s")
    result = (await ends.bring_back(deliver(ends, outcome, FILES))).result
    assert result.not_committed == told[:1]
    assert (result.changes_id, result.session, result.profile) == (None, None, "build")


async def test_a_spool_on_another_file_system_is_copied(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
):
    completed = at_worker(ends, b"x" * 10_000, 4096)
    fail: Callable[..., None] = lambda *_: (_ for _ in ()).throw(OSError(18, "cross-device"))  # noqa: E731
    monkeypatch.setattr(Path, "rename", fail)
    files = ends.hand_over(completed).files
    assert files["stdout"] == digest_of(b"x" * 10_000)
