"""A project's data files, read within bounds; empty if unreadable."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from base.globs import is_made_of
from base.wordlist import words
from policy.shell.project_files import ProjectFiles, table, texts

if TYPE_CHECKING:
    from policy.shell.project_files.tasks import TaskCall

# Tags, anchors and aliases are skipped; every value is a text.

DEPTH_MAX = 64
FLOW_LINES_MAX = 64  # lines over which a list or a table in brackets may continue
_KEY = re.compile(
    r"""(?:"([^"]*+)"|'([^']*+)'|([^"'\[{#&*!|>@`\s](?>[^:]*(?::(?!\s|$)[^:]*)*)))\s*+:(?=\s|$)"""
)
_TAG = re.compile(r"\s*(?:[&!]\S*\s*)*")
_QUOTED = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*+)"|'((?:[^']|'')*+)')""")
_FLOW = re.compile(
    r"""("(?:[^"\\]|\\.?)*+(?:"|\Z)|[\[\]{},]|\s+)|'((?:[^']|'')*+)(?:'|\Z)|(:)(?=\s)|"""
    r"""((?>(?:[^\[\]{},:\s"']++|:(?!\s)|[ \t]+(?![\[\]{},:\s]))+))"""
)
Lines = list[tuple[int, str]]  # indentation and text, the next one last


def read_yaml(text: str) -> Any:  # noqa: ANN401 - YAML is anything
    """Return the value of a text. Raises ValueError if it is nested too deep."""
    rows = [line.expandtabs() for line in text.splitlines()]
    return _block([(len(row) - len(row.lstrip()), row.strip()) for row in rows][::-1], 0, 0)


def _next(lines: Lines) -> int:
    """Return the indentation of the next line with content; -1 at the end."""
    while lines and (not lines[-1][1] or lines[-1][1][0] in "#%" or lines[-1][1] == "---"):
        lines.pop()
    return lines[-1][0] if lines else -1


def _block(lines: Lines, least: int, depth: int) -> Any:  # noqa: ANN401
    """Return the list, the table or the text that begins at the next line."""
    indent = _next(lines)
    if depth > DEPTH_MAX:
        raise ValueError("nested too deep")
    items: list[Any] = []
    found: dict[str, Any] = {}
    while indent >= least and _next(lines) == indent:
        line = lines.pop()[1]
        if line[:2] in ("-", "- "):
            rest = line[1:].lstrip()
            lines.append((indent + len(line) - len(rest), rest))
            items.append(_block(lines, indent + 1, depth + 1))
        elif key := _KEY.match(line):
            name = key[1] or key[2] or (key[3] or "").rstrip()
            found[name] = _value(line[key.end() :], lines, indent, depth)
        else:
            return items or found or _value(line, lines, indent - 1, depth)
    return items or found or ""


def _value(text: str, lines: Lines, indent: int, depth: int) -> Any:  # noqa: ANN401
    """Return the value after a key, which may continue in the lines below."""
    text = text[_TAG.match(text).end() :]  # type: ignore[union-attr]
    if text[:1] in ("|", ">"):
        return _below(lines, indent, "\n" if text[0] == "|" else " ")
    if not text or text[0] == "#":
        is_list = _next(lines) == indent >= 0 and lines[-1][1][0] == "-"
        return _block(lines, indent if is_list else indent + 1, depth + 1)
    if text[0] not in "[{":
        return _scalar(f"{text} {_below(lines, indent, ' ')}")
    for _ in range(FLOW_LINES_MAX):
        if lines and sum(map(text.count, "[{")) > sum(map(text.count, "]}")):
            text = f"{text} {lines.pop()[1]}"
    try:
        return json.loads(re.sub(r",\s*(?=[\]}])", "", _FLOW.sub(_as_json, text)))
    except ValueError:
        return ""


def _as_json(piece: re.Match[str]) -> str:
    return piece[1] or piece[3] or json.dumps(piece[4] or (piece[2] or "").replace("''", "'"))


def _below(lines: Lines, indent: int, between: str) -> str:
    """Return the lines that are indented deeper, as one text."""
    taken: list[tuple[int, str]] = []
    while lines and (lines[-1][0] > indent or not lines[-1][1]):
        taken.append(lines.pop())
    first = next((depth for depth, line in taken if line), 0)
    return between.join(" " * max(0, depth - first) + line for depth, line in taken).strip()


def _scalar(text: str) -> str:
    quoted = _QUOTED.match(text)
    if quoted and quoted[1] is not None:
        return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), quoted[1])
    return quoted[2].replace("''", "'") if quoted else re.split(r"(?:^|\s)#", text)[0].strip()


# A text of JSON, or else a comment or a comma at an end, as `.jsonc` files have them.
_JSON_PIECE = r'("(?:[^"\\]|\\.?)*+(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*+[}\]])'
_SETTING = r"(?:(alias|set|import\??|mod\??|export)\s+)?([\w-]+|(?=['\"]))\s*(?::=)?\s*(.*)"
_HEADER = r"@?([\w-]+)((?:\s+[^:]*+)?):(?!=)(.*)"


def read_data(name: str, text: str) -> dict[str, Any]:
    """Return the table that a file of this name holds."""
    if not text:
        return {}
    # Each reader is imported when a file needs it: a hook waits for imports.
    try:
        if name.endswith((".json", ".jsonc")):
            piece = re.compile(_JSON_PIECE, re.DOTALL)
            plain = piece.sub(lambda found: found[1] or "", text.removeprefix("\ufeff"))
            found = json.loads(plain, parse_int=str)
        elif name.endswith((".yml", ".yaml")):
            found = read_yaml(text)
        elif name.endswith((".ini", ".cfg")):
            found = _ini(text)
        elif name.lower().endswith("justfile") or name.endswith(".just"):
            found = _justfile(text)
        elif "Procfile" in name:
            found = {"tasks": dict(re.findall(r"(?m)^([\w-]+):[ \t]*(.+)", text))}
        else:
            from base.strict_data import load_toml  # noqa: PLC0415

            found = load_toml(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _ini(text: str) -> dict[str, Any]:
    """Return the sections of a text; raises ValueError if it has none."""
    from configparser import Error, RawConfigParser  # noqa: PLC0415

    parser = RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except (Error, AttributeError) as error:  # the latter if a value continues that was none
        raise ValueError("no sections") from error
    return {section: dict(parser[section]) for section in parser.sections()}


def _justfile(text: str) -> dict[str, Any]:
    """Return a justfile's `vars`, `includes` and `tasks`, expressions in `{{` and `}}`."""
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
    """Set the data of a justfile's line outside of a recipe."""
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


_OF_ALL = words("workspaces ws r recursive")


def _data(project: ProjectFiles, name: str, folder: str) -> dict[str, Any]:
    return read_data(name, project.read(name, folder))


def packages(project: ProjectFiles, folder: str, call: TaskCall) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders in which a command line runs scripts, each with their names."""
    root = project.find("package.json nx.json", folder)[0] or project.folder
    options, names = call.options, call.names
    wanted = list(options.values(words("w workspace filter F scope projects p")))
    of_each = project.call.name in ("turbo", "nx", "lerna")
    if project.call.name == "nx" and names and not options.has("t", "target", "targets"):
        owner, _, target = names[0].partition(":")  # `nx run y:x`, `nx x y`
        wanted += [owner] if target else names[1:2]
        names = [target or owner]
    if of_each:
        data = _data(project, "turbo.json", root) | _data(project, "nx.json", root)
        known = table(data, "tasks") | table(data, "pipeline") | table(data, "targetDefaults")
        for name in (names := [*names]):
            needed = texts(table(known, name).get("dependsOn"))
            others = {other.lstrip("^").rpartition("#")[2] for other in needed}
            names += sorted(others.difference(names))
    of_members = of_each or bool(wanted) or options.has(*_OF_ALL)
    roots = [root] if of_each or not of_members else []
    for place in [*roots, *(_members(project, root, wanted) if of_members else ())]:
        yield place, [*names]


def _members(project: ProjectFiles, root: str, wanted: list[str]) -> Iterator[str]:
    """Yield the folders of a workspace: those whose name or folder is wanted, else all."""
    listed = _data(project, "package.json", root).get("workspaces")
    given = [*texts(listed), *texts(table(listed).get("packages"))]
    for name in ("pnpm-workspace.yaml", "lerna.json"):
        given += texts(_data(project, name, root).get("packages"))
    names = [re.sub(r"[{}^]|\.\.\.|\[.*", "", name).removeprefix("./") for name in wanted]
    names = [name for one in names for name in one.split(",") if name]
    members = {}
    for folder in project.paths(" ".join(given or ["packages/*", "apps/*", "libs/*", "*"]), root):
        data = _data(project, "package.json", folder) or _data(project, "project.json", folder)
        own = str(data.get("name", ""))
        if data:
            members[folder] = (own, own.rpartition("/")[2], folder[len(root) + 1 :])
    chosen = [
        folder
        for folder, spellings in members.items()
        if any(is_made_of(name.split("*"), one) for name in names for one in spellings)
    ]
    yield from chosen if names else members
