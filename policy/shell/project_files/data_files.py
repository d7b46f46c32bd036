"""A project's files, read within bounds: data, programs, and packages."""

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

# A text of JSON, or else a comment or a comma at an end, as `.jsonc` files have them.
_JSON_PIECE = r'("(?:[^"\\]|\\.?)*+(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*+[}\]])'
_SETTING = r"(?:(alias|set|import\??|mod\??|export)\s+)?([\w-]+|(?=['\"]))\s*(?::=)?\s*(.*)"
_HEADER = r"@?([\w-]+)((?:\s+[^:]*+)?):(?!=)(.*)"


def read_data(project: ProjectFiles, name: str, text: str) -> dict[str, Any]:
    """Return the table in a file; empty, and reported, if the parser refuses it: others may not."""
    if not text:
        return {}
    # Each reader is imported when a file needs it: a hook waits for imports.
    try:
        if name.endswith((".json", ".jsonc")):
            piece = re.compile(_JSON_PIECE, re.DOTALL)
            plain = piece.sub(lambda found: found[1] or "", text.removeprefix("\ufeff"))
            found = json.loads(plain, parse_int=str)
        elif name.endswith((".yml", ".yaml")):
            found = _yaml(text)
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
        project.call.walk.report_partial()
        return {}
    return found if isinstance(found, dict) else {}


def _yaml(text: str) -> Any:  # noqa: ANN401 - YAML is anything
    """Return the value of a text, in which every scalar is a text; raises ValueError."""
    import yaml  # noqa: PLC0415

    class Texts(yaml.CBaseLoader):  # type: ignore[misc] # it limits how deep a text is nested
        def construct_scalar(self, node: yaml.ScalarNode) -> str:
            return str(node.value).strip()

    try:
        return yaml.load(text, Loader=Texts)  # noqa: S506 - it makes texts, lists and tables alone
    except yaml.YAMLError as error:
        raise ValueError("not YAML") from error


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


_DEFINES = (
    r"""(?m)^(?:async[ ]|export[ ])*(?:(?:def|class|func|function|(?:multi)?task|file|namespace|"""
    r"""rule|(?:private_)?lane|const|let|var|val)\b[\s(:'"]*|exports\.|add_custom_target\(\s*|"""
    r"""\w+\.(?:task|registerTask|create|register(?:<\w+>)?)\(\s*['"])([\w-]+)|\bname=["']([\w-]+)"""
)
# Lines that begin something new: not inside, not closing, and not after a decorator.
_BEGINS = r"(?m)(?<![^\n])(?=[^\s)\]}#])(?!(?:end|el|except|finally|rescue|ensure)\b)"


def pieces_for(text: str, wanted: set[str], context: str = "") -> str:
    """Return the pieces that the wanted targets reach, and those that define nothing."""
    pieces: list[tuple[str, set[str]]] = []
    defining: dict[str, list[int]] = {}  # the pieces that define a name
    one = re.sub(r"(?m)^(@.*|\))\n(?=@|def |async )", r"\1\r", text)  # with its decorators
    for part in re.split(_BEGINS, one):
        piece = part.replace("\r", "\n")
        if context and (parameter := re.search(r"def \w+\(\s*(\w+)", piece)):
            piece = re.sub(rf"\b{parameter[1]}\.", context, piece)
        names = {a or b for a, b in re.findall(_DEFINES, piece)}
        for name in names:
            defining.setdefault(name, []).append(len(pieces))
        pieces.append((piece, names))
    said = re.search(r"nox\.options\.sessions\s*=(.*)", text)
    if "" in wanted and said:  # no target named: those of the file's default, else all
        wanted = set(re.findall(r"[\w-]+", said[1]))
    waiting = [at for at, (_, n) in enumerate(pieces) if not n or "" in wanted or n & wanted]
    kept: dict[int, str] = {}
    for at in waiting:
        if at not in kept:
            kept[at], names = pieces[at]
            for name in re.findall(r"[\w-]+" if names else r"(?<![\w-])[\w-]++(?=\()", kept[at]):
                waiting += defining.pop(name, ())
    return "".join(kept[at] for at in sorted(kept))


_OF_ALL = words("workspaces ws r recursive")


def _data(project: ProjectFiles, name: str, folder: str) -> dict[str, Any]:
    return read_data(project, name, project.read(name, folder))


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
