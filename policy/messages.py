"""Messages of verdicts for agents: the rule, the effect, and what to do next.

Loaded with the first verdict that is not plainly "allowed".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from policy.model import Decision, Match, Redirect, Rules

BYTES_MAX = 600  # of UTF-8, of all text of a verdict for an agent
_CODE, _NAME, _WHY, _CALL = 120, 100, 140, 380  # bytes of a piece of code, a path, a reason, a call
_MORE = " (`context-mode policy explain` shows the rest.)"
_VERBS = {Decision.DENY: "denied", Decision.ASK: "asked", Decision.REDIRECT: "redirected"}
_INSTEAD = {
    "": "If you need it, ask the user about this rule.",
    "read": "Do it without that file, or ask the user about this rule.",
    "write": "Write elsewhere, or ask the user about this rule.",
}
_UNKNOWN_WORD = re.compile(r"<(?:\?(?:\.\.\.)?|paths|fetched|decoded)>")


def message(deciding: Match, matches: Iterable[Match], rules: Rules) -> str:
    """Write the message of a verdict that a rule decided."""
    head = f"{_VERBS[deciding.decision]} by {_rule(deciding)}: {_describe_match(deciding)}"
    if deciding.decision is Decision.REDIRECT and deciding.redirect is not None:
        return redirect_message(f"{head}{_why(deciding.reason)}.", deciding.redirect)
    instead = deciding.advice or _INSTEAD[deciding.access]
    if deciding.kind in ("opaque-exec", "unparsed"):
        head = f"{_VERBS[deciding.decision]} as {_unknown_code(deciding, matches, rules)}"
        instead = deciding.advice or "Write the command in full, so that it can be checked."
    elif deciding.reason:
        head += _why(deciding.reason)
    if deciding.decision is Decision.ASK:
        instead = f"This needs the user's approval. {deciding.advice}".rstrip()
    return fit(f"{head}.", f" {cut(instead, _WHY)}")


def redirect_message(head: str, redirect: Redirect) -> str:
    """Write why something better is proposed, and the call of it, ready to paste."""
    return fit(f"{head} {cut(redirect.advice, _WHY)}", f"\nCall: {call_text(redirect)}")


def call_text(redirect: Redirect) -> str:
    """Write the tool with its arguments as JSON, one by one; too long ones are described."""
    dumps = json.JSONEncoder(ensure_ascii=False).encode
    shown = {name: printable(dumps(value)) for name, value in redirect.arguments.items()}
    for name in sorted(shown, key=lambda name: -len(shown[name])):
        if sum(len(value.encode()) for value in shown.values()) > _CALL - 80:
            shown[name] = "<the whole value, unchanged>"
    arguments = ", ".join(f"{name}={value}" for name, value in shown.items())
    return cut(f"{redirect.tool}({arguments})", _CALL)


def to_sandbox(arguments: Mapping[str, str], path: str) -> Redirect:
    """Return the call that runs a shell command where a path that it might read is covered."""
    advice = f"The sandbox hides {cut(path, _WHY - 70, from_end=True)} and shows the rest."
    return Redirect("ctx_execute", arguments, f"{advice} To change files, omit it.")


def fit(head: str, tail: str = "") -> str:
    """Return both, the first cut to what leaves the second whole."""
    room = BYTES_MAX - len(tail.encode())
    if "…" not in head + tail and len(printable(head).encode()) <= room:
        return printable(head) + tail
    return cut(head, room - len(_MORE)) + _MORE + tail


def cut(text: str, bytes_max: int, *, from_end: bool = False) -> str:
    """Cut to whole characters at the start (or end) in so many bytes, printable."""
    data = printable(text).encode()
    if len(data) <= bytes_max:
        return data.decode()
    if from_end:
        return "…" + data[3 - bytes_max :].decode("utf-8", "ignore")
    return data[: bytes_max - 3].decode("utf-8", "ignore") + "…"


def printable(text: str) -> str:
    """Return the text with JSON's escapes for unprintable characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _rule(match: Match) -> str:
    """Name a rule by its id and its file, and its text if the id does not show it."""
    name = cut(match.rule, _NAME)
    if match.rule_id not in (match.rule, match.kind):
        name = f"{cut(match.rule_id, _NAME)} ({name})"
    return f"{name} in {cut(str(match.source), _NAME, from_end=True)}"


def _describe_match(match: Match) -> str:
    """Describe the effect: the piece of the program, and the path that it comes by."""
    code, path = f"`{cut(match.text, _CODE)}`", cut(match.path, _NAME, from_end=True)
    if match.access and match.text == match.path:
        return f"{match.access.removesuffix('e')}ing {path}"
    is_possible = match.decision is Decision.REDIRECT or _UNKNOWN_WORD.search(match.path)
    verb = "may" if is_possible else "would"
    return f"{code} {verb} {match.access} {path}" if match.access else code


def _unknown_code(match: Match, matches: Iterable[Match], rules: Rules) -> str:
    """Describe unknown code: the piece, why it is unknown, and how many rules it might break."""
    why, count = match.reason, len(rules.restricting("command"))
    if match.rule_id != match.kind:  # a rule that unknown words could make match
        alike = [m for m in matches if (m.argv, m.reason) == (match.argv, match.reason)]
        count = len({(m.rule_id, m.source) for m in alike})
        words = [word for word in match.argv if _UNKNOWN_WORD.search(word)]
        why = f"{cut(words[0], 40)} is known only when it runs" if words else why
    which = "your rule" if count < 2 else f"{count:,} of your rules, the strictest:"
    noun = "unreadable" if match.kind == "unparsed" else "unknown"
    what = f"{noun} code: `{cut(match.text, _CODE)}`{_why(why)}"
    return f"{what}. It could break {which} {_rule(match)}"


def _why(reason: str) -> str:
    return f" ({cut(reason.rstrip('.'), _WHY)})" if reason else ""
