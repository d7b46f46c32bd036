"""The client of a call: its name, its project, its approval and its progress display."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import trio

from base.secrets import redact
from ctxmode import crash_report
from ctxmode.app import App
from ctxmode.config.file_names import PROJECT_MARKS
from ctxmode.config.locations import Config, refuse_folder, require_project
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.mcp.conversation import Conversation, Levels
from ctxmode.mcp.protocol import STATELESS_REVISIONS, ProtocolError
from ctxmode.open_apps import OpenApps
from ctxmode.render.results import with_lines

if TYPE_CHECKING:
    from fleet import Fleet

# Projects are opened by calls, so that `initialize` is answered before any sandbox is tried. If
# opening a project fails, the next call tries again.

WORKING_ENTRIES_MAX = 100_000
"""Maximum number of entries of a folder that is a project only because a server was started
there."""


class Projects:
    """The open projects of a server, made only by `open_projects`."""

    def __init__(self, config: Config, nursery: trio.Nursery, apps: OpenApps) -> None:
        self.config = config
        self.nursery = nursery
        """For background tasks; it ends with the server."""
        self.levels = Levels()
        self._apps = apps
        self._open: dict[Path, App] = {}
        self._opening: dict[Path, trio.Lock] = {}
        # The working folder of a client over stdio; None if it was not asked yet.
        self.root: tuple[Path | None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    @property
    def fleets(self) -> list[Fleet]:
        """List the fleets of the open projects that send runs to other machines."""
        return [app.fleet for app in self._open.values() if app.fleet is not None]

    async def app(self, folder: Path | None = None, *, is_named: bool = False) -> App:
        """Open the project in `folder`, a real path; None means the server's default project. With
        `is_named` the client named it. Raise ContextModeError if that fails; the next call tries
        again."""
        folder = folder or self.config.project
        async with self._opening.setdefault(folder, trio.Lock()):
            if folder not in self._open:
                if folder == self.config.project and not is_named:
                    await trio.to_thread.run_sync(check_working_folder, self.config)
                opened = await self.nursery.start(self._hold, replace(self.config, project=folder))
                if isinstance(opened, Exception):
                    raise opened
                self._open[folder] = opened
            return self._open[folder]

    async def _hold(
        self, config: Config, task_status: trio.TaskStatus[App | ContextModeError]
    ) -> None:
        """Keep a project open until the server ends, in a separate task."""
        try:
            async with self._apps.lease(config, None) as app:
                task_status.started(app)
                await trio.sleep_forever()
        except ContextModeError as error:
            task_status.started(error)

    async def end_owner(self, owner: str) -> None:
        """End what a client that is gone has left in the open projects."""
        for app in self._open.values():
            await app.end_owner(owner)


def check_working_folder(config: Config) -> None:
    """Refuse a default folder that is not a project: many hosts start servers in `/` or in the home
    folder. Each run would first search all of it. Raise UsageError if the folder is not marked as a
    project, and it is the home folder or large."""
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
    """Return whether a folder has more than `entries_max` entries; stop counting there."""
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
async def open_projects(config: Config, apps: OpenApps | None = None) -> AsyncIterator[Projects]:
    """Set up a server's projects without opening any; on exit return them to `apps`, or close all,
    which ends their runs."""
    async with (
        OpenApps.open(math.inf) if apps is None else nullcontext(apps) as holder,
        trio.open_nursery() as nursery,
    ):
        try:
            yield Projects(config, nursery, holder)
        finally:
            nursery.cancel_scope.cancel()


# Up to revision 2025-11-25 the server sends the client a request during the call. From 2026-07-28
# on the call's answer contains the question, and the client calls again. In that case the server
# asks only before any part of the call has run.

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "allow": {"type": "boolean", "title": "Allow it", "description": "Do this once"}
    },
    "required": ["allow"],
}


class ConsentNeededError(Exception):
    """The call must be repeated with the user's answer."""

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
    """Ask for the user's approval; return None if the client cannot ask. `answers` came with the
    call; `may_restart` means that nothing has run yet. Raise ConsentNeededError if the client asks
    the user, and then repeats the call."""
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
    """Write the question for the user: the matching rules and their commands; or the verdict's own
    question."""
    if question := verdict.get("question"):
        return redact(str(question))[0]
    asking = [match for match in verdict.get("matches", ()) if match["decision"] == "ask"]
    head = f"Run this? {verdict.get('message', '')}".rstrip()
    return redact(with_lines(head, [f"- {match['text']}" for match in asking]))[0]


def _build_key(verdict: Mapping[str, Any]) -> str:
    """Return a key of the question, so that an answer to another question does not count."""
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
    """The client of a tool call: its project, requests to it, and its progress display."""

    def __init__(
        self,
        conversation: Conversation,
        projects: Projects,
        answers: Mapping[str, Any] | None = None,
    ) -> None:
        self.owner = conversation.owner
        """The ID of the client on its server; empty over stdio, which has only one."""
        self.holder = conversation.holder
        """The name of the client's token; empty over stdio. All conversations of one holder see
        the same sessions."""
        self.name = conversation.envelope.client
        """The client's name for itself."""
        self._conversation = conversation
        self._projects = projects
        self._answers = answers or {}
        self._note = ""
        self._outputs: dict[str, bytes] = {}  # the end of each stream, latest last
        self.scope: trio.CancelScope | None = None
        """The call's deadline, which is extended while the user is asked."""

    async def note_call(self, tool: str, params: Mapping[str, Any], error: str) -> None:
        """Record a call for sessions, if its project can be opened; `error` is the answer of a
        failed call."""
        with suppress(ContextModeError):
            app = await self.app()
            app.calls.add(self.name, self.owner, tool, params, error, self.holder)

    async def app(self) -> App:
        """Open the project of this call; raise ContextModeError if it cannot be opened."""
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
        """Ask the client for its first working folder; None if it gives none."""
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
        """Ask the client's user for approval; None if the client cannot ask, or the user does not
        answer. Raise ConsentNeededError, only with `may_restart`, to have the call repeated."""
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
        """Store the end of a program's output, for the progress display."""
        self._outputs[stream] = (self._outputs.pop(stream, b"") + chunk)[-RECENT_BYTES:]

    @contextmanager
    def preparing(self, what: str) -> Iterator[None]:
        """Show `what` in the progress display while it is prepared."""
        self._note = what
        yield
        self._note = ""

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Send elapsed time and the last printed line to a client that requested progress. On exit,
        do not wait for the sending task: it must not delay the answer."""
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
        """Return what is being prepared, or the latest whole line of output. It is redacted
        together with the lines before it, and before it is cut, so that no secret is cut in two."""
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
            f"the client's root {given[0]} is not a folder on this machine",
            "Start the server with --project, or set CONTEXT_MODE_PROJECT_DIR.",
        )
    return None
