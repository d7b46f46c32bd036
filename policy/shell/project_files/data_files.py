"""What a project's data files hold, read within bounds; empty for what cannot be read."""

from __future__ import annotations

import json
import re
from typing import Any

# A text of JSON, or else a comment or a comma at an end, as `.jsonc` files have them.
_JSON_PIECE = r'("(?:[^"\\]|\\.?)*+(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*+[}\]])'
_SETTING = r"(?:(alias|set|import\??|mod\??|export)\s+)?([\w-]+|(?=['\"]))\s*(?::=)?\s*(.*)"
_HEADER = r"@?([\w-]+)((?:\s+[^:]*+)?):(?!=)(.*)"


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
            found = _ini(text)
        elif name.lower().endswith("justfile") or name.endswith(".just"):
            found = _justfile(text)
        elif "Procfile" in name:
            found = {"tasks": dict(re.findall(r"(?m)^([\w-]+):[ \t]*(.+)", text))}
        else:
            from policy.toml_text import load_toml  # noqa: PLC0415

            found = load_toml(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _ini(text: str) -> dict[str, Any]:
    """The sections of a text; raises ValueError where it has none."""
    from configparser import Error, RawConfigParser  # noqa: PLC0415

    parser = RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except (Error, AttributeError) as error:  # the latter where a value goes on that was none
        raise ValueError("no sections") from error
    return {section: dict(parser[section]) for section in parser.sections()}


def _justfile(text: str) -> dict[str, Any]:
    """A justfile as a table: `vars`, `includes` and `tasks`, expressions between `{{` and `}}`."""
    from textwrap import dedent  # noqa: PLC0415

    data: dict[str, Any] = {"vars": {}, "includes": {}, "tasks": {}, "aliases": {}}
    body: list[str] = []
    for line in text.replace("\\\n", " ").split("\n"):
        if line[:1] in ("", " ", "\t"):
            body.append(line)
        elif found := re.match(_HEADER, line):
            body = []
            data["tasks"][found[1]] = {"parameters": found[2], "deps": found[3], "cmds": body}
        elif found := re.match(_SETTING, line):
            _set(data, *found.groups())
    for task in data["tasks"].values():
        whole = dedent("\n".join(task["cmds"]))
        lines = [whole] if whole[:2] == "#!" else [x.lstrip(" \t@-") for x in whole.split("\n")]
        shell = data.get("shell")
        task["cmds"] = [{"cmd": [*shell, line]} if shell else line for line in lines if line]
        called = re.findall(r"\(([^)]+)\)|([\w-]+)", task["deps"])
        deps = [called.split() or [plain] for called, plain in called]
        task["deps"] = [
            {"task": name, "arguments": [f"{{{{{word}}}}}" for word in rest]}
            for name, *rest in deps
        ]
    data["tasks"] |= {name: data["tasks"].get(to, "") for name, to in data["aliases"].items()}
    return data


def _set(data: dict[str, Any], kind: str | None, name: str, value: str) -> None:
    """A line of a justfile that is no recipe's."""
    path = value.strip("'\" ")
    kind = (kind or "").rstrip("?")
    if kind == "import":
        data["includes"][path] = {"taskfile": path, "flatten": "true"}
    elif kind == "mod":
        data["includes"][name] = path or f"{name}.just {name}/mod.just {name}/justfile"
    elif kind == "alias":
        data["aliases"][name] = value.strip()
    elif kind == "set":
        shell = re.findall(r"[^\s\[\]'\",]+", value)
        if name == "shell" and shell and shell[0].rpartition("/")[2] not in ("sh", "bash", "zsh"):
            data["shell"] = shell
        elif name.startswith("dotenv"):
            data["dotenv"] = [".env" if name == "dotenv-load" else path]
    else:
        data["vars"][name] = {"sh": value[1:-1]} if value[:1] == "`" else f"{{{{{value}}}}}"
