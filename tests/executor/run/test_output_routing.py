"""Output routing, with a real store and real spool files."""

from dataclasses import replace
from pathlib import Path

import pytest
import trio

import executor.run.output_routing
from executor.engine.engine import Completed
from executor.model import Request, Result, Status
from executor.run.capture import Capture
from executor.run.output_routing import SECTIONS_BYTES_MAX, Answer, Keep
from kb import Store, eviction, reading
from kb.model import SourceSpec

INLINE_BYTES = 4096
REQUEST = Request("python", code="print()")
LOG = b"".join(b"entry %d of the audit log\n" % number for number in range(5000))
HUGE = b"".join(b"%07d %s\n" % (number, b"a word or two " * 70) for number in range(6000))


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store.sqlite3") as opened:
        yield opened


@pytest.fixture
def keep(store, tmp_path):
    return Keep(lambda: store, tmp_path / "queue")


def completed(
    tmp_path: Path, stdout: bytes = b"", stderr: bytes = b"", status: Status = Status.OK
) -> Completed:
    """A run that printed this, captured as the executor captures it."""
    folder = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
    folder.mkdir()
    captures = {}
    for name, content in (("stdout", stdout), ("stderr", stderr)):
        captures[name] = Capture(folder / name, INLINE_BYTES)
        captures[name].feed(content)
        captures[name].close()
    result = Result(status, stdout=captures["stdout"].stream(), stderr=captures["stderr"].stream())
    return Completed(result, captures["stdout"].spool, captures["stderr"].spool)


async def test_a_small_output_is_the_answer_and_is_not_stored(keep, store, tmp_path):
    run = completed(tmp_path, b"42\n")
    assert await keep.answer(run, REQUEST) == Answer(run.result)
    assert store.sources() == []


@pytest.mark.parametrize("status", [Status.OK, Status.NONZERO_EXIT, Status.TIMED_OUT])
async def test_a_large_output_is_kept_whole_however_the_run_ended(keep, store, tmp_path, status):
    run = completed(tmp_path, LOG, status=status)
    answer = await keep.answer(run, REQUEST)
    (stream,) = answer.kept.streams.values()
    assert store.text(stream.source_id) == LOG
    assert (answer.kept.bytes_indexed, answer.kept.bytes_total) == (len(LOG), len(LOG))
    assert answer.result == replace(run.result, output_id=answer.kept.output_id)
    assert answer.result.stdout.truncated
    assert not run.stdout_spool.exists()


async def test_both_streams_are_sources_of_their_own_under_one_output_id(keep, store, tmp_path):
    answer = await keep.answer(completed(tmp_path, LOG, LOG[::-1]), REQUEST)
    labels = {source.label for source in store.sources()}
    assert labels == {f"{answer.kept.output_id}/{s} (python)" for s in ("stdout", "stderr")}
    assert [*answer.kept.streams] == ["stdout", "stderr"]


async def test_a_small_stderr_beside_a_large_stdout_stays_in_the_answer(keep, tmp_path):
    answer = await keep.answer(completed(tmp_path, LOG, b"a warning\n"), REQUEST)
    assert [*answer.kept.streams] == ["stdout"]
    assert answer.result.stderr.text == "a warning\n"


async def test_two_runs_of_one_program_never_overwrite_each_other(keep, store, tmp_path):
    first = await keep.answer(completed(tmp_path, LOG), REQUEST)
    second = await keep.answer(completed(tmp_path, LOG.upper()), REQUEST)
    assert first.kept.output_id != second.kept.output_id
    for answer, expected in ((first, LOG), (second, LOG.upper())):
        output_id = answer.kept.output_id
        (result,) = store.search("entry", source=output_id, limit=1, include_superseded=True)
        assert result.hits[0].text.encode() in expected


async def test_the_same_command_again_supersedes_and_another_does_not(keep, store, tmp_path):
    first = await keep.answer(completed(tmp_path, LOG, LOG), REQUEST)
    again = replace(REQUEST, intent="other words", timeout_s=5)
    second = await keep.answer(completed(tmp_path, LOG.upper()), again)
    other = replace(REQUEST, args=("--more",))
    third = await keep.answer(completed(tmp_path, LOG), other)
    ids = {"first": first, "second": second, "third": third}
    current = {source.label.partition(" ")[0] for source in store.sources()}
    assert current == {
        f"{ids['first'].kept.output_id}/stderr",
        f"{ids['second'].kept.output_id}/stdout",
        f"{ids['third'].kept.output_id}/stdout",
    }


async def test_what_a_session_kept_is_its_own_to_find_and_to_purge(keep, store, tmp_path):
    for session in ("one", "other", None):
        await keep.answer(completed(tmp_path, LOG), replace(REQUEST, session=session))
    assert {source.session for source in store.sources()} == {"one", "other", None}
    assert store.search("entry", session="one")[0].hits
    assert store.purge(session="one").sources == 1
    assert {source.session for source in store.sources()} == {"other", None}


async def test_an_output_can_be_kept_though_it_is_small(keep, store, tmp_path):
    answer = await keep.answer(completed(tmp_path, b"42\n"), REQUEST, name="sum", always=True)
    (source,) = store.sources()
    assert source.label == f"{answer.kept.output_id}/stdout (python sum)"


async def test_with_an_intent_the_matching_sections_come_back_exactly(keep, tmp_path):
    log = LOG.replace(b"entry 3333 ", b"entry 3333 catastrophe ")
    answer = await keep.answer(completed(tmp_path, log), replace(REQUEST, intent="catastrophe"))
    ((_, section),) = answer.sections
    assert "3333 catastrophe" in section.text
    assert section.text.encode() == log[section.start_byte : section.end_byte]
    assert answer.sections_total == 1


async def test_sections_are_few_and_the_rest_is_counted(keep, tmp_path):
    answer = await keep.answer(completed(tmp_path, LOG), replace(REQUEST, intent="audit"))
    assert sum(len(section.text) for _, section in answer.sections) <= SECTIONS_BYTES_MAX
    assert answer.sections_total > len(answer.sections)


async def test_an_intent_that_nothing_matches_leaves_no_sections(keep, tmp_path):
    answer = await keep.answer(completed(tmp_path, LOG), replace(REQUEST, intent="zzyzx"))
    assert (answer.sections, answer.sections_total) == ((), 0)


async def test_an_intent_does_not_touch_a_small_output(keep, tmp_path):
    answer = await keep.answer(completed(tmp_path, b"42\n"), replace(REQUEST, intent="zzyzx"))
    assert answer.sections is None


async def test_the_middle_of_a_huge_output_is_indexed_behind_the_answer(keep, store, tmp_path):
    middle = HUGE.replace(b"0003000 ", b"0003000 catastrophe ")
    answer = await keep.answer(completed(tmp_path, middle), REQUEST)
    assert 1_000_000 < answer.kept.bytes_indexed < 2_000_000
    assert answer.kept.bytes_total == len(middle)
    (early,) = store.search("catastrophe")
    assert (early.hits, len(early.incomplete_sources)) == ((), 1)
    await keep.index_queued()
    (late,) = store.search("catastrophe")
    assert "0003000 catastrophe" in late.hits[0].text
    assert late.incomplete_sources == ()
    assert store.text(answer.kept.streams["stdout"].source_id) == middle
    assert list((tmp_path / "queue").iterdir()) == []


async def test_an_answer_with_an_intent_waits_for_more_of_the_output(keep, tmp_path, monkeypatch):
    monkeypatch.setattr(executor.run.output_routing, "FURTHER_S", 600)
    middle = HUGE.replace(b"0003000 ", b"0003000 catastrophe ")
    answer = await keep.answer(completed(tmp_path, middle), replace(REQUEST, intent="catastrophe"))
    assert answer.kept.bytes_indexed == len(middle)
    assert "0003000 catastrophe" in answer.sections[0][1].text


async def test_what_is_forgotten_meanwhile_is_not_claimed_as_indexed(
    keep, store, tmp_path, monkeypatch
):
    monkeypatch.setattr(executor.run.output_routing, "FURTHER_S", 600)
    monkeypatch.setattr(store, "index_pending", lambda _bytes, one: store.forget(one) or 0)
    answer = await keep.answer(completed(tmp_path, HUGE), replace(REQUEST, intent="word"))
    assert 0 < answer.kept.bytes_indexed < answer.kept.bytes_total


async def test_an_answer_waits_neither_for_other_writers_nor_long_for_an_intent(keep, tmp_path):
    async with keep.writing:  # as long as a folder is being indexed
        with trio.fail_after(60):
            answer = await keep.answer(completed(tmp_path, HUGE), replace(REQUEST, intent="word"))
    assert answer.kept.bytes_indexed < answer.kept.bytes_total
    assert answer.sections


async def test_a_repeated_large_output_is_answered_before_the_earlier_one_has_moved(
    keep, store, tmp_path
):
    first = await keep.answer(completed(tmp_path, LOG * 9), REQUEST)
    assert first.kept.bytes_indexed == first.kept.bytes_total
    second = await keep.answer(completed(tmp_path, LOG.upper()), REQUEST)
    with store.access.reading() as db:
        assert reading.any_unmoved(db)
    found = {hit.source_id for hit in store.search("entry", limit=50)[0].hits}
    assert found == {second.kept.streams["stdout"].source_id}
    await keep.index_queued()
    with store.access.reading() as db:
        assert not reading.any_unmoved(db)


async def test_what_the_quota_has_no_room_for_is_answered_and_said(tmp_path):
    with Store.open(tmp_path / "kb.sqlite3", quota=lambda: 300_000) as store:
        store.add(SourceSpec("pinned", pinned=True), LOG)
        run = completed(tmp_path, LOG)
        answer = await Keep(lambda: store, tmp_path / "kb.queue").answer(run, REQUEST)
    assert (answer.result, answer.kept) == (run.result, None)
    assert "could not be stored" in answer.note
    assert "pinned" in answer.note
    assert list((tmp_path / "kb.queue").iterdir()) == []


async def test_of_two_streams_one_may_be_kept_and_the_other_is_named_as_not(tmp_path):
    with Store.open(tmp_path / "kb.sqlite3", quota=lambda: 600_000) as store:
        run = completed(tmp_path, LOG, LOG * 4)
        answer = await Keep(lambda: store, tmp_path / "kb.queue").answer(run, REQUEST)
    assert [*answer.kept.streams] == ["stdout"]
    assert "could not be stored" in answer.note


async def test_behind_the_answers_the_quota_is_kept_to(tmp_path):
    with Store.open(tmp_path / "kb.sqlite3", quota=lambda: 900_000) as store:
        keep = Keep(lambda: store, tmp_path / "kb.queue")
        for n in range(12):
            request = replace(REQUEST, args=(str(n),))
            await keep.answer(completed(tmp_path, LOG.replace(b"audit", b"%d" % n)), request)
        await keep.index_queued()
        assert eviction.of_store(store.path).total <= 900_000
        assert 0 < len(store.sources()) < 12


async def test_indexing_behind_starts_with_what_an_earlier_process_left(keep, store, tmp_path):
    answer = await keep.answer(completed(tmp_path, HUGE), REQUEST)
    later = Keep(lambda: store, tmp_path / "queue")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(later.index_behind)
        with trio.fail_after(60):
            while not store.source(answer.kept.streams["stdout"].source_id).complete:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()


async def test_an_output_that_cannot_be_kept_still_comes_back_and_says_why(keep, tmp_path):
    run = completed(tmp_path, LOG)
    run.stdout_spool.unlink(missing_ok=True)
    answer = await keep.answer(run, REQUEST)
    assert answer.result == run.result
    assert answer.kept is None
    assert "could not be stored" in answer.note


async def test_an_answer_has_a_json_form(keep, tmp_path):
    answer = await keep.answer(completed(tmp_path, LOG), replace(REQUEST, intent="audit"))
    data = answer.to_json()
    assert data["kept"]["output_id"] == answer.kept.output_id
    assert data["sections"][0]["text"] == answer.sections[0][1].text
    assert Result.from_json(data["result"]) == answer.result
