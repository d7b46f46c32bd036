from __future__ import annotations

import json
from contextlib import suppress

import pytest

from repomap.importing.tree import strip_comments

TABLE = [
    ('{"a": 1}', {"a": 1}),
    ('{"a": 1,}', {"a": 1}),
    ('{"a": [1, 2, ], }', {"a": [1, 2]}),
    ('{"a": 1, // one\n}', {"a": 1}),
    ('{"a": 1, /* one */ /* two */ }', {"a": 1}),
    ('// first\n{"a": "// no", "b": "/* no */"} // last', {"a": "// no", "b": "/* no */"}),
    ('{"a": ",}", "b": ",]"}', {"a": ",}", "b": ",]"}),
    ('{"a": "\\",}", "b": "\\\\"}', {"a": '",}', "b": "\\"}),
    ('{"a": "x/y" /**/ }', {"a": "x/y"}),
    ('{"a": [[1,],],}', {"a": [[1]]}),
    ('{"src/*": ["./*"], "b/*": 1}', {"src/*": ["./*"], "b/*": 1}),
]


@pytest.mark.parametrize(("text", "wanted"), TABLE)
def test_what_tools_take_is_read(text, wanted):
    assert json.loads(strip_comments(text)) == wanted


@pytest.mark.parametrize("text", ["[1,,]", "{,}x", "[1 /", '["', "[1,] /* open", "[/]", ",", "}"])
def test_what_is_no_json_stays_none_or_is_read(text):
    with suppress(ValueError):
        assert json.loads(strip_comments(text)) == [1]


@pytest.mark.parametrize("part", ["/*", "//", '"', ",", ', "a', "}", "/* */", "\\", ",\n"])
def test_a_long_text_is_read_in_one_pass(part):
    text = part * 100_000
    assert len(strip_comments(text)) <= len(text)
