"""Tasks that stand under their names in a data file: a row for each runner, one way to run them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from policy import marks
from policy.paths import resolve
from policy.shell.options import Parsed, parse
from policy.shell.project_files import Project, Reader, Step, joined, table, texts
from policy.shell.project_files.code_files import reached
from policy.shell.project_files.data_files import read_data
from policy.wildcards import is_made_of
from policy.wordlist import words


class Row(NamedTuple):
    """Where a runner's tasks stand, and how its command line names them.

    A `place` is a path of keys, or `*` and what has to be worked out. `verbs` come before a name,
    `-` says that none may. `takes` is what names tasks: the first operand, behind which all is
    passed on (`one`), or the tool's options stand too (`loose`); every operand, with options
    between them (`all`) or not (`each`); no operand (`none`). `option` names them as well.
    `default` is the task where none is named: `*` all, `first` the first. `values` are the options
    with a value. `before` is put before each line; `stages` are the tasks around one. `instead`
    are the tasks that a word stands for without a verb. `scripts` are folders of tasks.
    """

    files: str
    places: str
    verbs: str = ""
    takes: str = "one"
    default: str = ""
    values: str = "C cwd d dir directory working-dir project f file config"
    option: str = ""
    before: str = ""
    stages: str = "{}"
    instead: dict[str, str] = {}  # noqa: RUF012 - read, never written
    scripts: str = ""


def _instead(**tasks: str) -> dict[str, str]:
    """The tasks of several words each: `words="tasks"`, where `_` parts the words."""
    return {word: names for key, names in tasks.items() for word in key.split("_")}


_PYTHON = Row(
    "pyproject.toml Pipfile poe_tasks.toml pixi.toml hatch.toml",
    "tool.pdm.scripts tool.rye.scripts tool.poe.tasks tool.hatch.envs.*.scripts tool.pixi.tasks "
    "project.scripts tool.poetry.scripts scripts tasks envs.*.scripts",
    "run",
    values="with p python directory project extra e environment env C from spec",
)
_PACKAGE = Row(
    "package.json", "scripts", "run run-script rum urn -",
    values="C F prefix cwd dir workspace filter userconfig cache registry loglevel",
    stages="pre{} {} post{}",
    instead=_instead(i="install prepublish prepare", pack="prepare pack", t="test", tst="test",
                     it="install prepare test", restart="stop start",
                     publish="prepublishOnly prepare pack publish")
    | dict.fromkeys(words("add bin bunx config create dlx exec init link list ls remove set upgrade"
                          " x why info view outdated"), ""),
)  # fmt: skip
for _word in ("install", "ci", "clean-install", ""):
    _PACKAGE.instead[_word] = _PACKAGE.instead["i"]
_EACH_PACKAGE = _PACKAGE._replace(
    files="package.json project.json", places="scripts targets", verbs="run run-many affected -",
    takes="all", values="filter scope projects F p t target targets concurrency",
    option="t target targets", stages="pre{} {} post{}", instead={},
)  # fmt: skip
ROWS: dict[str, Row] = {
    **dict.fromkeys(words("hatch rye uv poetry pipenv pixi"), _PYTHON),
    **dict.fromkeys(words("poe uvx pipx"), _PYTHON._replace(verbs="")),
    "pdm": _PYTHON._replace(verbs="run -", stages="pre_{} {} post_{}"),
    "npm": _PACKAGE._replace(takes="loose", values=f"w {_PACKAGE.values}".replace("F ", "")),
    **dict.fromkeys(words("yarn pnpm bun"), _PACKAGE),
    "nr": _PACKAGE._replace(verbs="", instead={}),
    "node": _PACKAGE._replace(verbs="", takes="none", values="run", option="run", stages="{}"),
    "run-s": _PACKAGE._replace(verbs="", takes="all", values="", instead={}),
    **dict.fromkeys(words("turbo nx lerna"), _EACH_PACKAGE),
    "nodemon": Row("nodemon.json package.json", "* nodemonConfig", takes="none", default="exec"),
    "composer": Row("composer.json", "scripts", "run run-script -", instead=_instead(
        install_i="pre-install-cmd pre-autoload-dump post-autoload-dump post-install-cmd",
        update_u_require="pre-update-cmd pre-autoload-dump post-autoload-dump post-update-cmd")),
    "deno": Row("deno.json deno.jsonc package.json", "tasks scripts", "task"),
    "just": Row("justfile Justfile .justfile", "tasks", "", "each", "first",
                "f d s justfile working-directory set shell dotenv-path color show"),
    "task": Row("Taskfile.yml taskfile.yml Taskfile.yaml taskfile.yaml Taskfile.dist.yml "
                "pyproject.toml", "tasks tool.taskipy.tasks", "", "all", "default",
                "d dir t taskfile C concurrency o output"),
    "mise": Row("mise.toml .mise.toml mise/config.toml .config/mise.toml", "tasks", "run r -",
                scripts="mise-tasks .mise-tasks mise/tasks .mise/tasks .config/mise/tasks"),
    "cargo": Row(".cargo/config.toml .cargo/config", "alias", before="cargo "),
    "foreman": Row("Procfile Procfile.dev", "tasks", "start s", "all", "*",
                   "f procfile d root e env p port m formation c"),
    "pre-commit": Row(".pre-commit-config.yaml", "*hooks", "run", "all", "*",
                      "c config color files hook-stage"),
    "tox": Row("tox.ini setup.cfg pyproject.toml tox.toml", "*tox", "run r p run-parallel -",
               "none", "*", "e f x c conf root workdir", option="e"),
    "docker": Row("compose.yaml compose.yml docker-compose.yml docker-compose.yaml", "*compose",
                  "run up start create restart watch", "all", "*", "f file p project-name env-file "
                  "e env profile project-directory v volume publish u user w workdir entrypoint "
                  "name"),
}  # fmt: skip
_SAME = {"go-task": "task", "prek": "pre-commit"}
_SAME |= dict.fromkeys(words("honcho overmind hivemind goreman"), "foreman")
_SAME |= dict.fromkeys(words("podman docker-compose podman-compose"), "docker")
_SAME |= dict.fromkeys(words("run-p npm-run-all start-server-and-test start-test"), "run-s")
_SHOWS = words("l list list-all show evaluate summary dry dry-run n help h")
_COMMANDS = words(
    "cmd cmds command commands run shell composite chain sequence script defer options"
)
_NEEDED = words("task ref deps depends depends-on depends_on dependencies dependsOn")
_HOLDER = re.compile(r"\{\{-?(?!\{)(.*?)\}\}|\{(args|posargs)(?::([^{}]*))?\}")
_PIECE = re.compile(r"""\s*(?:'([^']*+)'|"((?:[^"\\]|\\.)*+)"|`[^`]*+`|\.?([\w-]+)(?!\()|([+/]))""")
_PARAMETER = re.compile(r"""([+*$]*)([\w-]+)(?:=('[^']*+'|"[^"]*+"|\S+))?""")
FILL_DEPTH_MAX = 16  # variables in variables


class Asked(NamedTuple):
    """What a command line asks for: tasks by name, words passed on, and variables."""

    options: Parsed
    verb: str
    names: list[str]
    words: list[str]
    variables: dict[str, str]


def read_command(row: Row, argv: tuple[str, ...]) -> Asked | None:
    """What a command line asks for; None where it runs no task."""
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
        return Asked(options, verb, given[:1], [word for word in given[1:] if word != "--"], {})
    variables = dict(word.split("=", 1) for word in given if "=" in word)
    given = [word for word in given if "=" not in word]
    if options.has(*_SHOWS) or (takes == "none" and given and not verb):
        return None
    return Asked(options, verb, names or given, behind, variables)


class Tasks(NamedTuple):
    """The tasks of a file, with what the command line says beside the name of one."""

    project: Project
    row: Row
    folder: str
    by_name: dict[str, Any]
    variables: dict[str, Any]
    arguments: str
    seen: set[tuple[str, ...]]

    def named(self, given: list[str]) -> Iterator[Step]:
        """What the task at the head of the words runs; the words that it takes are taken away."""
        name, _, arguments = marks.as_written(given.pop(0)).partition(" ")
        if given and f"{name}:{given[0]}" in self.by_name:  # in a module of just
            name = f"{name}:{given.pop(0)}"
        names = [name.replace("::", ":")]
        if "*" in name:
            names = [known for known in self.by_name if is_made_of(name.split("*"), known)]
        elif name not in self.by_name:  # of an included file, one may be named inside it
            names += [known for known in self.by_name if known.endswith(f":{name}")][:1]
        own = {}
        for sign, parameter, default in _PARAMETER.findall(
            str(table(self.by_name, names[0]).get("parameters", ""))
        ):
            taken = given[: len(given) if "+" in sign or "*" in sign else 1]
            del given[: len(taken)]
            own[parameter] = " ".join(taken) if taken else f"{{{{{default}}}}}"
        arguments = arguments.strip().removeprefix("--") or self.arguments
        inner = self._replace(variables=self.variables | own, arguments=arguments)
        for stage in [stage.format(one) for one in names for stage in self.row.stages.split()]:
            key = (stage, *own.values())
            if stage in self.by_name and key not in self.seen:
                self.seen.add(key)
                yield from (inner if stage in names else self).follow(self.by_name[stage])

    def follow(self, value: Any) -> Iterator[Step]:  # noqa: ANN401
        """What a value runs: a line, several of them, or a table with what is needed first."""
        if isinstance(value, list):
            for item in [joined(texts(value))] if self.row.before else value:
                yield from self.follow(item)
        elif isinstance(value, dict):
            folder = self.filled(str(value.get("dir", value.get("cwd", ""))))
            given = table(value, "vars") | table(value, "env")
            inner = self._replace(
                variables=given | self.variables, folder=resolve(folder or ".", self.folder)
            )
            yield from inner.worked_out(given)
            for words in [words for key in _NEEDED for words in _needed(value.get(key))]:
                yield from inner.named([self.filled(word) for word in words])
            for key in _COMMANDS:
                item = value.get(key)
                is_words = key == "cmd" and isinstance(item, list)
                yield from inner.follow(joined(texts(item)) if is_words else item)
        elif isinstance(value, str):
            yield from self.line(value)

    def worked_out(self, variables: dict[str, Any]) -> Iterator[Step]:
        """What is run to get the values of variables: `sh: command`."""
        for value in variables.values():
            if isinstance(value, dict) and isinstance(value.get("sh"), str):
                yield Step(self.filled(value["sh"]), self.folder)

    def line(self, text: str) -> Iterator[Step]:
        """A line of a task, or another task that it names."""
        name = (*text.removeprefix("@").split(), "")[0]
        is_other = text[:1] == "@" or self.row.files[:9] == "pyproject"
        if is_other and name in self.by_name and (name,) not in self.seen:
            yield from self.named([name])
        elif module := re.fullmatch(r"([\w.]+):(\w+)(?:\(.*\))?", text):
            path = module[1].replace(".", "/")
            names = f"{path}.py src/{path}.py {path}/__init__.py src/{path}/__init__.py"
            code = self.project.find(names, self.folder, is_upwards=False)[1]
            yield Step(reached(code, {module[2]}), self.project.folder, "python")
        else:
            line = self.row.before + self.filled(re.sub(r"^@(php|composer)\b", r"\1", text))
            is_whole = self.row.takes in ("all", "each", "none") or _HOLDER.search(text)
            is_passed = self.row.files == _PACKAGE.files or not is_whole
            yield Step(f"{line} {self.arguments}" if is_passed else line, self.folder)

    def filled(self, text: str, depth: int = 0) -> str:
        """A text with its variables and expressions worked out; what is not known stays unknown."""
        self.project.call.walker.budget.spend()
        known = dict.fromkeys(("args", "posargs", "CLI_ARGS"), self.arguments)
        known |= {"toxinidir": self.folder} | self.variables

        def value(name: str) -> str:
            found = known.get(name, marks.LIST)
            is_text = isinstance(found, str) and depth < FILL_DEPTH_MAX
            return self.filled(found, depth + 1) if is_text else marks.LIST

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


def _needed(value: object) -> Iterator[list[str]]:
    """The names of tasks in a list, in one text, or as the keys of a table, with what they take."""
    for item in value if isinstance(value, list | dict) else [value]:
        given = table(item)
        for name in texts(given.get("task") if given else item):
            if name.strip():
                yield [name.lstrip("^").rpartition("#")[2].split()[0], *given.get("arguments", ())]


def run_tasks(project: Project) -> Iterator[Step]:
    """The tasks that a command line names, of one folder or of the packages of a workspace."""
    name, argv = project.call.name, project.call.argv
    row = ROWS[_SAME.get(name, name)]
    if name in ("docker", "podman"):
        argv = argv[argv.index("compose") :] if "compose" in argv else argv[:1]
    elif row.files == _PACKAGE.files and argv[1:2] == ("workspace",):  # of yarn
        argv = (name, "--filter", *argv[2:])
    elif row.files == _PACKAGE.files and argv[1:2] == ("workspaces",):
        argv = (name, "-r", *argv[-2:])
    asked = read_command(row, argv)
    if asked is None:
        return
    if not asked.verb and row.instead:
        word = asked.names[0] if asked.names else ""
        instead = row.instead.get(word, word)
        if asked.options.has("ignore-scripts", "no-scripts") or (
            asked.words and instead[:7] == "install"
        ):
            instead = word if word not in row.instead else ""
        asked = asked._replace(names=instead.split())
    if asked.options.has("ignore-scripts"):
        row = row._replace(stages="{}")
    folder = next(
        asked.options.values(words("cwd C prefix d dir directory working-dir project root")), ""
    )
    if row.files.startswith(_PACKAGE.files):
        from policy.shell.project_files.package_json import packages  # noqa: PLC0415

        for where, names in packages(project, folder, asked):
            yield from _run(project, row, asked._replace(names=names), where)
    else:
        yield from _run(project, row, asked, folder)


def _run(project: Project, row: Row, asked: Asked, folder: str) -> Iterator[Step]:
    options = {*words("f file config c conf t taskfile justfile procfile")} - {*words(row.option)}
    for file in next(asked.options.values([*options]), row.files).split():
        where, text = project.find(file, folder)
        if text and file in row.files:
            where = resolve(file.count("/") * "../" or ".", where)
        data = read_data(file, text)
        special = _SPECIAL.get(row.places)
        found = special(data, asked) if special else _entries(project, row, data, where)
        for path in texts(data.get("dotenv")):
            project.report_read(path, where)
        known = table(data, "vars") | table(data, "env") | asked.variables
        tasks = Tasks(project, row, where, found, known, joined(asked.words), set())
        if found:
            yield from tasks.worked_out(known)
        for name in asked.names[:1]:
            for place in words(row.scripts) if name not in found else ():
                script = project.read(f"{place}/{name.replace(':', '/')}", where)
                yield Step(script, project.folder)
            if row.files == _PYTHON.files and name.endswith(".py"):
                yield Step(joined(["python", name, *asked.words]), project.folder)
        default = {"*": [*found], "first": [*found][:1]}.get(row.default, [row.default])
        wanted = [*asked.names] or default
        if project.call.name == "hatch":
            wanted = [name if name in found else name.rpartition(":")[2] for name in wanted]
        while wanted:
            yield from tasks.named(wanted)


def _entries(
    project: Project, row: Row, data: dict[str, Any], folder: str, depth: int = 0
) -> dict[str, Any]:
    """The tasks of a file by their names, with those of the files that it includes."""
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
        other = read_data(path, text)
        before = "" if table(item).get("flatten") == "true" else f"{space}:"
        included = _entries(project, row, other, where, depth + 1)
        found |= {f"{before}{name}": entry for name, entry in included.items()}
        data["vars"] = table(other, "vars") | table(data, "vars")
    return found


def _hooks(data: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """The hooks of pre-commit that are the project's own."""
    repos = [repo for repo in data.get("repos", ()) if table(repo).get("repo") == "local"]
    hooks = [table(hook) for repo in repos for hook in repo.get("hooks") or ()]
    stage = next(asked.options.values(("hook-stage",)), "pre-commit")
    return {
        str(hook.get("id")): f"{hook.get('entry', '')} {joined(texts(hook.get('args')))}"
        for hook in hooks
        if any(stage.endswith(one) for one in hook.get("stages") or [stage])
    }


def _environments(data: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """The environments of tox, in the notation of tox.ini or of TOML."""
    data = table(data, "tool", "tox") or data
    data = read_data("tox.ini", str(data.get("legacy_tox_ini", ""))) or data
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


_SPECIAL: dict[str, Callable[[dict[str, Any], Asked], dict[str, Any]]] = {
    "*hooks": _hooks, "*tox": _environments, "*compose": _services
}  # fmt: skip
READERS: dict[str, Reader] = dict.fromkeys([*ROWS, *_SAME], run_tasks)
