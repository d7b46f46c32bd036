"""What an agent is told: every kind of match has its words, within 600 bytes, whatever it names."""

from __future__ import annotations

import json
import random
import re
import string

import pytest

from policy import (
    Decision,
    Rules,
    Subject,
    Verdict,
    evaluate_fetch,
    evaluate_read,
    evaluate_tool,
    evaluate_write,
    messages,
)
from policy.claude import Anchors, parse_rule
from policy.decide import evaluate
from policy.model import DEFAULT_RULES, TOO_LARGE, Match, Redirect, Rule, RuleSource

ANCHORS = Anchors("/home/u", "/w", "/w")
FILE = ".claude/settings.json"


def rules(*lines: str) -> Rules:
    found = []
    for number, line in enumerate(lines, 1):
        decision, _, text = line.partition(" ")
        rule, _ = parse_rule(text, Decision[decision.upper()], RuleSource(FILE, number), ANCHORS)
        assert rule is not None
        found.append(rule)
    return Rules((*found, *DEFAULT_RULES))


def shell(code: str, *lines: str) -> Verdict:
    subject = Subject("shell", code, "/w", "/w", "/home/u", surface="agent_shell")
    return evaluate(subject, rules(*lines))


SOME = ("deny Bash(rm -rf *)", "ask Bash(git commit *)", "deny Bash(sudo *)", "deny Read(./.env)")
ASK_PERSON = "If you need it, ask the user about this rule."
WRITTEN_OUT = "Write the command in full, so that it can be checked."


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("true; sudo id", f"denied by Bash(sudo *) in {FILE}:3: `sudo id`. {ASK_PERSON}"),
        (
            "cat .env",
            f"denied by Read(./.env) in {FILE}:4: `cat .env` would read /w/.env. "
            "Do it without that file, or ask the user about this rule.",
        ),
        (
            "echo x > .env",
            f"denied by Read(./.env) in {FILE}:4: `echo x > .env` would write /w/.env. "
            "Write elsewhere, or ask the user about this rule.",
        ),
        (
            'cat "$x"/.env',
            f'denied by Read(./.env) in {FILE}:4: `cat "$x"/.env` may read <?>/.env. '
            "Do it without that file, or ask the user about this rule.",
        ),
        (
            "git commit -m x",
            f"asked by Bash(git commit *) in {FILE}:2: `git commit -m x`. "
            "This needs the user's approval.",
        ),
        (
            'eval "$X"',
            'denied as unknown code: `eval "$X"` (shell text that is not known before it runs). '
            f"It could break 3 of your rules, the strictest: Bash(rm -rf *) in {FILE}:1. "
            + WRITTEN_OUT,
        ),
        (
            "if then fi (",
            "denied as unreadable code: `if then fi (` (a compound command without its end). "
            f"It could break 3 of your rules, the strictest: Bash(rm -rf *) in {FILE}:1. "
            + WRITTEN_OUT,
        ),
        (
            "rm $OPTIONS build",
            "denied as unknown code: `rm $OPTIONS build` (<?...> is known only when it runs). "
            f"It could break your rule Bash(rm -rf *) in {FILE}:1. {WRITTEN_OUT}",
        ),
        (
            "curl https://example.com/a",
            "redirected by default.download (curl and wget whose answer reaches the output) in "
            "shipped defaults: `curl https://example.com/a` (the answer would fill the context "
            "window). The tool indexes the page and returns only the relevant parts.\n"
            'Call: ctx_fetch_and_index(url="https://example.com/a")',
        ),
    ],
)
def test_a_program_is_refused_in_words_that_say_what_to_do_next(code: str, text: str) -> None:
    assert shell(code, *SOME).message == text


def test_unknown_code_that_only_asks_says_so() -> None:
    message = shell('eval "$X"', "ask Bash(git commit *)").message
    assert message.startswith('asked as unknown code: `eval "$X"`')
    assert (
        f"It could break your rule Bash(git commit *) in {FILE}:1. This needs the user's approval"
        in message
    )


def test_files_pages_and_tools_have_their_words() -> None:
    some = rules("deny Read(x)", "ask Edit(y)", "deny WebFetch(domain:a.b)", "deny mcp__s__t")
    place = f"in {FILE}"
    assert evaluate_read("/w/x", some).message.startswith(f"denied by Read(x) {place}:1: reading /")
    assert evaluate_write("/w/x", some).message.startswith(f"denied by Read(x) {place}:1: writing")
    assert evaluate_write("/w/y", some).message == (
        f"asked by Edit(y) {place}:2: writing /w/y. This needs the user's approval."
    )
    assert evaluate_fetch("https://a.b/c", some).message.startswith(
        f"denied by WebFetch(domain:a.b) {place}:3: `https://a.b/c`. If"
    )
    assert evaluate_tool("mcp__s__t", some).message.startswith(
        f"denied by mcp__s__t {place}:4: `mcp__s__t`. If"
    )
    assert evaluate_read("/w/large", some, size_bytes=1 << 20).message == (
        "This file has 1,048,576 bytes. Analyse it with the tool: only the output of your program "
        'is returned.\nCall: ctx_execute_file(path="/w/large")'
    )


def test_a_denial_by_what_a_link_leads_to_names_that() -> None:
    verdict = evaluate(
        Subject("shell", "cat key", "/w", "/w", "/home/u", surface="agent_shell"),
        rules("deny Read(~/.ssh/**)"),
        real_path=lambda path: path.replace("/w/key", "/home/u/.ssh/id_rsa"),
    )
    assert "`cat key` would read /home/u/.ssh/id_rsa. Do it without" in verdict.message


def test_a_rule_with_an_id_is_named_by_it_and_by_what_it_says() -> None:
    rule = Rule(
        *("no-publish", "command", "Bash(npm publish *)", "npm publish *", Decision.DENY),
        RuleSource("policy.toml", 3),
        reason="Releases are made by CI.", advice="Open a pull request.",
    )  # fmt: skip
    message = evaluate(Subject("shell", "npm publish"), Rules((rule,))).message
    assert message == (
        "denied by no-publish (Bash(npm publish *)) in policy.toml:3: `npm publish` "
        "(Releases are made by CI). Open a pull request."
    )


def test_a_call_can_be_pasted_as_it_is() -> None:
    code = "printf '%s\\n' \"a\" | tee \u202e'é' \x1b[0m"
    call = messages.call_text(Redirect("ctx_execute", {"language": "shell", "code": code}))
    found = re.fullmatch(r'ctx_execute\(language="shell", code=(".*")\)', call)
    assert found is not None
    assert json.loads(found[1]) == code
    assert call.isprintable()


def test_a_call_that_is_too_long_to_paste_says_what_goes_in() -> None:
    redirect = messages.to_sandbox({"language": "shell", "code": "cat x; " * 200}, "/w/.env")
    assert messages.call_text(redirect) == (
        'ctx_execute(language="shell", code=<the whole value, unchanged>)'
    )
    assert redirect.advice == (
        "The sandbox hides /w/.env and shows the rest. To change files, omit it."
    )


def test_what_is_too_large_takes_the_words_of_unknown_code() -> None:
    why = TOO_LARGE
    match = Match(
        *("unparsed", "Bash(sudo *)", RuleSource(FILE, 1), Decision.DENY, "unparsed", (), (0, 9)),
        *("x" * 5000, why),
    )
    text = messages.message(match, (match,), rules("deny Bash(sudo *)"))
    assert f"({TOO_LARGE}). It could break your rule" in text


@pytest.mark.parametrize(
    ("text", "bytes_max", "from_end", "expected"),
    [
        ("abc", 3, False, "abc"),
        ("abcdef", 5, False, "ab…"),
        ("ääääää", 8, False, "ää…"),
        ("ääääää", 8, True, "…ää"),
        ("a\nb\x1b[0m\u202e", 99, False, "a\\nb\\u001b[0m\\u202e"),
        ("\udc80", 99, False, "\\udc80"),
    ],
)
def test_texts_are_cut_by_whole_characters_and_are_printable(
    text: str, bytes_max: int, from_end: bool, expected: str
) -> None:
    assert messages.cut(text, bytes_max, from_end=from_end) == expected


HOSTILE = (
    "x" * 5000, "ä" * 3000, "\x1b[2J" * 400, "\n" * 900, "\u202e" * 500, "\U0001f600" * 400,
    "\udc80" * 300, '"\\' * 500, "…" * 400, "`" * 900, "\ue000\ue010" * 200,
)  # fmt: skip


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("decision", [Decision.DENY, Decision.ASK, Decision.REDIRECT])
@pytest.mark.parametrize("kind", ["command", "read", "edit", "fetch", "tool"])
def test_no_message_has_over_600_bytes_or_moves_a_terminal(
    hostile: str, decision: Decision, kind: str
) -> None:
    to = Redirect("t" + hostile, {"a" + hostile: hostile, "b": "{path}{url}{command}"})
    redirect = to if decision is Decision.REDIRECT else None
    source = RuleSource(hostile, 7)
    rule = Rule(
        *(hostile, kind, hostile + "!", "*", decision, source, None, hostile, hostile, redirect),
    )
    ruled = Rules((rule,))
    subject = Subject("shell", f"a '{hostile}' > '{hostile}'", "/w", "/w", surface="agent_shell")
    said = [
        evaluate(subject, ruled),
        evaluate(subject._replace(code=f"eval '{hostile}' $X"), ruled),
        evaluate_read(f"/w/{hostile}", ruled),
        evaluate_write(f"/w/{hostile}", ruled),
        evaluate_fetch(f"https://example.com/{hostile}", ruled),
        evaluate_tool(hostile, ruled),
    ]
    assert any(not verdict.allowed for verdict in said)
    for verdict in said:
        assert len(verdict.message.encode()) <= messages.BYTES_MAX
        assert verdict.message.replace("\nCall: ", "").isprintable()


def test_what_to_do_next_is_never_cut_off() -> None:
    chars = random.Random(15)
    for _ in range(300):
        length = chars.randrange(2000)
        code = "sudo " + "".join(chars.choice(string.printable + "äß€\x1b") for _ in range(length))
        subject = Subject("shell", code, surface="agent_shell")
        message = evaluate(subject, rules("deny Bash(sudo *)")).message
        assert message == "allowed" or message.endswith((ASK_PERSON, WRITTEN_OUT, '")'))
