"""Of a prompt that is longer than what is read of it the beginning and the end count."""

from __future__ import annotations

from base.secrets import find_secrets
from ctxmode.operations.session_store import parse_call
from memory.gate import Gate
from memory.sessions.cues import BINDINGS_PER_END, END_CHARS_READ, find_bindings
from memory.sessions.preparing import CONTENT_CHARS_MAX, Preparer
from memory.sessions.records import MessageRecord

PASTED = "worker 7 served request 12 in 13 ms\n"
LONG = PASTED * (2 * CONTENT_CHARS_MAX // len(PASTED))
RULE = "Never change the table of users."


def bindings_of(prompt):
    preparer = Preparer(Gate(find_secrets), parse_call)
    prepared = preparer.prepare(MessageRecord("1", "1", "user", prompt, is_prompt=True))
    return [event.text for event in prepared.events if event.category != "prompt"]


def test_a_rule_behind_a_long_paste_is_kept():
    assert bindings_of(f"Mend this:\n{LONG}\n{RULE}") == [RULE]
    assert bindings_of(f"{RULE}\n{LONG}\nUse sqlite.") == [RULE, "Use sqlite."]
    assert bindings_of(f"{RULE}\n{LONG}\n{RULE}") == [RULE]


def test_what_stands_in_the_middle_of_a_paste_is_no_rule():
    assert bindings_of(f"Mend this:\n{LONG}\n{RULE}\n{LONG}") == []


def test_half_a_sentence_is_no_rule():
    half = "x" * (END_CHARS_READ - 12) + " use sqlite."
    assert bindings_of(f"{LONG} We do not {half}") == []


def test_code_that_began_before_the_end_is_no_rule():
    code = f"```\n{LONG}\nAlways push to main.\n```\n"
    assert bindings_of(f"Mend this:\n{code}{RULE}") == [RULE]
    assert bindings_of(f"Mend this:\n{LONG}\n```\nAlways push.\n```\n{RULE}") == [RULE]


def test_what_is_private_or_secret_at_the_end_does_not_stay():
    key = "AKIA" + "QWERTYUIOPASDFGH"
    found = bindings_of(f"{LONG}\n<private>Never say so.</private>\nAlways use {key}.\n{RULE}")
    assert RULE in found
    assert not [one for one in found if key in one or "say so" in one]


def test_an_end_full_of_rules_is_bounded():
    end = "".join(f"Never use number {n}.\n" for n in range(90))
    assert len(list(find_bindings("", end))) == BINDINGS_PER_END
