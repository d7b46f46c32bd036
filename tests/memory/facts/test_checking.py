"""What is live is what the ledger says; where it is not, that is found and put right."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.facts.model import UnknownFactError
from memory.facts.recalling import RecallRequest, recall
from memory.facts.restoring import check_store, repair_store
from memory.facts.writing import forget, pin, remember, unpin
from tests.memory.facts.stores import ADA, Clock, draft, open_facts, standing

DAMAGES = [
    "DELETE FROM live WHERE path LIKE '%/a'",
    "UPDATE live SET pinned = 1",
    "UPDATE live SET fact_id = 1 WHERE fact_id = 2",
    "UPDATE live SET bytes = 0",
    "UPDATE live SET expires_at = 5",
    "UPDATE live SET scope = 'user'",
    "DELETE FROM live_fts WHERE rowid = 1",
    "UPDATE live_fts SET body = 'other' WHERE rowid = 1",
    "UPDATE live_fts SET tags = 'other' WHERE rowid = 1",
    "INSERT INTO live_fts (rowid, body) VALUES (99, 'other')",
    "DELETE FROM live_fts_data WHERE id > 10",
    "UPDATE live_fts_content SET c3 = 'other' WHERE id = 1",
    "DELETE FROM live_fts_data",
    "UPDATE mark SET value = value + 1 WHERE name = 'live_bytes'",
    "UPDATE mark SET value = value + 1 WHERE name = 'live_facts'",
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_differs_from_the_ledger_is_found_and_put_right(tmp_path, damage):
    with open_facts(tmp_path) as store:
        remember(store, draft("one", key="a", tags=("x",)), ADA)
        remember(store, draft("two", key="b"), ADA)
        before = standing(store)
        assert check_store(store) == ()
        with store.database.writing() as db:
            db.execute(damage)
        assert len(check_store(store)) >= 1
        assert repair_store(store) == ()
        assert check_store(store) == ()
        assert standing(store) == before
        assert "one" in recall([store], RecallRequest("one")).text


ACTIONS = st.tuples(
    st.sampled_from(["remember", "forget", "pin", "unpin", "supersede"]),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["one", "two words", "drei"]),
)


@settings(max_examples=25)
@given(st.lists(ACTIONS, max_size=20))
def test_any_order_of_writes_leaves_what_the_ledger_says(tmp_path_factory, actions):
    with open_facts(tmp_path_factory.mktemp("facts"), Clock()) as store:
        known = {}
        for verb, key, text in actions:
            try:
                if verb in ("remember", "supersede"):
                    other = "b" if verb == "supersede" else ""
                    remember(store, draft(text, key=key, supersedes=other), ADA)
                    if other and other != key:
                        known.pop(other)
                    known[key] = text
                else:
                    {"forget": forget, "pin": pin, "unpin": unpin}[verb](store, key, ADA)
                    if verb == "forget":
                        known.pop(key)
            except UnknownFactError:
                assert ("b" if verb == "supersede" else key) not in known
        found = {fact.path.rpartition("/")[2]: fact.text for fact in standing(store)}
        assert found == known
        assert check_store(store) == ()
