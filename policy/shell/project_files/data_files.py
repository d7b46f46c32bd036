"""What a project's data files hold, read within bounds; empty for what cannot be read."""

from __future__ import annotations

import configparser
import json
import re
from typing import Any

from policy.shell.project_files.yaml_lines import read_yaml
from policy.toml_text import load_toml

# A text of JSON, or else a comment or a comma at an end, as `.jsonc` files have them.
_JSON_PIECE = re.compile(
    r'("(?:[^"\\]|\\.?)*+(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*+[}\]])', re.DOTALL
)


def read_data(name: str, text: str) -> dict[str, Any]:
    """The table that a file of this name holds."""
    try:
        if name.endswith((".json", ".jsonc")):
            plain = _JSON_PIECE.sub(lambda piece: piece[1] or "", text.removeprefix("\ufeff"))
            found = json.loads(plain, parse_int=str)
        elif name.endswith((".yml", ".yaml")):
            found = read_yaml(text)
        elif name.endswith((".ini", ".cfg")):
            parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
            parser.read_string(text)
            found = {section: dict(parser[section]) for section in parser.sections()}
        elif "Procfile" in name:
            found = dict(re.findall(r"(?m)^([\w-]+):[ \t]*(.+)", text))
        else:
            found = load_toml(text)
    except (ValueError, RecursionError, AttributeError, configparser.Error):
        # configparser looks up an attribute of None where a value goes on that was none
        return {}
    return found if isinstance(found, dict) else {}
