"""Facts are written, replaced, retracted and pinned, each in one transaction."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from memory.errors import BadInputError
from memory.facts.drafts import parse_confidence, parse_ttl
from memory.facts.model import (
    BODY_BYTES_MAX,
    MAIN,
    TITLE_BYTES_MAX,
    Author,
    UnknownBranchError,
    UnknownFactError,
)
from memory.facts.writing import forget, pin, remember, unpin
from tests.memory.facts.stores import ADA, PERSON, START, Clock, at, draft, ledger, open_facts
from tests.memory.facts.stores import standing as stands

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
DAY = 86_400


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    with open_facts(tmp_path, clock) as opened:
        yield opened


@pytest.mark.parametrize(
    ("fields", "path", "scope"),
    [
        ({"key": "deploy"}, "/memory/general/deploy", "project"),
        ({"key": "deploy", "context": "ops"}, "/memory/ops/deploy", "project"),
        ({"key": "a/b", "context": "/ops/"}, "/memory/ops/a/b", "project"),
        ({"path": "/memory/pinned/readme/setup"}, "/memory/pinned/readme/setup", "project"),
        ({"key": "summary", "scope": "session"}, "/sessions/s1/summary", "session"),
        ({"path": "/sessions/s9/details"}, "/sessions/s9/details", "session"),
        ({"path": "/memory/x/y", "scope": "session"}, "/memory/x/y", "session"),
        ({"key": "me", "scope": "user"}, "/memory/general/me", "user"),
    ],
)
def test_x1_facts_stand_at_the_paths_of_their_kinds(store, fields, path, scope):
    written = remember(store, draft("We deploy on Fridays", **fields), ADA)
    (fact,) = stands(store)
    assert (written.path, fact.path, fact.scope) == (path, path, scope)
    assert (fact.id, fact.agent, fact.session) == (written.id, "claude_code", "s1")


@pytest.mark.parametrize("scope", ["project", "session", "user"])
def test_x1_a_fact_without_a_key_is_named_by_its_id(store, scope):
    written = remember(store, draft("Ports begin at 9000", scope=scope), ADA)
    folder = "/sessions/s1" if scope == "session" else "/memory/general"
    assert written.path == f"{folder}/{written.id}"
    assert re.fullmatch("mem-[a-z2-7]{8}", written.id)


@pytest.mark.parametrize(
    ("given", "stored"),
    [("high", 0.95), ("Medium", 0.7), ("low", 0.4), ("0.25", 0.25), (0, 0.0), (1, 1.0)],
)
def test_x3_confidence_is_a_word_or_a_number(store, given, stored):
    remember(store, draft("It rains", confidence=given), ADA)
    assert stands(store)[0].confidence == stored


@pytest.mark.parametrize(
    "given", ["sure", "", "nan", "inf", "-0.1", 1.5, True, None, [1], "9" * 99]
)
def test_what_is_no_confidence_is_refused(given):
    with pytest.raises(BadInputError, match="invalid confidence"):
        parse_confidence(given)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("30d", 30 * DAY),
        ("12 h", DAY / 2),
        ("2w", 14 * DAY),
        ("90s", 90),
        ("5M", 300),
        ("never", None),
    ],
)
def test_a_time_to_live_has_a_unit(given, seconds):
    assert parse_ttl(given) == seconds


@pytest.mark.parametrize("given", ["0d", "-1d", "lots", "30", "1e9d", "99999999d", "1y", 30, None])
def test_what_is_no_time_to_live_is_refused(given):
    with pytest.raises(BadInputError):
        parse_ttl(given)


def test_a_written_fact_has_all_that_its_draft_had(store):
    fields = {
        "title": "Deploying",
        "key": "deploy",
        "tags": ["ops", "ops", " weekly "],
        "category": "decide",
        "why": "fewer pages at night",
        "source": "standup",
        "ttl_s": DAY,
    }
    written = remember(store, draft("On Tuesdays", is_pinned=True, **fields), ADA)
    (fact,) = stands(store)
    assert (fact.title, fact.text, fact.tags) == ("Deploying", "On Tuesdays", ("ops", "weekly"))
    assert (fact.category, fact.why, fact.source) == ("decide", fields["why"], "standup")
    assert (fact.at, fact.expires_at, fact.is_pinned) == (START, START + DAY, True)
    assert (fact.seq, written.is_unchanged, written.replaced) == (written.seq, False, "")


def test_a_write_to_a_path_replaces_what_stood_there_and_history_stays(store, clock):
    first = remember(store, draft("On Fridays", key="deploy"), ADA)
    clock.now += 5
    second = remember(store, draft("On Tuesdays", key="deploy", category="correct"), PERSON)
    assert [fact.text for fact in stands(store)] == ["On Tuesdays"]
    assert second.replaced == first.id != second.id
    assert [(c.operation, c.text, c.agent, c.supersedes) for c in ledger(store)] == [
        ("add", "On Fridays", "claude_code", ""),
        ("replace", "On Tuesdays", "user", first.id),
    ]


@pytest.mark.parametrize("name", ["id", "path", "key"])
def test_what_is_superseded_elsewhere_goes_with_the_same_call(store, name):
    old = remember(store, draft("Port 80", key="port"), ADA)
    named = {"id": old.id, "path": old.path, "key": "port"}[name]
    new = remember(store, draft("Port 443", key="tls", supersedes=named), ADA)
    assert [fact.path for fact in stands(store)] == ["/memory/general/tls"]
    assert new.replaced == old.id
    retracted = ledger(store)[1]
    assert (retracted.operation, retracted.path, retracted.fact_id) == ("retract", old.path, "")
    assert retracted.supersedes == old.id
    assert new.id in retracted.why


def test_superseding_what_does_not_stand_writes_nothing(store):
    with pytest.raises(UnknownFactError):
        remember(store, draft("Port 443", supersedes="mem-aaaaaaaa"), ADA)
    assert ledger(store) == []


@pytest.mark.parametrize("fields", [{"key": "port"}, {}, {"context": "ops", "tags": ("a",)}])
def test_the_same_text_at_its_path_writes_nothing(store, fields):
    first = remember(store, draft("Port 80", **fields), ADA)
    again = remember(store, draft("Port 80", **fields), Author("codex", "other"))
    assert (again.is_unchanged, again.id, again.path) == (True, first.id, first.path)
    assert len(ledger(store)) == 1


@pytest.mark.parametrize(
    ("fields", "field", "value"),
    [
        ({"confidence": 0.95}, "confidence", 0.95),
        ({"ttl_s": DAY}, "expires_at", START + DAY),
        ({"is_pinned": True}, "is_pinned", True),
        ({"tags": ("ops",)}, "tags", ("ops",)),
    ],
)
def test_the_same_text_with_something_else_about_it_is_written(store, fields, field, value):
    remember(store, draft("Port 80", key="port"), ADA)
    assert not remember(store, draft("Port 80", key="port", **fields), ADA).is_unchanged
    (fact,) = stands(store)
    assert getattr(fact, field) == value


def test_the_facts_of_a_session_expire_in_thirty_days(store, clock):
    remember(store, draft("Half done", key="state", scope="session"), ADA)
    remember(store, draft("For an hour", key="x", scope="session", ttl_s=3600), ADA)
    remember(store, draft("For good", key="y"), ADA)
    clock.now += 3600
    assert [fact.text for fact in stands(store)] == ["For good", "Half done"]
    clock.now = START + 30 * DAY
    assert [fact.text for fact in stands(store)] == ["For good"]
    again = remember(store, draft("Half done", key="state", scope="session"), ADA)
    assert not again.is_unchanged


def test_a_fact_of_a_session_takes_no_projects_place(store):
    remember(store, draft("For all", key="port"), ADA)
    with pytest.raises(BadInputError, match="has a fact of the project"):
        remember(store, draft("Mine", path="/memory/general/port", scope="session"), ADA)
    assert [fact.text for fact in stands(store)] == ["For all"]


def test_a_retracted_fact_stands_no_more_and_its_history_does(store):
    written = remember(store, draft("Port 80", key="port"), ADA)
    gone = forget(store, "port", PERSON, why="wrong")
    assert (gone.id, gone.text) == (written.id, "Port 80")
    assert stands(store) == []
    last = ledger(store)[-1]
    assert (last.operation, last.why, last.agent) == ("retract", "wrong", "user")
    with pytest.raises(UnknownFactError):
        forget(store, written.id, PERSON)


def test_pins_are_set_and_undone_and_twice_is_once(store, clock):
    written = remember(store, draft("Port 80", confidence="high", ttl_s=DAY), ADA)
    clock.now += 1
    assert pin(store, written.id, PERSON, why="asked").is_pinned
    assert pin(store, written.path, PERSON).is_pinned
    (fact,) = stands(store)
    assert (fact.is_pinned, fact.id, fact.confidence) == (True, written.id, 0.95)
    assert fact.expires_at == START + DAY
    assert (fact.agent, fact.session, fact.why, fact.at) == ("claude_code", "s1", "", START)
    assert not unpin(store, written.id, PERSON).is_pinned
    assert [change.operation for change in ledger(store)] == ["add", "pin", "unpin"]
    clock.now += DAY
    with pytest.raises(UnknownFactError, match="expired"):
        pin(store, written.id, PERSON)


@pytest.mark.parametrize(("author", "stays"), [(PERSON, True), (ADA, False)])
def test_a_pin_stays_with_a_persons_correction_and_not_with_an_agents(store, author, stays):
    remember(store, draft("Port 80", key="port", is_pinned=True), PERSON)
    remember(store, draft("Port 81", key="port"), author)
    assert at(store, "/memory/general/port").is_pinned is stays


@pytest.mark.parametrize("field", ["text", "title", "why", "source", "key"])
def test_no_secret_is_stored_and_each_is_counted(tmp_path, store, field):
    fields = {"text": "The token of the robot", field: f"It is {TOKEN}"}
    remember(store, draft("positive control: zyzzogeton"), ADA)
    written = remember(store, draft(**fields), ADA)
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"zyzzogeton" in kept
    assert TOKEN.encode() not in kept
    assert written.redactions == (0 if field == "key" else 1)


def test_a_value_that_its_key_makes_a_secret_is_redacted(store):
    written = remember(store, draft("hunter2-Zx81q", key="db_password"), ADA)
    assert written.redactions == 1
    assert "hunter2" not in stands(store)[0].text


WRONG = {
    "nothing": {"text": ""},
    "blanks": {"text": " \n\t"},
    "characters that nobody sees": {"text": "\x00\ud800\u200b"},
    "a list for a text": {"text": ["a"]},
    "bytes": {"text": b"a"},
    "a text of 2 MiB": {"text": "a" * (2 << 20)},
    "one byte too many": {"text": "a" * (BODY_BYTES_MAX + 1)},
    "wide characters, one too many": {"text": "語" * (BODY_BYTES_MAX // 3 + 1)},
    "a long title": {"title": "a" * (TITLE_BYTES_MAX + 1)},
    "a title that is a list": {"title": ["a"]},
    "a path that leaves": {"path": "/memory/../x"},
    "a path elsewhere": {"path": "/etc/passwd"},
    "a relative path": {"path": "memory/x"},
    "a path with NUL": {"path": "/memory/a\x00b"},
    "a path with a lone surrogate": {"path": "/memory/\ud800"},
    "a path with a bidi control": {"path": "/memory/a\u202eb"},
    "a long path": {"path": "/memory/" + "a" * 256},
    "a path for a number": {"path": 3},
    "a key that leaves": {"key": "../../x"},
    "a context that leaves": {"context": "..", "key": "x"},
    "an empty part": {"key": "a//b"},
    "an unknown scope": {"scope": "team"},
    "a scope that is a list": {"scope": ["project"]},
    "an unknown category": {"category": "guess"},
    "an unknown confidence": {"confidence": "lots"},
    "a negative time": {"ttl_s": -1},
    "a time that is no number": {"ttl_s": float("nan")},
    "a time that is a text": {"ttl_s": "30d"},
    "a text for tags": {"tags": "ops"},
    "numbers for tags": {"tags": (1,)},
    "many tags": {"tags": tuple(map(str, range(40)))},
    "a session's path of the user": {"path": "/sessions/a/summary", "scope": "user"},
    "a number superseded": {"supersedes": 3},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_fact_is_refused_with_a_remedy_and_nothing_is_written(store, name):
    with pytest.raises(BadInputError) as refused:
        remember(store, replace(draft("a sound text"), **WRONG[name]), ADA)
    assert refused.value.remedy
    assert len(refused.value.message) < 400
    assert ledger(store) == []


@pytest.mark.parametrize("author", [Author("a" * 999), Author(["x"]), Author("x", 3)])
def test_an_author_that_is_none_is_refused(store, author):
    with pytest.raises(BadInputError):
        remember(store, draft("a sound text"), author)
    assert ledger(store) == []


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ("mem-aaaaaaaa", UnknownFactError),
        ("/memory/general/none", UnknownFactError),
        ("none", UnknownFactError),
        ("", BadInputError),
        (None, BadInputError),
        (["x"], BadInputError),
        ("../x", BadInputError),
        ("/memory/\x00", BadInputError),
        ("\ud800", BadInputError),
        ("x" * 100_000, BadInputError),
    ],
)
@pytest.mark.parametrize("verb", [forget, pin, unpin])
def test_verbs_refuse_what_names_no_fact(store, verb, wanted, error):
    remember(store, draft("stays"), ADA)
    with pytest.raises(error):
        verb(store, wanted, ADA)
    assert len(ledger(store)) == 1


@pytest.mark.parametrize(
    ("branch", "error"), [("none", UnknownBranchError), (["main"], BadInputError)]
)
def test_an_unknown_branch_takes_no_fact(store, branch, error):
    with pytest.raises(error):
        remember(store, draft("x"), ADA, branch)
    with pytest.raises(error):
        forget(store, "x", ADA, branch=branch)
    assert ledger(store) == []


def test_a_branch_is_written_apart_from_main(store):
    remember(store, draft("On Fridays", key="deploy"), ADA)
    with store.database.writing() as db:
        db.execute("INSERT INTO branch VALUES ('try', 'main', 1, 'open', 0, 'user')")
        db.execute("INSERT INTO branch VALUES ('old', 'main', 1, 'merged', 0, 'user')")
    remember(store, draft("Daily", key="deploy"), ADA, "try")
    forget(store, "deploy", ADA)
    assert [fact.text for fact in stands(store, "try")] == ["Daily"]
    assert stands(store, MAIN) == []
    with pytest.raises(UnknownBranchError, match="merged"):
        remember(store, draft("Never"), ADA, "old")


def test_x8_the_ledger_tells_who_wrote_what_why_and_how_sure(store):
    remember(store, draft("On Fridays", key="d", confidence="low", why="heard"), ADA)
    remember(
        store, draft("On Tuesdays", key="d", confidence="high", category="correct", why="asked"),
        Author("codex", "s2"),
    )  # fmt: skip
    rows = [(c.agent, c.session, c.category, c.why, c.confidence) for c in ledger(store)]
    assert rows == [
        ("claude_code", "s1", "observe", "heard", 0.4),
        ("codex", "s2", "correct", "asked", 0.95),
    ]


@pytest.mark.parametrize("part", ["summary", "decisions", "details"])
def test_x14_what_a_session_found_stands_below_it(store, part):
    written = remember(store, draft("We chose SQLite", key=part, scope="session"), ADA)
    assert written.path == f"/sessions/s1/{part}"
