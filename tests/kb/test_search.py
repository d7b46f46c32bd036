"""Queries of every kind, and that rank, corrections and filters are what they should be."""

from __future__ import annotations

import time
import unicodedata
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb import SearchState, Store
from kb.model import SourceSpec

SECTION = "word " * 250
DOCUMENTS = {
    "guide.md": "# Guide\n\n"
    + "".join(f"## Notes\n\n{nth} walrus {SECTION}\n\n" for nth in ("first", "second", "third")),
    "api.py": "def getHTTPResponse(url):\n    return fetch_all_pages(url)\n",
    "cjk.txt": "東京都の天気は晴れです。\n",
    "emoji.txt": "rocket \U0001f680 launch\n",
    "paths.txt": "see foo.bar-baz/qux? for the configuration of authentication\n",
    "other.txt": "authentication happens elsewhere\n",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory):
    with Store.open(tmp_path_factory.mktemp("search") / "kb.db") as opened:
        for label, text in DOCUMENTS.items():
            opened.add(
                SourceSpec(label, name=label, session="s1", path=f"/project/{label}"), text.encode()
            )
        yield opened


def labels(store: Store, query: str, **filters) -> list[str]:
    return [hit.source for hit in store.search(query, **filters)[0].hits]


@pytest.mark.parametrize("name", ["source", "kind", "language", "session", "path"])
def test_a_filter_that_is_no_valid_unicode_finds_nothing(store: Store, name: str) -> None:
    assert labels(store, "walrus", **{name: "\udc80"}) == []


def test_sections_of_the_same_title_are_all_found(store: Store) -> None:
    (result,) = store.search("walrus")
    assert {hit.text.partition(" walrus")[0].split()[-1] for hit in result.hits} == {
        "first", "second", "third",
    }  # fmt: skip


def test_a_typo_in_one_of_two_words_is_corrected_and_told(store: Store) -> None:
    (result,) = store.search("authentcation elsewhere")
    assert result.hits[0].source == "other.txt"
    assert result.corrections == (("authentcation", "authentication"),)


def test_punctuated_text_is_found_word_by_word(store: Store) -> None:
    assert labels(store, "foo.bar-baz/qux?") == ["paths.txt"]
    assert labels(store, "qux configuration") == ["paths.txt"]


@pytest.mark.parametrize("query", ["東京", "天気", "京", "晴れ", "東京 天気"])
def test_scripts_without_spaces_are_found_by_any_part(store: Store, query: str) -> None:
    assert labels(store, query) == ["cjk.txt"]


@pytest.mark.parametrize(
    "query", ["\U0001f680", "\U0001f680\U0001f680", "\U0001f680 launch", "\U0001f680\ufe0f"]
)
def test_an_emoji_is_found(store: Store, query: str) -> None:
    assert labels(store, query)[0] == "emoji.txt"


def test_an_emoji_that_is_nowhere_finds_nothing(store: Store) -> None:
    assert store.search("\U0001f9ed")[0].state is SearchState.NO_MATCH


def test_a_snippet_shows_the_emoji_that_was_asked_for(store: Store) -> None:
    text = "".join(f"line {n} filler\n" for n in range(60)).replace("40 filler", "40 \U0001f9ea")
    store.add(SourceSpec("lab.txt"), text.encode())
    (hit,) = store.search("\U0001f9ea", budget_bytes=200)[0].hits
    assert "\U0001f9ea" in hit.text


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("query", ["Zürich", "Zurich", "zürich", "ZÜRICH", "Résumé", "resume"])
def test_accents_matter_neither_in_text_nor_in_a_query(
    tmp_path: Path, form: Literal["NFC", "NFD"], query: str
) -> None:
    with Store.open(tmp_path / "kb.db") as fresh:
        for n, text in enumerate(("Büro in Zürich, mit Résumé", "Zurich office, with resume")):
            fresh.add(SourceSpec(f"{n}"), unicodedata.normalize(form, text).encode())
        for asked in (query, unicodedata.normalize("NFD", query)):
            assert sorted(labels(fresh, asked)) == ["0", "1"]


@pytest.mark.parametrize("query", ["getHTTPResponse", "get http response", "fetch_all_pages"])
def test_identifiers_are_found_whole_and_by_their_parts(store: Store, query: str) -> None:
    assert labels(store, query)[0] == "api.py"


def test_a_higher_limit_never_changes_what_comes_first(store: Store) -> None:
    ranks = [[h.chunk_id for h in store.search("walrus word", limit=n)[0].hits] for n in (1, 2, 5)]
    assert ranks[2][:2] == ranks[1]
    assert ranks[1][:1] == ranks[0]


def test_identical_chunks_come_once(store: Store, tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.db") as fresh:
        for n in range(5):
            fresh.add(SourceSpec(f"copy {n}"), b"the very same zebra text")
        assert len(fresh.search("zebra")[0].hits) == 1


@pytest.mark.parametrize(
    "query",
    ['"', "'", '""', "NEAR(", "a AND", "OR", "NOT x", "^a", "a*", "(a", "a)", "{x}: y", "col:a",
     "-", "+a", "a:b:c", "\0", "\ud800", "\U0001f680", "'; DROP TABLE chunk; --", "%", "\\",
     " ".join(f"w{n}" for n in range(10_000)), "x" * 100_000, "東" * 5000],
)  # fmt: skip
def test_no_query_is_an_error(store: Store, query: str) -> None:
    assert store.search(query)[0].state in SearchState


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(query=st.text(max_size=60))
def test_arbitrary_text_is_a_legal_query(store: Store, query: str) -> None:
    for hit in store.search(query, budget_bytes=500)[0].hits:
        assert hit.text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kind:code response", ["api.py"]),
        ("response lang:py", ["api.py"]),
        ("lang:ruby response", []),
        ("authentication source:other", ["other.txt"]),
        ("authentication path:/project/paths", ["paths.txt"]),
        ("walrus since:1h kind:text", []),
        ("rocket since:1h", ["emoji.txt"]),
        ("rocket since:2999-01-01", []),
        ("rocket since:yesterday", ["emoji.txt"]),
        ("rocket since:never", ["emoji.txt"]),
    ],
)
def test_filters_inside_the_query_hold(store: Store, query: str, expected: list[str]) -> None:
    assert labels(store, query) == expected


def test_filters_given_as_arguments_hold(store: Store) -> None:
    assert labels(store, "authentication", source="OTHER") == ["other.txt"]
    assert labels(store, "response", kind="markdown") == []
    assert labels(store, "rocket", session="s2") == []
    assert labels(store, "rocket", since=time.time() + 60) == []
    source_id = next(s.id for s in store.sources() if s.label == "other.txt")
    assert labels(store, "authentication", source=source_id) == ["other.txt"]


def test_a_snippet_is_whole_lines_around_the_match_with_its_exact_place(store: Store) -> None:
    text = "".join(f"line {n} filler\n" for n in range(60))
    text = text.replace("line 40 filler", "line 40 narwhal")
    added = store.add(SourceSpec("long.txt"), text.encode())
    (hit,) = store.search("narwhal", budget_bytes=200)[0].hits
    assert "narwhal" in hit.text
    assert len(hit.text.encode()) <= 200
    assert store.text(added.source_id, hit.start_byte, hit.end_byte).decode() == hit.text
    assert text.splitlines()[hit.start_line - 1] == hit.text.splitlines()[0]
    assert hit.text.count("\n") == hit.end_line - hit.start_line + 1


@pytest.mark.parametrize("arguments", [{"limit": 0}, {"budget_bytes": 0}])
def test_senseless_bounds_are_refused(store: Store, arguments) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        store.search("x", **arguments)


def test_several_queries_have_a_result_each(store: Store) -> None:
    results = store.search(["rocket", "no such thing anywhere", "walrus"])
    assert [result.state for result in results] == ["match", "no_match", "match"]


def test_distinctive_terms_leave_out_what_is_everywhere_or_once(store: Store) -> None:
    lines = [f"common retry_count step{n % 20} value\n" * 12 + f"unique{n}x\n" for n in range(60)]
    added = store.add(SourceSpec("terms", kind="text"), "".join(lines).encode())
    terms = store.terms(added.source_id)
    assert "common" not in terms
    assert any(term.startswith("step") for term in terms)


def test_the_latest_version_of_a_source_comes_before_older_ones(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.db") as fresh:
        for version in range(4):
            fresh.add(
                SourceSpec("notes"), b"zebra " * (4 - version) + f"version {version}".encode()
            )
        fresh.add(SourceSpec("other"), b"zebra elsewhere")
        (result,) = fresh.search("zebra", include_superseded=True)
        versions = [hit.text.split()[-1] for hit in result.hits if hit.source == "notes"]
        assert versions == ["3", "2", "1", "0"]
        assert [hit.score for hit in result.hits] == sorted(
            (hit.score for hit in result.hits), reverse=True
        )


def test_many_copies_of_a_text_do_not_hide_others(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.db") as fresh:
        for n in range(120):
            fresh.add(SourceSpec(f"copy {n}"), b"zebra zebra zebra")
        for n in range(5):
            fresh.add(SourceSpec(f"other {n}"), b"a zebra among many other words, number %d" % n)
        assert len(fresh.search("zebra", limit=5)[0].hits) == 5
