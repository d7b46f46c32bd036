"""The shape that `search --json` promises."""

from ctxmode.commands.search import to_json
from ctxmode.operations.searching import SearchRequest, search
from kb.model import SourceSpec

KEYS = [
    "source",
    "kind",
    "author",
    "age_s",
    "path",
    "title",
    "start_line",
    "end_line",
    "score",
    "stale",
    "weak",
    "alike",
    "text",
]


def test_hits_of_all_queries_come_once_with_their_place(store):
    store.add(
        SourceSpec("guide.md", origin="file", path="/p/guide.md"), b"# Guide\n\nA retry waits.\n"
    )
    store.add(SourceSpec("note"), b"retry the walrus\n")
    answer = search(store, SearchRequest(("retry", "walrus")))
    data = to_json(answer, {1: "/p/guide.md", 2: None})
    assert list(data) == ["hits", "corrections", "truncated", "notes"]
    assert [list(hit) for hit in data["hits"]] == [KEYS, KEYS]
    assert {(hit["source"], hit["path"]) for hit in data["hits"]} == {
        ("guide.md", "/p/guide.md"),
        ("note", None),
    }
    assert data["truncated"] is False


def test_corrections_and_what_did_not_fit_are_told(store):
    for number in range(5):
        store.add(
            SourceSpec(f"n{number}"), f"configuration number {number} {'word ' * 60}\n".encode()
        )
    answer = search(store, SearchRequest(("confguration",), limit=5, budget_bytes=300))
    data = to_json(answer, {})
    assert data["corrections"] == [{"typed": "confguration", "used": "configuration"}]
    assert data["truncated"] is True
    assert sum(len(hit["text"].encode()) for hit in data["hits"]) <= 300
