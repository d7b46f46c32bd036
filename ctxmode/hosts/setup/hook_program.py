"""Hooks that are programs in a folder of the host's, named as their event."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence


def hook_program(host: str, event: str = "PreToolUse") -> Callable[[Sequence[str]], str]:
    """What makes the text of a host's program from the command that it is to call."""

    def text(command: Sequence[str]) -> str:
        line = shlex.join([*command, "hook", host, event])
        return f"#!/bin/sh\n# Written by `context-mode setup {host}`.\nexec {line}\n"

    return text
