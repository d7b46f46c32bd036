"""What was asked of Cline's command line, from its own record of the session.

Its hook for a prompt does not ring for the one with which a run begins, and the hook for a turn's
end tells the answer alone: seen with 3.0.65. The record has the prompt by then. Source: the
repository cline/cline, sdk/packages/shared/src/storage/paths.ts.
"""

from __future__ import annotations

import os

from base.host_homes import find_place
from ctxmode.hosts.hooks.json_text import read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxmode.hosts.hooks.bell import Bell

RECORD_BYTES_MAX = 16 << 20
FOLDER = "~/.cline/data/sessions"


def read_texts(bell: Bell) -> Iterator[str]:
    """Yield the user's texts in the session that an event is of, the last first.

    Tools' results are messages of the user, too.
    """
    from base.plain_files import open_plain  # noqa: PLC0415

    context = bell.event.get("sessionContext")
    session = context.get("rootSessionId") if isinstance(context, dict) else None
    if not isinstance(session, str) or not session.replace("_", "").replace("-", "").isalnum():
        return
    folder = find_place(FOLDER, bell.home, bell.environ)
    path = os.path.join(folder, session, f"{session}.messages.json")
    try:
        with open_plain(path, follow=False) as file:
            record = file.read(RECORD_BYTES_MAX + 1)
        kept = read_json(record) if len(record) <= RECORD_BYTES_MAX else None
    except (OSError, ValueError, RecursionError):
        return
    messages = kept.get("messages") if isinstance(kept, dict) else None
    for message in reversed(messages if isinstance(messages, list) else []):
        if not isinstance(message, dict) or message.get("role") != "user":
            continue
        content = message.get("content")
        for part in content if isinstance(content, list) else [{"text": content}]:
            text = part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str):
                yield text
