"""Which of our hooks Codex has been told to trust: it passes over those that were not reviewed.

Codex writes what was reviewed to its configuration, `[hooks.state."FILE:EVENT:GROUP:HOOK"]` with
`trusted_hash`, the SHA-256 of the hook's canonical JSON. Source: the repository openai/codex,
codex-rs/hooks/src/engine/discovery.rs; seen with Codex 0.169.0.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from base.strict_data import load_toml
from ctxmode.errors import ContextModeError
from ctxmode.hosts.setup.hosts import BY_NAME
from ctxmode.hosts.setup.json_edits import parse
from ctxmode.hosts.setup.target import Target, read_host_file

_SECONDS = {"SessionEnd": 1}  # for others 600, where a hook names none


def describe_review(target: Target) -> str:
    """Say whether Codex runs our hooks; empty where none is registered, or no file can be read."""
    count, waiting = _count_hooks(target)
    if count and not waiting:
        return f"Codex runs all {count} hooks: they have been reviewed."
    return describe_waiting(target)


def describe_waiting(target: Target) -> str:
    """Say how many of our hooks Codex passes over; empty where it runs all that are registered."""
    count, waiting = _count_hooks(target)
    if not waiting:
        return ""
    return (
        f"Codex passes over {waiting} of {count} hooks until you have reviewed them: "
        "type /hooks in it."
    )


def _count_hooks(target: Target) -> tuple[int, int]:
    """How many hooks of ours are registered, and how many of them wait for a review."""
    try:
        hooks = list(_hash_hooks(target))
        trusted = _load_trusted(target)
    except (ContextModeError, ValueError, TypeError, AttributeError, RecursionError):
        return 0, 0
    return len(hooks), sum(trusted.get(key) != value for key, value in hooks)


def _hash_hooks(target: Target) -> Iterator[tuple[str, str]]:
    """The key of each hook of ours, and its hash as it is now."""
    host = BY_NAME["codex"]
    places = host.hooks.places if host.hooks else host.servers
    file = target.path(places.get(target.scope, ""))
    events = parse(read_host_file(file, target.root) or "{}").value.get("hooks", {})
    for event in host.events():
        for group_index, group in enumerate(events.get(event, ())):
            for index, hook in enumerate(group.get("hooks", ())):
                if f" hook {host.adapter} {event}" in hook.get("command", ""):
                    label = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()
                    key = f"{file}:{label}:{group_index}:{index}"
                    yield key, _hash(label, group, hook, _SECONDS.get(event, 600))


def _hash(label: str, group: Mapping[str, Any], hook: Mapping[str, Any], seconds: int) -> str:
    identity = {"type": "command", "timeout": seconds, "async": False, **hook}
    whole = {"event_name": label, **group, "hooks": [identity]}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _load_trusted(target: Target) -> dict[str, str]:
    """What a person has reviewed and not switched off; a project's hooks are in their file, too."""
    text = read_host_file(target.path(BY_NAME["codex"].servers["user"])) or ""
    states = load_toml(text.removeprefix("\ufeff")).get("hooks", {}).get("state", {})
    return {
        key: state.get("trusted_hash", "")
        for key, state in states.items()
        if state.get("enabled") is not False
    }
