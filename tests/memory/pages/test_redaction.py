"""Secrets are taken out of pages and counted; all else stays as it is."""

from __future__ import annotations

import pytest

from base.secrets import find_secrets
from memory.pages.cleaning import redact

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.mark.parametrize("joint", ["", "\u200b", "\u200d", "\u202e", "\ufe0f", "\0", "\x1b"])
def test_a_secret_is_taken_out_though_it_is_divided(joint):
    token = joint.join([TOKEN[:9], TOKEN[9:20], TOKEN[20:]])
    text, count = redact(f"# A\n\nuse {token} and {token} here\n", find_secrets)
    assert count == 2
    assert TOKEN[:9] not in text
    assert TOKEN[20:] not in text
    assert text.startswith("# A\n\nuse [REDACTED:")
    assert text.endswith("] here\n")


@pytest.mark.parametrize(
    "text", ["", "plain\r\n", "👩\u200d💻 \u0645\u06cc\u200c\u062e", "a\0b\x1b[1m"]
)
def test_a_text_without_secrets_stays_as_it_is(text):
    assert redact(text, find_secrets) == (text, 0)
