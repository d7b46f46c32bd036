"""What an agent is told of a verdict: the rule, what it is about, and what to do next.

Loaded with the first verdict that is not plainly "allowed".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from policy.model import Decision, Match, Redirect
from policy.rules import Rules

BYTES_MAX = 600  # of UTF-8, of all that an agent is shown of a verdict
_CODE, _NAME, _WHY = 120, 100, 140  # bytes of a piece of code, a name or path, a sentence
_CALL_BYTES_MAX = 380
_MORE = " (`context-mode policy explain` shows the rest.)"
_VERBS = {Decision.DENY: "denied", Decision.ASK: "asked", Decision.REDIRECT: "redirected"}
_INSTEAD = {
    "": "If it is needed, ask the person about this rule.",
    "read": "Do it without that file, or ask the person about this rule.",
    "write": "Write elsewhere, or ask the person about this rule.",
}
_UNKNOWN_WORD = re.compile(r"<(?:\?(?:\.\.\.)?|paths|fetched|decoded)>")

ASKED_BY_DEFAULT = "asked: no rule allows all of it, and the default is to ask a person."
COULD_MATCH = "an unknown word could make it match"
WRITE_IT_OUT = "Write the command out, so that it can be checked."


def message(deciding: Match, matches: Iterable[Match], rules: Rules) -> str:
    """What is said of a verdict that a rule decided."""
    verb = _VERBS[deciding.decision]
    if deciding.decision is Decision.REDIRECT and deciding.redirect is not None:
        head = f"{verb} by {_rule(deciding)}: {_deed(deciding)}{_why(deciding.reason)}."
        return redirected(head, deciding.redirect)
    if deciding.kind in ("opaque-exec", "unparsed"):
        head = f"{verb} as {_unknown(deciding)} {_endangered(deciding, matches, rules)}."
        instead = deciding.advice or WRITE_IT_OUT
    else:
        head = f"{verb} by {_rule(deciding)}: {_deed(deciding)}{_why(deciding.reason)}."
        instead = deciding.advice or _INSTEAD[deciding.access]
    if deciding.decision is Decision.ASK:
        instead = f"A person is asked whether it may be done. {deciding.advice}".rstrip()
    return limited(head, cut(instead, _WHY))


def redirected(head: str, redirect: Redirect) -> str:
    """Why something better is proposed, and the call of it, ready to paste."""
    call = f"\nCall: {call_text(redirect)}"
    return limited(f"{head} {cut(redirect.advice, _WHY)}", call, between="")


def call_text(redirect: Redirect) -> str:
    """The tool with its arguments as JSON, one by one; those too long to paste are described."""
    shown = {name: quoted(value) for name, value in redirect.arguments.items()}
    call = _call(redirect.tool, shown)
    for name in sorted(shown, key=lambda name: -len(shown[name])):
        if len(call.encode("utf-8", "replace")) > _CALL_BYTES_MAX:
            shown[name] = "<all of it, as it was>"
            call = _call(redirect.tool, shown)
    return cut(call, _CALL_BYTES_MAX)


def _call(tool: str, shown: Mapping[str, str]) -> str:
    return f"{tool}({', '.join(f'{name}={value}' for name, value in shown.items())})"


def too_large(seconds: float) -> str:
    """Why a program is not understood that takes longer than may be spent on it."""
    return f"it is too large to be understood in {seconds:g} s"


def to_sandbox(command: str, path: str) -> Redirect:
    """The call that runs a command of the shell where a path that it might read is covered."""
    advice = f"In the sandbox {cut(path, _NAME, from_end=True)} is covered, and the rest is there."
    return Redirect("ctx_execute", {"language": "shell", "code": command}, advice)


def limited(head: str, tail: str = "", *, between: str = " ") -> str:
    """Both, the first cut to what leaves the second whole."""
    tail = f"{between}{tail}" if tail else ""
    room = BYTES_MAX - len(tail.encode("utf-8", "replace"))
    if "…" not in head + tail and len(head.encode("utf-8", "replace")) <= room:
        return printable(head) + tail
    return cut(head, room - len(_MORE)) + _MORE + tail


def cut(text: str, bytes_max: int, *, from_end: bool = False) -> str:
    """Its first (or last) whole characters in so many bytes, printable."""
    data = printable(text).encode()
    if len(data) <= bytes_max:
        return data.decode()
    if from_end:
        return "…" + data[3 - bytes_max :].decode("utf-8", "ignore")
    return data[: bytes_max - 3].decode("utf-8", "ignore") + "…"


def quoted(text: str) -> str:
    """A text as JSON writes it, nothing in it that a terminal would act on."""
    return printable(json.dumps(text, ensure_ascii=False))


def printable(text: str) -> str:
    """The text with JSON's escapes for what is no printable character."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def _rule(match: Match) -> str:
    """A rule by its id and its file; what it says besides, where the id does not."""
    name = cut(match.rule, _NAME)
    if match.rule_id not in (match.rule, match.kind):
        name = f"{cut(match.rule_id, _NAME)} ({name})"
    return f"{name} in {cut(str(match.source), _NAME, from_end=True)}"


def _deed(match: Match) -> str:
    """What would be done: the piece of the program, and the path that it comes by."""
    code = f"`{cut(match.text, _CODE)}`"
    if not match.access:
        return code
    path = cut(match.path, _NAME, from_end=True)
    if match.text == match.path:
        return f"{match.access.removesuffix('e')}ing {path}"
    verb = "may" if _UNKNOWN_WORD.search(match.path) else "would"
    return f"{code} {verb} {match.access} {path}"


def _unknown(match: Match) -> str:
    """The piece of a program that is not known, and why not."""
    why = match.reason
    if why == COULD_MATCH:
        words = [word for word in match.argv if _UNKNOWN_WORD.search(word)]
        why = f"{cut(words[0], 40)} is known only when it runs" if words else why
    noun = "unreadable" if match.kind == "unparsed" else "unknown"
    return f"{noun} code: `{cut(match.text, _CODE)}`{_why(why)}."


def _endangered(match: Match, matches: Iterable[Match], rules: Rules) -> str:
    """How many rules unknown code might break, and the strictest of them."""
    if match.rule_id == match.kind:  # all that is unknown
        count = len(rules.restricting_commands())
    else:
        of_it = [one for one in matches if one.span == match.span and one.text == match.text]
        count = len({(one.rule_id, one.source) for one in of_it if one.reason == match.reason})
    if count < 2:
        return f"It could break your rule {_rule(match)}"
    return f"It could break {count:,} of your rules, the strictest: {_rule(match)}"


def _why(reason: str) -> str:
    return f" ({cut(reason.rstrip('.'), _WHY)})" if reason else ""
