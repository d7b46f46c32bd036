"""A source that is chunked part by part loses nothing, and its titles go on where they can."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.chunkers import CHUNKERS
from kb.chunking import chunk_next
from kb.detect import Detected
from kb.packing import CAP_BYTES

RESUMED = [kind for kind, row in CHUNKERS.items() if row.resume is not None]
CARRIED = [kind for kind, row in CHUNKERS.items() if row.carries_title]

PIECES = st.sampled_from(
    ['{"key": ', "[", "]", "}", ",", '"text"', '"open', '\\"', "\\", "\n", "12", "null", " ",
     '"\\u00e4"', "# head\n", "key:\n", "<tag>", "a,b\n"]
)  # fmt: skip


def in_parts(data: bytes, kind: str, cuts: list[int]) -> list[tuple[int, int, tuple[str, ...]]]:
    """Start, end and title of every chunk, where the source arrives cut so."""
    detected = Detected(kind, None, "said")
    bounds = [0, *sorted({cut for cut in cuts if 0 < cut < len(data)}), len(data)]
    found: list[tuple[int, int, tuple[str, ...]]] = []
    state = None
    for start, end in pairwise(bounds):
        if start < end:
            part = chunk_next(data[start:end], detected, state, base_byte=start)
            state = part.state
            found += [(chunk.start_byte, chunk.end_byte, chunk.title) for chunk in part]
    return found


@pytest.mark.parametrize("kind", sorted(CHUNKERS))
@settings(max_examples=50)
@given(pieces=st.lists(PIECES, max_size=40), cuts=st.lists(st.integers(1, 120), max_size=5))
def test_parts_tile_the_source_wherever_it_is_cut(
    kind: str, pieces: list[str], cuts: list[int]
) -> None:
    data = "".join(pieces).encode()
    position = 0
    for start, end, _ in in_parts(data, kind, cuts):
        assert start == position
        assert start < end <= start + CAP_BYTES
        position = end
    assert position == len(data)


def test_records_are_titled_alike_however_the_source_is_cut() -> None:
    records = [{"id": n, "note": 'x, ]}\\"' * (n % 5 + 80), "more": [1, 2]} for n in range(60)]
    data = json.dumps({"outer": {"records": records}}).encode()
    chance = random.Random(5)
    for _ in range(30):
        cuts = [chance.randrange(1, len(data)) for _ in range(4)]
        for start, end, title in in_parts(data, "json", cuts):
            inside = data[start:end]
            first = inside.find(b'{"id": ')
            if 0 <= first < 3:
                number = int(inside[first + 7 :].partition(b",")[0])
                assert title[:2] == ("outer", "records"), (cuts, title)
                assert str(number) in title[2], (cuts, title)


def test_a_scan_deep_in_a_tree_says_where_it_is_in_few_bytes() -> None:
    (last,) = [chunk_next(b"[" * 100_000, Detected("json", None, "said"), None).state]
    assert last is not None
    assert len(last) < 110_000


@pytest.mark.parametrize("kind", RESUMED)
@pytest.mark.parametrize("state", ["{}", "no json", '{"objects": "oa", "told": {"7": 1}}'])
def test_a_state_without_sense_loses_no_part(kind: str, state: str) -> None:
    data = b'"a": {"b": [1, 2]}}' * 50
    part = chunk_next(data, Detected(kind, None, "said"), state, base_byte=100)
    assert part.chunks[-1].end_byte == 100 + len(data)


@pytest.mark.parametrize("kind", CARRIED)
def test_text_that_goes_on_keeps_its_title(kind: str) -> None:
    state = json.dumps(["Guide", "Set-up"])
    part = chunk_next(b"plain words\n", Detected(kind, None, "said"), state, base_byte=100)
    assert part.chunks[0].title[:2] == ("Guide", "Set-up")
