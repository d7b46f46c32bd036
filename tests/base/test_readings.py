"""Secrets are found however they are spelled, as a whole, and nothing else is taken out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.secrets import find_secrets, readings, redact
from base.secrets.readings import list_readings
from tests.base.ordinary_texts import TEXTS
from tests.base.secret_corpus import NEGATIVES, POSITIVES
from tests.base.spellings import CASES, TOKEN, WAYS, core_of, planted, reveal

SAMPLE = 2000
ALL = 20_000
FOUND_MIN = 0.97


@pytest.mark.parametrize(
    ("spell", "secret", "harmless"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_secret_goes_as_a_whole_however_it_is_spelled(spell, secret, harmless):
    text = f"before\n{spell(secret)}\nafter\n"
    assert core_of(secret) in reveal(text)  # the control: a reader gets it
    redacted, _ = redact(text)
    assert core_of(secret) not in reveal(redacted)
    assert redacted.startswith("before\n")
    assert redacted.endswith("after\n")
    assert redact(text.encode())[0].decode() == redacted
    assert redact(redacted)[0] == redacted
    assert redact(spell(harmless))[0] == spell(harmless)


def share_found(count: int, seed: int) -> float:
    """Return the share of planted tokens of which redacting leaves nothing to read."""
    hits = (secret[6:-2] not in reveal(redact(text)[0]) for text, secret in planted(count, seed))
    return sum(hits) / count


def test_of_random_spellings_nearly_all_are_found():
    assert share_found(SAMPLE, seed=1) >= FOUND_MIN
    shown = sum(secret[6:-2] in reveal(text) for text, secret in planted(SAMPLE, seed=1))
    assert shown >= FOUND_MIN * SAMPLE  # the control: most can be read at all


def test_of_twenty_thousand_random_spellings_nearly_all_are_found():
    assert share_found(ALL, seed=2) >= FOUND_MIN


# In quotes they lose a word by their bytes alone.
OF_WHOLE_LINES = ("API_KEY=xxx", "API_KEY=...", "API_KEY=***", "    password=password2,")


@pytest.mark.parametrize(
    "text", [text for text in NEGATIVES if not text.startswith(OF_WHOLE_LINES)]
)
@pytest.mark.parametrize("way", ["coloured", "JSON", "URL", "HTML", "bold", "repr"])
def test_what_is_no_secret_stays_however_it_is_spelled(text, way):
    assert redact(WAYS[way](text))[0] == WAYS[way](text)


def test_ordinary_lines_lose_no_more_where_they_are_spelled_otherwise():
    for text in TEXTS.values():
        for way in ("JSON", "coloured", "repr", "HTML"):
            assert len(find_secrets(WAYS[way](text))) <= len(find_secrets(text)) + 1


@pytest.mark.parametrize(("kind", "before", "secret", "after"), POSITIVES)
@pytest.mark.parametrize("sequence", ["\x1b[1m", "\x1b[0m\x1b[K", "\u200b", "\0"])
def test_a_sequence_before_or_behind_a_secret_hides_none(kind, before, secret, after, sequence):
    """What was found by the bytes alone is found still: a secret may end where one stands."""
    for text in (
        f"{before}{secret}{after}{sequence}word",
        f"word\n{sequence}{before}{secret}{after}",
    ):
        assert secret[3:] not in redact(text)[0]


@given(
    st.lists(st.sampled_from([*WAYS]), max_size=4),
    st.text(st.sampled_from("aA1_\\%&=;#xu\"'\n\b\0\x1b[m]\u200b\u00ad é"), max_size=60),
)
def test_places_lead_back_to_the_text(ways, text):
    for way in ways:
        text = WAYS[way](text) if text else text
    data = text.encode()
    for reading in list_readings(data):
        ends = [reading.locate(at, at + 1) for at in range(len(reading.data))]
        assert all(0 <= start < end <= len(data) for start, end in ends)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "\\",
            "\\n",
            "\\u0",
            "\\u0067",
            "\\x",
            "%",
            "%25",
            "%2",
            "&",
            "&amp;",
            "&#1",
            "\x1b",
            "\x1b[",
        ),
        *("\x1b]", "\x1b]8;;\x07", "\x1bP", "g\b", "g\bg", "_\b", "\0", "\u200b", "eyJ\u200b", "="),
        *(
            "=\n",
            "=3D",
            '\\\\"',
            "sk-\x1b[m",
            "x\x1b[mnvapi-",
            "\\u001b[m",
            "\\\n",
            "a" * 75 + "=\n",
        ),
        *("nvapi-EXAMPLE-", "\\u005cu0067", "&amp;amp;", "\n", "a\n", "\\a\na\na\n"),
    ],
)
def test_work_grows_with_the_length_alone(unit, monkeypatch):
    """What is read, in all readings together, is at most a few times as long as the text."""
    read = []
    applied = readings.Reading.apply

    def apply(reading, steps):
        read.append(len(reading.data))
        return applied(reading, steps)

    monkeypatch.setattr(readings.Reading, "apply", apply)
    sizes = []
    for size in (20_000, 40_000):
        read.clear()
        find_secrets((unit * (size // len(unit))).encode())
        sizes.append(sum(read))
        assert len(read) <= 2 + 4 * readings.DEPTH_MAX
    assert sizes[1] <= 2.1 * sizes[0]


def test_encodings_are_undone_up_to_a_depth():
    text = f"token\\u003d\\u0025{TOKEN}"
    for _ in range(40):
        text = text.replace("\\", "\\u005c")
    assert len([*list_readings(text.encode())]) <= 1 + readings.DEPTH_MAX
