"""Answers to agents carry no secrets, and say how many were taken out."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ctxmode.render.redaction import describe_redactions, redact_answer, without_secrets

KEY = "glpat-" + "Zq8Wx4Vr2Tk6Yp9Lm3Nd"


def test_text_and_data_are_both_redacted_and_both_count():
    text, data = redact_answer(
        f"key {KEY}\npassword: hunter2", {"stdout": f"key {KEY}", "exit_code": 0}
    )
    assert text == (
        "key [REDACTED:gitlab-token]\npassword: [REDACTED:password]\n"
        "[2 secrets redacted: 1 gitlab-token, 1 password]"
    )
    assert data["stdout"] == "key [REDACTED:gitlab-token]"
    assert data["exit_code"] == 0
    assert data["redactions"] == {"gitlab-token": 1, "password": 1}


def test_an_answer_without_secrets_is_given_as_it_is():
    text, data = "commit 0123456789abcdef0123456789abcdef01234567", {"stdout": "ok", "n": [1]}
    assert redact_answer(text, data) == (text, data)


def test_what_is_in_the_data_alone_is_redacted_and_counted_too():
    text, data = redact_answer("ok", {"sections": [{"text": f"a {KEY}"}]})
    assert text == "ok\n[1 secret redacted: 1 gitlab-token]"
    assert data["sections"] == [{"text": "a [REDACTED:gitlab-token]"}]


FRAGMENTS = (
    "ok", "", "password", "password:", "hunter2", "--password", "x-api-key:", "Bearer", KEY,
    "-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7", "=",
    "\n", '"', "https://", "ada:s3cr3tWord9@host.example", "authorization: ",
    "'", "e1f9a0b47c2d8e6f5a3b", " ",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=4).map("".join)


@given(st.dictionaries(st.sampled_from("abcd"), TEXTS | st.lists(TEXTS, max_size=3)))
def test_no_secret_is_missed_among_other_texts(data):
    kinds: Counter[str] = Counter()
    clean = without_secrets(data, kinds)
    _, found = redact_answer("ok", data)
    assert found == (clean | {"redactions": dict(kinds)} if kinds else data)


def test_the_words_of_a_command_are_read_together():
    argv = ["mysql", "--password", "hunter2", "db"]
    _, data = redact_answer("ok", {"argv": argv, "names": ["a\tb", "c"]})
    assert data["argv"] == ["mysql", "--password", "[REDACTED:password]", "db"]
    assert data["names"] == ["a\tb", "c"]


def test_every_depth_is_reached():
    kinds: Counter[str] = Counter()
    value = {"a": ({"b": [KEY, None, 1.5, True]},)}
    expected = {"a": [{"b": ["[REDACTED:gitlab-token]", None, 1.5, True]}]}
    assert without_secrets(value, kinds) == expected
    assert describe_redactions(kinds) == "1 secret redacted: 1 gitlab-token"
