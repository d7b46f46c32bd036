"""Questions to the store."""

import pytest

from ctxmode.errors import UsageError
from ctxmode.operations.searching import SearchRequest, search, search_in
from kb import SearchState
from kb.model import SourceSpec


@pytest.fixture
def filled(store):
    store.add(SourceSpec("guide.md", name="guide.md"), b"# Guide\n\nA retry waits.\n")
    store.add(SourceSpec("app.py", name="app.py"), b"def retry():\n    return 1\n")
    store.add(SourceSpec("later.md", name="later.md"), b"# Later\n\nAnother retry waits.\n")
    return store


def sources(answer):
    return [hit.source for hit in answer.queries[0].hits]


def test_every_query_is_answered_in_its_turn(filled):
    answer = search(filled, SearchRequest(("retry", "zzyzx")))
    assert [(q.query, q.state) for q in answer.queries] == [
        ("retry", SearchState.MATCH),
        ("zzyzx", SearchState.NO_MATCH),
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("code", {"app.py"}),
        ("prose", {"guide.md", "later.md"}),
        (None, {"guide.md", "later.md", "app.py"}),
    ],
)
def test_content_is_narrowed_to_code_or_prose(filled, content, expected):
    assert set(sources(search(filled, SearchRequest(("retry",), content=content)))) == expected


def test_a_timeline_has_the_latest_first(filled):
    answer = search(filled, SearchRequest(("retry",), sort="timeline"))
    assert sources(answer) == ["later.md", "app.py", "guide.md"]


def test_the_limit_is_honoured(filled):
    assert len(sources(search(filled, SearchRequest(("retry",), limit=1, content="prose")))) == 1


def test_an_unknown_source_is_told_with_the_ones_that_exist(filled):
    answer = search(filled, SearchRequest(("retry",), source="nowhere"))
    assert answer.queries[0].state is SearchState.NOTHING_INDEXED
    assert "later.md" in answer.notes[0]


def test_filtering_everything_away_is_no_match(store):
    store.add(SourceSpec("app.py", name="app.py"), b"def retry():\n    return 1\n")
    answer = search(store, SearchRequest(("retry",), content="prose"))
    assert answer.queries[0].state is SearchState.NO_MATCH


@pytest.mark.parametrize(
    "request_",
    [
        SearchRequest(()),
        SearchRequest(("",)),
        SearchRequest((" ", "x")),
        SearchRequest(("x",), limit=0),
    ],
)
def test_an_empty_question_is_refused(store, request_):
    with pytest.raises(UsageError):
        search(store, request_)


@pytest.mark.parametrize("query", ["retry since:forever", "since:next-week"])
def test_a_since_that_means_no_time_is_refused_by_name(filled, query):
    with pytest.raises(UsageError, match=r"invalid since:\S+\nGive today, yesterday"):
        search(filled, SearchRequest(("guide", query)))
    assert sources(search(filled, SearchRequest(("retry since:yesterday",))))


def test_queries_can_be_kept_to_some_sources(filled):
    wanted = [source.id for source in filled.sources() if source.label == "guide.md"]
    (result,) = search_in(filled, ["retry"], wanted)
    assert [hit.source for hit in result.hits] == ["guide.md"]


@pytest.mark.parametrize(("ids", "state"), [([], "nothing_indexed"), ([1], "no_match")])
def test_no_sources_are_told_from_no_match(filled, ids, state):
    (result,) = search_in(filled, ["zzyzx"], ids)
    assert result.state.value == state
