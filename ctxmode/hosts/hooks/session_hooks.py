"""Hook events that signal new lines in a host's transcript.

A hook imports the new lines, saves a snapshot before a compaction, and gives it to the agent once
afterwards. It never blocks the host: failures are only logged, and if time runs out, a server reads
the rest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress

from base.digests import blake2b
from ctxmode.config.file_names import (
    FACTS_SUFFIX,
    SESSIONS_SUFFIX,
    STORES_FOLDER,
    USER_FACTS,
    name_stores,
)
from ctxmode.hosts.hooks.hook_event import Event, TimeUpError, limit_time, log
from ctxmode.hosts.registry import find_agent, has_trait

TOKENS_MAX = 400
WAIT_S = 0.1


def list_files(data_dir: str, project: str) -> list[str]:
    """List the files of facts that exist: the project's, then the user's."""
    names = (name_stores(project) + FACTS_SUFFIX, USER_FACTS)
    paths = (os.path.join(data_dir, STORES_FOLDER, name) for name in names)
    return [path for path in paths if os.path.exists(path)]


def write_pinned(paths: list[str]) -> str:
    """Write the pinned facts as a recall does, as many as fit; empty if there are none."""
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
    """Read the pinned facts of a file, sorted by title, without those of other sessions."""
    from base.stores import connect_read_only  # noqa: PLC0415
    from memory.facts import read_live  # noqa: PLC0415

    condition = "s.pinned AND s.scope != 'session' AND (s.expires_at IS NULL OR s.expires_at > ?)"
    with closing(connect_read_only(path, wait_s=WAIT_S)) as db:
        facts = list(read_live(db, condition, [time.time()]))
    return sorted(facts, key=lambda fact: (fact.title, fact.path))


TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxmode.config.transcripts import SourceChoice
    from ctxmode.hosts.hooks.hook_types import Purpose
    from memory.facts import Fact
    from memory.sessions import Imported, SessionStore
    from memory.sessions.importers import Importer, Transcript

DEADLINES_S: Mapping[Purpose, float] = {
    "open": 0.4,
    "compact": 1.0,
    "end": 0.3,
    "prompt": 0.4,
    "act": 0.4,
}
PINNED_S = 1.0
"""Time limit for finding the pinned facts, which a conversation gets only once."""

SNAPSHOT_S = 0.15
"""Part of a deadline that is reserved for the snapshot after importing."""

FAR_BEHIND_BYTES = 4 << 20
"""If more bytes than this are unread, the snapshot is made from the end before the rest is read."""

TAIL_BYTES = 2 << 20
"""Size of that end: about 120 calls, as many as halve an event's weight."""

BEGINNING_S = 0.05
"""Time limit for reading the beginning of such a transcript first, to identify its session."""

STORE_WAIT_S = 0.25
RECENT_S = 24 * 3600.0
STARTUP_BYTES_MAX = 200
RESUMED_BYTES_MAX = 512


def answer_hook(hook: Event) -> str:
    """Handle an event; return the text for the agent, or an empty text."""
    agent = find_agent(hook.host)
    if not agent or not hook.session or hook.purpose not in DEADLINES_S or hook.is_from_cursor:
        return ""
    text = _answer_session(hook, agent)
    pinned = _find_pinned(hook) if hook.purpose == "open" else ""
    return "\n\n".join(filter(None, (pinned, text)))


def _answer_session(hook: Event, agent: str) -> str:
    """Handle an event with the record of sessions."""
    store_path = sessions_path(hook)
    if hook.purpose in ("open", "prompt", "act") and not os.path.exists(store_path):
        return ""
    is_announced = has_trait(hook.host, "announces_compaction")
    mark = _waiting_mark(store_path, hook.session)
    if hook.purpose in ("prompt", "act") and is_announced and not os.path.exists(mark):
        return ""
    with _logged(hook), limit_time(DEADLINES_S[hook.purpose]) as ends_at:
        return _answer_sessions(hook, agent, store_path, ends_at)
    return ""


def _find_pinned(hook: Event) -> str:
    """Write the pinned facts for a new or compacted conversation; a resumed one has them."""
    files = list_files(hook.data_dir, hook.project)
    if not files or (hook.text("source", "trigger") == "resume" and not _is_after_compaction(hook)):
        return ""
    with _logged(hook), limit_time(PINNED_S):
        from ctxmode.config.transcripts import is_wanted  # noqa: PLC0415

        if is_wanted(hook.project, config_home(hook), hook.environ):
            return write_pinned(files)
    return ""


@contextmanager
def _logged(hook: Event) -> Iterator[None]:
    """Log errors and missed deadlines of the block."""
    try:
        yield
    except TimeUpError:
        log(hook, "the deadline passed")
    except Exception as error:
        # Texts of other errors may come from a transcript, whose secrets are not redacted.
        rooms = ("ctxmode.", "memory.", "base.stores", "sqlite3")
        is_ours = type(error).__module__.startswith(rooms)
        reason = error if is_ours else getattr(error, "strerror", None)
        log(hook, f"{type(error).__name__}: {reason}" if reason else type(error).__name__)


def sessions_path(hook: Event) -> str:
    """Return the path of the project's store of sessions."""
    name = name_stores(hook.project) + SESSIONS_SUFFIX
    return os.path.join(hook.data_dir, STORES_FOLDER, name)


def _answer_sessions(hook: Event, agent: str, store_path: str, ends_at: float) -> str:
    from ctxmode.config.transcripts import load_recording  # noqa: PLC0415

    recording = load_recording(hook.project, config_home(hook), hook.environ)
    if not recording.events:
        return ""
    if not recording.choice(agent).enabled:
        return ""
    if hook.purpose == "open" and not _is_after_compaction(hook):
        return _read_opening(hook, agent, store_path)
    from ctxmode.operations.session_sources import find_source  # noqa: PLC0415
    from ctxmode.operations.session_store import open_session_store  # noqa: PLC0415

    importer = find_source(agent, recording, hook.home)
    if importer is None:
        return ""
    found = find_transcript(hook, importer, recording.choice(agent))
    if found is None and not has_trait(hook.host, "recorded_by_hooks"):
        return ""
    with open_session_store(
        store_path,
        hook.project,
        hook.home,
        keep_messages=recording.messages,
        wait_s=STORE_WAIT_S,
    ) as store:
        return _ACTIONS[hook.purpose](hook, store, importer, found, ends_at)


def _import(
    store: SessionStore, importer: Importer, found: Transcript | None, deadline: float
) -> Imported:
    from memory.sessions import Imported  # noqa: PLC0415

    return (
        Imported() if found is None else store.import_transcript(importer, found, deadline=deadline)
    )


def _compact(
    hook: Event, store: SessionStore, importer: Importer, found: Transcript | None, ends_at: float
) -> str:
    """Save a snapshot of the session before the compaction, and mark it as waiting."""
    session_id = f"{importer.agent}:{hook.session}"
    with open(_waiting_mark(str(store.database.path), hook.session), "wb"):
        pass
    text = ""
    is_database = importer.read_sessions is not None  # only this session is read from it
    if found is not None and not is_database and store.count_unread(found) > FAR_BEHIND_BYTES:
        store.import_transcript(importer, found, deadline=time.monotonic() + BEGINNING_S)
        text = store.build_tail_snapshot(importer, found, TAIL_BYTES, session_id)
        store.save_snapshot(session_id, text, trigger=hook.text("trigger"))
    imported = _import(store, importer, found, ends_at - SNAPSHOT_S)
    if not text or not imported.behind:
        text = store.build_snapshot(session_id)
        store.save_snapshot(session_id, text, trigger=hook.text("trigger"))
    return ""


def _is_after_compaction(hook: Event) -> bool:
    """Return whether a conversation begins because it was, or will be, compacted."""
    source = hook.text("source", "trigger")
    compacts_late = source == "resume" and has_trait(hook.host, "compacts_when_resumed")
    return source == "compact" or compacts_late


def _read_opening(hook: Event, agent: str, store_path: str) -> str:
    """Return the text for a beginning without compaction. It loads no importer."""
    from base.stores import connect_read_only  # noqa: PLC0415
    from memory.sessions import session_news  # noqa: PLC0415

    now = time.time()
    with closing(connect_read_only(store_path, wait_s=STORE_WAIT_S)) as db:
        db.execute("BEGIN")
        if hook.text("source", "trigger") == "resume":
            session_id = f"{agent}:{hook.session}"
            return session_news.tell_changed_files(db, session_id, RESUMED_BYTES_MAX)
        tasks = session_news.tell_open_tasks(
            db, _read_branch(hook.project), now - RECENT_S, STARTUP_BYTES_MAX
        )
        return "\n".join(filter(None, (tasks, session_news.tell_waiting(db, now - RECENT_S))))


def _deliver(
    hook: Event, store: SessionStore, importer: Importer, found: Transcript | None, ends_at: float
) -> str:
    """Return the current snapshot, without the content of the host's own summary if that is known.

    Hosts write late: some events from just before a compaction are written only after it.
    """
    session_id = f"{importer.agent}:{hook.session}"
    imported = _import(store, importer, found, ends_at - SNAPSHOT_S)
    with suppress(OSError):
        os.unlink(_waiting_mark(str(store.database.path), hook.session))
    if imported.behind:
        return store.take_snapshot(session_id)
    text = store.build_snapshot(session_id, known=imported.summary)
    return store.deliver_snapshot(session_id, text, trigger=hook.text("source"))


def _offer(
    hook: Event, store: SessionStore, importer: Importer, found: Transcript | None, ends_at: float
) -> str:
    """Return the snapshot at a prompt, if there was a compaction since the last one."""
    if os.path.exists(_waiting_mark(str(store.database.path), hook.session)):
        return _deliver(hook, store, importer, found, ends_at)
    _import(store, importer, found, ends_at - SNAPSHOT_S)
    session_id = f"{importer.agent}:{hook.session}"
    if not store.was_compacted(session_id):
        return ""
    return _deliver(hook, store, importer, found, ends_at)


def _end(
    hook: Event, store: SessionStore, importer: Importer, found: Transcript | None, ends_at: float
) -> str:
    """Read the rest of the transcript, and record the end of the session."""
    from memory.sessions import SessionRecord  # noqa: PLC0415

    done = _import(store, importer, found, ends_at - SNAPSHOT_S / 3)
    is_known = bool(done.session_id) or has_trait(hook.host, "recorded_by_hooks")
    if is_known and not done.elsewhere:
        reason = hook.text("reason")
        ended = SessionRecord(hook.session, ended_at=time.time(), end_reason=reason)
        store.record(importer.agent, [ended], is_new=False)
    return ""


_ACTIONS: Mapping[Purpose, Callable[..., str]] = {
    "compact": _compact,
    "open": _deliver,
    "prompt": _offer,
    "act": _offer,
    "end": _end,
}


def find_transcript(hook: Event, importer: Importer, choice: SourceChoice) -> Transcript | None:
    """Find the transcript of an event's session, if the user allows reading it."""
    from ctxmode.operations.session_sources import is_chosen  # noqa: PLC0415
    from memory.sessions.importers import Ground, Transcript  # noqa: PLC0415

    path = hook.text("transcript_path", "transcriptPath")
    if path and os.path.isabs(path) and importer.find_folder is None:
        if not is_chosen(path, choice, hook.home):
            return None
        return Transcript(path, hook.session if importer.agent == "claude_code" else "")
    ground = Ground(hook.home, hook.environ, hook.project)
    wanted = hook.session
    if importer.read_sessions is not None:
        return next((one._replace(session_id=wanted) for one in importer.find(ground)), None)
    if importer.find_folder is not None:
        return next((one for one in importer.find(ground) if one.session_id == wanted), None)
    return next((one for one in importer.find(ground) if wanted in one.path), None)


def _waiting_mark(store_path: str, session: str) -> str:
    """Return the path of the empty file that marks a waiting snapshot, so that a hook need not open
    the store."""
    digest = blake2b(session.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{store_path}.waiting-{digest}"


def _read_branch(project: str) -> str:
    try:
        with open(
            os.path.join(project, ".git", "HEAD"), encoding="utf-8", errors="replace"
        ) as head:
            line = head.read(512).strip()
    except OSError:
        return ""
    return line.removeprefix("ref: refs/heads/") if line.startswith("ref: refs/heads/") else ""


def config_home(hook: Event) -> str:
    """Return the user's configuration folder."""
    base = hook.environ.get("XDG_CONFIG_HOME", "").strip()
    return base or os.path.join(hook.home, ".config")
