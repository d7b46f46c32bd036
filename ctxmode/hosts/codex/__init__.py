"""Codex: its events, and its names elsewhere."""

from ctxmode.hosts.claude_code import EVENTS as EVENTS

AGENT = "codex"
CLIENT = ("codex",)
FOLDER_VARIABLES: tuple[str, ...] = ()
