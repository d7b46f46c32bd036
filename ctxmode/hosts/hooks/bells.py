"""Bells: events of a host that say that there is something new in its transcript.

A bell imports what is new, before a compaction keeps a snapshot, and after it gives the snapshot to
the agent, once. It is never in the way: whatever fails is logged, and the host hears nothing; what
the clock allows counts, and a server reads the rest.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress

from base.digests import blake2b
from base.named_tuples import NamedTuple
from ctxmode.config.file_names import SESSIONS_SUFFIX, STORES_FOLDER, name_stores
from ctxmode.hosts.agents import AGENTS
from ctxmode.hosts.hooks.calls import Purpose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from ctxmode.config.transcripts import SourceChoice
    from memory.sessions.importers.importer import Found, Importer
    from memory.sessions.importing import Imported
    from memory.sessions.store import SessionStore

RINGING_BEFORE = ("vscode-copilot", "cursor")
"""Hosts that ring before a compaction, so that at a prompt a look for the mark is enough."""

TELLING = ("cursor",)
"""Hosts whose hooks tell what happened, since their transcripts have no times and no results:
`capture` records it. They get the snapshot with a tool's result, too."""

COMPACTING_WHEN_RESUMED = ("gemini-cli",)
"""Hosts that compact a resumed session with its first prompt, behind all events: they get the
snapshot before."""

DEADLINES_S: Mapping[Purpose, float] = {
    "open": 0.4,
    "compact": 1.0,
    "end": 0.3,
    "prompt": 0.4,
    "act": 0.4,
}
SNAPSHOT_S = 0.15
"""What of a deadline is left for the snapshot once importing stops."""

FAR_BEHIND_BYTES = 4 << 20
"""When more than this is unread, the snapshot is made of the end before the rest is read."""

TAIL_BYTES = 2 << 20
"""So much of the end: some 120 calls, as many as halve an event's weight."""

BEGINNING_S = 0.05
"""How long the beginning of such a transcript is read before, so that its session is known."""

LOG_BYTES_MAX = 256 * 1024
"""Of the log and the one before it together."""

LOG_LINE_CHARS = 500
LOG_FILE = "bells.log"
STORE_WAIT_S = 0.25
RECENT_S = 24 * 3600.0
STARTUP_BYTES_MAX = 200
RESUMED_BYTES_MAX = 512


class Bell(NamedTuple):
    """One event: which host rang, what for, and what it told. `data_dir` is where storage is."""

    host: str
    purpose: Purpose
    event: Mapping[str, Any]
    project: str
    home: str
    data_dir: str
    environ: Mapping[str, str]

    @property
    def session(self) -> str:
        """The host's id of the session. Cursor's conversation is what its transcript is named
        by."""
        return self.text("conversation_id", "session_id", "sessionId", "sessionID")

    def text(self, *names: str) -> str:
        """Return the first of some fields that is a text."""
        values = (self.event.get(name) for name in names)
        return next((value for value in values if isinstance(value, str) and value), "")


class _TimeUpError(BaseException):
    """The deadline passed. No library's handler of errors stops it."""


def answer_bell(bell: Bell) -> str:
    """Do what an event asks for; return the text for the agent, empty where there is none."""
    agent = AGENTS.get(bell.host)
    if agent is None or not bell.session or bell.purpose not in DEADLINES_S or _is_lent(bell):
        return ""
    store_path = sessions_path(bell)
    if bell.purpose in ("open", "prompt", "act") and not os.path.exists(store_path):
        return ""
    is_rung_before = bell.host in RINGING_BEFORE
    mark = _waiting_mark(store_path, bell.session)
    if bell.purpose in ("prompt", "act") and is_rung_before and not os.path.exists(mark):
        return ""
    try:
        with _deadline(DEADLINES_S[bell.purpose]) as ends_at:
            return _ring(bell, agent, store_path, ends_at)
    except _TimeUpError:
        log(bell, "the deadline passed")
    except Exception as error:
        # Of others the text may be a transcript's, which has passed no gate.
        is_ours = type(error).__module__.startswith(("ctxmode.", "memory.", "sqlite3"))
        told = error if is_ours else getattr(error, "strerror", None)
        log(bell, f"{type(error).__name__}: {told}" if told else type(error).__name__)
    return ""


def _is_lent(bell: Bell) -> bool:
    """Tell whether Cursor rings with the hooks of Claude Code: it has its own."""
    return bell.host == "claude-code" and bool(bell.text("cursor_version"))


def sessions_path(bell: Bell) -> str:
    """Return the path of the project's store of sessions."""
    name = name_stores(bell.project) + SESSIONS_SUFFIX
    return os.path.join(bell.data_dir, STORES_FOLDER, name)


def _ring(bell: Bell, agent: str, store_path: str, ends_at: float) -> str:
    from ctxmode.config.transcripts import load_recording  # noqa: PLC0415

    recording = load_recording(bell.project, config_home(bell), bell.environ)
    if not recording.events:
        return ""
    if not recording.choice(agent).enabled:
        return ""
    if bell.purpose == "open" and not _is_after_compaction(bell):
        return _tell_opening(bell, agent, store_path)
    from ctxmode.operations.session_sources import find_source  # noqa: PLC0415
    from ctxmode.operations.session_store import open_session_store  # noqa: PLC0415

    importer = find_source(agent, recording, bell.home)
    if importer is None:
        return ""
    found = find_transcript(bell, importer, recording.choice(agent))
    if found is None and bell.host not in TELLING:
        return ""
    with open_session_store(
        store_path,
        bell.project,
        bell.home,
        keep_messages=recording.messages,
        wait_s=STORE_WAIT_S,
    ) as store:
        return _DOING[bell.purpose](bell, store, importer, found, ends_at)


def _import(
    store: SessionStore, importer: Importer, found: Found | None, deadline: float
) -> Imported:
    from memory.sessions.importing import Imported  # noqa: PLC0415

    return (
        Imported() if found is None else store.import_transcript(importer, found, deadline=deadline)
    )


def _compact(
    bell: Bell, store: SessionStore, importer: Importer, found: Found | None, ends_at: float
) -> str:
    """Keep a snapshot of the session as it is before the compaction, and mark that it waits."""
    session_id = f"{importer.agent}:{bell.session}"
    with open(_waiting_mark(str(store.database.path), bell.session), "wb"):
        pass
    text = ""
    is_database = importer.read_sessions is not None  # of which this session alone is read
    if found is not None and not is_database and store.count_unread(found) > FAR_BEHIND_BYTES:
        store.import_transcript(importer, found, deadline=time.monotonic() + BEGINNING_S)
        text = store.build_tail_snapshot(importer, found, TAIL_BYTES, session_id)
        store.save_snapshot(session_id, text, trigger=bell.text("trigger"))
    imported = _import(store, importer, found, ends_at - SNAPSHOT_S)
    if not text or not imported.behind:
        text = store.build_snapshot(session_id)
        store.save_snapshot(session_id, text, trigger=bell.text("trigger"))
    return ""


def _is_after_compaction(bell: Bell) -> bool:
    """Tell whether a conversation begins because it was, or will be, compacted."""
    source = bell.text("source", "trigger")
    return source == "compact" or (source == "resume" and bell.host in COMPACTING_WHEN_RESUMED)


def _tell_opening(bell: Bell, agent: str, store_path: str) -> str:
    """Say what another beginning calls for. It only reads, so nothing of importing is loaded."""
    from base.sqlite_files import connect_read_only  # noqa: PLC0415
    from memory.sessions import opening  # noqa: PLC0415

    now = time.time()
    with closing(connect_read_only(store_path, wait_s=STORE_WAIT_S)) as db:
        db.execute("BEGIN")
        if bell.text("source", "trigger") == "resume":
            session_id = f"{agent}:{bell.session}"
            return opening.tell_changed_files(db, session_id, RESUMED_BYTES_MAX)
        tasks = opening.tell_open_tasks(
            db, _read_branch(bell.project), now - RECENT_S, STARTUP_BYTES_MAX
        )
        return "\n".join(filter(None, (tasks, opening.tell_waiting(db, now - RECENT_S))))


def _deliver(
    bell: Bell, store: SessionStore, importer: Importer, found: Found | None, ends_at: float
) -> str:
    """Return the snapshot as of now, without what the host's own summary has, where that is known.

    Hosts write late: of what happened just before a compaction some is there only after it.
    """
    session_id = f"{importer.agent}:{bell.session}"
    imported = _import(store, importer, found, ends_at - SNAPSHOT_S)
    with suppress(OSError):
        os.unlink(_waiting_mark(str(store.database.path), bell.session))
    if imported.behind:
        return store.take_snapshot(session_id)
    text = store.build_snapshot(session_id, known=imported.summary)
    return store.deliver_snapshot(session_id, text, trigger=bell.text("source"))


def _offer(
    bell: Bell, store: SessionStore, importer: Importer, found: Found | None, ends_at: float
) -> str:
    """Return the snapshot with a prompt, where there was a compaction since the last one."""
    if os.path.exists(_waiting_mark(str(store.database.path), bell.session)):
        return _deliver(bell, store, importer, found, ends_at)
    _import(store, importer, found, ends_at - SNAPSHOT_S)
    session_id = f"{importer.agent}:{bell.session}"
    if not store.was_compacted(session_id):
        return ""
    return _deliver(bell, store, importer, found, ends_at)


def _end(
    bell: Bell, store: SessionStore, importer: Importer, found: Found | None, ends_at: float
) -> str:
    """Read what is left, and note that the session ended."""
    from memory.sessions.records import SessionRecord  # noqa: PLC0415

    done = _import(store, importer, found, ends_at - SNAPSHOT_S / 3)
    if (done.session_id or bell.host in TELLING) and not done.elsewhere:
        reason = bell.text("reason")
        ended = SessionRecord(bell.session, ended_at=time.time(), end_reason=reason)
        store.record(importer.agent, [ended], is_new=False)
    return ""


_DOING: Mapping[Purpose, Callable[..., str]] = {
    "compact": _compact,
    "open": _deliver,
    "prompt": _offer,
    "act": _offer,
    "end": _end,
}


def find_transcript(bell: Bell, importer: Importer, choice: SourceChoice) -> Found | None:
    """Find the transcript of the session that a bell is of, where a person lets it be read."""
    from ctxmode.operations.session_sources import is_chosen  # noqa: PLC0415
    from memory.sessions.importers.importer import Found, Ground  # noqa: PLC0415

    told = bell.text("transcript_path", "transcriptPath")
    if told and os.path.isabs(told) and importer.find_folder is None:
        if not is_chosen(told, choice, bell.home):
            return None
        return Found(told, bell.session if importer.agent == "claude_code" else "")
    ground = Ground(bell.home, bell.environ, bell.project)
    wanted = bell.session
    if importer.read_sessions is not None:
        return next((one._replace(session_id=wanted) for one in importer.find(ground)), None)
    if importer.find_folder is not None:
        return next((one for one in importer.find(ground) if one.session_id == wanted), None)
    return next((one for one in importer.find(ground) if wanted in one.path), None)


def _waiting_mark(store_path: str, session: str) -> str:
    """Return the path of the empty file that says that a session's snapshot waits: by it a hook
    tells without opening the store."""
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


def config_home(bell: Bell) -> str:
    """Return the folder of the person's configuration."""
    base = bell.environ.get("XDG_CONFIG_HOME", "").strip()
    return base or os.path.join(bell.home, ".config")


@contextmanager
def _deadline(seconds: float) -> Iterator[float]:
    """Raise _TimeUpError in the block once the time is over; give the moment at which it is."""

    def end(signum: int, frame: FrameType | None) -> None:
        raise _TimeUpError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield time.monotonic() + seconds
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def log(bell: Bell, what: str) -> None:
    """Note a failure, in a file of bounded size; where that fails, nowhere."""
    with suppress(OSError):
        folder = os.path.join(bell.data_dir, "logs")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, LOG_FILE)
        with suppress(FileNotFoundError):
            if os.stat(path).st_size > LOG_BYTES_MAX // 2 - 4 * LOG_LINE_CHARS:
                os.replace(path, f"{path}.1")
        line = " ".join(f"{bell.host} {bell.purpose}: {what}".split())[: LOG_LINE_CHARS - 30]
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as log:
            log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}\n")
