"""Sessions in tables for people. All text is a stranger's, and shown on one line."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from rich.text import Text

from ctxmode.operations.figures import KINDS, TokenFigures, TokenSum, list_unpriced
from ctxmode.render import highlight, terminal
from ctxmode.render.highlight import age, one_line
from memory.sessions import CompactionPoint, Session

NOT_RECORDED = "not recorded"
TITLE_CHARS = 60
SUMMARY_CHARS = 200
HEAD = (
    "id", "agent", "agent_version", "status", "title", "working_directory", "project_name",
    "git_branch", "source_path", "messages", "tool_calls", "compactions", "summary",
)  # fmt: skip
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
TIMES = ("started_at", "last_at", "ended_at")


def show_sessions(sessions: Sequence[Session]) -> None:
    """Show a row a session."""
    fixed = ("id", "status", "active", "messages", "tools")
    table = terminal.build_table(*fixed, "title", fixed=fixed, right=("messages", "tools"))
    for one in sessions:
        when = "" if one.last_at is None else f"{age(time.time() - one.last_at)} ago"
        title = Text(one_line(one.title)[:TITLE_CHARS])
        table.add_row(
            Text(one_line(one.id)), one.status, when, str(one.messages), str(one.tool_calls), title
        )
    terminal.console().print(table)


def show_session(data: Mapping[str, Any], *, with_head: bool) -> None:
    """Show what `sessions show` read: the head, then each part."""
    out = terminal.console()
    if with_head:
        for line in _head(data):
            out.print(Text(line))
    if data.get("tools"):
        show_tool_uses(data["tools"])
    for point in data.get("compactions", ()):
        out.print(Text(_compaction(point, is_whole=not with_head)))
    for error in data.get("errors", ()):
        out.print(Text(one_line(f"{error['state']} {error['target']}: {error['text']}")))
    for turn in data.get("turns", ()):
        out.print(Text(_turn(turn)))
    for message in data.get("messages", ()):
        out.print(Text(_message(message)))
    if "memory" in data:
        out.print(Text(_memory(data["memory"])))


def show_tool_uses(uses: Sequence[Mapping[str, Any]]) -> None:
    """Show a row a tool."""
    numbers = ("calls", "errors", "average output tokens")
    table = terminal.build_table("tool", *numbers, right=numbers)
    for one in uses:
        mean = one["average_output_tokens"]
        shown = NOT_RECORDED if mean is None else f"{mean:.0f}"
        table.add_row(Text(one_line(one["tool"])), str(one["calls"]), str(one["errors"]), shown)
    terminal.console().print(table)


def show_compactions(points: Sequence[CompactionPoint]) -> None:
    """Show a row a compaction, of whichever session."""
    fixed = ("session", "message", "when", "tokens before", "tokens after")
    table = terminal.build_table(*fixed, "title", fixed=fixed, right=fixed[1:2] + fixed[3:])
    for one in points:
        when = NOT_RECORDED if one.at is None else _time(one.at)
        figures = (one.tokens_before, one.tokens_after)
        cells = (NOT_RECORDED if count is None else str(count) for count in figures)
        title = Text(one_line(one.title)[:TITLE_CHARS])
        session = Text(one_line(one.session_id))
        table.add_row(session, str(one.sequence), when, *cells, title)
    terminal.console().print(table)


def _head(data: Mapping[str, Any]) -> list[str]:
    session = data["session"]
    lines = [f"{_name(key)}: {one_line(str(session[key]))}" for key in HEAD if session[key] != ""]
    for key in TOKENS:
        shown = NOT_RECORDED if session[key] is None else session[key]
        lines.append(f"{_name(key)}: {shown}")
    for key in TIMES:
        if session[key] is not None:
            lines.append(f"{_name(key)}: {_time(session[key])}")
    for action, paths in session["files"].items():
        if paths:
            lines.append(f"files {action}: {one_line(', '.join(paths))}")
    if data["resume_line"]:
        lines.append(f"go on with: {one_line(data['resume_line'])}")
    return lines


def _message(message: Mapping[str, Any]) -> str:
    tool = f" {message['tool_name']}" if message["tool_name"] else ""
    text = message["content"]
    if message["tool_params"] is not None:
        text = json.dumps(message["tool_params"], ensure_ascii=False)
    if text is None:
        text = f"({message['content_bytes']} bytes, not kept)"
    elif message["truncated"]:
        text = f"{text} (cut)"
    at = f"{message['sequence']}.{message['step']}"
    return _indent(f"{at} {one_line(message['role'] + tool)}: {text}")


def _compaction(point: Mapping[str, Any], *, is_whole: bool) -> str:
    before, after = (
        NOT_RECORDED if point[name] is None else str(point[name])
        for name in ("tokens_before", "tokens_after")
    )
    head = f"compacted at message {point['sequence']}, tokens before: {before}, after: {after}"
    summary = point["compaction_summary"] or "(no summary is known)"
    shown = summary if is_whole else one_line(summary[:SUMMARY_CHARS])
    return _indent(f"{head}\n{shown}{'' if shown == summary else ' …'}")


def _turn(turn: Mapping[str, Any]) -> str:
    if "truncated" in turn:
        return f"({turn['truncated']['dropped']} earlier turns left out)"
    lines = [f"{turn['turn']}. {turn.get('user', '')}"]
    if tools := turn.get("tools"):
        lines.append(f"[{one_line(', '.join(tools))}]")
    if answer := turn.get("assistant"):
        lines.append(f"→ {answer}")
    return _indent("\n".join(lines))


def _memory(memory: Mapping[str, Any] | None) -> str:
    if memory is None:
        return "Nobody has summarised it. What to make a summary of: context-mode sessions digest"
    lines = [str(memory["summary"])]
    for name, value in memory.items():
        if name != "summary" and value:
            items = [value] if isinstance(value, str) else value
            lines += [f"{_name(name)}:", *(f"- {item}" for item in items)]
    return highlight.harmless("\n".join(lines))


def _indent(text: str) -> str:
    """Show a stranger's text of several lines so that only its first begins at the left."""
    return highlight.harmless(text).replace("\n", "\n    ")


def _name(key: str) -> str:
    return key.replace("_", " ").removesuffix(" at")


def _time(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))
    except (OverflowError, OSError, ValueError):
        return NOT_RECORDED


NO_PRICE = "no price"
NONE_YET = (
    "No tokens are recorded yet. Read this project's sessions with: context-mode sessions track"
)


def show_tokens(figures: TokenFigures) -> None:
    """Show a row a key, the total, and what the figures leave out."""
    out = terminal.console()
    if not figures.rows:
        out.print(NONE_YET)
    else:
        _show_rows(figures)
    for line in _describe_tokens(figures):
        out.print(Text(line))


def _show_rows(figures: TokenFigures) -> None:
    names = tuple(kind.replace("_", " ") for kind in KINDS)
    numbers = ("responses", *names, *(("cost",) if figures.has_prices else ()))
    table = terminal.build_table(figures.by, *numbers, fixed=numbers, right=numbers)
    for row in figures.rows:
        table.add_row(Text(one_line(row.key) or NOT_RECORDED), *_cells(figures, row))
    table.add_row("total", *_cells(figures, figures.total), style="bold")
    terminal.console().print(table)


def _cells(figures: TokenFigures, row: TokenSum) -> list[str]:
    counts = [getattr(row, kind) for kind in KINDS]
    cells = [str(row.responses), *(NOT_RECORDED if it is None else f"{it:,}" for it in counts)]
    if figures.has_prices:
        cells.append(_cost(row))
    return cells


def _cost(row: TokenSum) -> str:
    if row.cost is None:
        return NO_PRICE if row.no_price else NOT_RECORDED
    return format_cost(row.cost)


def format_cost(cost: Decimal) -> str:
    """Write a cost with as many digits as tell something: two, or more of a small one."""
    return f"{cost:,.2f}" if cost >= 1 or not cost else f"{cost:.6f}".rstrip("0")


def _describe_tokens(figures: TokenFigures) -> list[str]:
    lines = []
    if figures.cache_read_share is not None:
        lines.append(f"read from a cache: {figures.cache_read_share:.0%} of the input")
    for title, counts in (("by status", figures.statuses), ("by agent", figures.agents)):
        if any(counts.values()):
            told = ", ".join(f"{one_line(name)} {count}" for name, count in counts.items() if count)
            lines.append(f"sessions {title}: {told}")
    for model, kinds in list_unpriced(figures) if figures.has_prices else ():
        named = one_line(model) or "a model that is not recorded"
        lines.append(f"{NO_PRICE}, left out of the cost: {named} ({', '.join(kinds)})")
    return lines
