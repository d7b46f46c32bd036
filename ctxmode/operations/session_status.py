"""Status of recording sessions: settings with their origin, and progress of reading."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from base.wording import inflect
from ctxmode.config.files import PROJECT_FILE, USER_FILE
from ctxmode.config.locations import Config
from ctxmode.config.transcripts import Recording
from ctxmode.hosts.registry import list_importers
from ctxmode.hosts.setup.target import find_registered
from ctxmode.operations import sessions as stores
from ctxmode.operations.operation import Answer, Asker
from ctxmode.operations.session_sources import apply_choice, find_oldest
from ctxmode.operations.session_store import find_users_store
from ctxmode.operations.session_tracking import load_bounds
from ctxmode.render.highlight import one_line, size
from memory.sessions import SourceStatus, is_old, maintenance, reading
from memory.sessions.importers import Importer

PRIVATE = "Text between <private> and </private> in a message is never stored."

SWITCHES = {
    "events": "requests, decisions, edits, commands, failures; tokens; snapshots",
    "messages": "full texts, which can be searched",
}


def show_status(asker: Asker) -> Answer:
    """Show recording settings, and the progress of reading transcripts."""
    config = asker.config
    recording = stores.read_recording(config)
    sources: list[SourceStatus] = []
    if config.sessions_file.exists():
        with stores.open_sessions(config) as store, store.database.reading() as db:
            sources = reading.read_sources(db)
    days = {load_bounds(config, path)[0] for path in stores.list_stores(config)}
    counted, left_out = stores.gather(config, partial(_count, days=days))
    own = [one for one in sources if not one.elsewhere]
    choices = {agent: choice._asdict() for agent, choice in recording.sources.items()}
    data = {
        "recording": {**recording._asdict(), "sources": choices},
        "switches": list(_describe_switches(config, recording)),
        "hosts": [_describe_host(one, config, recording, sources) for one in list_importers()],
        "store": _describe_store(config, config.sessions_file, counted),
        "users_store": _describe_store(config, find_users_store(config), counted),
        "troubled": [asdict(one) for one in own if one.problem or one.bad_lines],
    }
    lines = [_say_recording(recording), PRIVATE, *_say_status(data)]
    return Answer(data, "\n".join(lines), left_out)


def _say_status(data: Mapping[str, Any]) -> Iterator[str]:
    yield from map(_say_switch, data["switches"])
    yield from map(_say_host, filter(_is_shown, data["hosts"]))
    yield from (
        f"{one_line(one['path'])}: {one['problem']}" for one in data["troubled"] if one["problem"]
    )
    if not any(host["found"] for host in data["hosts"]):
        yield "No transcript of this project was found."
    yield _say_store(data["store"])
    if data["users_store"]["bytes"]:
        yield _say_users_store(data["users_store"])
    yield from filter(None, (data["store"]["doubt"], data["users_store"]["doubt"]))


def _count(db: sqlite3.Connection, *, days: set[float]) -> tuple[int, dict[float, str]]:
    """Count the sessions of a store; for each retention time, describe expired sessions that
    stay."""
    doubts = {one: maintenance.describe_doubt(db, time.time(), one) for one in days}
    return reading.count_sessions(db), doubts


def _describe_switches(config: Config, recording: Recording) -> Iterator[dict[str, Any]]:
    """Describe each recording switch: on or off, set where, and how to change it."""
    user, project = config.config_home / USER_FILE, config.project / PROJECT_FILE
    turned_off = {
        "events": f"turned off by {recording.off_by}",
        "messages": f"turn on: [transcripts] messages = true in {user}",
    }
    for name, about in SWITCHES.items():
        is_on = bool(getattr(recording, name))
        turns_off = f"turn off: [transcripts] {name} = false in {user} or {project}"
        yield {
            "name": name,
            "about": about,
            "on": is_on,
            "by": recording.by.get(name, "default"),
            "change": turns_off if is_on else turned_off[name],
        }


def _say_switch(switch: dict[str, Any]) -> str:
    by = "by default" if switch["by"] == "default" else f"by {one_line(switch['by'])}"
    state = "on" if switch["on"] else "off"
    return f"{switch['name']} ({switch['about']}): {state}, {by}; {one_line(switch['change'])}"


def _describe_host(
    importer: Importer, config: Config, recording: Recording, sources: list[SourceStatus]
) -> dict[str, Any]:
    choice = recording.choice(importer.agent)
    placed = apply_choice(importer, choice, str(config.home))
    own = [one for one in sources if one.agent == importer.agent and not one.elsewhere]
    hooks, name = find_registered(importer.agent, config.project, config.home, os.environ)
    is_on = choice.enabled and recording.events
    found = list(placed.find(stores.find_ground(config)))
    oldest = find_oldest(config)
    return {
        "agent": importer.agent,
        "title": importer.title,
        "enabled": is_on,
        "off_by": choice.off_by or recording.off_by,
        "path": choice.path,
        "pattern": choice.pattern,
        "found": len(found),
        "too_old": sum(is_old(one, oldest) for one in found),
        "read": len(own),
        "undecided": sum(
            one.elsewhere and one.is_undecided for one in sources if one.agent == importer.agent
        ),
        "behind_bytes": sum(max(one.size - one.read, 0) for one in own),
        "bad_lines": sum(one.bad_lines for one in own),
        "hooks": hooks,
        "setup": name,
    }


def _is_shown(host: dict[str, Any]) -> bool:
    is_chosen = bool(host["off_by"] or host["path"] or host["pattern"])
    return bool(host["found"] or host["read"] or is_chosen or host["hooks"] != "none")


def _say_host(host: dict[str, Any]) -> str:
    behind, bad, undecided = (host[key] for key in ("behind_bytes", "bad_lines", "undecided"))
    parts = [f"{inflect(host['found'], 'transcript')} found", f"{host['read']} read"]
    parts += [f"{host['too_old']} too old to keep"] if host["too_old"] else []
    parts += [f"{size(behind)} unread"] if behind else []
    parts += [f"{inflect(bad, 'bad line')}"] if bad else []
    parts += [f"{undecided} skipped, maybe another project's"] if undecided else []
    parts += [f"in {one_line(host['path'])}"] if host["path"] else []
    parts += [f"only {one_line(host['pattern'])}"] if host["pattern"] else []
    parts += [] if host["enabled"] else [f"off by {one_line(host['off_by'])}"]
    return f"{host['title']}: {', '.join((*parts, _say_hooks(host)))}"


def _say_hooks(host: dict[str, Any]) -> str:
    if not host["setup"]:
        return "has no hooks"
    again = f"`context-mode setup {host['setup']}`"
    return {
        "all": "hooks registered",
        "some": f"some hooks registered (add the others: {again})",
        "none": f"no hooks registered (register them: {again})",
    }[host["hooks"]]


def _describe_store(
    config: Config, path: Path, counted: Mapping[Path, tuple[int, dict[float, str]]]
) -> dict[str, Any]:
    keep_days, bytes_max = load_bounds(config, path)
    sessions, doubts = counted.get(path, (0, {}))
    return {
        "path": str(path),
        "sessions": sessions,
        "doubt": doubts.get(keep_days, ""),
        "bytes": maintenance.measure(path) if path.exists() else 0,
        "bytes_max": bytes_max,
        "keep_days": int(keep_days),
    }


def _say_store(store: dict[str, Any]) -> str:
    kept = (
        f"sessions are kept {inflect(store['keep_days'], 'day')} after their last activity"
        f" (transcripts.keep_days), up to {size(store['bytes_max'])} (quota.sessions_bytes)"
    )
    if not store["bytes"]:
        return f"store: empty; {kept}"
    return f"store: {_say_size(store)}; {kept}"


def _say_users_store(store: dict[str, Any]) -> str:
    return (
        f"your own store, of sessions without a project: {_say_size(store)};"
        f" sessions are kept {inflect(store['keep_days'], 'day')} after their last activity or"
        f" import, up to {size(store['bytes_max'])}"
    )


def _say_size(store: dict[str, Any]) -> str:
    amounts = f"{size(store['bytes'])}, {inflect(store['sessions'], 'session')}"
    return f"{one_line(store['path'])}, {amounts}"


def _say_recording(recording: Recording) -> str:
    if not recording.events:
        return f"Nothing is recorded: {one_line(recording.off_by)} turns it off."
    if recording.messages:
        return "Recording events, tokens and full texts of messages."
    return "Recording events and tokens, no full texts. Turn them on: transcripts.messages = true"
