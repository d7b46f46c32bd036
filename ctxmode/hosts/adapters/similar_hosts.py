"""Hosts whose hooks resemble another host's: each row has that host and the differences."""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.hooks.hook_types import Answer, Purpose, Ruling, add_as_text, answer_by_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_USUAL: Mapping[str, Purpose] = {
    "PreToolUse": "judge",
    "SessionStart": "open",
    "UserPromptSubmit": "asked",
    "Stop": "answered",
}


def _answer_without_advice(ruling: Ruling, event_name: str) -> Answer:
    from ctxmode.hosts.adapters import claude_code  # noqa: PLC0415 - already loaded

    return None if ruling.kind == "advise" else claude_code.answer_ruling(ruling, event_name)


ROWS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    # CodeBuddy Code. Source: codebuddy.ai/docs/cli/hooks (1.16 and later), which calls its hooks
    # fully compatible.
    "codebuddy": (
        "claude_code",
        {"FOLDER_VARIABLES": ("CODEBUDDY_PROJECT_DIR", "CLAUDE_PROJECT_DIR"), "EVENTS": _USUAL},
    ),
    # Factory's Droid. Source: docs.factory.ai/reference/hooks-reference. Its events are in camel
    # case, except the tool and its arguments; its shell is `Execute`. No advice is sent, since none
    # is documented for this event.
    "droid": (
        "claude_code",
        {
            "FOLDER_VARIABLES": ("FACTORY_PROJECT_DIR",),
            "EVENTS": _USUAL,
            "answer_ruling": _answer_without_advice,
            "add_context": add_as_text,
        },
    ),
    # Qoder CLI. Source: docs.qoder.com/cli/hooks-reference. Exit code 2 refuses, with stderr for
    # the agent; the output at the start of a session is added to its context.
    "qoder": (
        "claude_code",
        {
            "FOLDER_VARIABLES": (),
            "EVENTS": _USUAL,
            "answer_ruling": answer_by_code,
            "add_context": add_as_text,
        },
    ),
    # Qwen Code. Source: the package @qwen-code/qwen-code 0.24.4, its docs/features/hooks.md. It
    # prompts the user in its terminal; without a terminal, `ask` is a refusal. UserPromptSubmit
    # comes before every model request, with an empty prompt after the first.
    "qwen-code": (
        "claude_code",
        {"FOLDER_VARIABLES": ("QWEN_PROJECT_DIR", "CLAUDE_PROJECT_DIR")},
    ),
    # Tabnine CLI. Source: docs.tabnine.com: tabnine-cli/features/hooks, hooks/configuration. Exit
    # code 2 refuses, with stderr for the agent.
    "tabnine": (
        "gemini_cli",
        {
            "FOLDER_VARIABLES": ("TABNINE_PROJECT_DIR",),
            "EVENTS": {
                "BeforeTool": "judge",
                "SessionStart": "open",
                "BeforeAgent": "asked",
                "AfterAgent": "answered",
            },
            "answer_ruling": answer_by_code,
        },
    ),
}
