"""Qwen Code, with hooks like Claude Code's.

Source: the package @qwen-code/qwen-code 0.24.4, its docs/features/hooks.md. It prompts the user in
its terminal; without a terminal, `ask` is a refusal. UserPromptSubmit comes before every model
request, with an empty prompt after the first.
"""

from ctxmode.hosts.claude_code import EVENTS as EVENTS

LIKE = "claude_code"
AGENT = "qwen_code"
CLIENT = ("qwen",)
FOLDER_VARIABLES = ("QWEN_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
