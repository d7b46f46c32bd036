"""Hits of several stores in one ranking: each store's order stays, words that are rare count."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb import Hit, QueryResult, SearchState
from kb.merging import merge


def hit(text, *, title="", source="s", number=1):
    return Hit(number, source, 1, title, text, "prose", None, 0, len(text), 1, 1, 1.0)


def result(*hits, query="retry timeout", state=SearchState.MATCH, corrections=(), incomplete=()):
    return QueryResult(query, state, hits, corrections, 0, incomplete)


def texts(merged):
    return [one.text for one in merged[0].hits]


words = st.lists(st.sampled_from(("retry", "timeout", "waits", "日本語", "x")), max_size=8)
lists = st.lists(st.lists(words.map(" ".join).map(hit), max_size=5), max_size=4)


@given(lists, st.integers(1, 20))
def test_the_order_of_each_store_stays_and_scores_fall(hits, limit):
    query = "retry timeout 日本語"
    found = [
        result(*(replace(one, chunk_id=at) for at, one in enumerate(own)), query=query)
        for own in hits
    ]
    whole = merge(found, limit=100, budget_bytes=None)
    for store in range(len(hits)):
        of_store = [one.chunk_id for one, at in zip(whole[0].hits, whole[1], strict=True)
                    if at == store]  # fmt: skip
        assert of_store == sorted(of_store)
    scores = [one.score for one in whole[0].hits]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == sum(map(len, hits))
    some = merge(found, limit=limit, budget_bytes=None)
    assert some[0].hits == whole[0].hits[:limit]
    assert some[1] == whole[1][:limit]


def test_what_one_store_has_as_typed_is_no_mistake_in_another():
    meant = (("kettle", "settle"),)
    found = [
        result(
            replace(hit("they settle down"), corrections=meant), query="kettle", corrections=meant
        ),
        result(hit("the kettle boils"), query="kettle"),
    ]
    merged = merge(found, limit=5, budget_bytes=None)
    assert texts(merged) == ["the kettle boils"]
    assert merged[0].corrections == ()


def test_a_hit_with_both_words_goes_before_those_with_one_of_whatever_store():
    first = result(hit("a retry waits"), hit("retry or not"))
    second = result(hit("the timeout of a retry"), hit("a timeout"))
    third = result(hit("retry once"))
    merged = merge([first, second, third], limit=5, budget_bytes=None)
    assert texts(merged)[0] == "the timeout of a retry"
    assert merged[1][0] == 1
    assert len(texts(merged)) == 5


def test_the_rarer_word_counts_more():
    common = [hit(f"a retry number {at}") for at in range(8)]
    merged = merge([result(*common), result(hit("one timeout only"))], limit=3, budget_bytes=None)
    assert texts(merged)[0] == "one timeout only"


@pytest.mark.parametrize("query", ["日本語", "ProjectMap", "kettle", "🦊"])
def test_whatever_a_store_found_is_ranked(query):
    said = {"日本語": "日本語の本", "ProjectMap": "class ProjectMap", "kettle": "the kettles boil",
            "🦊": "a 🦊 ran"}[query]  # fmt: skip
    merged = merge(
        [result(hit("nothing of it"), query=query), result(hit(said), query=query)],
        limit=2,
        budget_bytes=None,
    )
    assert texts(merged)[0] == said
    assert merged[0].hits[0].score > 0


def test_what_a_mistyped_word_meant_counts_too():
    meant = (("retyr", "retry"),)
    found = [result(hit("noise"), query="retyr"), result(hit("a retry"), corrections=meant)]
    merged = merge(found, limit=2, budget_bytes=None)
    assert texts(merged) == ["a retry", "noise"]
    assert merged[0].corrections == meant


def test_the_budget_is_of_all_stores_together():
    long = "retry timeout\n" * 40
    found = [result(hit(long, number=at)) for at in range(4)]
    merged = merge(found, limit=4, budget_bytes=600)
    assert sum(len(text.encode()) for text in texts(merged)) <= 600
    assert len(merged[1]) == len(merged[0].hits)
    assert merged[0].omitted == 4 - len(merged[0].hits)


@pytest.mark.parametrize(
    ("states", "state"),
    [
        ((), "nothing_indexed"),
        (("nothing_indexed", "nothing_indexed"), "nothing_indexed"),
        (("nothing_indexed", "no_match"), "no_match"),
    ],
)
def test_nothing_found_is_told_as_it_is(states, state):
    found = [result(state=SearchState(one)) for one in states]
    assert merge(found, limit=3, budget_bytes=None)[0].state == state


def test_what_is_still_being_indexed_adds_up():
    found = [result(hit("retry"), incomplete=(1, 2)), result(incomplete=(1,))]
    assert merge(found, limit=3, budget_bytes=None)[0].incomplete_sources == (1, 2, 1)
