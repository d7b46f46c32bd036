"""What an agent reads hides nothing (C20)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.pages.cleaning import sanitize

OUT = [*range(9), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x200B, 0xFEFF, 0x61C, 0x200E, 0x200F]
OUT += [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xE0041, 0xE007F]


@pytest.mark.parametrize("code", [one for one in OUT if one != 0x0D])
def test_c20_controls_and_what_hides_or_reorders_text_are_taken_out(code):
    assert sanitize(f"a{chr(code)}b{chr(code)}") == "ab"


KEPT = (
    "tab\tline\nend",
    "👩\u200d👩\u200d👧 ❤\ufe0f",  # joined signs
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 क्\u200dष",  # scripts that need the joiners
    "שלום עולם مرحبا 世界 e\u0301 \u00a0\u00ad",
)


@pytest.mark.parametrize("text", KEPT)
def test_c20_what_scripts_and_signs_need_stays(text):
    assert sanitize(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\rb", "a\nb"),
        ("a\r\r\nb", "a\n\nb"),
        ("a\x1b[31mb", "a[31mb"),
        ("a\ud800b", "a\ufffdb"),
        ("\ufeff---\n", "---\n"),
        ("", ""),
    ],
)
def test_c20_lines_stay_lines_and_every_answer_can_hold_the_text(text, shown):
    assert sanitize(text) == shown


@given(st.text(st.characters() | st.sampled_from("\r\n\x1b\u200b\u202e\ud800\ufeff")))
def test_c20_whatever_the_text_it_is_shown_the_same_again(text):
    shown = sanitize(text)
    assert sanitize(shown) == shown
    assert not {ord(char) for char in shown} & {*OUT}
    shown.encode()
