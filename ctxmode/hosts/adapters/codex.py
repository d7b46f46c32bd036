"""Codex: `hooks.json`, in the form of Claude Code's but without `ask`, which becomes a refusal.

Source: developers.openai.com/codex/hooks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxmode.hosts.adapters import claude_code
from ctxmode.hosts.hooks.calls import Ruling
from ctxmode.hosts.hooks.unasked import refuse

FOLDER_VARIABLES: tuple[str, ...] = ()
PRE_TOOL = claude_code.PRE_TOOL
SESSION_START = claude_code.SESSION_START
call = claude_code.call
opening = claude_code.opening


def answer(ruling: Ruling, event_name: str) -> Mapping[str, Any] | None:
    return claude_code.answer(refuse(ruling), event_name)
