"""Common words of a query score only what the rare ones chose, and score it in full."""

from __future__ import annotations

import random

import pytest

from kb import Store, candidates, ranking
from kb.filters import Everything, Filters, condition
from kb.model import SourceSpec
from kb.query import parse

COMMON = ("system", "network", "value")
RARE = ("walrus", "quince", "ocelot")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory):
    chance = random.Random(3)
    with Store.open(tmp_path_factory.mktemp("candidates") / "kb.db") as opened:
        for n in range(300):
            words = [f"word{chance.randrange(60)}" for _ in range(30)]
            words += [word for word in COMMON if chance.random() < 0.6]
            words += [word for word in RARE if chance.random() < 0.03]
            chance.shuffle(words)
            opened.add(SourceSpec(f"source {n}", kind="text"), f"{n} {' '.join(words)}\n".encode())
        yield opened


@pytest.fixture
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "CANDIDATES", 30)
    monkeypatch.setattr(candidates, "ENOUGH", 5)


def choose(store: Store, text: str) -> candidates.Choice | None:
    with store.access.reading() as db:
        return candidates.choose(Everything(db, "chunk_fts"), parse(text), {}, limit=5)


def scores(store: Store, text: str) -> dict[int, float]:
    choice = choose(store, text)
    assert choice is not None
    with store.access.reading() as db:
        found = ranking._best(db, "chunk_fts", choice, condition(Filters()))
        return {chunk_id: round(score, 9) for chunk_id, score, _ in found}


def test_all_words_choose_while_they_are_rare_enough(store: Store) -> None:
    found = choose(store, "walrus system")
    assert found is not None
    assert (found.choosing_words, found.times) == (("walrus", "system"), 1)
    assert found.expression == '"walrus" OR "system"'


def test_rare_words_choose_for_common_ones(store: Store, few_candidates: None) -> None:
    found = choose(store, "system walrus network quince")
    assert found is not None
    assert found.choosing_words == ("walrus", "quince")
    first, second = found.expression.split(" AND ")
    assert first == '("walrus" OR "quince")'
    assert sorted(second.strip("()").split(" OR ")) == sorted(
        f'"{word}"' for word in ("walrus", "quince", "system", "system", "network", "network")
    )


def test_the_rarest_word_chooses_however_common_it_is(store: Store, few_candidates: None) -> None:
    found = choose(store, "system network value absent")
    assert found is not None
    assert len(found.choosing_words) == 1
    assert len(scores(store, "system network value absent")) >= 50


def test_no_word_of_it_anywhere_is_no_question(store: Store) -> None:
    assert choose(store, "absent missing") is None


@pytest.mark.parametrize("query", ["walrus system", "system quince network ocelot value"])
def test_the_chosen_chunks_score_as_if_all_words_chose(
    store: Store, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_full = scores(store, query)
    monkeypatch.setattr(candidates, "CANDIDATES", 30)
    monkeypatch.setattr(candidates, "ENOUGH", 5)
    chosen = scores(store, query)
    assert 5 <= len(chosen) < len(in_full)
    assert chosen.items() <= in_full.items()
    assert max(chosen.values()) == max(in_full.values())


def test_a_rare_word_never_hides_that_there_are_more_chunks(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "CANDIDATES", 1)
    (result,) = store.search("walrus system", limit=20)
    assert len(result.hits) == 20
    assert "walrus" in result.hits[0].text
