"""What is shown of a hit: behind its imports, around the records that match, copies once."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from kb import Store
from kb.focus import AROUND, count_matches, focus
from kb.model import Hit, SourceSpec


def hit_of(text: str, kind: str) -> Hit:
    return Hit(1, "s", 1, "", text, kind, None, 100, 100 + len(text.encode()), 11, 0, 1.0)


CODE = {
    "python": (
        "import os\nfrom x import (\n    a,\n    b,\n)\n\n# Says it.\ndef find():\n    pass\n",
        "# Says it.\ndef find():\n    pass\n",
    ),
    "javascript": (
        '"use strict";\n\nconst a = require("a");\nimport b from "b";\n\nfunction find() {}\n',
        "function find() {}\n",
    ),
    "c": ("#include <stdio.h>\n#include <x.h>\nint find(void);\n", "int find(void);\n"),
    "go": ('package x\n\nimport (\n\t"fmt"\n)\n\nfunc Find() {}\n', "func Find() {}\n"),
    "no imports": ("# About it.\nfind = 1\n", "# About it.\nfind = 1\n"),
    "imports alone": ("import find_a\nimport b\n", "import find_a\nimport b\n"),
}


@pytest.mark.parametrize(("text", "shown"), CODE.values(), ids=CODE)
def test_a_program_is_shown_from_behind_its_imports(text: str, shown: str) -> None:
    hit = focus(hit_of(text, "code"), ("find",))
    assert hit.text == shown
    assert hit.start_byte == 100 + len(text) - len(shown)
    assert hit.start_line == 11 + text.count("\n") - shown.count("\n")


def test_an_import_that_was_asked_for_is_shown() -> None:
    assert focus(hit_of(CODE["python"][0], "code"), ("os",)).text.startswith("import os\n")


def test_of_a_log_the_matching_lines_are_shown_with_two_around() -> None:
    lines = [f"12:00:{n:02} worker {n} did its work\n" for n in range(40)]
    lines[20] = "12:00:20 connection refused\n  by the peer\n  at once\n"
    hit = focus(hit_of("".join(lines), "log"), ("refused", "connections"))
    assert hit.text == "".join(lines[20 - AROUND : 21 + AROUND])
    assert hit.start_line == 11 + 18
    assert hit.end_line == hit.start_line + 6


def test_of_a_log_without_a_match_all_is_shown() -> None:
    text = "a b\n" * 20
    assert focus(hit_of(text, "log"), ("absent",)).text == text


@pytest.mark.parametrize(
    ("line", "term", "count"),
    [
        ("it failed", "failing", 1),
        ("two errors", "error", 1),
        ("Retries", "retry", 0),
        ("a wide red line", "red", 1),
    ],
)
def test_words_match_in_other_forms(line: str, term: str, count: int) -> None:
    assert count_matches(line, (term,)) == count


TRACE = """\
2026-01-0{n} 10:00:0{n} ERROR request {n} failed
Traceback (most recent call last):
  File "app.py", line 10, in handle
    raise ValueError("no such user {n}")
ValueError: no such user {n}
"""


@pytest.fixture
def traces(tmp_path):
    with Store.open(tmp_path / "kb.db") as store:
        for n in range(4):
            filler = "".join(f"2026-01-0{n} 10:01:00 INFO all is well {n}{m}\n" for m in range(80))
            text = filler + TRACE.format(n=n) + filler
            store.add(SourceSpec(f"run {n}", origin="run", kind="log"), text.encode())
        yield store


def test_the_same_traceback_is_shown_once_and_counted(traces: Store) -> None:
    (result,) = traces.search("ValueError no such user", limit=3)
    traced = [hit for hit in result.hits if "ValueError" in hit.text]
    assert [hit.alike for hit in traced] == [3]


def test_numbers_that_were_asked_for_tell_tracebacks_apart(traces: Store) -> None:
    (result,) = traces.search("ValueError no such user 2", limit=3)
    assert "no such user 2" in result.hits[0].text
    assert all(a.text != b.text for a, b in pairwise(result.hits))


def test_a_hit_with_few_of_the_words_is_weak(tmp_path) -> None:
    with Store.open(tmp_path / "kb.db") as store:
        for n in range(60):
            text = f"topic{n} speaks of walrus number {n}\n" if n < 3 else f"topic{n} of another\n"
            store.add(SourceSpec(f"s{n}", kind="text"), text.encode())
        strong = store.search("walrus speaks")[0].hits[0]
        weak = store.search("walrus quadrature integrals hyperbolic")[0].hits[0]
    assert (strong.weak, weak.weak) == (False, True)


@pytest.mark.parametrize(
    ("limit", "budget_bytes", "expected"),
    [
        (10, None, [False, True, True]),  # all of them, the weak ones last
        (2, None, [False, True]),
        (10, 1200, [False]),  # the strong one fills the answer: it is not cut for weak ones
    ],
)
def test_weak_hits_come_last_in_the_room_that_is_left(
    tmp_path: Path, limit: int, budget_bytes: int | None, expected: list[bool]
) -> None:
    filler = "of another\n" * 100
    strong = f"walrus speaks hyperbolic quadrature {filler}"
    with Store.open(tmp_path / "kb.db") as store:
        store.add(SourceSpec("weak 1", kind="text"), f"walrus {filler}".encode())
        store.add(SourceSpec("strong", kind="text"), strong.encode())
        store.add(SourceSpec("weak 2", kind="text"), f"speaks {filler}".encode())
        for n in range(60):
            store.add(SourceSpec(f"other {n}", kind="text"), f"topic{n} of another\n".encode())
        query = "walrus speaks hyperbolic quadrature"
        (result,) = store.search(query, limit=limit, budget_bytes=budget_bytes)
    assert [hit.weak for hit in result.hits] == expected
    assert result.hits[0].source == "strong"
    assert len(result.hits) + result.omitted == min(limit, 3)
    assert budget_bytes or result.hits[0].text == strong
