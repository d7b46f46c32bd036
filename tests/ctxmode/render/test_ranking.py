"""Why a hit ranks where it does, for readers and programs."""

import pytest

from ctxmode.commands.search import build_explanations, explain_ranks, explanation_text
from ctxmode.operations.searching import SearchRequest, search
from kb.model import SourceSpec


@pytest.fixture
def filled(store):
    store.add(SourceSpec("guide.md", name="guide.md"), b"# Guide\n\nA retry waits.\n")
    store.add(SourceSpec("app.py", name="app.py"), b"def retry():\n    return 1\n")
    return store


def test_the_explained_hits_are_those_of_the_search_in_its_order(filled):
    request = SearchRequest(("retry waits", "zzyzx"))
    found = search(filled, request).queries
    explained = explain_ranks(filled, request)
    assert [[hit.hit.chunk_id for hit in one.hits] for one in explained] == [
        [hit.chunk_id for hit in one.hits] for one in found
    ]
    for one in explained:
        for hit in one.hits:
            assert hit.words + hit.together + hit.source == pytest.approx(hit.hit.score)


def test_filters_are_told_and_hold(filled):
    (one,) = explain_ranks(filled, SearchRequest(("retry",), language="py", kind="code"))
    assert dict(one.filters) == {"kind": "code", "language": "python"}
    assert [hit.hit.source for hit in one.hits] == ["app.py"]
    assert "filter: language = python" in explanation_text(one)


def test_the_text_shows_what_each_score_sums(filled):
    (one,) = explain_ranks(filled, SearchRequest(("retry waits",)))
    text = explanation_text(one)
    assert text.startswith("## retry waits\nwords: retry waits\n")
    assert "1. guide.md | Guide | lines 1-3" in text
    assert "= words " in text


def test_the_data_has_no_texts(filled):
    (one,) = build_explanations(explain_ranks(filled, SearchRequest(("retry",))))["explanations"]
    assert set(one["hits"][0]["hit"]) == {"source", "title", "start_line", "end_line", "score"}
    assert one["words"] == ("retry",)
