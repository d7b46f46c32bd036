"""A word with ł, ß or the like is found however it is typed, and stays as it was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb import Store, words
from kb.model import SourceSpec
from kb.words import LETTERS, fold, fold_words

WORDS = [
    ("Łódź", "Lodz"),
    ("Đorđe", "Dorde"),
    ("Sigurðsson", "Sigurdsson"),
    ("Sørensen", "Sorensen"),
    ("Straßenbahn", "Strassenbahn"),
    ("GROẞBUCHSTABE", "grossbuchstabe"),
    ("Ærøskøbing", "Aeroskobing"),
    ("cœliaque", "coeliaque"),
    ("Ħamrun", "Hamrun"),
    ("\N{LATIN SMALL LETTER DOTLESS I}ş\N{LATIN SMALL LETTER DOTLESS I}klar", "isiklar"),
    ("Þingvellir", "Thingvellir"),
    ("Ŧálmmá", "Talmma"),
    ("Ŋálmmis", "Nalmmis"),
    ("ǿrken", "orken"),
    ("Lo\u0301dz\u0301ł", "Lodzl"),
]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "kb.db") as opened:
        opened.add(SourceSpec("other"), b"nothing of the kind\n" * 3)
        yield opened


@pytest.mark.parametrize(("written", "typed"), WORDS)
def test_a_word_is_found_by_what_is_typed_for_it_and_the_other_way(
    store: Store, written: str, typed: str
) -> None:
    text = f"A visit to {written} in the spring.\n"
    store.add(SourceSpec("written"), text.encode())
    for query in (written, typed, typed.lower(), typed.upper()):
        (hit,) = store.search(query)[0].hits
        assert hit.text == text
    store.add(SourceSpec("written"), f"A visit to {typed} in the spring.\n".encode())
    for query in (written, typed):
        assert store.search(query)[0].hits[0].text == f"A visit to {typed} in the spring.\n"
    assert store.check() == ()


def test_the_folded_letters_are_words_of_ascii() -> None:
    assert all(plain.isascii() and plain.islower() for plain in LETTERS.values())
    assert all(fold(letter) == plain for letter, plain in LETTERS.items())


@pytest.mark.parametrize("text", ["", "plain", "naïve café", "東京", "\U0001f600", "_"])
def test_text_without_these_letters_stays_and_has_no_words_to_add(text: str) -> None:
    assert fold(text) == text
    assert fold_words(text) == []
    assert words.index_terms("a naïve café") == ""


def test_long_text_is_folded_in_one_pass() -> None:
    assert fold_words("x" * 200_000 + " ł") == ["l"]
    assert fold_words("ł" + "x" * 200_000 + " y") == ["l" + "x" * 200_000]
