"""One call's view of the client that made it: who it is, its project, its progress display."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import trio

from base.secrets import redact
from ctxmode import crash_report
from ctxmode.app import App, open_app
from ctxmode.config.file_names import PROJECT_MARKS
from ctxmode.config.locations import Config, refuse_folder, require_project
from ctxmode.errors import ContextModeError, UsageError, unwrap
from ctxmode.mcp.conversation import Conversation, Levels
from ctxmode.mcp.protocol import STATELESS_REVISIONS, ProtocolError
from ctxmode.render.results import with_lines

if TYPE_CHECKING:
    from fleet import Fleet

# So `initialize` is answered before any sandbox is tried. A call tries again where an earlier one
# could not open the project.

OPEN_MAX = 16
"""How many projects one server holds open: each has a sandbox and a database of its own."""

WORKING_ENTRIES_MAX = 100_000
"""The number of entries that a folder may have that is a project only because a server was started
there."""


class Projects:
    """Made by `open_projects` only."""

    def __init__(self, config: Config, nursery: trio.Nursery) -> None:
        self.config = config
        self.nursery = nursery
        """For what goes on beside the calls; it ends with the server."""
        self.levels = Levels()
        self._open: dict[Path, App] = {}
        self._opening: dict[Path, trio.Lock] = {}
        # The folder that a client over stdio works in; None: it was not asked yet.
        self.root: tuple[Path | None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    @property
    def fleets(self) -> list[Fleet]:
        """List the fleets of the projects that are open, where runs are sent to other machines."""
        return [app.fleet for app in self._open.values() if app.fleet is not None]

    async def app(self, folder: Path | None = None, *, is_named: bool = False) -> App:
        """Open the project in `folder`, a real path; None is the one that the server was started
        for. `is_named` says that the client named it. ContextModeError: it cannot be opened; the
        next call tries again."""
        folder = folder or self.config.project
        async with self._opening.setdefault(folder, trio.Lock()):
            if folder not in self._open:
                if folder == self.config.project and not is_named:
                    await trio.to_thread.run_sync(check_working_folder, self.config)
                if len(self._open) >= OPEN_MAX:
                    raise UsageError(
                        f"this server has {OPEN_MAX} projects open", "Start another server."
                    )
                opened = await self.nursery.start(self._hold, replace(self.config, project=folder))
                if isinstance(opened, Exception):
                    raise opened
                self._open[folder] = opened
            return self._open[folder]

    async def _hold(
        self, config: Config, task_status: trio.TaskStatus[App | ContextModeError]
    ) -> None:
        """Keep a project open until the server ends, in a task of its own."""
        opened = False
        try:
            async with open_app(config) as app:
                for notice in app.notices:
                    logging.getLogger(__name__).warning("%s", notice)
                task_status.started(app)
                opened = True
                await trio.sleep_forever()
        except Exception as raised:
            error = unwrap(raised)
            if opened or not isinstance(error, ContextModeError):
                raise
            task_status.started(error)


def check_working_folder(config: Config) -> None:
    """Refuse a folder that nobody named and nobody works in: many hosts start servers in `/` or in
    the home folder. Each run would be preceded by a search through all of it.

    Raises:
        UsageError: the folder is not marked as a project, and it is the home folder or large.
    """
    folder = config.project
    require_project(config)
    if config.project_is_given:
        return
    if folder == config.home:
        raise refuse_folder(folder, "it is your home folder")
    if any((folder / mark).exists() for mark in PROJECT_MARKS):
        return
    if _has_over(folder, WORKING_ENTRIES_MAX):
        raise refuse_folder(
            folder, f"it has over {WORKING_ENTRIES_MAX:,} entries, and no .git or .ctxmode"
        )


def _has_over(folder: Path, entries_max: int) -> bool:
    """Return whether a folder has more entries than that, counted no further."""
    seen, ahead = 0, [str(folder)]
    while ahead and seen <= entries_max:
        with suppress(OSError), os.scandir(ahead.pop()) as listing:
            for entry in listing:
                seen += 1
                if seen > entries_max:
                    break
                if entry.is_dir(follow_symlinks=False):
                    ahead.append(entry.path)
    return seen > entries_max


@asynccontextmanager
async def open_projects(config: Config) -> AsyncIterator[Projects]:
    """Open no project yet; on the way out close all, which ends their runs."""
    async with trio.open_nursery() as nursery:
        try:
            yield Projects(config, nursery)
        finally:
            nursery.cancel_scope.cancel()


# Up to revision 2025-11-25 the server sends the client a request while the call goes on. From
# 2026-07-28 on the answer to the call says what is needed, and the client calls again. So the
# server asks only before anything of the call has run.

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "allow": {"type": "boolean", "title": "Allow it", "description": "Do this once"}
    },
    "required": ["allow"],
}


class ConsentNeededError(Exception):
    """The call must be made again with the person's answer."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        asked = {key: {"method": "elicitation/create", "params": _build_form(message)}}
        self.result = {"resultType": "input_required", "inputRequests": asked}


def _build_form(message: str) -> dict[str, Any]:
    return {"mode": "form", "message": message, "requestedSchema": SCHEMA}


async def ask(
    conversation: Conversation,
    answers: Mapping[str, Any],
    verdict: Mapping[str, Any],
    *,
    may_restart: bool,
) -> bool | None:
    """Ask whether the person agrees; None if the client cannot ask one. `answers` came with the
    call, `may_restart` says that nothing has run yet. ConsentNeededError: the client asks, and then
    makes the call again."""
    if "elicitation" not in conversation.envelope.capabilities:
        return None
    message = word_question(verdict)
    if conversation.envelope.revision in STATELESS_REVISIONS:
        key = _build_key(verdict)
        if key in answers:
            return _agrees(answers[key])
        if not may_restart:
            return None
        raise ConsentNeededError(key, message)
    try:
        return _agrees(await conversation.ask("elicitation/create", _build_form(message)))
    except ProtocolError:
        return None


def word_question(verdict: Mapping[str, Any]) -> str:
    """Word what a person is asked: which rule says so, and about what; or the verdict's own
    question."""
    if question := verdict.get("question"):
        return redact(str(question))[0]
    asking = [match for match in verdict.get("matches", ()) if match["decision"] == "ask"]
    head = f"Run this? {verdict.get('message', '')}".rstrip()
    return redact(with_lines(head, [f"- {match['text']}" for match in asking]))[0]


def _build_key(verdict: Mapping[str, Any]) -> str:
    """Name the question, so that an answer to another one does not count for this."""
    named = ("message", "matches", "question")
    text = json.dumps([verdict.get(name) for name in named], sort_keys=True)
    return f"consent-{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def _agrees(answer: object) -> bool:
    if not isinstance(answer, Mapping) or answer.get("action") != "accept":
        return False
    content = answer.get("content")
    return isinstance(content, Mapping) and content.get("allow") is True


ROOTS_S_MAX = 5.0
PROGRESS_EVERY_S = 1.0
LINE_CHARS_MAX = 120
RECENT_BYTES = 8192
CONSENT_S_MAX = 180.0


class Client:
    """The client whose call a tool carries out: what the tool may ask of it, and tell it."""

    def __init__(
        self,
        conversation: Conversation,
        projects: Projects,
        answers: Mapping[str, Any] | None = None,
    ) -> None:
        self._conversation = conversation
        self._projects = projects
        self._answers = answers or {}
        self._note = ""
        self._outputs: dict[str, bytes] = {}  # the end of each stream, the latest last
        self.scope: trio.CancelScope | None = None
        """The call's own time, which stands still while a person is asked."""

    @property
    def owner(self) -> str:
        """Name the client among those of one server; empty over stdio, which has one client
        only."""
        return self._conversation.owner

    @property
    def holder(self) -> str:
        """Name whose token let the client in; empty over stdio. All conversations of one holder see
        the same sessions."""
        return self._conversation.holder

    @property
    def name(self) -> str:
        """The name that the client calls itself by."""
        return self._conversation.envelope.client

    async def note_call(self, tool: str, params: Mapping[str, Any], error: str) -> None:
        """Note a call for the record of sessions, where its project is open; `error` is the answer
        of one that failed."""
        with suppress(ContextModeError):
            app = await self.app()
            app.calls.add(self.name, self.owner, tool, params, error, self.holder)

    async def app(self) -> App:
        """Open the project that this call is about; a ContextModeError says why it cannot be
        opened."""
        projects = self._projects
        if self._conversation.project is not None:
            return await projects.app(self._conversation.project)
        if projects.config.project_is_given:
            return await projects.app()
        if projects.root is None:
            projects.root = (await self._ask_root(),)
        (root,) = projects.root
        return await projects.app(root, is_named=root is not None)

    async def _ask_root(self) -> Path | None:
        """Ask for the first folder that the client works in; None if it does not say."""
        if "roots" not in self._conversation.envelope.capabilities:
            return None
        with trio.move_on_after(ROOTS_S_MAX):
            try:
                answer = await self._conversation.ask("roots/list", {})
                folders = [_folder(root["uri"]) for root in answer["roots"]]
            except (ProtocolError, KeyError, TypeError, ValueError):
                return None
            return await trio.to_thread.run_sync(_first_existing, folders)
        return None

    async def consent(self, verdict: Mapping[str, Any], *, may_restart: bool = True) -> bool | None:
        """Ask the person behind the client; None if the client cannot, or nobody answers.
        ConsentNeededError, only with `may_restart`: the client makes the call again."""
        started = trio.current_time()
        if self.scope is not None:
            self.scope.deadline += CONSENT_S_MAX
        answer = None
        with trio.move_on_after(CONSENT_S_MAX):
            answer = await ask(self._conversation, self._answers, verdict, may_restart=may_restart)
        if self.scope is not None:
            self.scope.deadline -= CONSENT_S_MAX - (trio.current_time() - started)
        return answer

    def take_output(self, stream: str, chunk: bytes) -> None:
        """Remember the latest of a program's output, for the progress display."""
        self._outputs[stream] = (self._outputs.pop(stream, b"") + chunk)[-RECENT_BYTES:]

    @contextmanager
    def preparing(self, what: str) -> Iterator[None]:
        """Let the progress display name what is made ready."""
        self._note = what
        yield
        self._note = ""

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Tell a client that asked for it how long the call takes, and what was last printed.
        Leaving does not wait for the task that tells: an answer must not queue behind it."""
        scope = trio.CancelScope()
        if (token := self._conversation.meta.get("progressToken")) is not None:
            self._projects.nursery.start_soon(self._show_progress, scope, token)
        try:
            yield
        finally:
            scope.cancel()

    async def _show_progress(self, scope: trio.CancelScope, token: str | int) -> None:
        started = trio.current_time()
        try:
            with scope:
                while True:
                    await trio.sleep(PROGRESS_EVERY_S)
                    elapsed = trio.current_time() - started
                    message = self._latest() or f"{elapsed:.0f} s"
                    progress = {"progress": round(elapsed, 1), "message": message}
                    await self._conversation.tell(
                        "notifications/progress", {"progressToken": token, **progress}
                    )
        except Exception as error:  # a defect here costs the display, not the server
            logging.getLogger(__name__).error(crash_report.report(error))

    def _latest(self) -> str:
        """Return what is made ready, or the latest whole line of output. That is redacted with the
        lines before it, and before it is cut: no secret is cut in two."""
        output = next(reversed(self._outputs.values()), b"").replace(b"\r", b"\n")
        shown = redact(output.rpartition(b"\n")[0].decode("utf-8", "replace"))[0]
        return (redact(self._note)[0] or shown.rstrip().rpartition("\n")[2])[:LINE_CHARS_MAX]


def _folder(uri: str) -> Path | None:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    return Path(unquote(parts.path))


def _first_existing(folders: list[Path | None]) -> Path | None:
    given = [folder for folder in folders if folder is not None]
    for folder in given:
        if folder.is_dir():
            return folder.resolve()
    if given:
        raise UsageError(
            f"the client's root {given[0]} is not a folder here",
            "Start the server with --project, or set CONTEXT_MODE_PROJECT_DIR.",
        )
    return None
