"""One event of a host, from its JSON to the answer's: what `context-mode hook` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from ctxmode.hosts.adapters import find_adapter, list_events
from ctxmode.hosts.hooks.calls import PASS, Answer, Purpose, Ruling, ToolCall
from ctxmode.hosts.hooks.json_text import read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxmode.hosts.adapters.adapter import Adapter
    from ctxmode.hosts.hooks.bells import Bell

Log = Callable[[], object]


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
        return spoken.answer(PASS, name), _nothing
    call = call._replace(cwd=_folder(spoken.FOLDER_VARIABLES, call.cwd, environ))
    return _judge(spoken, host, name, call, environ)


def _attend(
    spoken: Adapter, host: str, event_name: str, text: bytes, environ: Mapping[str, str]
) -> tuple[Answer, Log]:
    """What to say of an event that decides nothing: what is recorded of sessions, and where a
    conversation begins the opening text before it. Afterwards what it reports is captured."""
    purpose = spoken.EVENTS[event_name]
    said, log = "", _nothing
    if bell := _read_bell(spoken, host, purpose, text, environ):
        from ctxmode.hosts.hooks import bells  # noqa: PLC0415 - not for verdicts

        said = bells.answer_bell(bell)
        if host in bells.TELLING:
            from ctxmode.hosts.hooks.capture import capture  # noqa: PLC0415

            log = partial(capture, bell, event_name)
    if purpose == "open":
        from ctxmode.hosts.routing import ROUTING  # noqa: PLC0415 - said once in a conversation

        said = f"{ROUTING}\n\n{said}" if said else ROUTING
    answer = spoken.add_context(said, event_name) if said else spoken.answer(PASS, event_name)
    return answer, log


def _read_bell(
    spoken: Adapter, host: str, purpose: Purpose, text: bytes, environ: Mapping[str, str]
) -> Bell | None:
    """Read what an event tells for the record of sessions; None if that is nothing."""
    from ctxmode.hosts.hooks.bells import TELLING, Bell  # noqa: PLC0415 - not for verdicts

    if purpose in ("turn", "act") and host not in TELLING:
        return None
    try:
        event = read_json(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    home = os.path.realpath(environ.get("HOME") or os.path.expanduser("~"))
    roots = event.get("workspace_roots")  # a command may be run elsewhere
    said = roots[0] if isinstance(roots, list) and roots else event.get("cwd")
    folder = _folder(spoken.FOLDER_VARIABLES, said if isinstance(said, str) else "", environ)
    project = _project(folder, home, environ)
    return Bell(host, purpose, event, project, home, data_dir(environ), environ)


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


def _judge(
    spoken: Adapter, host: str, event_name: str, call: ToolCall, environ: Mapping[str, str]
) -> tuple[Answer, Log]:
    from ctxmode.hosts.hooks.rulings import Ground, ruling  # noqa: PLC0415 - not for what passes in silence

    home = os.path.realpath(environ.get("HOME") or os.path.expanduser("~"))
    project = _project(call.cwd, home, environ)
    data = data_dir(environ)
    ground = Ground(project, home, environ)

    def is_callable() -> bool:
        from ctxmode.hosts.hooks import servers  # noqa: PLC0415 - only a redirect asks for one

        return servers.is_callable(host, data, ground)

    said, verdicts = ruling(call, ground, is_callable)
    said = said._replace(instead=call.instead)

    def log() -> None:
        from ctxmode.operations import audit  # noqa: PLC0415 - only once the answer is given

        for (kind, value), verdict in zip(call.subjects(), verdicts, strict=True):
            entry = audit.entry(f"hook:{host}", kind, value, verdict, project)
            audit.write(os.path.join(data, "logs"), entry)

    return spoken.answer(said, event_name), log if verdicts else _nothing


def deny(host: str, event_name: str, why: str) -> Answer:
    """The refusal of a call that could not be judged."""
    spoken = find_adapter(host)
    if spoken is None or event_name.lower() not in map(str.lower, list_events(spoken, "judge")):
        return None
    return spoken.answer(Ruling("deny", why), event_name)


def _project(cwd: str, home: str, environ: Mapping[str, str]) -> str:
    from ctxmode.config.project import find_project  # noqa: PLC0415 - not for what passes in silence

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


def _nothing() -> None:
    """No verdict was given."""
