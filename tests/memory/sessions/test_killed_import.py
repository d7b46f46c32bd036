"""An import that was killed and is begun anew gives the same rows (R12, R13)."""

from __future__ import annotations

import json

import pytest

from ctxmode.hosts.registry import find_importer
from memory.sessions import importing
from memory.sessions.importers.importer import Transcript
from tests.memory.sessions.claude_records import dump, open_store, problems_of
from tests.memory.sessions.importers.test_chatgpt import CHAT, conversation


class KilledError(Exception):
    pass


def make(form, path):
    if form == "chatgpt":
        chats = [conversation(*CHAT, conversation_id=f"c{number}") for number in range(12)]
        path.write_text(json.dumps(chats))
    else:
        rows = [{"role": "user", "content": f"word {n}", "at": 1.7e9 + n} for n in range(60)]
        path.write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    return Transcript(str(path), "s" if form == "own_lines" else "", form=form)


@pytest.mark.parametrize("form", ["chatgpt", "own_lines"])
@pytest.mark.parametrize("killed_at", [1, 2, 5, 9])
def test_a_killed_import_that_is_begun_anew_gives_the_same_rows(
    tmp_path, monkeypatch, form, killed_at
):
    monkeypatch.setattr(importing, "BATCH_S", 0.0)  # a record or a line a transaction
    found, row = make(form, tmp_path / "x"), find_importer(form)
    with open_store(tmp_path / "whole.sqlite3", keep_messages=True) as store:
        store.import_transcript(row, found)
        expected = dump(store, but=("source", "turn"))
    store_once, count = importing._Reading._store, iter(range(1, 1000))

    def store_and_die(self, *args, **options):
        if next(count) == killed_at:
            raise KilledError
        return store_once(self, *args, **options)

    with open_store(tmp_path / "killed.sqlite3", keep_messages=True) as store:
        monkeypatch.setattr(importing._Reading, "_store", store_and_die)
        with pytest.raises(KilledError):
            store.import_transcript(row, found)
        store.import_transcript(row, found)
        assert [*map(len, dump(store, but=("source", "turn")).values())] == [
            *map(len, expected.values())
        ]
        assert problems_of(store) == []
        assert counted(store) == counted_of(expected)


def counted(store):
    return counted_of(dump(store, but=("source", "turn")))


def counted_of(tables):
    """What tells messages and sessions, without numbers that a database gives out by itself."""
    return sorted(repr(row[1:]) for row in tables["message"])
