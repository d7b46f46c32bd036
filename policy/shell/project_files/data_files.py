"""What a project's data files hold, read within bounds; empty for what cannot be read."""

from __future__ import annotations

import json
import re
from typing import Any

# A text of JSON, or else a comment or a comma at an end, as `.jsonc` files have them.
_JSON_PIECE = r'("(?:[^"\\]|\\.?)*+(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*+[}\]])'


def read_data(name: str, text: str) -> dict[str, Any]:
    """The table that a file of this name holds."""
    if not text:
        return {}
    # Each reader is imported where a file needs it: a hook waits for what is imported.
    try:
        if name.endswith((".json", ".jsonc")):
            piece = re.compile(_JSON_PIECE, re.DOTALL)
            plain = piece.sub(lambda found: found[1] or "", text.removeprefix("\ufeff"))
            found = json.loads(plain, parse_int=str)
        elif name.endswith((".yml", ".yaml")):
            from policy.shell.project_files.yaml_lines import read_yaml  # noqa: PLC0415

            found = read_yaml(text)
        elif name.endswith((".ini", ".cfg")):
            found = _read_ini(text)
        elif "Procfile" in name:
            found = dict(re.findall(r"(?m)^([\w-]+):[ \t]*(.+)", text))
        else:
            from policy.toml_text import load_toml  # noqa: PLC0415

            found = load_toml(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _read_ini(text: str) -> dict[str, Any]:
    """The sections of a text; raises ValueError where it has none."""
    from configparser import Error, RawConfigParser  # noqa: PLC0415

    parser = RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except (Error, AttributeError) as error:  # the latter where a value goes on that was none
        raise ValueError("no sections") from error
    return {section: dict(parser[section]) for section in parser.sections()}
