"""Which hits of several kinds make one answer, as a table over made-up scores."""

from collections import Counter, namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kb
from kb import search

Hit = namedtuple("Hit", "name score text")


def choose(text, limit):
    """Choose of hits such as `f9 m8 p3=t`: a kind's letter, a score, and a text if it is shared."""
    ranked = []
    for number, word in enumerate(text.split()):
        name, _, shared = word.partition("=")
        ranked.append((name[0], Hit(word, float(name[1:]), shared or str(number))))
    return " ".join(one.name for one in search.choose_mixed(ranked, limit, new_texts()))


def new_texts():
    seen = set()

    def take(hit):
        is_new = hit.text not in seen
        seen.add(hit.text)
        return is_new

    return take


@pytest.mark.parametrize(
    ("ranked", "limit", "chosen"),
    [
        ("", 5, ""),
        ("f9 f8 f7 f6", 3, "f9 f8 f7"),  # one kind: by rank
        ("f9 f8 f7 f6 f6 m5 m5", 5, "f9 f8 f7 m5 m5"),  # two: at most 60 %
        ("f9 f8 f7 f6 f6 m5", 5, "f9 f8 f7 f6 m5"),  # and more where the other has no more
        ("f9 f8 f7 f6 f6 m4 m4", 5, "f9 f8 f7 f6 f6"),  # less than half the best is not good
        ("f9 f8 f7 m6 p5 p5", 4, "f9 f8 m6 p5"),  # three: at most half
        ("f9 f8 f7 f6 m6 p5", 6, "f9 f8 f7 f6 m6 p5"),  # all there is
        ("f9 f8 f7 f6 m6 p5 f5 f5", 6, "f9 f8 f7 f6 m6 p5"),
        ("f9 f8 m7 p6", 3, "f9 m7 p6"),  # a place each
        ("f9 m8", 1, "f9"),  # the best is first, whatever the share
        ("f9 f8 f7 m5", 2, "f9 m5"),
        ("f9=a m9=a f8 m7", 3, "f9=a f8 m7"),  # identical texts once
        ("m9 m3 f2 f1", 3, "m9 m3 f2"),  # where nothing else is good, by rank
    ],
)
def test_one_search_no_kind_fills_an_answer_alone(ranked, limit, chosen):
    assert choose(ranked, limit) == chosen


@given(
    st.lists(st.tuples(st.sampled_from("fmprs"), st.integers(1, 20)), max_size=40),
    st.integers(1, 12),
)
def test_one_search_a_kind_exceeds_its_share_only_where_no_other_good_hit_is_left(rows, limit):
    rows.sort(key=lambda row: -row[1])
    ranked = [(kind, Hit(kind, score, at)) for at, (kind, score) in enumerate(rows)]
    chosen = search.choose_mixed(ranked, limit, new_texts())
    assert len(chosen) == min(limit, len(ranked))
    assert [one.score for one in chosen] == sorted((one.score for one in chosen), reverse=True)
    if not chosen:
        return
    assert chosen[0].score == rows[0][1]
    good = [one for _, one in ranked if one.score >= search.GOOD * rows[0][1]]
    kinds = {one.name for one in good}
    most = max(1, int({1: 1.0, 2: 0.6}.get(len(kinds), 0.5) * limit))
    counts = Counter(one.name for one in chosen)
    if any(counts[kind] > most for kind in counts):
        left = [one for one in good if one not in chosen and counts[one.name] < most]
        assert not left


def test_one_search_sees_another_kind_behind_more_hits_than_are_ranked(tmp_path):
    with kb.Store.open(tmp_path / "kb.sqlite3") as store:
        for at in range(80):
            store.add(kb.SourceSpec(f"out-{at}", kb.Origin.RUN), f"kettle kettle {at}".encode())
        store.add(kb.SourceSpec("memory:/a", kb.Origin.MEMORY), b"one kettle of copper")
        (found,) = store.search("kettle", limit=5)
        alone = store.search("kettle in:memory", limit=5)[0]
    assert len(found.hits) == 5
    assert [hit.source for hit in found.hits if hit.origin == "memory"] == ["memory:/a"]
    assert [hit.source for hit in alone.hits] == ["memory:/a"]
