"""What is kept of a project, behind the verbs that need no sandbox."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

import kb
from ctxmode.errors import UsageError
from ctxmode.operations import indexing
from ctxmode.operations import library as library_module
from ctxmode.operations.indexing import IndexRequest
from ctxmode.operations.library import Library, PurgeRequest, age_s, open_library
from ctxmode.operations.searching import SearchRequest


@pytest.fixture
def library(config):
    with open_library(config) as opened:
        for label in ("notes one", "notes two", "other"):
            opened.index(IndexRequest(content=f"about {label}\n".encode(), source=label))
        yield opened


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("other", "other"),
        ("OTH", "other"),
        ("notes one", "notes one"),
        ("3", "other"),
        ("two", None),
    ],
)
def test_a_source_is_found_by_number_label_or_part(library, name, label):
    assert library.source(name).label == (label or "notes two")


@pytest.mark.parametrize(
    ("name", "said"), [("notes", "several sources"), ("zzz", "no source"), ("99", "no")]
)
def test_what_names_none_or_several_is_told_with_what_there_is(library, name, said):
    with pytest.raises(UsageError, match=said) as caught:
        library.source(name)
    assert caught.value.hint


def test_the_latest_version_is_meant_and_the_older_still_there_by_number(library):
    library.index(IndexRequest(content=b"newer\n", source="other"))
    assert library.text(library.source("other")) == b"newer\n"
    assert library.text(library.source("3")) == b"about other\n"
    assert len(library.sources()) == 3
    assert len(library.sources(all_versions=True)) == 4


@pytest.mark.parametrize(
    ("request_", "left"),
    [
        (PurgeRequest(source="notes"), ["other"]),
        (PurgeRequest(kind="code"), ["other", "notes two", "notes one"]),
        (PurgeRequest(expired=True), ["other", "notes two", "notes one"]),
        (PurgeRequest(older_than_s=3600), ["other", "notes two", "notes one"]),
        (PurgeRequest(everything=True), []),
    ],
)
def test_purge_forgets_what_fits_every_filter(library, request_, left):
    library.purge(request_)
    assert [source.label for source in library.sources()] == left


@pytest.mark.parametrize(
    "request_",
    [
        PurgeRequest(),
        PurgeRequest(pinned=True),
        PurgeRequest(source=" "),
        PurgeRequest(source="notes", everything=True),
    ],
)
def test_a_purge_that_does_not_say_what_it_means_forgets_nothing(library, request_):
    with pytest.raises(UsageError):
        library.purge(request_)
    assert len(library.sources()) == 3


def test_a_backup_replaces_nothing_and_names_a_missing_folder(library, tmp_path):
    target = tmp_path / "copy.sqlite3"
    assert library.backup(target) == target.stat().st_size
    with pytest.raises(UsageError, match="exists"):
        library.backup(target)
    with pytest.raises(UsageError, match="no folder"):
        library.backup(tmp_path / "nowhere" / "copy")


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("2h", 7200), ("7d", 604_800)])
def test_an_age_is_told_in_words(text, seconds):
    assert age_s(text) == seconds


@pytest.mark.parametrize("text", ["", "7", "d", "-1d", "7 d", "1y"])
def test_what_is_no_age_is_refused(text):
    with pytest.raises(UsageError):
        age_s(text)


OLD, NEW = "A retry waits for a walrus.\n", "A retry waits for a heron now.\n"
BIG = "A retry waits for a heron now.\n" * 40_000


@pytest.fixture
def guide(config, monkeypatch):
    """A project whose page is indexed, with a library that was opened for it."""
    monkeypatch.setattr(indexing, "RENEWED_S", 60.0)  # however slow the machine is
    path = config.project / "docs" / "guide.md"
    path.write_text(OLD)
    with open_library(config) as opened:
        opened.index(IndexRequest(path="."))
        yield opened, path


def _edit(path):
    path.write_text(NEW)


def _touch(path):
    os.utime(path, ns=(1, 1))


def _exchange_for_a_link(path):
    path.unlink()
    path.symlink_to(path.parents[2] / "outside.txt")


def _deny(path):
    _edit(path)
    settings = path.parents[1] / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"deny": ["Read(./docs/**)"]}}')


def _break_rules(path):
    _deny(path)
    (path.parents[1] / ".claude" / "settings.json").write_text("{")


@pytest.mark.parametrize(
    ("change", "stale", "text", "versions"),
    [
        (lambda _: None, "", OLD, 1),  # nothing is indexed again
        (_touch, "", OLD, 1),
        (_edit, "", NEW, 2),
        (lambda path: path.unlink(), "gone", OLD, 1),
        (lambda path: shutil.rmtree(path.parent), "gone", OLD, 1),
        (lambda path: path.write_text(BIG), "changed", OLD, 1),
        (lambda path: path.write_bytes(b"retry\0heron"), "changed", OLD, 1),
        (_exchange_for_a_link, "changed", OLD, 1),
        (_deny, "changed", OLD, 1),
        (_break_rules, "changed", OLD, 1),
    ],
    ids=[
        "as it was",
        "touched",
        "edited",
        "deleted",
        "folder deleted",
        "too large",
        "binary",
        "a link out",
        "denied",
        "broken rules",
    ],
)
def test_a_passage_is_as_its_file_is_now_or_marked(guide, change, stale, text, versions):
    library, path = guide
    change(path)
    for _ in range(2):  # the second search finds what the first one indexed
        (hit,) = [
            hit
            for hit in library.search(SearchRequest(("retry",))).queries[0].hits
            if hit.source == "docs/guide.md"
        ]
        assert (hit.stale, hit.text) == (stale, text)
    assert len(library.store.versions("docs/guide.md")) == versions
    assert bool(library.store.search("heron")[0].hits) == (text == NEW)
    assert not library.store.search("outside")[0].hits


def test_queries_of_a_batch_find_a_file_as_it_is_now(guide):
    library, path = guide
    _edit(path)
    (result,) = library.search_in(["waits"], None)
    assert [(hit.text, hit.stale) for hit in result.hits] == [(NEW, "")]
    path.unlink()
    (result,) = library.search_in(["waits"], None)
    assert [(hit.text, hit.stale) for hit in result.hits] == [(NEW, "gone")]


def test_a_file_that_no_longer_fits_is_not_found_by_its_old_words(guide):
    library, path = guide
    _edit(path)
    assert not library.search(SearchRequest(("walrus",))).queries[0].hits


@pytest.mark.parametrize(("kind", "language"), [("markdown", "markdown"), ("log", None)])
def test_a_file_keeps_its_label_and_the_kind_that_it_was_given(guide, kind, language):
    library, path = guide
    library.index(IndexRequest(path="docs/guide.md", source="mine", kind=kind, language=language))
    _edit(path)
    (hit,) = library.search(SearchRequest(("retry",), source="mine")).queries[0].hits
    assert (hit.text, hit.kind, hit.source) == (NEW, kind, "mine")


def test_what_another_process_writes_meanwhile_leaves_the_passage_marked(guide, monkeypatch):
    library, path = guide
    monkeypatch.setattr(indexing, "RENEWAL_WAIT_S", 0.01)
    _edit(path)
    with closing(sqlite3.connect(library.store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        hits = library.search(SearchRequest(("walrus",))).queries[0].hits
        other.execute("ROLLBACK")
    assert [(hit.text, hit.stale) for hit in hits] == [(OLD, "changed")]


@pytest.mark.parametrize(
    ("change", "stale", "text"),
    [
        (lambda _: None, "", OLD),
        (_touch, "", OLD),
        (_edit, "", NEW),
        (lambda path: path.write_text(BIG), "", BIG),  # alone it may be larger than in a search
        (lambda path: path.unlink(), "gone", OLD),
        (_deny, "changed", OLD),
    ],
)
def test_a_source_that_is_shown_is_as_its_file_is_now_or_marked(guide, change, stale, text):
    library, path = guide
    change(path)
    source, found = library.renew(library.source("docs/guide.md"))
    assert (found, library.text(source)) == (stale, text.encode())
    assert library.find_stale(source) == stale


LINES = [f"line {n} value{n}x\n".encode() for n in range(2000)]
MIDDLE = "value1000x"


@pytest.fixture
def queued(config, tmp_path):
    """A library of whose one source only the beginning and the end are indexed."""
    spool = tmp_path / "spool"
    spool.write_bytes(b"".join(LINES))
    with open_library(config) as opened:
        spec = kb.SourceSpec("out-1/stdout", kb.Origin.RUN, kind="text")
        opened.store.add_spool(spec, spool, head_bytes=5000, tail_bytes=5000)
        yield opened


def _find(library):
    answer = library.search(SearchRequest((MIDDLE,)))
    texts = [hit.text for hit in answer.queries[0].hits if not hit.weak]
    return any(MIDDLE in text for text in texts), answer


def test_a_search_goes_on_with_the_queue_and_says_what_is_left(queued, monkeypatch):
    monkeypatch.setattr(library_module, "QUEUE_S", 0.0)
    is_found, answer = _find(queued)
    assert (is_found, answer.incomplete_sources) == (False, (1,))
    assert answer.notes == ("29.1 KB left to index. Search again to continue.",)
    monkeypatch.setattr(library_module, "QUEUE_S", 60.0)
    is_found, answer = _find(queued)
    assert (is_found, answer.incomplete_sources, answer.notes) == (True, (), ())


def test_a_search_leaves_the_queue_to_the_server_that_indexes_behind_it(queued):
    served = Library(queued.config, queued.store, queued.rules, is_indexed_behind=True)
    is_found, answer = _find(served)
    assert (is_found, answer.incomplete_sources, answer.notes) == (False, (1,), ())


def test_what_another_process_locks_stays_queued(queued, monkeypatch):
    monkeypatch.setattr(library_module, "QUEUE_WAIT_S", 0.01)
    with closing(sqlite3.connect(queued.store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        is_found, answer = _find(queued)
        other.execute("ROLLBACK")
    assert (is_found, answer.incomplete_sources) == (False, (1,))
    assert answer.notes[0].endswith("left to index. Search again to continue.")


@pytest.mark.parametrize("is_there", [True, False])
def test_a_source_that_is_shown_is_indexed_as_far_as_its_file_is_there(
    queued, tmp_path, monkeypatch, is_there
):
    monkeypatch.setattr(library_module, "QUEUE_S", 60.0)
    if not is_there:
        (tmp_path / "spool").unlink()
    source, is_more = queued.complete(queued.source("out-1"))
    assert (source.complete, is_more) == (is_there, False)
    assert (MIDDLE.encode() in queued.text(source)) is is_there
    _, answer = _find(queued)
    assert (answer.incomplete_sources, answer.notes) == ((), ())  # nothing more will come
