"""The skill text: when to think in code, with examples that are calls of our tools.

A skill is a folder with `SKILL.md` (agentskills.io/specification): its `name` is the folder's, and
its `description` tells when to read on. Examples are data, a question, a tool and its arguments, so
that tests hold them to the tools.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import starmap
from typing import Any

NAME = "context-mode"
BYTES_MAX = 1500


EXAMPLES: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    (
        "Which tests fail?",
        "ctx_execute",
        {"language": "shell", "code": "pytest -q 2>&1", "intent": "failed tests, errors"},
    ),
    (
        "How many requests failed, by path?",
        "ctx_execute_file",
        {
            "path": "access.log",
            "language": "python",
            "code": "from collections import Counter\n"
            "rows = map(str.split, FILE_CONTENT.splitlines())\n"
            "print(Counter(row[6] for row in rows if row[8] >= '500').most_common(5))",
        },
    ),
    (
        "What changed lately, and where is it tested?",
        "ctx_batch_execute",
        {
            "commands": ["git log --stat -20", "grep -rn parse tests"],
            "queries": ["changes of the parser"],
        },
    ),
)
_HEAD = f"""\
---
name: {NAME}
description: Answer questions about logs, data, tests, history and large files by a short program \
that prints only the answer. Use it before reading anything long into the conversation.
---
# Think in code

Do not read what a program can read for you. Write one that counts, filters, joins or parses, and \
print the answer. What it printed besides stays searchable: `ctx_search` with its `output_id`.

After a compaction, or to go on with earlier work, `ctx_session` gives back the goal, the user's \
rules, files and commands, where the host has not done so.

Read a file yourself if you are about to edit it. Use your own shell for short commands that \
change the machine.
"""


def skill_text() -> str:
    """Return the whole `SKILL.md`."""
    return _HEAD + "".join(starmap(_show, EXAMPLES))


def _show(question: str, tool: str, arguments: Mapping[str, Any]) -> str:
    given = json.dumps(arguments, ensure_ascii=False)
    return f"\n{question}\n`{tool}`\n```json\n{given}\n```\n"
