"""JSON containers read in one go are told as those that are taken apart token by token."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.chunkers import json as json_containers
from kb.chunkers.json import Scan

KEYS = st.sampled_from([key.decode() for key in json_containers.IDENTITY] + ["other", 'a"b', "c,d"])
PLAIN = st.one_of(
    st.none(), st.integers(), st.sampled_from(["", "a name", '"[{,:', "é\\", "long " * 60])
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(KEYS, inner, max_size=8),
    max_leaves=80,
)


def told(data: bytes, cut: int, *, lines: bool) -> list[object]:
    """The marks and states of a source in two parts."""
    first = Scan(data[:cut], lines=lines)
    marks = list(first.marks())
    second = Scan(data[cut:], lines=lines, state=first.state())
    return [*marks, first.state(), *second.marks(), second.state()]


@given(
    values=st.lists(VALUES, min_size=1, max_size=6),
    indent=st.sampled_from([None, 1]),
    lines=st.booleans(),
    cut=st.floats(0, 1),
    broken=st.none() | st.tuples(st.floats(0, 1), st.sampled_from(b'{}[]",:\\')),
)
def test_passing_over_changes_no_mark_and_no_state(values, indent, lines, cut, broken):
    if lines:
        data = "\n".join(map(json.dumps, values)).encode()
    else:
        data = json.dumps(values, indent=indent, ensure_ascii=False).encode()
    if broken is not None:
        at = int(broken[0] * len(data))
        data = data[:at] + bytes([broken[1]]) + data[at + 1 :]
    passed = told(data, int(cut * len(data)), lines=lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_containers, "end", lambda data, at, limit: None)
        assert passed == told(data, int(cut * len(data)), lines=lines)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"[] rest", 2),
        (b'{"a": [1, {"b": "]}"}]}, 2', 23),
        (b'["a\\"]"]', 8),
        (b"[[[[[[1]]]]]]", 13),
        (b"[[[[[[[1]]]]]]]", None),  # deeper than is read in one go
        (b"[1, 2", None),
        (b'["a]', None),
        (b"[" + b"1," * 50 + b"1]", None),  # longer than the limit
    ],
)
def test_a_container_ends_where_its_bracket_closes(data, expected):
    assert json_containers.end(data, 0, 30) == expected


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        (b"{}", b""),
        (b'["name", "a"]', b""),
        (b'{"id": 7, "x": [1, 2], "name": "Ann, B.", "title": "T"}', b"Ann, B."),
        (b'{"id": 7, "title" : "T"}', b"T"),
        (b'{"x": {"name": "inner"}, "id": 7}', b"7"),
        (b'{"name": ["a list"], "slug": "s"}', b"s"),
        (b'{"name": "' + b"n" * 200 + b'", "id": 1}', b"1"),
        (b'{"name": "first", "name": "second"}', b"first"),
    ],
)
def test_a_record_is_named_by_its_most_telling_plain_field(container, expected):
    assert json_containers.identity(container) == expected
