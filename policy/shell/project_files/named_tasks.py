"""Tasks that stand under their names in a table of a data file, one row for each runner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from policy import marks
from policy.shell.options import parse
from policy.shell.project_files import Project, Reader, Step, joined, table, texts
from policy.shell.project_files.data_files import read_data
from policy.wordlist import words


class Row(NamedTuple):
    """Where a runner's tasks stand, and how its command line names one.

    `verbs` come before a name; without them the name comes first. `values` are the options with a
    value. `default` is the task where none is named, `*` all. `before` is put before each line.
    """

    files: str
    tables: str
    verbs: str = ""
    default: str = ""
    values: str = "cwd C d dir directory project working-dir f file config"
    before: str = ""


_FOLDER_OPTIONS = words("cwd C d dir directory working-dir project")
_FILE_OPTIONS = words("f file config t taskfile")
_SHOWS = words("list l list-all a summary dry n help h")
_COMMANDS = words("cmd cmds command commands run shell composite chain sequence script call")
_NEEDED = words("deps depends depends-on depends_on dependencies")
_PROGRAMS = "project.scripts tool.poetry.scripts"
_HOLDER = re.compile(r"\{\{-?\s*\.?(\w+)[^{}]*\}\}|\{(args|posargs)(?::([^{}]*))?\}")

ROWS: dict[str, Row] = {
    "composer": Row("composer.json", "scripts", "run run-script"),
    "deno": Row("deno.json deno.jsonc package.json", "tasks scripts", "task"),
    "task": Row("Taskfile.yml taskfile.yml Taskfile.yaml taskfile.yaml Taskfile.dist.yml "
                "pyproject.toml", "tasks tool.taskipy.tasks", "", "default",
                "d dir t taskfile C concurrency o output"),
    "pdm": Row("pyproject.toml", f"tool.pdm.scripts {_PROGRAMS}", "run"),
    "hatch": Row("pyproject.toml hatch.toml", "tool.hatch.envs.*.scripts envs.*.scripts "
                 f"tool.hatch.scripts {_PROGRAMS}", "run"),
    "poe": Row("pyproject.toml poe_tasks.toml", "tool.poe.tasks tasks"),
    "rye": Row("pyproject.toml", f"tool.rye.scripts {_PROGRAMS}", "run"),
    "uv": Row("pyproject.toml", _PROGRAMS, "run", values="with p python directory project extra"),
    "poetry": Row("pyproject.toml", _PROGRAMS, "run"),
    "uvx": Row("pyproject.toml", _PROGRAMS, values="from with p python"),
    "pipx": Row("pyproject.toml", _PROGRAMS, "run", values="spec python"),
    "pipenv": Row("Pipfile", "scripts", "run"),
    "pixi": Row("pixi.toml pyproject.toml", "tasks tool.pixi.tasks feature.*.tasks "
                "tool.pixi.feature.*.tasks", "run", values="e environment manifest-path"),
    "mise": Row("mise.toml .mise.toml mise/config.toml .config/mise.toml", "tasks", "run r"),
    "cargo": Row(".cargo/config.toml .cargo/config", "alias", before="cargo "),
    "foreman": Row("Procfile Procfile.dev", "*", "start s", "*",
                   "f procfile d root e env p port m formation c"),
    "pre-commit": Row(".pre-commit-config.yaml .pre-commit-config.yml", "hooks", "run", "*",
                      "c config color files hook-stage"),
}  # fmt: skip
_SAME = {"go-task": "task", "prek": "pre-commit"}
_SAME |= dict.fromkeys(words("honcho overmind hivemind goreman"), "foreman")


class Tasks(NamedTuple):
    """The tasks of a file, with what the command line says beside the name of one."""

    project: Project
    row: Row
    folder: str
    by_name: dict[str, Any]
    variables: dict[str, str]
    arguments: str

    def steps(self, name: str, seen: set[str]) -> Iterator[Step]:
        """What a task runs, those that it needs first."""
        if name not in self.by_name:  # a task of an included file, named inside it
            name = next((known for known in self.by_name if known.endswith(f":{name}")), name)
        entry = self.by_name.get(name)
        if name in seen or entry is None:
            return
        seen.add(name)
        found = table(entry)
        given = {key: str(value) for key, value in table(found, "vars").items()}
        inner = self._replace(variables=given | self.variables)
        for item in [item for key in _NEEDED for item in _items(found.get(key))]:
            needed = item.get("task", "") if isinstance(item, dict) else item.split()[0:1]
            for other in texts(needed):
                yield from self.steps(other, seen)
        if folder := found.get("dir", found.get("cwd")):
            inner = inner._replace(folder=f"{self.folder}/{inner.filled(str(folder))}")
        values = [found.get(key) for key in _COMMANDS] if found else [entry]
        for value in values:
            is_words = isinstance(value, list) and (value is found.get("cmd") or self.row.before)
            for item in [joined(texts(value))] if is_words else _items(value):
                yield from inner.of_item(item, seen)

    def of_item(self, item: Any, seen: set[str]) -> Iterator[Step]:  # noqa: ANN401
        """A line, or the task that it names."""
        if isinstance(item, dict):
            for other in texts(item.get("task", item.get("ref"))):
                yield from self.steps(other, seen)
            for key in ("cmd", "shell", "defer"):
                for line in texts(item.get(key)):
                    yield from self.of_item(line, seen)
            return
        name = item.removeprefix("@").split()[0] if item.split() else ""
        is_other = name in self.by_name and (item[0] == "@" or "tasks" != self.row.tables[:5])
        if is_other and name not in seen:
            yield from self.steps(name, seen)
        elif module := re.fullmatch(r"([\w.]+):\w+(?:\(.*\))?", item):
            path = module[1].replace(".", "/")
            names = f"{path}.py src/{path}.py {path}/__init__.py src/{path}/__init__.py"
            _, text = self.project.find(names, self.folder, is_upwards=False)
            yield Step(text, self.project.folder, "python")
        else:
            line = re.sub(r"^@(php|composer)\b", r"\1", item)
            line = self.row.before + self.filled(line)
            if not _HOLDER.search(item) and self.row.default != "default":
                line = f"{line} {self.arguments}"
            yield Step(line, self.folder)

    def filled(self, text: str) -> str:
        """A text with the values of its variables; those that are not known stay unknown."""
        known = {"args": self.arguments, "posargs": self.arguments, "CLI_ARGS": self.arguments}
        known |= self.variables

        def value(found: re.Match[str]) -> str:
            return known.get(found[1] or found[2], marks.LIST) or found[3] or ""

        return _HOLDER.sub(value, text)


def _items(value: object) -> list[Any]:
    """The texts and tables of a list, or of one value; those of a table are its keys."""
    items = value if isinstance(value, list) else [*value] if isinstance(value, dict) else [value]
    return [item for item in items if isinstance(item, str | dict)]


def _tasks(project: Project) -> Iterator[Step]:
    call = project.call
    row = ROWS[_SAME.get(call.name, call.name)]
    values = words(row.values)
    short = "".join(name for name in values if len(name) == 1)
    parsed = parse(call.argv, short, values, permutes=not row.verbs and bool(row.default))
    given = [word for _, word in parsed.operands]
    if row.verbs and given[:1] and (given[0] in words(row.verbs) or call.name == "composer"):
        inner = parse(given, short, values, permutes=row.default == "*")
        behind = [word for _, word in inner.operands]
        given = behind if given[0] in words(row.verbs) else given
        parsed = parsed._replace(options=parsed.options + inner.options)
    elif row.verbs:
        return
    if parsed.has(*_SHOWS):
        return
    folder = next(parsed.values(_FOLDER_OPTIONS), "")
    file = next(parsed.values(_FILE_OPTIONS), row.files)
    variables = dict(word.split("=", 1) for word in given if "=" in word)
    behind = [word for word in given[1:] if word != "--"]
    wanted = given[:1]
    if row.default:
        behind = list(call.argv[call.argv.index("--") + 1 :]) if "--" in call.argv else []
        wanted = [word for word in given if "=" not in word and word not in behind]
    for name in file.split():
        where, text = project.find(name, folder)
        data = read_data(name, text)
        found = _tables(project, row, data, where)
        known = {k: str(v) for k, v in table(data, "vars").items()} | variables
        tasks = Tasks(project, row, where, found, known, joined(behind))
        seen: set[str] = set()
        for target in wanted or ([*found] if row.default == "*" else [row.default]):
            is_of_environment = call.name == "hatch" and target not in found
            name = target.rpartition(":")[2] if is_of_environment else target
            yield from tasks.steps(name, seen)


def _tables(
    project: Project, row: Row, data: dict[str, Any], folder: str, depth: int = 0
) -> dict[str, Any]:
    """The tasks of a file by their names, with those of the files that it includes."""
    if row.tables == "*":
        return data
    if row.tables == "hooks":
        hooks = [hook for repo in _items(data.get("repos")) for hook in _items(repo.get("hooks"))]
        return {
            str(hook.get("id")): f"{hook['entry']} {joined(texts(hook.get('args')))}"
            for hook in hooks
            if isinstance(hook, dict) and "entry" in hook
        }
    found: dict[str, Any] = {}
    for place in row.tables.split():
        head, star, rest = place.partition(".*.")
        heads = table(data, *head.split("."))
        for inner in heads.values() if star else [heads]:
            found |= table(inner, *rest.split(".")) if star else inner
    for space, item in table(data, "includes").items() if depth < 4 else ():
        path = str(item.get("taskfile", "") if isinstance(item, dict) else item)
        if not path.endswith((".yml", ".yaml")):
            path = f"{path}/Taskfile.yml"
        where, text = project.find(path, folder, is_upwards=False)
        included = _tables(project, row, read_data(path, text), where, depth + 1)
        dir_of = {"dir": item.get("dir", ".")} if isinstance(item, dict) else {}
        for name, entry in included.items():
            found[f"{space}:{name}"] = {"cmds": entry} | dir_of if not table(entry) else entry
    return found


READERS: dict[str, Reader] = dict.fromkeys([*ROWS, *_SAME], _tasks)
