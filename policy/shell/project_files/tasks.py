"""Tasks under their names in a data file: one way to run them for all runners."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from base.globs import is_made_of
from base.wordlist import words
from policy import marks
from policy.paths import resolve
from policy.shell.options import Parsed, parse
from policy.shell.project_files import (
    RUNNERS,
    ProjectFiles,
    Runner,
    TargetStep,
    command_line,
    table,
    texts,
)
from policy.shell.project_files.data_files import packages, pieces_for, read_data

_SHOWS = words("l list list-all show evaluate summary dry dry-run n help h")
_COMMANDS = words(
    "cmd cmds command commands run shell composite chain sequence script defer options pre_cmd "
    "post_cmd jobs"
)
_NEEDED = words("task ref deps depends depends-on depends_on dependencies dependsOn")
_HOLDER = re.compile(r"\{\{-?(?!\{)(.*?)\}\}|\{(args|posargs)(?::([^{}]*))?\}")
_PIECE = re.compile(r"""\s*(?:'([^']*+)'|"((?:[^"\\]|\\.)*+)"|`[^`]*+`|\.?([\w-]+)(?!\()|([+/]))""")
_PARAMETER = re.compile(r"""([+*$]*)([\w-]+)(?:=('[^']*+'|"[^"]*+"|\S+))?""")
FILL_DEPTH_MAX = 16  # variables in variables


class TaskCall(NamedTuple):
    """The request of a command line: tasks by name, words passed on, and variables."""

    options: Parsed
    verb: str
    names: list[str]
    words: list[str]
    variables: dict[str, str]


def read_command(row: Runner, argv: tuple[str, ...]) -> TaskCall | None:
    """Read the request of a command line; None if it runs no task."""
    values = words(row.values)
    short = "".join(name for name in values if len(name) == 1)
    is_permuted = row.takes not in ("one", "each")
    behind: list[str] = []
    if is_permuted and row.takes != "loose" and "--" in argv:
        at = argv.index("--")
        argv, behind = argv[:at], list(argv[at + 1 :])
    outer = parse(argv, short, values, permutes=is_permuted and not row.verbs)
    given = [word for _, word in outer.operands]
    verb = given[0] if given and given[0] in words(row.verbs) else ""
    if row.verbs and not verb and "-" not in row.verbs.split():
        return None
    takes = "one" if (row.places, verb) == ("*compose", "run") else row.takes
    inner = parse(given if verb else ["", *given], short, values,
                  permutes=takes not in ("one", "each"))  # fmt: skip
    options = outer._replace(options=outer.options + inner.options)
    given = [word for _, word in inner.operands]
    chosen = ",".join(options.values(words(row.option)))
    names = chosen.split(",") if chosen else []
    if takes in ("one", "loose"):
        return TaskCall(options, verb, given[:1], [word for word in given[1:] if word != "--"], {})
    variables = dict(word.split("=", 1) for word in given if "=" in word)
    given = [word for word in given if "=" not in word]
    if options.has(*_SHOWS) or (takes == "none" and given and not verb):
        return None
    return TaskCall(options, verb, names or given, behind, variables)


class Tasks(NamedTuple):
    """The tasks of a file, with the command line's other words."""

    project: ProjectFiles
    row: Runner
    folder: str
    by_name: dict[str, Any]
    variables: dict[str, Any]
    arguments: str
    seen: set[tuple[str, ...]]

    def named(self, given: list[str]) -> Iterator[TargetStep]:
        """Yield the steps of the task at the head of the words; words that it uses are removed."""
        name, _, arguments = marks.as_written(given.pop(0)).partition(" ")
        if given and f"{name}:{given[0]}" in self.by_name:  # in a module of just
            name = f"{name}:{given.pop(0)}"
        names = [name.replace("::", ":")]
        if "*" in name:
            names = [known for known in self.by_name if is_made_of(name.split("*"), known)]
        elif name not in self.by_name:  # of an included file, one may be named inside it
            names += [known for known in self.by_name if known.endswith(f":{name}")][:1]
        own = {}
        parameters = table(self.by_name, names[0]).get("parameters", "") if names else ""
        for sign, parameter, default in _PARAMETER.findall(str(parameters)):
            taken = given[: len(given) if sign.strip("$") else 1]
            del given[: len(taken)]
            own[parameter] = " ".join(taken) if taken else f"{{{{{default}}}}}"
        arguments = arguments.strip().removeprefix("--") or self.arguments
        inner = self._replace(variables=self.variables | own, arguments=arguments)
        for stage in [stage.format(one) for one in names for stage in self.row.stages.split()]:
            key = (stage, *own.values())
            if stage in self.by_name and key not in self.seen:
                self.seen.add(key)
                yield from (inner if stage in names else self).follow(self.by_name[stage])

    def follow(self, value: Any) -> Iterator[TargetStep]:  # noqa: ANN401
        """Yield the steps of a value: a line, several of them, or a table with prerequisites."""
        self.project.call.walk.spend()
        if isinstance(value, list):
            for item in [command_line(texts(value))] if self.row.before else value:
                yield from self.follow(item)
        elif isinstance(value, dict):
            folder = self.fill(str(value.get("dir", value.get("cwd", ""))))
            given = table(value, "vars") | table(value, "env")
            folder = resolve(folder or ".", self.folder)
            inner = self._replace(variables=given | self.variables, folder=folder)
            yield from inner.variable_steps(given)
            for words in [words for key in _NEEDED for words in _needs(value.get(key))]:
                yield from inner.named([self.fill(word) for word in words])
            for key in _COMMANDS:
                item = value.get(key)
                if key == "commands" and isinstance(item, dict):
                    item = [*item.values()]
                elif key == "cmd" and isinstance(item, list):
                    item = command_line(texts(item))
                elif key == "command" and isinstance(item, str):
                    item = f"{item} {command_line(texts(value.get('args')))}"
                yield from inner.follow(item)
        elif isinstance(value, str):
            yield from self.line(value)

    def variable_steps(self, variables: dict[str, Any]) -> Iterator[TargetStep]:
        """Yield the commands that compute values of variables: `sh: command`."""
        for value in variables.values():
            if isinstance(value, dict) and isinstance(value.get("sh"), str):
                yield TargetStep(self.fill(value["sh"]), self.folder)

    def line(self, text: str) -> Iterator[TargetStep]:
        """Yield the steps of a line of a task, or of another task that it names."""
        name = (*text.removeprefix("@").split(), "")[0]
        is_other = text[:1] == "@" or self.row.files[:9] == "pyproject"
        if is_other and name in self.by_name and (name,) not in self.seen:
            yield from self.named([name])
        elif module := re.fullmatch(r"([\w.]+):(\w+)(?:\(.*\))?", text):
            path = module[1].replace(".", "/")
            names = f"{path}.py src/{path}.py {path}/__init__.py src/{path}/__init__.py"
            code = self.project.find(names, self.folder, is_upwards=False)[1]
            yield TargetStep(pieces_for(code, {module[2]}), self.project.folder, "python")
        else:
            line = self.row.before + self.fill(re.sub(r"^@(php|composer)\b", r"\1", text))
            is_whole = self.row.takes in ("all", "each", "none") or _HOLDER.search(text)
            is_passed = self.row.files == RUNNERS["yarn"].files or not is_whole
            yield TargetStep(f"{line} {self.arguments}" if is_passed else line, self.folder)

    def fill(self, text: str, depth: int = 0) -> str:
        """Return a text with its variables and expressions computed; unknown parts stay unknown."""
        self.project.call.walk.spend()
        known = dict.fromkeys(("args", "posargs", "CLI_ARGS"), self.arguments)
        known |= {"toxinidir": self.folder} | self.variables

        def value(name: str) -> str:
            found = known.get(name, marks.LIST)
            is_text = isinstance(found, str) and depth < FILL_DEPTH_MAX
            return self.fill(found, depth + 1) if is_text else marks.LIST

        def expression(found: re.Match[str]) -> str:
            if found[2]:
                return value(found[2]) or found[3] or ""
            text, pieces, at = found[1].partition("|")[0].strip("- "), "", 0
            while piece := _PIECE.match(text, at):
                at = piece.end()
                plain = piece[1] if piece[2] is None else piece[2]
                unknown = "" if piece[4] == "+" else piece[4] or marks.LIST
                pieces += value(piece[3]) if piece[3] else unknown if plain is None else plain
            return marks.LIST if text[at:].strip(" ()") else pieces

        return _HOLDER.sub(expression, text)


def _needs(value: object) -> Iterator[list[str]]:
    """Yield the names of tasks in a list, text, or a table's keys, with their arguments."""
    for item in value if isinstance(value, list | dict) else [value]:
        given = table(item)
        for name in texts(given.get("task") if given else item):
            if name.strip():
                yield [name.lstrip("^").rpartition("#")[2].split()[0], *given.get("arguments", ())]


def _read_request(row: Runner, name: str, argv: tuple[str, ...]) -> TaskCall | None:
    """Read the request of a command line, with the tasks that its first word may stand for."""
    if name in ("docker", "podman"):
        argv = argv[argv.index("compose") :] if "compose" in argv else argv[:1]
    elif row.files == RUNNERS["yarn"].files and argv[1:2] == ("workspace",):  # of yarn
        argv = (name, "--filter", *argv[2:])
    elif row.files == RUNNERS["yarn"].files and argv[1:2] == ("workspaces",):
        argv = (name, "-r", *argv[-2:])
    asked = read_command(row, argv)
    if asked is None or asked.verb or not row.instead:
        return asked
    word = "".join(asked.names) or "-"
    instead = row.instead.get(word, word)
    is_of_project = all(word[:1] == "-" for word in asked.words) or instead[:7] != "install"
    if word in row.instead and (_is_quiet(argv) or not is_of_project):
        instead = ""
    return asked._replace(names=instead.split())


def _is_quiet(argv: tuple[str, ...]) -> bool:
    return "--ignore-scripts" in argv or "--no-scripts" in argv


def steps_of(project: ProjectFiles) -> Iterator[TargetStep]:
    """Yield the steps of the tasks that a command line names, in one or more packages."""
    name = project.call.name
    row = RUNNERS[name]
    asked = _read_request(row, name, project.call.argv)
    if asked is None:
        return
    if _is_quiet(project.call.argv):
        row = row._replace(stages="{}")
    for name in asked.names[:1]:
        for place in words(row.scripts):
            yield TargetStep(project.find(f"{place}/{name.replace(':', '/')}")[1], project.folder)
        if row.files == RUNNERS["uv"].files and name.endswith(".py"):
            yield TargetStep(command_line(["python", name, *asked.words]), project.folder)
    option = words("cwd C prefix d dir directory working-dir project root")
    folder = next(asked.options.values(option), "")
    if row.files.startswith(RUNNERS["yarn"].files):
        for where, names in packages(project, folder, asked):
            yield from _run(project, row, asked._replace(names=names), where)
    else:
        yield from _run(project, row, asked, folder)


def _run(project: ProjectFiles, row: Runner, call: TaskCall, folder: str) -> Iterator[TargetStep]:
    options = {*words("f file config c conf t taskfile justfile procfile")} - {*words(row.option)}
    for file in next(call.options.values([*options]), row.files).split():
        where, text = project.find(file, folder)
        if not text:
            continue
        if file in row.files:
            where = resolve(file.count("/") * "../" or ".", where)
        data = read_data(project, file, text)
        special = _SPECIAL.get(row.places)
        found = special(project, data, call) if special else _entries(project, row, data, where)
        for path in texts(data.get("dotenv")):
            project.report_read(path, where)
        known = table(data, "vars") | table(data, "env") | call.variables
        tasks = Tasks(project, row, where, found, known, command_line(call.words), set())
        yield from tasks.variable_steps(known)
        default = {"*": [*found], "first": [*found][:1]}.get(row.default, [row.default])
        wanted = [*call.names] or default
        if project.call.name == "hatch":
            wanted = [name if name in found else name.rpartition(":")[2] for name in wanted]
        is_known = not found.keys().isdisjoint(wanted)
        while wanted:
            yield from tasks.named(wanted)
        if is_known:
            break


def _entries(
    project: ProjectFiles, row: Runner, data: dict[str, Any], folder: str, depth: int = 0
) -> dict[str, Any]:
    """Return the tasks of a file by their names, with those of the files that it includes."""
    found: dict[str, Any] = {}
    for place in row.places.split():
        head, star, rest = place.partition(".*.")
        heads = table(data, *head.split(".")) if place != "*" else data
        for inner in heads.values() if star else [heads]:
            found |= table(inner, *rest.split(".")) if star else inner
    for space, item in table(data, "includes").items() if depth < 4 else ():
        path = str(item.get("taskfile", "") if isinstance(item, dict) else item)
        path = path if re.search(r"[.]\w+$|justfile$", path) else f"{path}/Taskfile.yml"
        where, text = project.find(path, folder, is_upwards=False)
        other = read_data(project, path, text)
        before = "" if table(item).get("flatten") == "true" else f"{space}:"
        included = _entries(project, row, other, where, depth + 1)
        found |= {f"{before}{name}": entry for name, entry in included.items()}
        data["vars"] = table(other, "vars") | table(data, "vars")
    return found


def _hooks(_: ProjectFiles, data: dict[str, Any], asked: TaskCall) -> dict[str, Any]:
    """Return the hooks of pre-commit that are the project's own."""
    repos = [repo for repo in texts(data.get("repos"), dict) if repo.get("repo") == "local"]
    hooks = [hook for repo in repos for hook in texts(repo.get("hooks"), dict)]
    stage = next(asked.options.values(("hook-stage",)), "pre-commit")
    return {
        str(hook.get("id")): f"{hook.get('entry', '')} {command_line(texts(hook.get('args')))}"
        for hook in hooks
        if any(stage.endswith(one) for one in texts(hook.get("stages") or stage))
    }


def _environments(project: ProjectFiles, data: dict[str, Any], asked: TaskCall) -> dict[str, Any]:
    """Return the environments of tox, in the notation of tox.ini or of TOML."""
    data = table(data, "tool", "tox") or data
    data = read_data(project, "tox.ini", str(data.get("legacy_tox_ini", ""))) or data
    core = table(data, "tox") or data
    listed = ",".join(texts(core.get("env_list", core.get("envlist", ""))))
    found = {}
    for name in re.split(r"[,\s]+", ",".join((*asked.names, listed))):
        base = table(data, "testenv") | table(data, "env_run_base")
        entry = base | table(data, f"testenv:{name}") | table(data, "env", name)
        lines = [entry.get(key, "") for key in ("commands_pre", "commands", "commands_post")]
        found[name] = {"cmds": [_tox_lines(value) for value in lines]}
    return found


def _tox_lines(value: object) -> list[str]:
    if isinstance(value, list):
        return [command_line(texts(words)) for words in value]
    lines = str(value).replace("\\\n", " ").split("\n")
    return [re.sub(r"^(?:[\w!,.-]+:\s+)?[-!]?\s*", "", line) for line in lines]


def _services(_: ProjectFiles, data: dict[str, Any], asked: TaskCall) -> dict[str, Any]:
    """Return the services of compose, each as the `docker run` that it stands for."""
    found = {}
    for name in table(data, "services"):
        service = table(data, "services", name)
        options = [f"-v{volume}" for volume in texts(service.get("volumes")) if "/" in volume]
        if asked.verb == "run":  # else nobody sees its environment
            options += [f"--env-file={path}" for path in texts(service.get("env_file"))]
        parts = [service.get("entrypoint"), service.get("command")]
        lines = [part if isinstance(part, str) else command_line(texts(part)) for part in parts]
        if asked.words and name in asked.names:
            lines[1] = command_line(asked.words)
        line = " ".join([command_line(["docker", "run", *options, "image"]), *lines])
        found[name] = {"cmds": line, "deps": service.get("depends_on")}
    return found


_SPECIAL: dict[str, Callable[[ProjectFiles, dict[str, Any], TaskCall], dict[str, Any]]] = {
    "*hooks": _hooks, "*tox": _environments, "*compose": _services
}  # fmt: skip
