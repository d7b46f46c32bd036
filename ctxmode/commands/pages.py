"""The verb `pages`: keep knowledge as versioned pages: write, push, compare, distil sessions."""

from __future__ import annotations

from ctxmode.operations import page_actions as actions
from ctxmode.operations.operation import Operation

OPERATIONS: dict[str, Operation] = {
    "init": actions.begin_pages,
    "write": actions.write_page,
    "push": actions.push_pages,
    "forget": actions.forget_page,
    "read": actions.read_page,
    "list": actions.list_pages,
    "status": actions.show_status,
    "diff": actions.compare_versions,
    "blame": actions.blame_page,
    "history": actions.list_history,
    "evolution": actions.list_evolution,
    "log": actions.list_log,
    "pull": actions.pull_pages,
    "path": actions.show_path,
    "export": actions.export_pages,
    "capture": actions.capture_turns,
}
