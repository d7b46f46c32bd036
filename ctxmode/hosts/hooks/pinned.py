"""The pinned facts of a project and of its user, told where a conversation begins."""

from __future__ import annotations

import os
import time
from contextlib import closing

from ctxmode.config.file_names import FACTS_SUFFIX, STORES_FOLDER, USER_FACTS, name_stores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.facts import Fact

TOKENS_MAX = 400
WAIT_S = 0.1


def list_files(data_dir: str, project: str) -> list[str]:
    """List the files of facts that exist: the project's, then the user's."""
    names = (name_stores(project) + FACTS_SUFFIX, USER_FACTS)
    paths = (os.path.join(data_dir, STORES_FOLDER, name) for name in names)
    return [path for path in paths if os.path.exists(path)]


def tell_pinned(paths: list[str]) -> str:
    """Write the pinned facts as a recall does, as many as fit; empty where there are none."""
    from kb.tokens import estimate_tokens  # noqa: PLC0415 - few projects have facts
    from memory.facts import write_all, write_fact  # noqa: PLC0415

    nearest: dict[str, Fact] = {}
    for path in paths:
        for fact in _read(path):
            nearest.setdefault(fact.path, fact)
    shown: list[str] = []
    for fact in nearest.values():
        block = write_fact(fact)
        if estimate_tokens(write_all([*shown, block], [])) <= TOKENS_MAX:
            shown.append(block)
    return write_all(shown, []) if shown else ""


def _read(path: str) -> list[Fact]:
    """Read the pinned facts of a file by title, but those of other sessions."""
    from base.stores import connect_read_only  # noqa: PLC0415
    from memory.facts import read_live  # noqa: PLC0415

    condition = "s.pinned AND s.scope != 'session' AND (s.expires_at IS NULL OR s.expires_at > ?)"
    with closing(connect_read_only(path, wait_s=WAIT_S)) as db:
        facts = list(read_live(db, condition, [time.time()]))
    return sorted(facts, key=lambda fact: (fact.title, fact.path))
