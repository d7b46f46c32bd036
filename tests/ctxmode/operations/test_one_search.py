"""One search over runs, files, web pages, facts, pages and turns; the index fills itself again."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

import kb
from ctxmode.errors import UsageError
from ctxmode.operations.library import open_library
from ctxmode.operations.mirroring import catch_up
from ctxmode.operations.searching import SearchRequest
from ctxmode.operations.stores import open_store
from memory.facts.model import MAIN
from tests.ctxmode.projects import answer, prompt

SESSION = "aaaa0000-0000-4000-8000-000000000001"
MIRRORED = {"fact", "page", "turn"}
KINDS = {"run", "file", "web", *MIRRORED}
BUDGET = "1500"


def keep(config, label, origin, text):
    config.database.parent.mkdir(parents=True, exist_ok=True)
    with open_store(config) as store:
        store.add(kb.SourceSpec(label, origin), text.encode())


def write_page(user, slug, text, *, name="here"):
    path = user.project(name) / f"{slug}.txt"
    path.write_text(f"## Why\n\n{text}\n")
    user.ask(name, "pages", "write", slug, str(path), "--type", "concept")
    user.ask(name, "pages", "push", "--no-distill")


def search(user, *words, name="here"):
    """Search until nothing is left to be indexed: a search has but a moment for it."""
    while True:
        found = user.ask(name, "search", *words, "--limit", "12", "--json")
        if not any("still to be indexed" in note for note in found["notes"]):
            return found


def kinds(user, *words, name="here"):
    return {hit["kind"] for hit in search(user, *words, name=name)["hits"]}


def texts(user, *words, name="here"):
    return "\n".join(hit["text"] for hit in search(user, *words, name=name)["hits"])


def has_bytes(config, text):
    """Look for a text in all files of the index, as it is and in the words of its own index."""
    files = config.database.parent.glob(f"{config.database.stem}.sqlite3*")
    return any(text.encode() in path.read_bytes() for path in files)


@pytest.fixture
def here(user):
    """A project with something about kettles of each kind; its configuration."""
    config = user.config("here")
    user.track("here", SESSION, prompt("Why does the kettle whistle?"), answer("Steam."))
    user.ask("here", "pages", "init")
    write_page(user, "whistle", "The kettle whistles by steam.")
    user.ask("here", "memory", "remember", "The kettle is of copper.", "--key", "copper")
    user.ask("here", "memory", "remember", "Tea from a kettle.", "--key", "tea", "--scope", "user")
    keep(config, "out-1", kb.Origin.RUN, "kettle: boiled in 90 s")
    keep(config, "notes.md", kb.Origin.FILE, "# Kettle\n\nFill the kettle first.\n")
    keep(config, "https://a.example/", kb.Origin.FETCH, "# Shop\n\nA kettle costs 20.\n")
    return config


def test_one_query_finds_all_kinds_within_one_budget_and_again_without_the_index(user, here):
    found = search(user, "kettle", "--budget", BUDGET)
    assert {hit["kind"] for hit in found["hits"]} == KINDS
    assert sum(len(hit["text"].encode()) for hit in found["hits"]) <= int(BUDGET)
    authors = {hit["kind"]: (hit["author"], hit["age_s"] < 3600) for hit in found["hits"]}
    assert authors["fact"] == ("user", True)
    assert authors["turn"] == ("claude_code", True)
    for path in here.database.parent.glob(f"{here.database.name}*"):
        path.unlink()
    assert kinds(user, "kettle") == MIRRORED
    assert len(search(user, "kettle in:memory")["hits"]) == 2


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("runs", {"run"}),
        ("files", {"file"}),
        ("web", {"web"}),
        ("memory", {"fact"}),
        ("pages", {"page"}),
        ("sessions", {"turn"}),
        ("memory,pages", {"fact", "page"}),
        ("RUNS,web", {"run", "web"}),
    ],
)
def test_in_singles_out_each_kind(user, here, names, expected):
    assert kinds(user, f"kettle in:{names}") == kinds(user, "kettle", "--in", names) == expected


@pytest.mark.parametrize("words", [("kettle in:attic",), ("kettle in:runs,",), ("x", "--in", "a")])
def test_a_place_that_is_none_is_refused_with_those_that_are(user, words):
    assert "runs, files, web, memory, pages, sessions" in user.ask("here", "search", *words, code=2)


def test_what_is_forgotten_is_gone_and_what_is_replaced_is_found_when_asked_for(user, here):
    search(user, "kettle")
    user.ask("here", "memory", "remember", "The kettle is of brass.", "--key", "copper")
    assert "copper" not in texts(user, "kettle in:memory")
    assert "of copper" in texts(user, "kettle in:memory", "--superseded")
    user.ask("here", "memory", "forget", "copper")
    with open_store(here) as store:  # in the same call
        assert "of brass" not in str(store.search("brass", include_superseded=True)[0].hits)
    write_page(user, "whistle", "The kettle sings, by steam.")
    assert "whistles" not in texts(user, "kettle in:pages")
    assert "whistles" in texts(user, "kettle in:pages", "--superseded")
    user.ask("here", "pages", "forget", "whistle")
    with open_store(here) as store:
        assert store.search("sings", include_superseded=True)[0].hits == ()
    user.ask("here", "sessions", "forget", SESSION, "--yes")
    assert kinds(user, "kettle") == KINDS - {"page", "turn"}


def test_what_is_erased_leaves_no_byte_not_even_where_it_was_replaced_before(user, here):
    user.config("there")
    user.ask("here", "memory", "remember", "A zyxwvut vase.", "--key", "vase")
    user.ask("here", "memory", "remember", "A qponmlk mug.", "--key", "mug", "--scope", "user")
    write_page(user, "bowl", "The hgfedcb bowl.")
    words = ("zyxwvut", "qponmlk", "hgfedcb")
    keep(user.config("there"), "n", kb.Origin.NOTE, "the index of another project")
    for name in ("here", "there"):
        search(user, "vase", name=name)
    user.ask("here", "memory", "remember", "A plain vase.", "--key", "vase")
    search(user, "vase")
    there = user.config("there")
    assert [has_bytes(here, word) for word in words] == [True] * 3  # so the look finds them
    assert has_bytes(there, "qponmlk")
    assert search(user, "qponmlk", name="there")["hits"]
    user.ask("here", "memory", "forget", "--erase", "vase")
    user.ask("here", "memory", "forget", "--erase", "mug")
    user.ask("here", "pages", "forget", "--erase", "bowl")
    assert [has_bytes(here, word) for word in words] == [False] * 3
    assert not has_bytes(there, "qponmlk")


def test_facts_of_the_user_are_found_anywhere_and_those_of_a_session_in_its_project(user, here):
    user.ask("here", "memory", "remember", "A kettle today.", "--scope", "session")
    assert "today" in texts(user, "kettle in:memory")
    keep(user.config("there"), "n", kb.Origin.NOTE, "nothing of it")
    assert texts(user, "kettle", name="there") == "Tea from a kettle."
    assert texts(user, "tea", "--everywhere") == "Tea from a kettle."  # once


def test_a_branch_is_found_once_it_is_merged(user, here):
    user.ask("here", "memory", "branch", "try")
    user.ask("here", "memory", "remember", "An enamel kettle.", "--branch", "try")
    assert "enamel" not in texts(user, "kettle")
    user.ask("here", "memory", "merge", "try", "--into", MAIN)
    assert "enamel" in texts(user, "kettle")


def test_a_restored_snapshot_is_what_is_found(user, here, tmp_path):
    search(user, "kettle")
    user.ask("here", "memory", "backup", str(tmp_path / "kept"))
    user.ask("here", "memory", "remember", "A kettle of tin.", "--key", "copper")
    user.ask("here", "memory", "remember", "Another kettle.", "--key", "other")
    assert {"tin", "Another"} <= set(texts(user, "kettle in:memory").replace(".", "").split())
    user.ask("here", "memory", "restore", str(tmp_path / "kept"))
    with open_store(here) as store:
        found = str(store.search("kettle", limit=20)[0].hits)
    assert "of copper" in found
    assert "tin" not in found
    assert "Another" not in found


def test_what_has_expired_is_purged_here_too_and_facts_outlive_a_purge_of_all(user, here):
    search(user, "kettle")
    user.ask("here", "kept", "rm", "--all", "--pinned", "--yes")
    assert kinds(user, "kettle") == {"fact", "page"}
    with closing(sqlite3.connect(here.facts_file)) as db, db:
        db.execute("UPDATE live SET expires_at = 1")
        db.execute("UPDATE change SET expires_at = 1")
    user.ask("here", "kept", "rm", "--kind", "fact")
    assert texts(user, "kettle in:memory") == "Tea from a kettle."


@pytest.mark.parametrize("kind", ["damaged", "missing", "locked"])
def test_the_search_goes_on_without_a_store_that_cannot_be_read_and_says_so(user, here, kind):
    search(user, "kettle")
    path = here.facts_file
    path.with_name(path.name + "-wal").unlink(missing_ok=True)
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    holder = None
    if kind == "missing":
        path.unlink()
    elif kind == "damaged":
        path.write_bytes(b"no database" * 1000)
    else:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("PRAGMA journal_mode = DELETE")
        holder.execute("BEGIN EXCLUSIVE")
    found = search(user, "kettle")
    if holder:
        holder.close()
    assert {hit["kind"] for hit in found["hits"]} == KINDS
    (note,) = found["notes"]
    assert note.startswith("Using the last indexed state of facts: ")


def test_a_search_that_has_no_time_says_how_much_is_left(user, here):
    with open_library(here) as library:
        path = user.project("here") / "facts.md"
        path.write_text("".join(f"# Kettle {at}\n\nIts handle is {at}.\n\n" for at in range(25)))
        user.ask("here", "memory", "prime", str(path))
        notes = catch_up(here, library.store, seconds=-1)
        assert [note.partition(" ")[2] for note in notes] == [
            "new entries not yet indexed. Search again."
        ]
        while catch_up(here, library.store):
            pass
        assert len(library.search(SearchRequest(("kettle in:memory",), 50)).queries[0].hits) == 27


def test_two_processes_that_mirror_at_once_index_nothing_twice(user, here):
    path = user.project("here") / "facts.md"
    path.write_text("".join(f"# Kettle {at}\n\nIt has {at} handles.\n\n" for at in range(60)))
    user.ask("here", "memory", "prime", str(path))
    code = (
        "import sys; from pathlib import Path; from ctxmode.config.locations import load_config\n"
        "from ctxmode.operations.library import open_library\n"
        "from ctxmode.operations.mirroring import catch_up\n"
        "config = load_config(sys.argv[1])\n"
        "with open_library(config) as library:\n"
        "    print('open', flush=True); sys.stdin.readline()\n"
        "    while any('not yet indexed' in n for n in catch_up(config, library.store)): pass\n"
    )
    command = [sys.executable, "-c", code, str(user.project("here"))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for one in both:
        assert one.stdout.readline() == "open\n"
    for one in both:
        one.stdin.write("\n")
        one.stdin.flush()
    for one in both:
        one.communicate(timeout=60)
        assert one.returncode == 0
    with open_store(here) as store:
        labels = [one.label for one in store.sources(include_superseded=True)]
    assert len([one for one in labels if one.startswith("memory:")]) == 62
    assert len(labels) == len(set(labels))


def test_a_request_for_no_place_is_a_usage_error(user, here):
    with open_library(here) as library, pytest.raises(UsageError, match="invalid in:"):
        library.search(SearchRequest(("kettle in:cellar",)))
