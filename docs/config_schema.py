"""Writes ctxmode/config.schema.json, the JSON Schema of configuration files, for editors.

Run it as `python docs/config_schema.py` from the checkout after a setting has changed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ctxmode.config.engine_settings import DAYS_MAX
from ctxmode.config.settings import SETTINGS, Setting
from ctxmode.config.transcripts import NEEDED, PRICE_MAX, PRICED
from ctxmode.hosts.registry import list_agents
from executor import ProjectAccess
from executor.engine import FLOORS
from executor.project.rules.names import ChangeVerdict
from runtimes.packages import BY_NAME

FILE = Path(__file__).parents[1] / "ctxmode" / "config.schema.json"
_STRINGS = {"type": "array", "items": {"type": "string"}}
PROFILE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "base": {"type": "string", "description": "analyze, build, or one defined above"},
        "project": {"enum": [access.value for access in ProjectAccess]},
        "network": {**_STRINGS, "description": "names that may be connected to"},
        "env": {**_STRINGS, "description": "variables that are passed through"},
        "read": {**_STRINGS, "description": "paths that are shown, read-only"},
        "floor": {"enum": list(FLOORS), "description": "the weakest tier it may run in"},
        "sockets": {**_STRINGS, "description": "Unix sockets of the project that are shown"},
        "stage": {"type": "boolean", "description": "changes are kept for a person to apply"},
    },
}
SOURCE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "enabled": {"type": "boolean", "description": "a project's file may say false alone"},
        "path": {"type": "string", "description": "a folder in place of the host's own"},
        "pattern": {"type": "string", "description": "names of files, such as *.jsonl"},
    },
}

_AMOUNT = {"type": "number", "minimum": 0, "maximum": PRICE_MAX}
PRICES: dict[str, Any] = {
    "type": "object",
    "description": "prices per million tokens by the beginning of a model's name; yours alone",
    "propertyNames": {"minLength": 1},
    "additionalProperties": {
        "type": "object",
        "additionalProperties": False,
        "required": list(NEEDED),
        "properties": dict.fromkeys(PRICED, _AMOUNT),
    },
}


REGISTRY: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "registry": {"type": "string", "description": "instead of the public one"},
        "hosts": {**_STRINGS, "description": "names that its files come from"},
        "private": {"type": "boolean", "description": "on a private network"},
        "ca": {"type": "string", "description": "a file of certificates to trust"},
    },
}
_MORE = {"exclusiveMinimum": 0}
OWNERS: dict[str, Any] = {
    "type": "object",
    "description": "what each owner of runs may have at the fleet; yours alone",
    "additionalProperties": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "weight": {"type": "number", **_MORE, "description": "its share beside others"},
            "running": {"type": "integer", **_MORE, "description": "runs with the engine"},
            "queued": {"type": "integer", **_MORE, "description": "runs that wait"},
            "cpu_s_a_day": {"type": "number", **_MORE, "description": "processor seconds"},
        },
    },
}
_SIZE = {"type": ["integer", "string"]}
PACKAGES: dict[str, Any] = {
    "type": "object",
    "description": "packages that programs import; yours alone",
    "additionalProperties": False,
    "properties": {
        "allow": {
            "type": "array",
            "items": {"enum": list(BY_NAME)},
            "description": "ecosystems that fetch without asking",
        },
        "cooldown_days": {
            "type": "integer",
            "minimum": 0,
            "maximum": DAYS_MAX,
            "description": "younger releases are left out",
        },
        "bytes": {**_SIZE, "description": "what all layers may take"},
        "layer_bytes": {**_SIZE, "description": "what the packages of one run may take"},
        **dict.fromkeys(BY_NAME, REGISTRY),
    },
}


def build_schema() -> dict[str, Any]:
    """Describe what `ctxmode/config.toml` and `.ctxmode/config.toml` may hold."""
    tables: dict[str, Any] = {
        "profiles": {"type": "object", "additionalProperties": PROFILE},
        "names": {
            "type": "object",
            "description": "whether a run's change to what tools obey is committed",
            "additionalProperties": {"enum": [*ChangeVerdict]},
        },
    }
    tables["packages"] = PACKAGES
    for setting in SETTINGS:
        table, name = setting.path
        entry = tables.setdefault(
            table, {"type": "object", "additionalProperties": False, "properties": {}}
        )
        entry["properties"][name] = _describe(setting)
    tables["transcripts"]["properties"]["prices"] = PRICES
    tables["cluster"]["properties"]["owners"] = OWNERS
    tables["transcripts"]["properties"]["sources"] = {
        "type": "object",
        "description": "hosts' transcripts: whether, where and which are read",
        "additionalProperties": False,
        "properties": dict.fromkeys(list_agents(), SOURCE),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of context-mode",
        "type": "object",
        "additionalProperties": False,
        "properties": tables,
    }


def _describe(setting: Setting) -> dict[str, Any]:
    amount = {"type": "integer", "exclusiveMinimum": 0}
    text = {"type": "string", "pattern": r"^\d+(\.\d+)?\s*[kmgKMG]?(i?[bB])?$"}
    kinds: dict[str, dict[str, Any]] = {
        "seconds": {"type": "number", "exclusiveMinimum": 0},
        "count": amount,
        "bytes": {"anyOf": [amount, text]},
        "switch": {"type": "boolean"},
        "choice": {"enum": list(setting.choices)},
        "text": {"type": "string"},
    }
    return {"description": setting.about, **kinds[setting.kind]}


def write_schema() -> None:
    """Write the file of the schema."""
    FILE.write_text(json.dumps(build_schema(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_schema()
