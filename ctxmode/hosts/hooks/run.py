"""Implementation of `context-mode hook`: from the JSON of a host's event to the answer."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ctxmode.hosts.hooks import capture_skips
from ctxmode.hosts.hooks.hook_types import (
    PASS,
    Answer,
    Ground,
    Purpose,
    Ruling,
    ToolCall,
    read_json,
)
from ctxmode.hosts.registry import find_adapter, has_trait, list_events
from ctxmode.shared_instance.client import find_storage
from policy.deadline import HOOK_SECONDS, pause_limit, results_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxmode.hosts.hooks.hook_event import Event
    from ctxmode.hosts.registry import Adapter

# Only the child loads the policy: a shared memory page is copied when one process changes it.


def ruling(
    call: ToolCall, ground: Ground, is_callable: Callable[[], bool]
) -> tuple[Ruling, list[dict[str, Any]]]:
    """Return the answer for the host, and its verdicts as JSON. `is_callable` returns whether our
    tools can be called; it is only used if a rule redirects to one.

    A caller that may lack our tools gets advice instead of a redirect. Rules that cannot be read
    deny every call.
    """

    def steps(*, is_judged: bool) -> Iterator[bytes]:
        with pause_limit():
            from ctxmode.hosts.hooks import verdicts  # noqa: PLC0415 - loads the policy

        yield from verdicts.steps(call, ground, is_callable, is_judged=is_judged)

    results = results_of(lambda: steps(is_judged=True), HOOK_SECONDS)
    if results == [b""]:
        results = results_of(lambda: steps(is_judged=False), HOOK_SECONDS)
    if not any(results):
        return Ruling("deny", "The rules cannot be read in time, so nothing is allowed."), []
    said, verdicts = json.loads(results[-1])
    return Ruling(*said), verdicts


STARTING_SECONDS = 5.0
_POLL_SECONDS = 0.05


def is_callable(host: str, data: str, ground: Ground) -> bool:
    """Return whether a server of this user runs, or starts within `STARTING_SECONDS`.

    A host starts its servers during its first turn, so a call may come before our server holds its
    lock. If a redirect were only advice then, the call would pass. So if our server is registered
    with the host, this waits for the lock. Without a server, a redirect is advice, since our tools
    cannot be called.
    """
    if _is_any_alive(data):
        return True
    with pause_limit():
        from ctxmode.hosts.setup.target import is_registered  # noqa: PLC0415 - few calls wait

        if not is_registered(host, ground.project, ground.home, ground.environ):
            return False
    until = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
        if _is_any_alive(data):
            return True
    return False


def _is_any_alive(data: str) -> bool:
    """Return whether any server of this user holds its lock."""
    from ctxmode.config.file_names import SERVERS_FOLDER  # noqa: PLC0415 - only for a redirect

    folder = os.path.join(data, "state", SERVERS_FOLDER)
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    locks = (name for name in names if name.endswith(".lock") and "-" in name)
    return any(_is_held(os.path.join(folder, name)) for name in locks)


def _is_held(path: str) -> bool:
    from base.locks import is_held  # noqa: PLC0415 - only if there was a server

    try:
        return is_held(path)
    except OSError:
        return False


Log = Callable[[], object]
CAPTURED_ALONE = ("asked", "answered")
"""Events that only serve the capture of turns."""

TURN_PURPOSES = ("prompt", "turn", *CAPTURED_ALONE)
"""Events about a turn, which is captured if the project has a folder of drafts."""


def respond(
    host: str, event_name: str, text: bytes, environ: Mapping[str, str]
) -> tuple[Answer, Log]:
    """Return the answer (None: print nothing), and a function that writes the audit log afterwards.

    Unknown hosts, events and tools, and text that is not an event's JSON, get no answer.
    """
    spoken = find_adapter(host)
    if spoken is None:
        return None, _nothing
    known = {name.lower(): name for name in spoken.EVENTS}
    name = known.get(event_name.lower())
    if name is None:
        return None, _nothing
    if spoken.EVENTS[name] != "judge":
        return _attend(spoken, host, name, text, environ)
    try:
        call = _parse(spoken, text)
    except RecursionError:  # the model writes the arguments, and the host may accept them
        return deny(host, name, "The call is nested too deeply to be judged."), _nothing
    if call is None:
        return spoken.answer_ruling(PASS, name), _nothing
    call = call._replace(cwd=_folder(spoken.FOLDER_VARIABLES, call.cwd, environ))
    return _judge(spoken, host, name, call, text=text, environ=environ)


def _note_tool(project: str, text: bytes, tool: str) -> None:
    from ctxmode.hosts.hooks.turns import note_tool  # noqa: PLC0415 - only if turns are captured

    note_tool(project, text, tool)


def _attend(
    spoken: Adapter, host: str, event_name: str, text: bytes, environ: Mapping[str, str]
) -> tuple[Answer, Log]:
    """Answer an event that decides nothing: with texts from recorded sessions, and the routing text
    when a conversation begins. Return also a function that captures the event's data."""
    purpose = spoken.EVENTS[event_name]
    said = ""
    log: Log = _nothing
    if hook := _read_hook(spoken, host, purpose, text, environ):
        if purpose not in CAPTURED_ALONE:
            said, log = _answer_sessions(hook, event_name)
        if purpose in TURN_PURPOSES and _is_captured(hook.project, environ):
            from ctxmode.hosts.hooks.turns import capture_turn  # noqa: PLC0415

            log = partial(_run_both, partial(capture_turn, hook), log)
    if purpose == "open":
        from ctxmode.hosts.instructions import read_routing  # noqa: PLC0415 - once in a conversation

        said = f"{read_routing()}\n\n{said}" if said else read_routing()
    answer = (
        spoken.add_context(said, event_name) if said else spoken.answer_ruling(PASS, event_name)
    )
    return answer, log


def _answer_sessions(hook: Event, event_name: str) -> tuple[str, Log]:
    """Return the text from recorded sessions for the agent, and a function that records more."""
    from ctxmode.hosts.hooks.session_hooks import answer_hook  # noqa: PLC0415 - not for verdicts

    said = answer_hook(hook)
    if not has_trait(hook.host, "recorded_by_hooks"):
        return said, _nothing
    from ctxmode.hosts.hooks.capture import capture  # noqa: PLC0415

    return said, partial(capture, hook, event_name)


def _read_hook(
    spoken: Adapter, host: str, purpose: Purpose, text: bytes, environ: Mapping[str, str]
) -> Event | None:
    """Read an event for the record of sessions; None if it has nothing to record."""
    try:
        event = read_json(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    home = os.path.realpath(environ.get("HOME") or os.path.expanduser("~"))
    # The folder of a command may differ. Cline uses the second name.
    roots = event.get("workspace_roots") or event.get("workspaceRoots")
    said = roots[0] if isinstance(roots, list) and roots else event.get("cwd")
    folder = _folder(spoken.FOLDER_VARIABLES, said if isinstance(said, str) else "", environ)
    project = _project(folder, home, environ)
    if purpose in CAPTURED_ALONE and not _is_captured(project, environ):
        return None
    from ctxmode.hosts.hooks.hook_event import Event  # noqa: PLC0415 - not for verdicts

    if purpose in ("turn", "act") and not has_trait(host, "recorded_by_hooks"):
        return None
    return Event(host, purpose, event, project, home, find_storage(environ), environ)


def _is_captured(project: str, environ: Mapping[str, str]) -> bool:
    if not os.path.isdir(os.path.join(project, capture_skips.DRAFTS)):
        return False  # the usual case
    from ctxmode.config.file_names import is_captured  # noqa: PLC0415 - only if there are drafts

    return is_captured(project, find_storage(environ), environ)


def _folder(variables: tuple[str, ...], said: str, environ: Mapping[str, str]) -> str:
    """Return the folder of a call: the event's, relative to the host's variables or to this
    process's folder. A missing absolute folder is ignored."""
    if os.path.isabs(said) and os.path.isdir(said):
        return said
    said = "" if os.path.isabs(said) else said
    given = (environ.get(variable, "") for variable in variables)
    try:
        base = next(filter(os.path.isabs, given), "") or os.getcwd()
    except OSError:  # it was deleted
        base = "/"
    return os.path.join(base, said) if said else base


def _parse(spoken: Adapter, text: bytes) -> ToolCall | None:
    try:
        event = read_json(text)
        return spoken.call(event) if isinstance(event, dict) else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _judge(  # noqa: PLR0913 - inputs of a judgement
    spoken: Adapter,
    host: str,
    event_name: str,
    call: ToolCall,
    *,
    text: bytes,
    environ: Mapping[str, str],
) -> tuple[Answer, Log]:
    home = os.path.realpath(environ.get("HOME") or os.path.expanduser("~"))
    project = _project(call.cwd, home, environ)
    data = find_storage(environ)
    ground = Ground(project, home, environ)

    said, verdicts = ruling(call, ground, partial(is_callable, host, data, ground))
    said = said._replace(instead=call.instead)

    def log() -> None:
        from ctxmode.operations import audit  # noqa: PLC0415 - only after the answer

        for (kind, value), verdict in zip(call.subjects(), verdicts, strict=True):
            entry = audit.build_entry(f"hook:{host}", kind, value, verdict, project)
            audit.write_entry(os.path.join(data, "logs"), entry)

    written = log if verdicts else _nothing
    if said.kind != "deny" and _is_captured(project, environ):
        written = partial(_run_both, written, partial(_note_tool, project, text, call.name))
    return spoken.answer_ruling(said, event_name), written


def deny(host: str, event_name: str, why: str) -> Answer:
    """Return the refusal of a call that could not be judged."""
    spoken = find_adapter(host)
    if spoken is None or event_name.lower() not in map(str.lower, list_events(spoken, "judge")):
        return None
    return spoken.answer_ruling(Ruling("deny", why), event_name)


def _project(cwd: str, home: str, environ: Mapping[str, str]) -> str:
    from ctxmode.config.file_names import find_project  # noqa: PLC0415 - not for calls that pass

    given = environ.get("CONTEXT_MODE_PROJECT_DIR") or environ.get("CLAUDE_PROJECT_DIR")
    here = os.path.realpath(given or cwd or os.getcwd())
    return here if given else find_project(here, home)


def _run_both(first: Log, second: Log) -> None:
    first()
    second()


def _nothing() -> None:
    """Do nothing, since there is no verdict to log."""
