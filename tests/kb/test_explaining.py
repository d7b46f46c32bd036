"""An explanation says what search did, and its parts add up."""

from __future__ import annotations

from pathlib import Path

import pytest

import kb
from kb import Store
from kb.filters import Filters
from kb.model import SourceSpec


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory):
    with Store.open(tmp_path_factory.mktemp("explaining") / "kb.db") as opened:
        opened.add(
            SourceSpec("one.md", name="one.md"),
            b"# Sockets\n\nlistening sockets accept connections\n",
        )
        opened.add(
            SourceSpec("two.md"), b"# Other\n\nconnections" + b" filler" * 90 + b" sockets\n"
        )
        opened.add(SourceSpec("three.py", name="three.py"), b"def connections():\n    return 1\n")
        yield opened


@pytest.mark.parametrize(
    "query", ["sockets connections", "conections", "connections kind:code", "absent", "", '"('],
)  # fmt: skip
def test_it_explains_exactly_what_search_answers(store: Store, query: str) -> None:
    explanation = kb.explain(store, query)
    (result,) = store.search(query)
    assert [e.hit.chunk_id for e in explanation.hits] == [hit.chunk_id for hit in result.hits]
    assert explanation.corrections == result.corrections
    for explained in explanation.hits:
        parts = explained.words + explained.together + explained.source
        assert explained.hit.score == pytest.approx(parts)


def test_it_tells_ranks_expressions_and_filters(store: Store) -> None:
    explanation = kb.explain(store, "sockets connections since:1h", Filters(kind="markdown"))
    assert explanation.words == ("sockets", "connections")
    assert [name for name, _ in explanation.filters] == ["kind", "since"]
    (expression,) = explanation.expressions
    assert expression.words == '"sockets" OR "connections"'
    assert expression.choosing == ("sockets", "connections")
    assert expression.together == 'NEAR("sockets" "connections", 24)'
    (first, *_) = explanation.hits
    assert first.hit.source == "one.md"
    assert (first.words_rank, first.together_rank) == (1, 1)
    assert first.source > 0


def test_a_correction_is_in_the_expression(store: Store) -> None:
    explanation = kb.explain(store, "conections")
    assert explanation.expressions[0].words == '"conections" OR "connections"'


def test_a_senseless_limit_is_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        kb.explain(store, "x", limit=0)
