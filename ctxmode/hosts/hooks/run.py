"""One event of a host, from its JSON to the answer's: what `context-mode hook` does."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ctxmode.hosts.adapters import find_adapter, list_events
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
from policy.deadline import HOOK_SECONDS, pause_limit, results_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxmode.hosts.adapters import Adapter
    from ctxmode.hosts.hooks.hook_event import Bell

# Only the child loads the policy: two processes that share much pay for each page that one
# changes.


def ruling(
    call: ToolCall, ground: Ground, is_callable: Callable[[], bool]
) -> tuple[Ruling, list[dict[str, Any]]]:
    """What to tell the host, and the verdicts behind it, as JSON. `is_callable` says whether our
    tools are, and is asked only where a rule redirects to one.

    A caller that may lack our tools is advised where another would be redirected. Rules that
    cannot be read deny: nothing is allowed unread.
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
    """Say whether a server of this user lives, or comes to live soon.

    A host starts its servers beside its first turn, so a call may be made before ours holds its
    lock; were a redirect advice by then, the call would pass. Where the host has our server among
    those that it starts, the lock is waited for, `STARTING_SECONDS` at most. Elsewhere, and for a
    server that does not come, a redirect is advice: our tools cannot be called.
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
    """Whether any server of this user holds its lock."""
    folder = os.path.join(data, "state", "instances")
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    locks = (name for name in names if name.endswith(".lock") and "-" in name)
    return any(_is_held(os.path.join(folder, name)) for name in locks)


def _is_held(path: str) -> bool:
    from base.locks import is_held  # noqa: PLC0415 - where no server was, there is nothing to ask

    try:
        return is_held(path)
    except OSError:
        return False


Log = Callable[[], object]
CAPTURED_ALONE = ("asked", "answered")
"""Events that are for the capture of turns alone."""

TURN_PURPOSES = ("prompt", "turn", *CAPTURED_ALONE)
"""Events that tell of a turn, which is captured where a project has a folder of drafts."""


def respond(
    host: str, event_name: str, text: bytes, environ: Mapping[str, str]
) -> tuple[Answer, Log]:
    """What to print (None is nothing), and what to write to the audit log afterwards.

    Whatever is not understood gets no answer: an unknown host, event or tool, or text that is not
    the JSON of an event.
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
    except RecursionError:  # arguments are the model's, and a host may well take them
        return deny(host, name, "The call is nested too deeply to be judged."), _nothing
    if call is None:
        return spoken.answer_ruling(PASS, name), _nothing
    call = call._replace(cwd=_folder(spoken.FOLDER_VARIABLES, call.cwd, environ))
    return _judge(spoken, host, name, call, text=text, environ=environ)


def _note_tool(project: str, text: bytes, tool: str) -> None:
    from ctxmode.hosts.hooks.turns import note_tool  # noqa: PLC0415 - where turns are captured

    note_tool(project, text, tool)


def _attend(
    spoken: Adapter, host: str, event_name: str, text: bytes, environ: Mapping[str, str]
) -> tuple[Answer, Log]:
    """What to say of an event that decides nothing: what is recorded of sessions, and where a
    conversation begins the opening text before it. Afterwards what it reports is captured."""
    purpose = spoken.EVENTS[event_name]
    said = ""
    log: Log = _nothing
    if bell := _read_bell(spoken, host, purpose, text, environ):
        if purpose not in CAPTURED_ALONE:
            said, log = _ring(bell, event_name)
        if purpose in TURN_PURPOSES and _is_captured(bell.project, environ):
            from ctxmode.hosts.hooks.turns import capture_turn  # noqa: PLC0415

            log = partial(_run_both, partial(capture_turn, bell), log)
    if purpose == "open":
        from ctxmode.hosts.instructions import read_routing  # noqa: PLC0415 - said once in a conversation

        said = f"{read_routing()}\n\n{said}" if said else read_routing()
    answer = (
        spoken.add_context(said, event_name) if said else spoken.answer_ruling(PASS, event_name)
    )
    return answer, log


def _ring(bell: Bell, event_name: str) -> tuple[str, Log]:
    """Say what the record of sessions has for the agent, and what is recorded afterwards."""
    from ctxmode.hosts.hooks.hook_event import TELLING  # noqa: PLC0415 - not for verdicts
    from ctxmode.hosts.hooks.session_hooks import answer_bell  # noqa: PLC0415

    said = answer_bell(bell)
    if bell.host not in TELLING:
        return said, _nothing
    from ctxmode.hosts.hooks.capture import capture  # noqa: PLC0415

    return said, partial(capture, bell, event_name)


def _read_bell(
    spoken: Adapter, host: str, purpose: Purpose, text: bytes, environ: Mapping[str, str]
) -> Bell | None:
    """Read what an event tells for the record of sessions; None if that is nothing."""
    try:
        event = read_json(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    home = os.path.realpath(environ.get("HOME") or os.path.expanduser("~"))
    # A command may be run elsewhere. Cline has the second name.
    roots = event.get("workspace_roots") or event.get("workspaceRoots")
    said = roots[0] if isinstance(roots, list) and roots else event.get("cwd")
    folder = _folder(spoken.FOLDER_VARIABLES, said if isinstance(said, str) else "", environ)
    project = _project(folder, home, environ)
    if purpose in CAPTURED_ALONE and not _is_captured(project, environ):
        return None
    from ctxmode.hosts.hooks.hook_event import TELLING, Bell  # noqa: PLC0415 - not for verdicts

    if purpose in ("turn", "act") and host not in TELLING:
        return None
    return Bell(host, purpose, event, project, home, data_dir(environ), environ)


def _is_captured(project: str, environ: Mapping[str, str]) -> bool:
    if not os.path.isdir(os.path.join(project, capture_skips.DRAFTS)):
        return False  # mostly, and at once
    from ctxmode.config.file_names import is_captured  # noqa: PLC0415 - where there are drafts

    return is_captured(project, data_dir(environ), environ)


def _folder(variables: tuple[str, ...], said: str, environ: Mapping[str, str]) -> str:
    """Where a call is made: what its event says, seen from what the host tells its hooks, or else
    from where this process is. A folder that there is not says nothing."""
    if os.path.isabs(said) and os.path.isdir(said):
        return said
    said = "" if os.path.isabs(said) else said
    told = (environ.get(variable, "") for variable in variables)
    try:
        base = next(filter(os.path.isabs, told), "") or os.getcwd()
    except OSError:  # it is gone
        base = "/"
    return os.path.join(base, said) if said else base


def _parse(spoken: Adapter, text: bytes) -> ToolCall | None:
    try:
        event = read_json(text)
        return spoken.call(event) if isinstance(event, dict) else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _judge(  # noqa: PLR0913 - what a call is judged by
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
    data = data_dir(environ)
    ground = Ground(project, home, environ)

    said, verdicts = ruling(call, ground, partial(is_callable, host, data, ground))
    said = said._replace(instead=call.instead)

    def log() -> None:
        from ctxmode.operations import audit  # noqa: PLC0415 - only once the answer is given

        for (kind, value), verdict in zip(call.subjects(), verdicts, strict=True):
            entry = audit.build_entry(f"hook:{host}", kind, value, verdict, project)
            audit.write_entry(os.path.join(data, "logs"), entry)

    written = log if verdicts else _nothing
    if said.kind != "deny" and _is_captured(project, environ):
        written = partial(_run_both, written, partial(_note_tool, project, text, call.name))
    return spoken.answer_ruling(said, event_name), written


def deny(host: str, event_name: str, why: str) -> Answer:
    """The refusal of a call that could not be judged."""
    spoken = find_adapter(host)
    if spoken is None or event_name.lower() not in map(str.lower, list_events(spoken, "judge")):
        return None
    return spoken.answer_ruling(Ruling("deny", why), event_name)


def _project(cwd: str, home: str, environ: Mapping[str, str]) -> str:
    from ctxmode.config.file_names import find_project  # noqa: PLC0415 - not for what passes in silence

    given = environ.get("CONTEXT_MODE_PROJECT_DIR") or environ.get("CLAUDE_PROJECT_DIR")
    here = os.path.realpath(given or cwd or os.getcwd())
    return here if given else find_project(here, home)


def data_dir(environ: Mapping[str, str]) -> str:
    """Where storage is, as `ctxmode.config.locations` says, without the library that it asks.

    That is the XDG Base Directory Specification's data folder.
    """
    if given := environ.get("CONTEXT_MODE_DIR"):
        return given
    base = environ.get("XDG_DATA_HOME", "").strip() or os.path.expanduser("~/.local/share")
    return os.path.join(base, "ctxmode")


def _run_both(first: Log, second: Log) -> None:
    first()
    second()


def _nothing() -> None:
    """No verdict was given."""
