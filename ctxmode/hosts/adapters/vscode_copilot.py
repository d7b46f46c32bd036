"""VS Code Copilot and Copilot CLI: hooks in `.github/hooks/*.json`, which both of them read.

Sources: code.visualstudio.com/docs/copilot/customization/hooks;
docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference.

Their tools have other names, and the arguments of some are in camel case. For events in Pascal case
the command line sends what the editor sends, but looks for the decision at the top of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxmode.hosts.adapters import claude_code
from ctxmode.hosts.hooks.calls import Ruling

FOLDER_VARIABLES: tuple[str, ...] = ()
PRE_TOOL = claude_code.PRE_TOOL
SESSION_START = claude_code.SESSION_START
call = claude_code.call
opening = claude_code.opening


def answer(ruling: Ruling, event_name: str) -> Mapping[str, Any] | None:
    """In the editor's form, a decision in the command line's, too."""
    said = claude_code.answer(ruling, event_name)
    if said is None or ruling.kind == "advise":
        return said
    return {
        **said,
        "permissionDecision": ruling.kind,
        "permissionDecisionReason": ruling.text,
    }
