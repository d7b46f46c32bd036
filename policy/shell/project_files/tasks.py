"""Tasks that stand under their names in a data file: a row for each runner, one way to run them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from policy import marks
from policy.shell.options import Parsed, parse
from policy.shell.project_files import Project, Reader, Step, joined, table, texts
from policy.shell.project_files.data_files import read_data
from policy.wordlist import words


class Row(NamedTuple):
    """Where a runner's tasks stand, and how its command line names one.

    A `place` is a path of keys, or `*` and what has to be worked out. `verbs` come before a name.
    `default` is the task where none is named, `*` all; with one, every operand is a task. `values`
    are the options with a value. `before` is put before each line.
    """

    files: str
    places: str
    verbs: str = ""
    default: str = ""
    values: str = "C cwd d dir directory working-dir project f file config"
    before: str = ""


_PROGRAMS = "project.scripts tool.poetry.scripts"
ROWS: dict[str, Row] = {
    "composer": Row("composer.json", "scripts", "run run-script"),
    "deno": Row("deno.json deno.jsonc package.json", "tasks scripts", "task"),
    "task": Row("Taskfile.yml taskfile.yml Taskfile.yaml taskfile.yaml Taskfile.dist.yml "
                "pyproject.toml", "tasks tool.taskipy.tasks", "", "default",
                "d dir t taskfile C concurrency o output"),
    "pdm": Row("pyproject.toml", f"tool.pdm.scripts {_PROGRAMS}", "run"),
    "hatch": Row("pyproject.toml hatch.toml", "tool.hatch.envs.*.scripts envs.*.scripts "
                 f"{_PROGRAMS}", "run"),
    "poe": Row("pyproject.toml poe_tasks.toml", "tool.poe.tasks tasks"),
    "rye": Row("pyproject.toml", f"tool.rye.scripts {_PROGRAMS}", "run"),
    "uv": Row("pyproject.toml", _PROGRAMS, "run", values="with p python directory project extra"),
    "uvx": Row("pyproject.toml", _PROGRAMS, values="from with p python"),
    "pipenv": Row("Pipfile", "scripts", "run"),
    "pixi": Row("pyproject.toml pixi.toml", "tasks tool.pixi.tasks feature.*.tasks", "run",
                values="e environment manifest-path"),
    "mise": Row("mise.toml .mise.toml mise/config.toml .config/mise.toml", "tasks", "run r"),
    "cargo": Row(".cargo/config.toml .cargo/config", "alias", before="cargo "),
    "foreman": Row("Procfile Procfile.dev", "*", "start s", "*",
                   "f procfile d root e env p port m formation c"),
    "pre-commit": Row(".pre-commit-config.yaml", "*hooks", "run", "*",
                      "c config color files hook-stage"),
    "tox": Row("tox.ini setup.cfg pyproject.toml", "*tox", "", "*", "e f x c conf root workdir"),
    "docker": Row("compose.yaml compose.yml docker-compose.yml docker-compose.yaml", "*compose",
                  "run up start create restart watch", "*", "f file p project-name env-file e env "
                  "profile project-directory v volume publish u user w workdir entrypoint name"),
}  # fmt: skip
_SAME = {"go-task": "task", "prek": "pre-commit", "poetry": "rye", "pipx": "uvx"}
_SAME |= dict.fromkeys(words("honcho overmind hivemind goreman"), "foreman")
_SAME |= dict.fromkeys(words("podman docker-compose podman-compose"), "docker")
_SHOWS = words("list l list-all a summary dry n help h")
_COMMANDS = words("cmd cmds command commands run shell composite chain sequence script call")
_NEEDED = words("deps depends depends-on depends_on dependencies")
_TOX_LINES = ("commands_pre", "commands", "commands_post")
_HOLDER = re.compile(r"\{\{-?\s*\.?(\w+)[^{}]*\}\}|\{(args|posargs)(?::([^{}]*))?\}")


class Asked(NamedTuple):
    """What a command line asks for: tasks by name, words passed on, and variables."""

    row: Row
    options: Parsed
    names: list[str]
    words: list[str]
    variables: dict[str, str]


def read_command(row: Row, argv: tuple[str, ...]) -> Asked | None:
    """What a command line asks for; None where it runs no task."""
    values = words(row.values)
    short = "".join(name for name in values if len(name) == 1)
    behind = list(argv[argv.index("--") + 1 :]) if "--" in argv else []
    is_loose = bool(row.default)
    options = parse(argv, short, values, permutes=is_loose and not row.verbs)
    given = [word for _, word in options.operands]
    if given and given[0] in words(row.verbs):
        is_loose = is_loose and (given[0] != "run" or row.places != "*compose")
        inner = parse(given, short, values, permutes=is_loose)
        given = [word for _, word in inner.operands]
        options = options._replace(options=options.options + inner.options)
    elif row.verbs and row.files != "composer.json":
        return None
    if not is_loose:
        return Asked(row, options, given[:1], [word for word in given[1:] if word != "--"], {})
    variables = dict(word.split("=", 1) for word in given if "=" in word)
    names = [word for word in given if "=" not in word and word not in behind]
    return None if options.has(*_SHOWS) else Asked(row, options, names, behind, variables)


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
            for other in texts(item.get("task") if isinstance(item, dict) else item.split()[:1]):
                yield from self.steps(other, seen)
        if folder := found.get("dir", found.get("cwd")):
            inner = inner._replace(folder=f"{self.folder}/{inner.filled(str(folder))}")
        for value in [found.get(key) for key in _COMMANDS] if found else [entry]:
            is_words = isinstance(value, list) and (value is found.get("cmd") or self.row.before)
            for item in [joined(texts(value))] if is_words else _items(value):
                yield from inner.of_item(item, seen)

    def of_item(self, item: Any, seen: set[str]) -> Iterator[Step]:  # noqa: ANN401
        """A line, or the task that it names."""
        if isinstance(item, dict):
            for other in (*texts(item.get("task")), *texts(item.get("ref"))):
                yield from self.steps(other, seen)
            for line in (*texts(item.get("cmd")), *texts(item.get("defer"))):
                yield from self.of_item(line, seen)
            return
        name = (*item.removeprefix("@").split(), "")[0]
        is_other = item[:1] == "@" or self.row.files[:9] == "pyproject"
        if is_other and name in self.by_name and name not in seen:
            yield from self.steps(name, seen)
        elif module := re.fullmatch(r"([\w.]+):\w+(?:\(.*\))?", item):
            path = module[1].replace(".", "/")
            names = f"{path}.py src/{path}.py {path}/__init__.py src/{path}/__init__.py"
            text = self.project.find(names, self.folder, is_upwards=False)[1]
            yield Step(text, self.project.folder, "python")
        else:
            line = self.row.before + self.filled(re.sub(r"^@(php|composer)\b", r"\1", item))
            is_whole = self.row.default or _HOLDER.search(item)
            yield Step(line if is_whole else f"{line} {self.arguments}", self.folder)

    def filled(self, text: str) -> str:
        """A text with the values of its variables; those that are not known stay unknown."""
        names = ("args", "posargs", "CLI_ARGS")
        known = dict.fromkeys(names, self.arguments) | {"toxinidir": self.folder} | self.variables
        return _HOLDER.sub(lambda m: known.get(m[1] or m[2], marks.LIST) or m[3] or "", text)


def _items(value: object) -> list[Any]:
    """The texts and tables of a list, or of one value; those of a table are its keys."""
    items = value if isinstance(value, list) else [*value] if isinstance(value, dict) else [value]
    return [item for item in items if isinstance(item, str | dict)]


def _run(project: Project) -> Iterator[Step]:
    name, argv = project.call.name, project.call.argv
    row = ROWS[_SAME.get(name, name)]
    if name in ("docker", "podman"):
        argv = argv[argv.index("compose") :] if "compose" in argv else argv[:1]
    asked = read_command(row, argv)
    if asked is None:
        return
    options = asked.options
    folder = next(options.values(words("cwd C d dir directory working-dir project root")), "")
    files = next(options.values(words("f file config c conf t taskfile procfile")), row.files)
    for file in files.split():
        where, text = project.find(file, folder)
        data = read_data(file, text)
        found = _entries(project, asked, data, where)
        known = {key: str(value) for key, value in table(data, "vars").items()} | asked.variables
        tasks = Tasks(project, row, where, found, known, joined(asked.words))
        wanted = list(options.values(("e",))) if row.places == "*tox" else asked.names
        default = [*found] if row.default == "*" else [row.default]
        seen: set[str] = set()
        for target in [one for names in wanted for one in names.split(",")] or default:
            is_of_environment = name == "hatch" and target not in found
            yield from tasks.steps(target.rpartition(":")[2] if is_of_environment else target, seen)


def _entries(
    project: Project, asked: Asked, data: dict[str, Any], folder: str, depth: int = 0
) -> dict[str, Any]:
    """The tasks of a file by their names, with those of the files that it includes."""
    if asked.row.places[0] == "*":
        return _SPECIAL[asked.row.places](data, asked)
    found: dict[str, Any] = {}
    for place in asked.row.places.split():
        head, star, rest = place.partition(".*.")
        heads = table(data, *head.split("."))
        for inner in heads.values() if star else [heads]:
            found |= table(inner, *rest.split(".")) if star else inner
    for space, item in table(data, "includes").items() if depth < 4 else ():
        path = str(item.get("taskfile", "") if isinstance(item, dict) else item)
        path = path if path.endswith((".yml", ".yaml")) else f"{path}/Taskfile.yml"
        where, text = project.find(path, folder, is_upwards=False)
        for name, entry in _entries(
            project, asked, read_data(path, text), where, depth + 1
        ).items():
            found[f"{space}:{name}"] = entry
    return found


def _hooks(data: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """The hooks of pre-commit that are the project's own."""
    hooks = [
        hook for repo in _items(data.get("repos")) for hook in _items(table(repo).get("hooks"))
    ]
    own = [hook for hook in map(table, hooks) if "entry" in hook]
    return {
        str(hook.get("id")): f"{hook['entry']} {joined(texts(hook.get('args')))}" for hook in own
    }


def _environments(data: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """The environments of tox, in the notation of tox.ini or of TOML."""
    own = table(data, "tool", "tox")
    data = (
        read_data("tox.ini", str(own["legacy_tox_ini"])) if "legacy_tox_ini" in own else own or data
    )
    core = table(data, "tox") or data
    listed = ",".join(texts(core.get("env_list", core.get("envlist", ""))))
    found = {}
    for name in re.split(r"[,\s]+", ",".join((*asked.options.values(("e",)), listed))):
        base = table(data, "testenv") | table(data, "env_run_base")
        entry = base | table(data, f"testenv:{name}") | table(data, "env", name)
        found[name] = {"cmds": [line for key in _TOX_LINES for line in _tox_lines(entry.get(key))]}
    return found


def _tox_lines(value: object) -> Iterator[str]:
    for item in value if isinstance(value, list) else []:
        yield joined(texts(item))
    for line in value.replace("\\\n", " ").split("\n") if isinstance(value, str) else ():
        yield re.sub(r"^(?:[\w!,.-]+:\s+)?[-!]?\s*", "", line)


def _services(data: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """The services of compose, each as the `docker run` that it stands for."""
    found = {}
    for name, service in table(data, "services").items():
        options = [
            f"-v{volume}" for volume in texts(table(service).get("volumes")) if "/" in volume
        ]
        options += [f"--env-file={path}" for path in texts(table(service).get("env_file"))]
        parts = [table(service).get(key) for key in ("entrypoint", "command")]
        lines = [part if isinstance(part, str) else joined(texts(part)) for part in parts]
        if asked.words and name in asked.names:
            lines[1] = joined(asked.words)
        line = " ".join([joined(["docker", "run", *options, "image"]), *lines])
        found[name] = {"cmds": line, "deps": table(service).get("depends_on")}
    return found


_SPECIAL = {
    "*": lambda data, asked: data, "*hooks": _hooks, "*tox": _environments, "*compose": _services
}  # fmt: skip
READERS: dict[str, Reader] = dict.fromkeys([*ROWS, *_SAME], _run)
