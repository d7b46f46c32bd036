"""Whether sessions are recorded, and how much of them: read without the table of all settings,
since hooks have no time for it.

The user's file decides; a project's file can only turn off. `[transcripts] events` is what
happened, and on; `messages` is the full text, and off.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from ctxmode.config.file_names import PROJECT_FILE, USER_FILE

DEFAULTS = {"events": True, "messages": False}


class Recording(NamedTuple):
    """What is recorded; `off_by` names the file or the variable that turned events off."""

    events: bool = True
    messages: bool = False
    off_by: str = ""


def load_recording(project: str, config_home: str, environ: Mapping[str, str]) -> Recording:
    """Read what is recorded of a project's sessions.

    Raises:
        UsageError: a file cannot be read.
    """
    values = dict(DEFAULTS)
    off_by = ""
    for path, root, may_turn_on in (
        (os.path.join(config_home, USER_FILE), "/", True),
        (os.path.join(project, PROJECT_FILE), project, False),
    ):
        table = _read_table(path, root)
        for name in DEFAULTS:
            wanted = table.get(name) if isinstance(table, Mapping) else None
            if wanted is False or (wanted is True and may_turn_on):
                values[name] = wanted
                off_by = path if name == "events" and not wanted else off_by
    for name in DEFAULTS:
        given = environ.get(f"CONTEXT_MODE_TRANSCRIPTS_{name.upper()}", "").lower()
        if given in ("1", "true", "yes", "0", "false", "no"):
            values[name] = given in ("1", "true", "yes")
            if name == "events" and not values[name]:
                off_by = "CONTEXT_MODE_TRANSCRIPTS_EVENTS"
    return Recording(values["events"], values["messages"] and values["events"], off_by)


def _read_table(path: str, root: str) -> Any:  # noqa: ANN401 - TOML
    """Read the table of a file; None where there is no file, as mostly, or it has none."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        pass  # reading says what is wrong
    from pathlib import Path  # noqa: PLC0415 - a hook has no time for it where there is no file

    from ctxmode.config.files import read  # noqa: PLC0415

    return read(Path(path), Path(root)).data.get("transcripts")
