"""Hooks that are programs in a folder of the host's, named as their event."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Protocol


class WriteText(Protocol):
    """What makes the text of a file of ours; empty where it then has nothing to do."""

    def __call__(self, command: Sequence[str], *, records_sessions: bool = True) -> str: ...


def hook_program(host: str, event: str, *, is_for_sessions: bool) -> WriteText:
    """What makes the text of a host's program from the command that it is to call."""

    def text(command: Sequence[str], *, records_sessions: bool = True) -> str:
        if is_for_sessions and not records_sessions:
            return ""
        line = shlex.join([*command, "hook", host, event])
        return f"#!/bin/sh\n# Written by `context-mode setup {host}`.\nexec {line}\n"

    return text
