"""What a project's data files hold, read within bounds; empty for what cannot be read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from textwrap import dedent
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node

# A text of JSON, or else a comment or a comma at an end, as `.jsonc` files have them.
_JSON_PIECE = r'("(?:[^"\\]|\\.?)*+(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*+[}\]])'
# Where a piece of YAML may begin in a line. Each depth begins behind the one around it, and the
# scanner of the grammar has room for 256 of them: it crashes at more.
_STARTS = re.compile(r"^\s*|[-?:]\s+")
YAML_DEPTH_MAX = 200
_SETTING = re.compile(
    r"(?:(alias|set|import\??|mod\??|export)\s+)?([\w-]+|(?=['\"]))\s*(?::=)?\s*(.*)"
)
_HEADER = re.compile(r"@?([\w-]+)((?:\s+[^:]*+)?):(?!=)(.*)")


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
            from policy.grammars import parse  # noqa: PLC0415

            starts = {m.end() for line in text.split("\n") for m in _STARTS.finditer(line)}
            tree = parse("yaml", text.encode()) if len(starts) <= YAML_DEPTH_MAX else None
            found = tree and _yaml(tree.root_node, {})
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


def _yaml(node: Node, anchors: dict[bytes, Any]) -> Any:  # noqa: ANN401 - YAML is anything
    """The value of a piece of YAML; every scalar is a text."""
    inner = [child for child in node.named_children if child.type not in ("comment", "tag")]
    if node.type.endswith("_mapping"):
        sides = [[pair.child_by_field_name(side) for side in ("key", "value")] for pair in inner]
        values = [[_yaml(side, anchors) if side else "" for side in pair] for pair in sides]
        return {str(key): value for key, value in values}
    if node.type.endswith("_sequence"):
        return [_yaml(child, anchors) for child in inner]
    if node.type in _SCALARS:
        return _SCALARS[node.type]((node.text or b"").decode())
    if node.type == "alias":
        return anchors.get(node.text or b"", "")
    value = _yaml(inner[-1], anchors) if inner else ""
    if inner and inner[0].type == "anchor":
        anchors[(inner[0].text or b"").replace(b"&", b"*")] = value
    return value


def _block_text(text: str) -> str:
    lines = dedent(text.partition("\n")[2]).strip()
    return lines.replace("\n", " ") if text[0] == ">" else lines


_SCALARS: dict[str, Callable[[str], str]] = {
    "block_scalar": _block_text,
    "plain_scalar": lambda text: " ".join(text.split()),
    "single_quote_scalar": lambda text: text[1:-1].replace("''", "'"),
    "double_quote_scalar": lambda text: re.sub(
        r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text[1:-1]
    ),
}


def _justfile(text: str) -> dict[str, Any]:
    """A justfile as a table: `vars`, `includes` and `tasks`, expressions between `{{` and `}}`."""
    data: dict[str, Any] = {"vars": {}, "includes": {}, "tasks": {}, "aliases": {}}
    body: list[str] = []
    for line in text.replace("\\\n", " ").split("\n"):
        if line[:1] in ("", " ", "\t"):
            body.append(line)
        elif found := _HEADER.match(line):
            body = []
            data["tasks"][found[1]] = {"parameters": found[2], "deps": found[3], "cmds": body}
        elif found := _SETTING.match(line):
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
