"""iFlow CLI, with events in Claude Code's form and tools named like Gemini CLI's.

Source: platform.iflow.cn/en/cli/examples/hooks. Exit code 2 refuses, with stderr for the agent. For
its other events no way to add a text or read an answer is documented.
"""

from __future__ import annotations

from ctxmode.hosts.claude_code.events import call
from ctxmode.hosts.hooks.hook_types import add_as_text, answer_by_code

answer_ruling = answer_by_code
add_context = add_as_text
__all__ = ["add_context", "answer_ruling", "call"]
