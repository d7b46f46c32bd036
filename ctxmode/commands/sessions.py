"""The verb `sessions`: show, resume, summarise or delete agents' sessions."""

from __future__ import annotations

from ctxmode.operations import session_actions as actions
from ctxmode.operations import session_keeping as keeping
from ctxmode.operations.operation import Operation
from ctxmode.operations.session_status import show_status
from ctxmode.operations.sessions import list_notices

OPERATIONS: dict[str, Operation] = {
    "list": actions.list_sessions,
    "show": actions.show_session,
    "tools": actions.list_tool_uses,
    "compactions": actions.list_compactions,
    "snapshot": actions.build_snapshot,
    "resume": actions.resume_session,
    "track": keeping.track_sessions,
    "status": show_status,
    "queue": actions.list_queue,
    "digest": actions.show_digest,
    "summarize": actions.summarize_session,
    "export": keeping.export_session,
    "import": keeping.import_sessions,
    "pause": keeping.pause_session,
    "complete": keeping.complete_session,
    "reopen": keeping.reopen_session,
    "pin": keeping.pin_session,
    "unpin": keeping.unpin_session,
    "forget": keeping.forget_sessions,
    "check": keeping.check_sessions,
}
__all__ = ["OPERATIONS", "list_notices"]
