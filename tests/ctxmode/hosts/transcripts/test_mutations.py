"""Broken transcripts of every host whose transcripts are lines: no exception, no hang, and the same
rows however the reading is parted, killed or begun anew."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from ctxmode.hosts.registry import find_importer
from memory.sessions import importing, line_reader
from memory.sessions.importers.importer import Transcript
from tests.memory.sessions.claude_records import Maker, dump, open_store, problems_of

HERE = Path(__file__).parent / "driven"
MUTANTS, MUTANTS_LONG = 3, 100
AGENTS = {"codex": "codex", "gemini": "gemini", "qwen_code": "qwen", "copilot_cli": "copilot"}


def claude_lines():
    make = Maker()
    records = [make.prompt("Never use tabs."), make.answer("Yes", usage={"output_tokens": 3})]
    for n in range(6):
        records += make.run(n, f"make {n % 2}", "error: no", failed=n % 3 == 0)
        task = {"task": {"id": str(n), "subject": f"Task {n}"}}
        records.append(make.result(f"t{n}", toolUseResult=task))
    return [*records, *make.compaction("They did"), make.prompt("Go on", isSidechain=True)]


def base_of(agent):
    if agent == "claude_code":
        return [json.dumps(one).encode() for one in claude_lines()]
    return (HERE / f"{AGENTS[agent]}.jsonl").read_bytes().splitlines()


ODD = [None, True, -1, 1e308, 10**30, "", "\0", "\ud800", "x" * 9000, [], {}, [[]], {"a": {}},
       "../../etc/passwd", "2026-99-99T99:99:99Z", ["a", 1, None]]  # fmt: skip


def paths_in(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths_in(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths_in(item, (*path, index))


def swap_types(chance, lines):
    """Put values of other types in place of some."""
    at = chance.randrange(len(lines))
    value = json.loads(lines[at])
    path = chance.choice([one for one in paths_in(value) if one])
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = chance.choice(ODD)
    return [*lines[:at], json.dumps(value).encode(), *lines[at + 1 :]]


def drop_field(chance, lines):
    at = chance.randrange(len(lines))
    value = json.loads(lines[at])
    path = chance.choice([one for one in paths_in(value) if one])
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return [*lines[:at], json.dumps(value).encode(), *lines[at + 1 :]]


def flip_bytes(chance, lines):
    data = bytearray(b"\n".join(lines))
    for _ in range(chance.randrange(1, 20)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data).split(b"\n")


def truncate(chance, lines):
    at = chance.randrange(len(lines))
    return [*lines[:at], lines[at][: chance.randrange(len(lines[at]))], *lines[at + 1 :]]


def repeat(chance, lines):
    at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
    return [*lines[:to], *lines[at : at + 5], *lines[to:]]


def reorder(chance, lines):
    return chance.sample(lines, len(lines))


def nest(chance, lines):
    at, depth = chance.randrange(len(lines)), chance.choice((50, 900, 100_000))
    deep = b"[" * depth + b"]" * depth
    line = lines[at].replace(b'"', deep + b'"', 1) if chance.random() < 0.3 else None
    value = lines[at][:-1] + b',"deep":' + deep + b"}"
    return [*lines[:at], line or value, *lines[at + 1 :]]


def sprinkle(chance, lines):
    """NULs, marks of the bytes' order, CRs, blank lines, lines that are no object."""
    odd = [b"\0" * 50, b"\xef\xbb\xbf", b"\r", b"", b"[]", b"null", b"\xff\xfe", b'"\\ud800"']
    out = []
    for line in lines:
        out.append(chance.choice(odd) + line if chance.random() < 0.2 else line + b"\r")
        out += chance.choices(odd, k=chance.randrange(2))
    return out


MUTATIONS = [swap_types, drop_field, flip_bytes, truncate, repeat, reorder, nest, sprinkle]


def read_whole(store, importer, path):
    done = store.import_transcript(importer, Transcript(str(path)))
    assert done.behind == 0 or not path.read_bytes().endswith(b"\n")
    return done


def read_parted(folder, importer, path, chance):
    """Read a line or a few at a time, each time in a store that is opened anew."""
    before = -1
    while True:
        with open_store(folder / "parts.sqlite3", keep_messages=True) as store:
            for _ in range(chance.randrange(1, 9)):
                done = store.import_transcript(importer, Transcript(str(path)), deadline=0.0)
                if not done.behind or done.behind == before:
                    return
                before = done.behind


@pytest.mark.parametrize("mutate", MUTATIONS)
@pytest.mark.parametrize("agent", ["claude_code", *AGENTS])
def test_a_broken_transcript_is_read_as_far_as_it_goes_and_alike(
    agent, mutate, tmp_path, is_long, monkeypatch
):
    monkeypatch.setattr(importing, "BATCH_BYTES", 1)
    importer, lines = find_importer(agent), base_of(agent)
    known = 0
    for seed in range(MUTANTS_LONG if is_long else MUTANTS):
        chance = random.Random(f"{agent} {seed}")
        broken = mutate(chance, lines)
        if chance.random() < 0.3:
            broken = chance.choice(MUTATIONS[2:])(chance, broken)
        folder = tmp_path / str(seed)
        folder.mkdir()
        path = folder / "t.jsonl"
        path.write_bytes(b"\n".join(broken) + b"\n")
        with open_store(folder / "whole.sqlite3", keep_messages=True) as store:
            with monkeypatch.context() as patch:
                patch.setattr(importing, "BATCH_BYTES", 8 << 20)
                read_whole(store, importer, path)
            whole = dump(store)
            assert problems_of(store) == []
        known += bool(whole["message"])
        read_parted(folder, importer, path, chance)
        with open_store(folder / "parts.sqlite3", keep_messages=True) as store:
            assert dump(store) == whole, seed
            assert problems_of(store) == []
    assert known > seed // 3  # the positive control: mutants are read


@pytest.mark.parametrize("agent", ["claude_code", *AGENTS])
def test_a_line_of_64_mib_is_skipped_in_every_hosts_transcript(agent, tmp_path):
    lines, path = base_of(agent), tmp_path / "t.jsonl"
    path.write_bytes(lines[0] + b"\n")
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + line_reader.LINE_BYTES_MAX + 5)  # a hole
    with path.open("ab") as file:
        file.write(b"\n" + b"\n".join(lines[1:]) + b"\n")
    importer = find_importer(agent)
    with open_store(tmp_path / "s.sqlite3") as store:
        done = read_whole(store, importer, path)
        assert done.bad_lines == 1
        assert done.messages > 5
