"""Tasks that stand under their names in a data file: a row for each runner, one way to run them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from policy import marks
from policy.paths import resolve
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


_PYTHON = Row(
    "pyproject.toml Pipfile poe_tasks.toml pixi.toml hatch.toml",
    "tool.pdm.scripts tool.rye.scripts tool.poe.tasks tool.hatch.envs.*.scripts tool.pixi.tasks "
    "project.scripts tool.poetry.scripts scripts tasks envs.*.scripts",
    "run",
    values="with p python directory project extra e environment env C from spec",
)
ROWS: dict[str, Row] = {
    **dict.fromkeys(words("pdm hatch rye uv poetry pipenv pixi"), _PYTHON),
    **dict.fromkeys(words("poe uvx pipx"), _PYTHON._replace(verbs="")),
    "composer": Row("composer.json", "scripts", "run run-script"),
    "deno": Row("deno.json deno.jsonc package.json", "tasks scripts", "task"),
    "task": Row("Taskfile.yml taskfile.yml Taskfile.yaml taskfile.yaml Taskfile.dist.yml "
                "pyproject.toml", "tasks tool.taskipy.tasks", "", "default",
                "d dir t taskfile C concurrency o output"),
    "mise": Row("mise.toml .mise.toml mise/config.toml .config/mise.toml", "tasks", "run r"),
    "cargo": Row(".cargo/config.toml .cargo/config", "alias", before="cargo "),
    "foreman": Row("Procfile Procfile.dev", "*", "start s", "*",
                   "f procfile d root e env p port m formation c"),
    "pre-commit": Row(".pre-commit-config.yaml", "*hooks", "run", "*",
                      "c config color files hook-stage"),
    "tox": Row("tox.ini setup.cfg pyproject.toml tox.toml", "*tox", "", "*",
               "e f x c conf root workdir"),
    "docker": Row("compose.yaml compose.yml docker-compose.yml docker-compose.yaml", "*compose",
                  "run up start create restart watch", "*", "f file p project-name env-file e env "
                  "profile project-directory v volume publish u user w workdir entrypoint name"),
}  # fmt: skip
_SAME = {"go-task": "task", "prek": "pre-commit"}
_SAME |= dict.fromkeys(words("honcho overmind hivemind goreman"), "foreman")
_SAME |= dict.fromkeys(words("podman docker-compose podman-compose"), "docker")
_SHOWS = words("list l list-all a summary dry n help h")
_COMMANDS = words("cmd cmds command commands run shell composite chain sequence script defer")
_NEEDED = words("task ref deps depends depends-on depends_on dependencies")
_HOLDER = re.compile(r"\{\{-?\s*\.?(\w+)[^{}]*\}\}|\{(args|posargs)(?::([^{}]*))?\}")


class Asked(NamedTuple):
    """What a command line asks for: tasks by name, words passed on, and variables."""

    options: Parsed
    names: list[str]
    words: list[str]
    variables: dict[str, str]


def read_command(row: Row, argv: tuple[str, ...]) -> Asked | None:
    """What a command line asks for; None where it runs no task."""
    values = words(row.values)
    short = "".join(name for name in values if len(name) == 1)
    options = parse(argv, short, values, permutes=bool(row.default) and not row.verbs)
    given = [word for _, word in options.operands]
    is_loose = bool(row.default) and (row.places, given[:1]) != ("*compose", ["run"])
    if given and given[0] in words(row.verbs):
        inner = parse(given, short, values, permutes=is_loose)
        given = [word for _, word in inner.operands]
        options = options._replace(options=options.options + inner.options)
    elif row.verbs and row.files != "composer.json":
        return None
    if not is_loose:
        return Asked(options, given[:1], [word for word in given[1:] if word != "--"], {})
    behind = list(argv[argv.index("--") + 1 :]) if "--" in argv else []
    variables = dict(word.split("=", 1) for word in given if "=" in word)
    names = [word for word in given if "=" not in word and word not in behind]
    return None if options.has(*_SHOWS) else Asked(options, names, behind, variables)


class Tasks(NamedTuple):
    """The tasks of a file, with what the command line says beside the name of one."""

    project: Project
    row: Row
    folder: str
    by_name: dict[str, Any]
    variables: dict[str, str]
    arguments: str
    seen: set[str]

    def named(self, name: str) -> Iterator[Step]:
        """What the task of a name runs; of an included file, one may be named inside it."""
        if name not in self.by_name:
            name = next((known for known in self.by_name if known.endswith(f":{name}")), name)
        if name in self.by_name and name not in self.seen:
            self.seen.add(name)
            yield from self.follow(self.by_name[name])

    def follow(self, value: Any) -> Iterator[Step]:  # noqa: ANN401
        """What a value runs: a line, several of them, or a table with what is needed first."""
        if isinstance(value, list):
            for item in [joined(texts(value))] if self.row.before else value:
                yield from self.follow(item)
        elif isinstance(value, dict):
            folder = self.filled(str(value.get("dir", value.get("cwd", ""))))
            given = {key: str(text) for key, text in table(value, "vars").items()}
            folder = resolve(folder or ".", self.folder)
            inner = self._replace(variables=given | self.variables, folder=folder)
            for name in [name for key in _NEEDED for name in _names(value.get(key))]:
                yield from self.named(name)
            for key in _COMMANDS:
                item = value.get(key)
                yield from inner.follow(joined(texts(item)) if key == "cmd" else item)
        elif isinstance(value, str):
            yield from self.line(value)

    def line(self, text: str) -> Iterator[Step]:
        """A line of a task, or another task that it names."""
        name = (*text.removeprefix("@").split(), "")[0]
        is_other = text[:1] == "@" or self.row.files[:9] == "pyproject"
        if is_other and name in self.by_name and name not in self.seen:
            yield from self.named(name)
        elif module := re.fullmatch(r"([\w.]+):\w+(?:\(.*\))?", text):
            path = module[1].replace(".", "/")
            names = f"{path}.py src/{path}.py {path}/__init__.py src/{path}/__init__.py"
            code = self.project.find(names, self.folder, is_upwards=False)[1]
            yield Step(code, self.project.folder, "python")
        else:
            line = self.row.before + self.filled(re.sub(r"^@(php|composer)\b", r"\1", text))
            is_whole = self.row.default or _HOLDER.search(text)
            yield Step(line if is_whole else f"{line} {self.arguments}", self.folder)

    def filled(self, text: str) -> str:
        """A text with the values of its variables; those that are not known stay unknown."""
        names = ("args", "posargs", "CLI_ARGS")
        known = dict.fromkeys(names, self.arguments) | {"toxinidir": self.folder} | self.variables
        return _HOLDER.sub(lambda m: known.get(m[1] or m[2], marks.LIST) or m[3] or "", text)


def _names(value: object) -> Iterator[str]:
    """The names of tasks in a list, in one text, or as the keys of a table."""
    for item in value if isinstance(value, list | dict) else [value]:
        for name in texts(item.get("task") if isinstance(item, dict) else item):
            yield from name.split()[:1]


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
        special = _SPECIAL.get(row.places)
        found = special(data, asked) if special else _entries(project, row, data, where)
        known = {key: str(value) for key, value in table(data, "vars").items()} | asked.variables
        tasks = Tasks(project, row, where, found, known, joined(asked.words), set())
        wanted = asked.names
        if row.places == "*tox":  # `list` and its kin run nothing
            is_run = wanted[:1] in ([], ["run"], ["r"], ["p"], ["run-parallel"])
            wanted = list(options.values(("e",))) if is_run else ["list"]
        default = [*found] if row.default == "*" else [row.default]
        for target in [one for names in wanted for one in names.split(",")] or default:
            is_of_environment = name == "hatch" and target not in found
            yield from tasks.named(target.rpartition(":")[2] if is_of_environment else target)


def _entries(
    project: Project, row: Row, data: dict[str, Any], folder: str, depth: int = 0
) -> dict[str, Any]:
    """The tasks of a file by their names, with those of the files that it includes."""
    found: dict[str, Any] = {}
    for place in row.places.split():
        head, star, rest = place.partition(".*.")
        heads = table(data, *head.split("."))
        for inner in heads.values() if star else [heads]:
            found |= table(inner, *rest.split(".")) if star else inner
    for space, item in table(data, "includes").items() if depth < 4 else ():
        path = str(item.get("taskfile", "") if isinstance(item, dict) else item)
        path = path if path.endswith((".yml", ".yaml")) else f"{path}/Taskfile.yml"
        where, text = project.find(path, folder, is_upwards=False)
        included = _entries(project, row, read_data(path, text), where, depth + 1)
        found |= {f"{space}:{name}": entry for name, entry in included.items()}
    return found


def _hooks(data: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """The hooks of pre-commit that are the project's own."""
    repos = [repo for repo in data.get("repos", ()) if table(repo).get("repo") == "local"]
    hooks = [table(hook) for repo in repos for hook in repo.get("hooks") or ()]
    lines = {str(h.get("id")): [h.get("entry", ""), *texts(h.get("args"))] for h in hooks}
    return {name: f"{line[0]} {joined(line[1:])}" for name, line in lines.items()}


def _environments(data: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """The environments of tox, in the notation of tox.ini or of TOML."""
    data = table(data, "tool", "tox") or data
    data = read_data("tox.ini", str(data.get("legacy_tox_ini", ""))) or data
    core = table(data, "tox") or data
    listed = ",".join(texts(core.get("env_list", core.get("envlist", ""))))
    found = {}
    for name in re.split(r"[,\s]+", ",".join((*asked.options.values(("e",)), listed))):
        base = table(data, "testenv") | table(data, "env_run_base")
        entry = base | table(data, f"testenv:{name}") | table(data, "env", name)
        lines = [entry.get(key, "") for key in ("commands_pre", "commands", "commands_post")]
        found[name] = {"cmds": [_tox_lines(value) for value in lines]}
    return found


def _tox_lines(value: object) -> list[str]:
    if isinstance(value, list):
        return [joined(texts(words)) for words in value]
    lines = str(value).replace("\\\n", " ").split("\n")
    return [re.sub(r"^(?:[\w!,.-]+:\s+)?[-!]?\s*", "", line) for line in lines]


def _services(data: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """The services of compose, each as the `docker run` that it stands for."""
    found = {}
    for name in table(data, "services"):
        service = table(data, "services", name)
        options = [f"-v{volume}" for volume in texts(service.get("volumes")) if "/" in volume]
        options += [f"--env-file={path}" for path in texts(service.get("env_file"))]
        parts = [service.get("entrypoint"), service.get("command")]
        lines = [part if isinstance(part, str) else joined(texts(part)) for part in parts]
        if asked.words and name in asked.names:
            lines[1] = joined(asked.words)
        line = " ".join([joined(["docker", "run", *options, "image"]), *lines])
        found[name] = {"cmds": line, "deps": service.get("depends_on")}
    return found


_SPECIAL = {
    "*": lambda data, asked: data, "*hooks": _hooks, "*tox": _environments, "*compose": _services
}  # fmt: skip
READERS: dict[str, Reader] = dict.fromkeys([*ROWS, *_SAME], _run)
