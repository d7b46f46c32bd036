"""Pages: whole without any data, of what is there, and inert whatever a text says."""

import sqlite3
import stat
from contextlib import closing

import pytest

from base.stores.sqlite_files import connect
from ctxmode.errors import UsageError
from ctxmode.insight.pages import PAGES
from ctxmode.insight.reading import PageQuery
from ctxmode.insight.site import BY_PATH, build_page, write_file
from ctxmode.operations import audit
from ctxmode.operations.facts import open_memory
from ctxmode.operations.indexing import IndexRequest
from ctxmode.operations.library import open_library
from ctxmode.operations.usage import RunRecord, record
from executor.model import Refusal
from kb import SourceSpec
from memory.facts.model import Author, Draft
from memory.sessions.session_rows import create_tables

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\"'><b>"
SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"


def build(config, path, /, **values):
    return build_page(config, BY_PATH[path], PageQuery(values))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_project_of_which_nothing_is_kept_has_pages_with_words_and_no_files(config, page):
    text = build_page(config, page, PageQuery({"id": "1", "path": "x", "q": "words"}))
    assert f"<title>{page.title}" in text
    assert 'class="problem"' not in text
    assert not config.data_dir.exists()


@pytest.mark.parametrize("values", [{"at": "-1"}, {"at": "9" * 40}, {"at": "x"}, {"status": "'"}])
def test_any_address_has_an_answer(counted, values):
    assert "<h1>Runs</h1>" in build(counted, "/runs", **values)


def test_a_long_list_is_shown_in_parts(counted):
    first = build(counted, "/runs")
    assert "1 to 50 of 120" in first
    assert 'href="/runs?at=50"' in first
    last = build(counted, "/runs", at="100")
    assert "101 to 120 of 120" in last
    assert 'rel="next"' not in last


def _remember(config, text):
    with open_memory(config, Author("user"), to_write="project") as memory:
        memory.remember(Draft(text, title=text, path="/memory/general/x"))


def _keep(config, text):
    with open_library(config) as library:
        library.store.add(SourceSpec(text), f"# word {text}\n\nword {text}\n".encode())


def _refuse(config, text):
    verdict = {"decision": "deny", "matches": [{"rule_id": text}]}
    audit.write_entry(
        config.log_dir, audit.build_entry("sandbox", text, text, verdict, str(config.project))
    )


def _open_session(config, text):
    config.sessions_file.parent.mkdir(parents=True, exist_ok=True)
    with closing(connect(config.sessions_file)) as db:
        create_tables(db)
        db.execute("PRAGMA user_version = 1")
        db.execute(
            "INSERT INTO session (id, agent, host_id, title, last_at, created_at, updated_at)"
            " VALUES ('a:1', ?, '1', ?, 5, 5, 5)",
            (text, text),
        )
        db.execute(
            "INSERT INTO event (session_id, turn, category, priority, text, key)"
            " VALUES ('a:1', 1, ?, 1, ?, x'00')",
            (text, text),
        )


def _run(config, text):
    config.usage_file.parent.mkdir(parents=True, exist_ok=True)
    numbers = (None,) * 2, (0.1, 0.1, None, None, 1, 1, 0, 0, 0)
    record(
        config.usage_file,
        RunRecord(
            5.0, text, text, text, "A", text, *numbers[0], "run", text, *numbers[1], text, text
        ),
    )


def _refuse_act(config, text):
    config.usage_file.parent.mkdir(parents=True, exist_ok=True)
    run = RunRecord(5.0, *("x",) * 3, "A", "ok", 0, None, "run", None, *(0,) * 9, None, None)
    refusal = Refusal("network", text, text, "exact", 2, text)
    record(config.usage_file, run, (refusal,))


SHOWN = (
    ("a fact's text", _remember, "/memory", {}),
    ("one fact", _remember, "/fact", {"path": "/memory/general/x"}),
    ("a source's label", _keep, "/store", {}),
    ("a source's text", _keep, "/source", {"id": "1"}),
    ("a passage", _keep, "/search", {"q": "word"}),
    ("a question", _keep, "/search", {"q": HOSTILE}),
    ("a refused program", _refuse, "/refusals", {}),
    ("a refused act", _refuse_act, "/refusals", {}),
    ("a session's title", _open_session, "/sessions", {}),
    ("a session's event", _open_session, "/session", {"id": "a:1"}),
    ("a run", _run, "/runs", {}),
    ("a status", _run, "/", {}),
)


@pytest.mark.parametrize(
    ("write", "path", "values"), [case[1:] for case in SHOWN], ids=[case[0] for case in SHOWN]
)
def test_a_hostile_text_is_shown_and_is_nothing_but_text(config, write, path, values):
    write(config, HOSTILE)
    text = build(config, path, **values)
    assert "&lt;script&gt;alert(1)" in text
    assert "<script>alert" not in text
    assert "<img" not in text
    assert '<b>"' not in text


@pytest.mark.parametrize(
    ("write", "path", "values"),
    [case[1:] for case in SHOWN if case[1] in (_open_session, _run)],
    ids=[case[0] for case in SHOWN if case[1] in (_open_session, _run)],
)
def test_a_secret_that_was_kept_is_not_shown(config, write, path, values):
    write(config, f"key {SECRET} end")
    text = build(config, path, **values)
    assert "end" in text
    assert SECRET not in text
    assert "redacted" in text


def test_what_cannot_be_read_is_said_and_the_rest_is_shown(counted):
    counted.sessions_file.write_bytes(b"no database at all" * 100)
    text = build(counted, "/")
    assert "Not read:" in text
    assert "nonzero exit" in text
    assert counted.sessions_file.read_bytes().startswith(b"no database")


def test_counts_of_the_first_release_are_shown_and_the_file_stays_as_it_is(config):
    config.usage_file.parent.mkdir(parents=True)
    with closing(sqlite3.connect(config.usage_file)) as db:
        db.execute("CREATE TABLE usage (day, tool, calls, errors, produced, returned)")
        db.execute("INSERT INTO usage VALUES (0, 'ctx_execute', 1, 0, 2048, 0)")
        db.commit()
    text = build(config, "/")
    assert "2.0 KB" in text
    assert "Not read" not in text
    with closing(sqlite3.connect(config.usage_file)) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("usage",)]


def test_one_file_holds_all_and_its_owner_alone_may_read_it(counted, tmp_path):
    file = tmp_path / "insight.html"
    assert write_file(counted, file) == file.stat().st_size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    assert "<script" not in text
    assert "src=" not in text
    assert 'href="/' not in text
    assert "nonzero exit" in text
    for page in PAGES:
        assert (f'<article id="{page.name}">' in text) == page.is_in_file


@pytest.mark.parametrize("kind", ["link", "folder", "missing"])
def test_nothing_is_written_through_a_link_or_where_no_folder_is(counted, tmp_path, kind):
    kept = tmp_path / "kept"
    kept.write_text("kept")
    place = {"link": tmp_path / "link", "folder": tmp_path, "missing": tmp_path / "no" / "x"}[kind]
    if kind == "link":
        place.symlink_to(kept)
    with pytest.raises(UsageError):
        write_file(counted, place)
    assert kept.read_text() == "kept"


def test_a_passage_and_a_source_whose_file_changed_say_so(config):
    path = config.project / "guide.md"
    path.write_text("A retry waits.\n")
    with open_library(config) as library:
        library.index(IndexRequest(path="guide.md"))
    pages = (("/search", {"q": "retry"}), ("/source", {"id": "1"}))
    for page, values in pages:
        assert "file changed since" not in build(config, page, **values)
    path.write_text("A retry waits longer.\n")
    for page, values in pages:
        assert "file changed since" in build(config, page, **values)
