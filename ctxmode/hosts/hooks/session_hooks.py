"""Bells: events of a host that say that there is something new in its transcript.

A bell imports what is new, before a compaction keeps a snapshot, and after it gives the snapshot to
the agent, once. It is never in the way: whatever fails is logged, and the host hears nothing; what
the clock allows counts, and a server reads the rest.
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
from ctxmode.hosts.agents import AGENTS
from ctxmode.hosts.hooks.hook_event import TELLING, Bell, TimeUpError, limit_time, log

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


TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxmode.config.transcripts import SourceChoice
    from ctxmode.hosts.hooks.hook_types import Purpose
    from memory.facts import Fact
    from memory.sessions import Imported, SessionStore
    from memory.sessions.importers import Importer, Transcript

RINGING_BEFORE = ("vscode-copilot", "cursor")
"""Hosts that ring before a compaction, so that at a prompt a look for the mark is enough."""

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
PINNED_S = 1.0
"""How long the pinned facts may be looked for: once in a conversation, which else lacks them."""

SNAPSHOT_S = 0.15
"""What of a deadline is left for the snapshot once importing stops."""

FAR_BEHIND_BYTES = 4 << 20
"""When more than this is unread, the snapshot is made of the end before the rest is read."""

TAIL_BYTES = 2 << 20
"""So much of the end: some 120 calls, as many as halve an event's weight."""

BEGINNING_S = 0.05
"""How long the beginning of such a transcript is read before, so that its session is known."""

STORE_WAIT_S = 0.25
RECENT_S = 24 * 3600.0
STARTUP_BYTES_MAX = 200
RESUMED_BYTES_MAX = 512


def answer_bell(bell: Bell) -> str:
    """Do what an event asks for; return the text for the agent, empty where there is none."""
    agent = AGENTS.get(bell.host)
    if agent is None or not bell.session or bell.purpose not in DEADLINES_S or bell.is_lent:
        return ""
    told = _tell_session(bell, agent)
    pinned = _tell_pinned(bell) if bell.purpose == "open" else ""
    return "\n\n".join(filter(None, (pinned, told)))


def _tell_session(bell: Bell, agent: str) -> str:
    """Do what an event asks for of the record of sessions."""
    store_path = sessions_path(bell)
    if bell.purpose in ("open", "prompt", "act") and not os.path.exists(store_path):
        return ""
    is_rung_before = bell.host in RINGING_BEFORE
    mark = _waiting_mark(store_path, bell.session)
    if bell.purpose in ("prompt", "act") and is_rung_before and not os.path.exists(mark):
        return ""
    with _logged(bell), limit_time(DEADLINES_S[bell.purpose]) as ends_at:
        return _ring(bell, agent, store_path, ends_at)
    return ""


def _tell_pinned(bell: Bell) -> str:
    """Say what is pinned, at a beginning or after a compaction; what goes on has it already."""

    files = list_files(bell.data_dir, bell.project)
    if not files or (bell.text("source", "trigger") == "resume" and not _is_after_compaction(bell)):
        return ""
    with _logged(bell), limit_time(PINNED_S):
        from ctxmode.config.transcripts import is_wanted  # noqa: PLC0415

        if is_wanted(bell.project, config_home(bell), bell.environ):
            return tell_pinned(files)
    return ""


@contextmanager
def _logged(bell: Bell) -> Iterator[None]:
    """Log what fails in the block, or takes too long."""
    try:
        yield
    except TimeUpError:
        log(bell, "the deadline passed")
    except Exception as error:
        # Of others the text may be a transcript's, which has passed no gate.
        rooms = ("ctxmode.", "memory.", "base.stores", "sqlite3")
        is_ours = type(error).__module__.startswith(rooms)
        told = error if is_ours else getattr(error, "strerror", None)
        log(bell, f"{type(error).__name__}: {told}" if told else type(error).__name__)


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
    store: SessionStore, importer: Importer, found: Transcript | None, deadline: float
) -> Imported:
    from memory.sessions import Imported  # noqa: PLC0415

    return (
        Imported() if found is None else store.import_transcript(importer, found, deadline=deadline)
    )


def _compact(
    bell: Bell, store: SessionStore, importer: Importer, found: Transcript | None, ends_at: float
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
    from base.stores import connect_read_only  # noqa: PLC0415
    from memory.sessions import session_news  # noqa: PLC0415

    now = time.time()
    with closing(connect_read_only(store_path, wait_s=STORE_WAIT_S)) as db:
        db.execute("BEGIN")
        if bell.text("source", "trigger") == "resume":
            session_id = f"{agent}:{bell.session}"
            return session_news.tell_changed_files(db, session_id, RESUMED_BYTES_MAX)
        tasks = session_news.tell_open_tasks(
            db, _read_branch(bell.project), now - RECENT_S, STARTUP_BYTES_MAX
        )
        return "\n".join(filter(None, (tasks, session_news.tell_waiting(db, now - RECENT_S))))


def _deliver(
    bell: Bell, store: SessionStore, importer: Importer, found: Transcript | None, ends_at: float
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
    bell: Bell, store: SessionStore, importer: Importer, found: Transcript | None, ends_at: float
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
    bell: Bell, store: SessionStore, importer: Importer, found: Transcript | None, ends_at: float
) -> str:
    """Read what is left, and note that the session ended."""
    from memory.sessions import SessionRecord  # noqa: PLC0415

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


def find_transcript(bell: Bell, importer: Importer, choice: SourceChoice) -> Transcript | None:
    """Find the transcript of the session that a bell is of, where a person lets it be read."""
    from ctxmode.operations.session_sources import is_chosen  # noqa: PLC0415
    from memory.sessions.importers import Ground, Transcript  # noqa: PLC0415

    told = bell.text("transcript_path", "transcriptPath")
    if told and os.path.isabs(told) and importer.find_folder is None:
        if not is_chosen(told, choice, bell.home):
            return None
        return Transcript(told, bell.session if importer.agent == "claude_code" else "")
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
