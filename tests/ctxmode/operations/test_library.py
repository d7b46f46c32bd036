"""What is kept of a project, behind the verbs that need no sandbox."""

import pytest

from ctxmode.errors import UsageError
from ctxmode.operations.indexing import IndexRequest
from ctxmode.operations.library import age_s, open_library
from ctxmode.operations.purging import PurgeRequest


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
    ("name", "said"), [("notes", "any of"), ("zzz", "no source"), ("99", "no")]
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
