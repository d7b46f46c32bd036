"""Searching all projects: one ranking, one budget, every store as it was."""

import hashlib
import sqlite3
from contextlib import closing

import pytest

import kb.model
from base.secrets import find_secrets
from ctxmode.errors import UsageError
from ctxmode.operations.searching import SearchRequest, search_everywhere
from ctxmode.operations.stores import open_store
from tests.ctxmode.projects import answer, prompt

SESSION = "bbbb0000-0000-4000-8000-000000000002"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def keep(config, label, text):
    config.database.parent.mkdir(parents=True, exist_ok=True)
    with open_store(config) as store:
        store.add(kb.SourceSpec(label, name=label, path=f"{config.project}/{label}"), text.encode())


@pytest.fixture
def three(user):
    """Pages in two projects, and one that is kept without a project; the configuration of one."""
    keep(user.config("here"), "here.md", "# Here\n\nA retry waits for a second.\n")
    keep(user.config("there"), "there.md", "# There\n\nThe kettle retry boils over.\n")
    keep(user.config("there"), "more.md", "# More\n\nAnother retry.\n")
    own = user.config("here").users_database
    with kb.Store.open(own, redact=find_secrets) as store:
        store.add(kb.SourceSpec("session:chatgpt:c1#1", kb.Origin.SESSION), b"A kettle of monads.")
    return user.config("here")


def found(answered):
    return {(answered.places[hit.chunk_id][0], hit.source)
            for result in answered.queries for hit in result.hits}  # fmt: skip


def digests(config):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in config.database.parent.glob("*.sqlite3")}  # fmt: skip


def test_every_hit_names_its_project_and_file(three):
    answered = search_everywhere(three, SearchRequest(("kettle", "retry"), 9))
    assert answered.notes == ()
    assert found(answered) == {
        ("there", "there.md"), ("there", "more.md"), ("here", "here.md"),
        ("", "session:chatgpt:c1#1"),
    }  # fmt: skip
    paths = [source.path or "" for _, source in answered.places.values()]
    (path,) = (path for path in paths if path.endswith("there.md"))
    assert path.endswith("/work/there/there.md")


def test_the_limit_and_the_budget_are_of_all_stores_together(three):
    answered = search_everywhere(three, SearchRequest(("retry",), 2))
    assert len(answered.queries[0].hits) == 2
    answered = search_everywhere(three, SearchRequest(("retry", "kettle"), 9, budget_bytes=150))
    shown = [hit.text for result in answered.queries for hit in result.hits]
    assert shown
    assert sum(len(text.encode()) for text in shown) <= 150
    assert any(result.omitted for result in answered.queries)


def test_namesakes_are_told_apart_and_one_passage_has_one_number(user):
    config = user.config("here")
    keep(config, "a.md", "# A\n\nA rare retry.\n")
    keep(user.config("deep/here"), "a.md", "# A\n\nA rare retry.\n")
    answered = search_everywhere(config, SearchRequest(("retry", "rare"), 9))
    first, second = answered.queries
    assert {hit.chunk_id for hit in first.hits} == {hit.chunk_id for hit in second.hits} == {1, 2}
    names = {project for project, _ in answered.places.values()}
    assert len(names) == 2
    assert all(name.startswith("here-") for name in names)


def test_turns_of_sessions_are_found_by_their_filters(user):
    user.track("there", SESSION, prompt("Paint the heliotrope fence."), answer("Painted."))
    user.ask("there", "search", "fence")  # which indexes what is new
    config = user.config("here")
    for query in ("kind:session heliotrope", "agent:claude_code heliotrope"):
        answered = search_everywhere(config, SearchRequest((query,)))
        assert {project for project, _ in found(answered)} == {"there"}
    assert found(search_everywhere(config, SearchRequest(("agent:codex heliotrope",)))) == set()


def test_a_secret_is_found_nowhere(three, user):
    keep(user.config("there"), "env.md", f"# Env\n\nThe heliotrope token is {SECRET}.\n")
    (hit,) = search_everywhere(three, SearchRequest(("heliotrope token",), 1)).queries[0].hits
    assert SECRET not in hit.text
    assert "REDACTED" in hit.text
    for result in search_everywhere(three, SearchRequest((SECRET,), 9)).queries:
        assert not any(SECRET in hit.text for hit in result.hits)


def test_stores_that_cannot_be_read_are_named_and_left_as_they_are(three):
    folder = three.database.parent
    (folder / "damaged-000000000000.sqlite3").write_bytes(b"no database " * 1000)
    (folder / "link-000000000000.sqlite3").symlink_to("/etc/passwd")
    with closing(sqlite3.connect(folder / "later-000000000000.sqlite3")) as db:
        db.execute("CREATE TABLE source (id)")
        db.execute("PRAGMA user_version = 999")
    with closing(sqlite3.connect(folder / "strange-000000000000.sqlite3")) as db:
        db.execute("CREATE TABLE source (id)")
        db.execute("PRAGMA user_version = 1")
    with closing(sqlite3.connect(folder / "bare-000000000000.sqlite3")) as db:
        db.execute("CREATE TABLE mine (id)")
    before = digests(three)
    answered = search_everywhere(three, SearchRequest(("kettle",), 9))
    assert ("there", "there.md") in found(answered)
    told = sorted(answered.notes)
    assert len(told) == 4
    for line, name in zip(told, ("bare", "damaged", "later", "strange"), strict=True):
        assert line.startswith(f"Not searched: {name}: ")
    assert "999" in told[2]
    assert digests(three) == before
    assert not list(folder.glob("*.corrupt-*"))


def test_what_is_not_reached_in_time_is_said(three):
    answered = search_everywhere(three, SearchRequest(("kettle",)), wait_s=0)
    assert found(answered) == set()
    assert answered.notes == ("Not reached in 0 s: here, user, there. Search again, or there.",)


def test_a_question_to_a_store_ends_at_its_deadline(three):
    with kb.Store.open_to_read(three.database, deadline=0.0) as store:
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        with pytest.raises(kb.model.StoreLateError), store.access.reading() as db:
            db.execute(f"{endless} SELECT COUNT(*) FROM n").fetchone()


def test_a_store_that_is_read_takes_nothing(three):
    with kb.Store.open_to_read(three.database, deadline=1e12) as store:
        with pytest.raises(kb.model.StoreReadOnlyError):
            store.add(kb.SourceSpec("x"), b"x")
        assert store.search("retry")[0].hits
    with pytest.raises(kb.model.StoreUnavailableError):
        kb.Store.open_to_read(three.database.with_name("none.sqlite3"), deadline=1e12)
    assert not three.database.with_name("none.sqlite3").exists()


def test_a_timeline_has_the_latest_first_over_all_stores(three, user):
    keep(user.config("here"), "last.md", "# Last\n\nOne more retry.\n")
    answered = search_everywhere(three, SearchRequest(("retry",), 9, sort="timeline"))
    sources = [hit.source for hit in answered.queries[0].hits]
    assert sources == ["last.md", "more.md", "there.md", "here.md"]


def test_an_empty_question_is_refused(three):
    with pytest.raises(UsageError):
        search_everywhere(three, SearchRequest(("",)))


def test_the_verb_names_projects_and_one_project_alone_finds_no_other(three, user):
    alone = user.ask("here", "search", "kettle", "--json")
    assert alone["hits"] == []
    assert set(alone) == {"hits", "corrections", "truncated", "notes"}
    data = user.ask("here", "search", "kettle", "--everywhere", "--json")
    assert {(hit["project"], hit["source"]) for hit in data["hits"]} == {
        ("there", "there.md"),
        (None, "session:chatgpt:c1#1"),
    }
    assert data["notes"] == []
    shown = user.ask("here", "search", "kettle", "--everywhere")
    assert "--- there: there.md | " in shown
    assert "--- no project: session:chatgpt:c1#1 | " in shown
    user.ask("here", "search", "kettle", "--everywhere", "--explain", code=2)


def test_files_of_other_projects_are_marked_and_ones_own_indexed_again(user):
    for name in ("here", "there"):
        (user.project(name) / f"{name}.md").write_text("A retry waits.\n")
        user.ask(name, "index", f"{name}.md")
    asked = ("here", "search", "retry", "--everywhere", "--json")
    assert [hit["stale"] for hit in user.ask(*asked)["hits"]] == [None, None]
    for name in ("here", "there"):
        (user.project(name) / f"{name}.md").write_text("A retry waits longer.\n")
    hits = {hit["source"]: (hit["stale"], hit["text"]) for hit in user.ask(*asked)["hits"]}
    assert hits == {
        "here.md": (None, "A retry waits longer.\n"),
        "there.md": ("changed", "A retry waits.\n"),
    }
