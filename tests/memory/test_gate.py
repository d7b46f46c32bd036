"""What passes the gate has no secret, no private part and no unseen character."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.secrets import find_secrets
from memory.gate import CONTEXT_CHARS, DEPTH_MAX, ITEMS_MAX, Gate
from tests.base.secret_corpus import BASE64, POSITIVES, PRIVATE_KEYS, made

TOKEN = "ghp_" + made(36)
GATE = Gate(find_secrets)
OPEN_GATE = Gate(lambda _: ())  # the positive control: it finds nothing
FILLER = "word " * 5000
SECRETS = [before + secret + after for _, before, secret, after in POSITIVES] + list(PRIVATE_KEYS)


def holds_part(secret, text, size=12):
    return any(secret[at : at + size] in text for at in range(max(len(secret) - size + 1, 1)))


@pytest.mark.parametrize(("kind", "before", "secret", "after"), POSITIVES)
def test_no_form_of_text_or_value_lets_a_secret_pass(kind, before, secret, after):
    text = before + secret + after
    shapes = [
        text,
        {"command": text},
        {text: 1},
        {"a": {"b": [{"c": text}]}},
        [[text]],
        FILLER[:300] + "\n" + text,
    ]
    for shape in shapes:
        assert in_json(secret) not in dumped(GATE, shape)
        assert in_json(secret)[:100] in dumped(OPEN_GATE, shape)  # names are cut


def in_json(text):
    return json.dumps(text, ensure_ascii=False)[1:-1]


def dumped(gate, value):
    return json.dumps(gate.clean_value(value, 4096), ensure_ascii=False)


@pytest.mark.parametrize("key", PRIVATE_KEYS)
def test_no_part_of_a_private_key_passes(key):
    body = made(64, BASE64, 1)
    assert body not in GATE.clean(key)
    assert body in OPEN_GATE.clean(key)


NAMED = [
    {"client-key-data": made(400, BASE64)},
    {"password": ["hunter2"]},
    {"password": {"value": "hunter2"}},
    {"env": [{"name": "DB_PASSWORD", "value": "hunter2"}]},
    {"argv": ["curl", "-u", "admin:hunter2", "https://example.org"]},
    {"argv": ["sshpass", "-p", "hunter2", "ssh", "host"]},
    {"args": ["--password", "hunter2"]},
    {"api_key": made(20)},
    {"password": 1234567890},
]


@pytest.mark.parametrize("value", NAMED, ids=lambda value: next(iter(value)))
def test_a_value_that_is_secret_by_its_name_or_the_word_before_goes(value):
    for secret in ("hunter2", made(400, BASE64), made(20), "1234567890"):
        assert secret not in dumped(GATE, value)


def test_values_that_are_no_secret_stay():
    value = {
        "file_path": "/p/a.py",
        "limit": 10,
        "deep": [True, None, 1.5, "ls -la"],
        "argv": ["git", "commit", "-m", "Mend it"],
        "token_count": 17,
        "name": "value",
    }
    assert GATE.clean_value(value, 4096) == value


@pytest.mark.parametrize("limit", [200, 4096])
@pytest.mark.parametrize("offset", range(-45, 46, 5))
def test_a_secret_that_stands_across_a_cut_leaves_no_part(limit, offset):
    text = FILLER[: limit + offset] + " " + TOKEN + " " + FILLER
    assert not holds_part(TOKEN, GATE.clean_head(text, limit))
    tail = FILLER + " " + TOKEN + " " + FILLER[: limit // 2 + offset]
    assert not holds_part(TOKEN, GATE.clean_ends(tail, limit))
    if offset < -10:
        assert holds_part(TOKEN, OPEN_GATE.clean_head(text, limit))


@pytest.mark.parametrize("kept", range(150, 260, 5))
@pytest.mark.parametrize("unseen", ["\u200b", "\x1b[1m", "\0"])
def test_what_is_taken_out_draws_no_part_of_a_secret_over_the_edge(kept, unseen):
    """The defect of a window that is cut first and cleaned then."""
    hidden = unseen * (CONTEXT_CHARS // len(unseen))
    text = hidden + FILLER[: kept - 20] + " " + TOKEN + " " + FILLER
    assert not holds_part(TOKEN, GATE.clean_head(text, 200))
    assert not holds_part(
        TOKEN, GATE.clean_ends(FILLER + TOKEN + " " + hidden + FILLER[:kept], 400)
    )


def test_a_large_key_that_began_before_the_tail_leaves_nothing_in_it():
    lines = [made(64, BASE64, seed) for seed in range(400)]
    block = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
    for text in (block, FILLER + block, block + "\nend", FILLER + block + FILLER[:900]):
        shown = GATE.clean_ends(text, 8192)
        assert not any(line in shown for line in lines)
        assert not any(line in GATE.clean_head(text, 4096) for line in lines)


SPLITS = ["\u200b", "\u200d", "\ufeff", "\u00ad", "\u2060", "\x1b[1m", "\x1b[38;5;196m", "\x9b0m"]
SPLITS += [
    "\x1b]8;;https://example.org\x07",
    "\x1b]0;title\x1b\\",
    "\0",
    "\x08",
    "\u202e",
    "\ufe0f",
]
SPLITS += ["\u3164", "\U000e0041", "\U000e0100", "\ud800", "\u034f"]


@pytest.mark.parametrize("split", SPLITS, ids=ascii)
def test_a_secret_split_by_what_is_not_seen_is_found(split):
    assert GATE.clean(TOKEN[:20] + split + TOKEN[20:]) == "[REDACTED:github-token]"
    assert GATE.clean(split.join(TOKEN)) == "[REDACTED:github-token]"
    assert OPEN_GATE.clean(split.join(TOKEN)) == TOKEN


PRIVATE = [
    ("a <private>mine</private> b", "a  b"),
    ("a <PRIVATE>mine</Private> b", "a  b"),
    ("a <private>x <private>mine</private> mine</private> b", "a  b"),
    ("a <private>mine", "a "),
    ("a <pri\u200bvate>mine</pri\u200bvate> b", "a  b"),
    ("a <pri\x1b[1mvate>mine</private> b", "a  b"),
    ("a </private> b", "a </private> b"),
    ("a <private>mine\n\nmine</private> b <private>mine</private> c", "a  b  c"),
]


@pytest.mark.parametrize(("text", "shown"), PRIVATE)
def test_private_parts_are_dropped(text, shown):
    assert GATE.clean(text) == shown
    assert "mine" not in GATE.clean_head(text, 100)


@pytest.mark.parametrize("limit", [100, 8192])
def test_a_private_part_that_began_long_before_the_tail_is_dropped(limit):
    text = FILLER + "<private>" + "mine " * 9000 + "</private> end"
    assert "mine" not in GATE.clean_ends(text, limit)
    assert GATE.clean_ends(text, limit).endswith("end")
    assert "mine" not in GATE.clean_ends("<private>" + "mine " * 9000, limit)
    assert "mine" not in GATE.clean_head("<private>" + "mine " * 9000 + "</private> end", limit)


def test_text_after_a_long_private_part_is_kept():
    text = "<private>" + "mine " * 9000 + "</private> end"
    assert GATE.clean_head(text, 100) == " end"


@given(st.text(max_size=400))
def test_whatever_the_text_no_unseen_character_passes(text):
    shown = GATE.clean(text)
    assert not any(c in shown for c in "\0\x1b\x7f\x9b\r\u200b\u202e\u2066\ufeff\u2028")
    shown.encode()  # no lone surrogate


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=20,
)


@given(JSON)
def test_whatever_the_value_it_is_json_again(value):
    json.dumps(GATE.clean_value(value, 100)).encode()


def test_deep_and_wide_values_are_bounded():
    deep: list = []
    for _ in range(500):
        deep = [deep]
    assert len(json.dumps(GATE.clean_value(deep, 100))) < 5 * DEPTH_MAX
    assert len(GATE.clean_value(list(range(9999)), 100)) == ITEMS_MAX
    assert len(GATE.clean_value({str(n): n for n in range(9999)}, 100)) == ITEMS_MAX


def test_lengths_are_kept():
    assert len(GATE.clean_head("é" * 9000, 4096)) == 4096
    ends = GATE.clean_ends("a" * 5000 + "b" * 5000, 8192)
    assert ends.startswith("aaaa")
    assert ends.endswith("bbbb")
    assert "[… 1808 characters left out …]" in ends
