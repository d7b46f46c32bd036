"""Whether a conversation begins with what is pinned: read without the table of all settings, since
hooks have no time for it. A project's file can only turn it off."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ctxmode.config.file_names import PROJECT_FILE, USER_FILE
from ctxmode.config.transcripts import read_if_there

TABLE, NAME = "memory", "session_start"
VARIABLE = "CONTEXT_MODE_MEMORY_SESSION_START"
_TRUTHS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def is_wanted(project: str, config_home: str, environ: Mapping[str, str]) -> bool:
    """Tell whether an agent gets the pinned facts when a conversation begins.

    Raises:
        UsageError: a file cannot be read.
    """
    wanted = True
    for path, root, may_turn_on in (
        (os.path.join(config_home, USER_FILE), "/", True),
        (os.path.join(project, PROJECT_FILE), project, False),
    ):
        file = read_if_there(path, root)
        table = file.data.get(TABLE) if file is not None else None
        said = table.get(NAME) if isinstance(table, Mapping) else None
        if said is False or (said is True and may_turn_on):
            wanted = said
    return _TRUTHS.get(environ.get(VARIABLE, "").lower(), wanted)
