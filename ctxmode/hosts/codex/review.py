"""Review state of our hooks in Codex, which skips hooks that the user has not reviewed.

Codex writes reviewed hooks to its configuration, as `[hooks.state."FILE:EVENT:GROUP:HOOK"]` with
`trusted_hash`, the SHA-256 of the hook's canonical JSON. Source: the repository openai/codex,
codex-rs/hooks/src/engine/discovery.rs; tested with Codex 0.169.0.
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

_SECONDS = {"SessionEnd": 1}  # 600 for others, if a hook has no timeout


def describe_review(target: Target) -> str:
    """Write whether Codex runs our hooks; empty if none is registered or no file can be read."""
    count, waiting = _count_hooks(target)
    if count and not waiting:
        return f"Codex runs all {count} hooks: they have been reviewed."
    return describe_waiting(target)


def describe_waiting(target: Target) -> str:
    """Write how many of our hooks Codex skips; empty if it runs all registered hooks."""
    count, waiting = _count_hooks(target)
    if not waiting:
        return ""
    return f"Codex skips {waiting} of {count} hooks until you review them: type /hooks in Codex."


def _count_hooks(target: Target) -> tuple[int, int]:
    """Return how many of our hooks are registered, and how many of them wait for a review."""
    try:
        hooks = list(_hash_hooks(target))
        trusted = _load_trusted(target)
    except (ContextModeError, ValueError, TypeError, AttributeError, RecursionError):
        return 0, 0
    return len(hooks), sum(trusted.get(key) != value for key, value in hooks)


def _hash_hooks(target: Target) -> Iterator[tuple[str, str]]:
    """Yield the key and the current hash of each of our hooks."""
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
    """Load the hashes of reviewed hooks that are not disabled. The user's file also has those of
    projects' hooks."""
    text = read_host_file(target.path(BY_NAME["codex"].servers["user"])) or ""
    states = load_toml(text.removeprefix("\ufeff")).get("hooks", {}).get("state", {})
    return {
        key: state.get("trusted_hash", "")
        for key, state in states.items()
        if state.get("enabled") is not False
    }
