"""What a mistyped word meant: every single edit is found, and what is meant by two."""

from __future__ import annotations

import pytest

from kb import Store, vocabulary, words
from kb.chunking import chunk
from kb.filters import Everything
from kb.model import SourceSpec
from kb.query import quote
from kb.vocabulary import edit_distance

WORDS = ("configuration", "authentication", "walrus", "parser", "socket", "index")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory):
    with Store.open(tmp_path_factory.mktemp("vocabulary") / "kb.db") as opened:
        opened.add(
            SourceSpec("words"), " ".join(WORDS).encode() + b" and other unrelated matter here"
        )
        yield opened


def edits(word: str) -> set[str]:
    """All that one edit behind the first letter makes of a word."""
    pieces = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    return {
        *(a + b[1:] for a, b in pieces if b),
        *(a + b[1] + b[0] + b[2:] for a, b in pieces if len(b) > 1),
        *(a + "z" + b[1:] for a, b in pieces if b),
        *(a + "z" + b for a, b in pieces),
    } - {word}


@pytest.mark.parametrize("word", WORDS)
def test_every_single_edit_is_undone(store: Store, word: str) -> None:
    with store.access.reading() as db:
        for typed in sorted(edits(word)):
            if len(typed) >= vocabulary._SHORTEST:
                corrected = vocabulary.corrections(db, Everything(db, "chunk_fts"), (typed,))
                same_stem = Everything(db, "chunk_fts").count(quote(typed), 1) > 0
                assert corrected == {typed: (word,)} or same_stem, typed


@pytest.mark.parametrize(
    ("typed", "meant"), [("confguratoin", "configuration"), ("autentcation", "authentication")]
)
def test_two_edits_of_a_long_word_are_undone(store: Store, typed: str, meant: str) -> None:
    assert store.search(typed)[0].corrections[0][1] == meant


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1), ("abc", "xabc", 1),
     ("abc", "axc", 1), ("abcd", "badc", 2), ("abc", "xyz", 3)],
)  # fmt: skip
def test_distance_counts_edits_and_stops_at_the_limit(a: str, b: str, distance: int) -> None:
    assert edit_distance(a, b, 2) == min(distance, 3)
    assert edit_distance(b, a, 2) == min(distance, 3)


def test_the_words_of_many_chunks_are_those_of_the_whole_text() -> None:
    lines = [f"plain{n:05} Über-word{n % 7} naïve{n} ǅungla" if n % 400 == 0 else "common words"
             for n in range(60_000)]  # fmt: skip
    lines += [f"letters{chr(97 + n % 26)}{chr(97 + n // 26)} end" for n in range(600)]
    text = "\n".join(lines) + "\n"
    document = chunk(text.encode(), kind="text")
    assert len(document) > 400
    assert words.vocabulary_of(document) == words.vocabulary(text)
