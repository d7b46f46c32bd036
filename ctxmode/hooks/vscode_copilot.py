"""VS Code Copilot: hooks in `.github/hooks/*.json`, answered as Claude Code's are.

Source: code.visualstudio.com/docs/copilot/customization/hooks. Its tools have other names, and the
arguments of some are in camel case.
"""

from __future__ import annotations

from ctxmode.hooks import claude_code

PRE_TOOL = claude_code.PRE_TOOL
SESSION_START = claude_code.SESSION_START
call = claude_code.call
answer = claude_code.answer
opening = claude_code.opening
