"""Tables of sessions for users. All text is untrusted and shown on one line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any

from rich.text import Text

from base.wording import inflect
from ctxmode.operations.figures import KINDS, TokenFigures, TokenSum, list_unpriced
from ctxmode.render import highlight, terminal
from ctxmode.render.highlight import age, one_line

NOT_RECORDED = "not recorded"
TITLE_CHARS = 60
SUMMARY_CHARS = 200
HEAD = (
    "id", "agent", "agent_version", "status", "title", "working_directory", "project_name",
    "git_branch", "source_path", "messages", "tool_calls", "compactions", "summary",
)  # fmt: skip
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
TIMES = ("started_at", "last_at", "ended_at")


def _format_age(session: Mapping[str, Any]) -> str:
    at = session["last_at"]
    return "" if at is None else f"{age(time.time() - at)} ago"


def _format_mean(use: Mapping[str, Any]) -> str:
    mean = use["average_output_tokens"]
    return NOT_RECORDED if mean is None else f"{mean:.0f}"


def _format_title(row: Mapping[str, Any]) -> str:
    return one_line(row["title"])[:TITLE_CHARS]


COLUMNS: Mapping[str, Mapping[str, Callable[[Mapping[str, Any]], object]]] = {
    "sessions": {
        "id": itemgetter("id"),
        "status": itemgetter("status"),
        "active": _format_age,
        "messages": itemgetter("messages"),
        "tools": itemgetter("tool_calls"),
        "title": _format_title,
    },
    "tools": {
        "tool": itemgetter("tool"),
        "calls": itemgetter("calls"),
        "errors": itemgetter("errors"),
        "average output tokens": _format_mean,
    },
    "compactions": {
        "session": itemgetter("session_id"),
        "message": itemgetter("sequence"),
        "when": lambda one: _time(one["at"]),
        "tokens before": lambda one: _format_count(one["tokens_before"]),
        "tokens after": lambda one: _format_count(one["tokens_after"]),
        "title": _format_title,
    },
}
NUMBERS = ("messages", "tools", "message", "tokens before", "tokens after")
FIXED = (*NUMBERS, "id", "status", "active", "session", "when")
USE_NUMBERS = ("calls", "errors", "average output tokens")


def show_rows(kind: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Show rows of `sessions`, `tools` or `compactions`."""
    terminal.show_table(COLUMNS[kind], rows, fixed=FIXED, right=(*NUMBERS, *USE_NUMBERS))


def show_session(data: Mapping[str, Any], *, with_head: bool) -> None:
    """Show the data of `sessions show`: the head, then each part."""
    out = terminal.console()
    if with_head:
        for line in _head(data):
            out.print(Text(line))
    if data.get("tools"):
        show_rows("tools", data["tools"])
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


def _head(data: Mapping[str, Any]) -> list[str]:
    session = data["session"]
    lines = [f"{_name(key)}: {one_line(str(session[key]))}" for key in HEAD if session[key] != ""]
    lines += [f"{_name(key)}: {_format_count(session[key])}" for key in TOKENS]
    for key in TIMES:
        if session[key] is not None:
            lines.append(f"{_name(key)}: {_time(session[key])}")
    for action, paths in session["files"].items():
        if paths:
            lines.append(f"files {action}: {one_line(', '.join(paths))}")
    if data["resume_line"]:
        lines.append(f"resume with: {one_line(data['resume_line'])}")
    return lines


def _message(message: Mapping[str, Any]) -> str:
    tool = f" {message['tool_name']}" if message["tool_name"] else ""
    text = message["content"]
    if message["tool_params"] is not None:
        text = json.dumps(message["tool_params"], ensure_ascii=False)
    if text is None:
        text = f"({inflect(message['content_bytes'], 'byte')}, not stored)"
    elif message["truncated"]:
        text = f"{text} (cut)"
    at = f"{message['sequence']}.{message['step']}"
    return _indent(f"{at} {one_line(message['role'] + tool)}: {text}")


def _compaction(point: Mapping[str, Any], *, is_whole: bool) -> str:
    before, after = (_format_count(point[name]) for name in ("tokens_before", "tokens_after"))
    head = f"compacted at message {point['sequence']}, tokens before: {before}, after: {after}"
    summary = point["compaction_summary"] or "(no summary recorded)"
    shown = summary if is_whole else one_line(summary[:SUMMARY_CHARS])
    return _indent(f"{head}\n{shown}{'' if shown == summary else ' …'}")


def _turn(turn: Mapping[str, Any]) -> str:
    if "truncated" in turn:
        return f"({inflect(turn['truncated']['dropped'], 'earlier turn')} left out)"
    lines = [f"{turn['turn']}. {turn.get('user', '')}"]
    if tools := turn.get("tools"):
        lines.append(f"[{one_line(', '.join(tools))}]")
    if answer := turn.get("assistant"):
        lines.append(f"→ {answer}")
    return _indent("\n".join(lines))


def _memory(memory: Mapping[str, Any] | None) -> str:
    if memory is None:
        return "No summary yet. Print the text to summarise: context-mode sessions digest"
    lines = [str(memory["summary"])]
    for name, value in memory.items():
        if name != "summary" and value:
            items = [value] if isinstance(value, str) else value
            lines += [f"{_name(name)}:", *(f"- {item}" for item in items)]
    return highlight.harmless("\n".join(lines))


def _indent(text: str) -> str:
    """Indent all lines of an untrusted text except the first."""
    return highlight.harmless(text).replace("\n", "\n    ")


def _name(key: str) -> str:
    return key.replace("_", " ").removesuffix(" at")


def _format_count(count: int | None) -> str:
    return NOT_RECORDED if count is None else str(count)


def _time(at: float | None) -> str:
    if at is None:
        return NOT_RECORDED
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))
    except (OverflowError, OSError, ValueError):
        return NOT_RECORDED


NO_PRICE = "no price"
NONE_YET = "No tokens recorded yet. Read this project's sessions: context-mode sessions track"


def show_tokens(figures: TokenFigures) -> None:
    """Show one row per key, the total, and what the figures leave out."""
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
    """Write a cost with two decimals, or up to six for costs below 1."""
    return f"{cost:,.2f}" if cost >= 1 or not cost else f"{cost:.6f}".rstrip("0")


def _describe_tokens(figures: TokenFigures) -> list[str]:
    lines = []
    if figures.cache_read_share is not None:
        lines.append(f"read from a cache: {figures.cache_read_share:.0%} of the input")
    for title, counts in (("by status", figures.statuses), ("by agent", figures.agents)):
        if any(counts.values()):
            each = ", ".join(f"{one_line(name)} {count}" for name, count in counts.items() if count)
            lines.append(f"sessions {title}: {each}")
    for model, kinds in list_unpriced(figures) if figures.has_prices else ():
        named = one_line(model) or f"model {NOT_RECORDED}"
        lines.append(f"{NO_PRICE}, left out of the cost: {named} ({', '.join(kinds)})")
    return lines
