"""Verdicts on tool calls of an agent's host, and the resulting answers.

Allowed calls get no answer, so that the host's own rules and prompts still apply.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence

import policy
from ctxmode.config.rules import load as load_rules
from ctxmode.hosts.hooks.hook_types import PASS, Ground, Ruling, ToolCall
from ctxmode.mcp.tools import NAMES as OWN_TOOLS
from policy import TOO_LARGE, Decision, Folders, Rules, Verdict, deny_undecided, not_judged
from policy.messages import fit

TYPED_INTO = (
    "hooks do not see text typed into it later: pass its commands in the call, as in bash -c"
)


def steps(
    call: ToolCall, ground: Ground, is_callable: Callable[[], bool], *, is_judged: bool
) -> Iterator[bytes]:
    """Yield an empty text after reading the rules; then the answer to the host, with its verdicts.

    Without `is_judged`, the strictest rule decides, as for calls that take too long to judge.
    `is_callable` is only used if a rule redirects to one of our tools.
    """
    try:
        rules = load_rules(ground.project, ground.home, ground.environ)
    except policy.RuleFileError as error:
        if call.kind in ("read", "edit") and _concerns(call, error.path):
            yield _pack(PASS, ())  # so that the file can be fixed
            return
        text = f"The rules cannot be read, so nothing is allowed: {error}"
        yield _pack(Ruling("deny", fit(text)), ())
        return
    yield b""
    if not is_judged:
        yield _pack(*_rule_strictly(call, rules, TOO_LARGE))
        return
    if call.is_typed_into:
        yield _pack(*_rule_strictly(call, rules, TYPED_INTO))
        return
    try:
        yield _pack(*_ruling(call, ground, rules, is_callable))
    except MemoryError:
        raise
    except Exception as error:
        from ctxmode import crash_report  # noqa: PLC0415 - only a defect pays for it

        yield _pack(*_rule_strictly(call, rules, not_judged(crash_report.report(error))))


def _pack(said: Ruling, verdicts: Sequence[Verdict]) -> bytes:
    if said.text:
        from base.secrets import redact  # noqa: PLC0415 - most calls get no text

        said = said._replace(text=redact(said.text)[0])
    return json.dumps((said, [verdict.to_json() for verdict in verdicts])).encode()


def _rule_strictly(call: ToolCall, rules: Rules, why: str) -> tuple[Ruling, Sequence[Verdict]]:
    verdicts = tuple(deny_undecided(value, rules, why) for _, value in call.subjects())
    return _describe(_strictest(verdicts)), verdicts


def _ruling(
    call: ToolCall, ground: Ground, rules: Rules, is_callable: Callable[[], bool]
) -> tuple[Ruling, Sequence[Verdict]]:
    verdicts = _verdicts(call, rules, ground)
    worst = _strictest(verdicts)
    if worst.redirect is None or (
        call.has_our_tools and worst.redirect.tool in OWN_TOOLS and is_callable()
    ):
        return _describe(worst), verdicts
    rest = _verdicts(call, rules, ground, frozenset[str]())
    strictest = _strictest(rest)
    if strictest.decision is not Decision.ALLOW:
        return _describe(strictest), rest
    return Ruling("advise", fit(worst.redirect.advice or worst.message)), rest


def _verdicts(
    call: ToolCall, rules: Rules, ground: Ground, tools: frozenset[str] | None = None
) -> tuple[Verdict, ...]:
    if rules.default is Decision.DENY and _is_named(call, rules):
        rules = rules._replace(default=Decision.ALLOW)
    return tuple(
        _verdict(value, call._replace(kind=kind), rules, ground, tools)
        for kind, value in call.subjects()
    )


def _is_named(call: ToolCall, rules: Rules) -> bool:
    """Return whether a tool is allowed by its name, or is ours, which checks the rules itself."""
    name = call.name.lower()
    is_of_ours = "context-mode" in name.replace("_", "-") or name.startswith("mcp:")  # Cursor's
    if is_of_ours and name.endswith(tuple(f"{mark}{own}" for mark in "_:" for own in OWN_TOOLS)):
        return True
    names = call.values if call.kind == "tool" else (call.name,)
    return any(policy.evaluate_tool(name, rules, call.inputs).allowed for name in names)


def _strictest(verdicts: Sequence[Verdict]) -> Verdict:
    return max(verdicts, key=lambda verdict: verdict.decision)


def _verdict(
    value: str, call: ToolCall, rules: Rules, ground: Ground, tools: frozenset[str] | None = None
) -> Verdict:
    """Return the stricter of the verdicts on one value and on the tool with its arguments; with
    `tools`, redirects to other tools are ignored."""
    on_value = _value_verdict(value, call, rules, ground, tools)
    if call.kind == "tool" or not rules.of("tool"):
        return on_value
    by_name = rules._replace(default=Decision.ALLOW)  # the default already applied to the value
    return _strictest((on_value, policy.evaluate_tool(call.name, by_name, call.inputs)))


def _value_verdict(
    value: str, call: ToolCall, rules: Rules, ground: Ground, tools: frozenset[str] | None
) -> Verdict:
    if call.kind == "command":
        subject = policy.Subject(
            "shell",
            value,
            call.cwd,
            ground.project,
            ground.home,
            ground.environ,
            "agent_shell",
        )
        return policy.judge(subject, rules, tools)
    if call.kind == "fetch":
        return policy.evaluate_fetch(value, rules, allow_private=True)
    if call.kind == "tool":
        return policy.evaluate_tool(value, rules, call.inputs)
    path = _absolute(value, call.cwd, ground.home)
    real_path = _make_real_path(value, path, call.cwd, ground.home)
    if call.kind == "search":
        # With name patterns, only matching files of the folder are searched.
        is_tree = call.whole and len(call.values) == 1
        folders = Folders()
        return policy.evaluate_search(
            path,
            rules,
            pattern=_text_searched(call) if call.whole else "",
            real_path=real_path,
            is_tree=is_tree,
            folders=folders,
            tools=tools,
        )
    if call.kind == "edit":
        return policy.evaluate_write(path, rules, real_path=real_path)
    return _read(path, call, rules, tools, real_path)


def _text_searched(call: ToolCall) -> str:
    given = (call.inputs.get(name) for name in ("pattern", "query", "regex"))
    return next((value for value in given if isinstance(value, str)), "")


def _read(
    path: str,
    call: ToolCall,
    rules: Rules,
    tools: frozenset[str] | None,
    real_path: policy.RealPath,
) -> Verdict:
    try:
        size = os.stat(path).st_size if call.whole and tools is None else None
    except (OSError, ValueError):
        size = None
    return policy.evaluate_read(path, rules, real_path=real_path, size_bytes=size)


def _absolute(path: str, cwd: str, home: str) -> str:
    # The library ends a path at a NUL character; the kernel accepts no path with one.
    return os.path.normpath(_join(path, cwd, home).replace("\0", "\ufffd"))


def _make_real_path(value: str, path: str, cwd: str, home: str) -> policy.RealPath:
    """Make a function that resolves links like the kernel: `..` after a link leaves its target."""
    return lambda asked: policy.real_path(_join(value, cwd, home) if asked == path else asked)


def _join(path: str, cwd: str, home: str) -> str:
    if path == "~" or path.startswith("~/"):
        path = f"{home}{path[1:]}"
    return os.path.join(cwd, path)


def _concerns(call: ToolCall, path: str) -> bool:
    return all(os.path.basename(value) == os.path.basename(path) for value in call.values)


def _describe(verdict: Verdict) -> Ruling:
    if verdict.decision is Decision.ALLOW:
        return PASS
    return Ruling("ask" if verdict.decision is Decision.ASK else "deny", verdict.message)
