"""Sources that follow a truth elsewhere: added, replaced and taken out in one transaction."""

import pytest

import kb
from kb import mirrors

LABEL = "memory:/memory/a"


def mirrored(*texts, label=LABEL, **known):
    spec = kb.SourceSpec(label, kb.Origin.MEMORY, kind="text", **known)
    return label, kb.Origin.MEMORY, tuple((spec, one.encode()) for one in texts)


def texts(store):
    return [(store.text(one.id).decode(), one.superseded_by is not None)
            for one in store.sources(include_superseded=True)][::-1]  # fmt: skip


@pytest.fixture
def store(tmp_path):
    with kb.Store.open(tmp_path / "kb.sqlite3") as opened:
        yield opened


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        ((), ("a",), 0),
        (("a",), ("a",), 0),
        (("a",), ("a", "b"), 0),
        (("a", "b"), ("a", "b", "c"), 0),
        (("a", "b"), ("b", "c"), 1),  # the oldest is remembered no more
        (("a", "b"), ("a",), 2),  # the newest was taken back
        (("a", "b"), ("c",), 2),
        (("a", "b"), (), 2),
    ],
)
def test_versions_become_those_of_the_truth(store, before, after, gone):
    assert mirrors.follow(store, "facts", [mirrored(*before)], seen="", mark="1") == 0
    assert mirrors.follow(store, "facts", [mirrored(*after)], seen="1", mark="2") == gone
    assert texts(store) == [(one, one != after[-1]) for one in after]
    assert mirrors.read_marks(store) == {"facts": "2"}


def test_a_mark_that_moved_meanwhile_lets_nothing_be_done(store):
    mirrors.follow(store, "facts", [], seen="", mark="7")
    assert mirrors.follow(store, "facts", [mirrored("late")], seen="", mark="5") is None
    assert texts(store) == []
    assert mirrors.read_marks(store) == {"facts": "7"}


def test_who_said_it_when_is_told_without_indexing_it_anew(store):
    mirrors.follow(store, "facts", [mirrored("copper kettle")], seen="")
    (before,) = store.sources()
    wanted = mirrored("copper kettle", author="codex", said_at=5.0)
    mirrors.follow(store, "facts", [wanted], seen="")
    (hit,) = store.search("kettle")[0].hits
    assert (hit.source_id, hit.author, hit.at, hit.origin) == (before.id, "codex", 5.0, "memory")


def test_another_origins_source_of_the_same_label_stays(store):
    store.add(kb.SourceSpec(LABEL), b"a note")
    mirrors.follow(store, "facts", [mirrored()], seen="")
    assert texts(store) == [("a note", False)]
