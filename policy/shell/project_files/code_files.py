"""Targets that are pieces of a program: noxfile.py, tasks.py, Rakefile, gulpfile.js, Go, Rust."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from base.wordlist import words
from policy.shell.options import parse
from policy.shell.project_files import RUNNERS, ProjectFiles, TargetStep, command_line, tasks
from policy.shell.project_files.data_files import pieces_for
from policy.shell.run import CONFIGURED, PROJECT_FILES

_SHOWS = frozenset(words("l list T tasks n dry-run dryrun check syntax-check list-tasks"))
_TESTS = r"^(?:async )?(?:def|class) ([tT]est\w*)"
_HOOKS = r"^def (pytest_\w+)|autouse=True.*\n(?:async )?def (\w+)"


def _program(project: ProjectFiles) -> Iterator[TargetStep]:
    """Yield the steps of `nox -s x`, `inv x`, `rake x`, `gulp x`, `cmake -P file` and so on."""
    row, argv = RUNNERS[project.call.name], project.call.argv
    passed: list[str] = []
    if row.option and "--" in argv:
        passed = list(argv[argv.index("--") + 1 :])
        argv = argv[: argv.index("--")]
    values = words(row.values)
    parsed = parse(argv, "".join(v for v in values if len(v) == 1), values)
    targets = [*parsed.values(words(row.option)), *(word for _, word in parsed.operands)]
    for name in targets[:]:
        parts = re.split(r"[:.\[(]|-\d", name)
        upper = name[:1].upper() + name[1:]
        targets += [name.replace("-", "_"), row.prefix + name, upper, *filter(None, parts)]
    if parsed.has(*_SHOWS.difference(values)):
        return
    files = row.files or " ".join(targets)
    targets = targets if row.files else []
    folder, text = project.find(next(parsed.values(("f", "rakefile", "P", "snakefile")), files))
    text += "".join(f"\n{project.read(path)}" for path in project.paths(row.more, folder))
    found = pieces_for(text, set(targets) or {row.default}, row.context)
    if passed:
        found = found.replace(f"*{row.context}posargs", json.dumps(passed)[1:-1])
    if row.language:
        yield TargetStep(found, folder, row.language)
    for command in re.findall(row.commands, found) if row.commands else ():
        quoted = [text for _, text in re.findall(r"""(['"])(.*?)\1""", command)]
        if not re.match(r"\s*['\"]", command):
            quoted = [command.replace("\n", " ") if row.option else command]
        lines = [command_line(quoted)] if row.are_words else quoted
        yield from (TargetStep(line, folder) for line in lines)


def _module(project: ProjectFiles) -> Iterator[TargetStep]:
    """Yield the steps of `python -m package`: a module of the project, or a runner that is one."""
    argv = project.call.argv
    name, *rest = argv[argv.index("-m") + 1 :] if "-m" in argv[:-1] else [""]
    ends = ("{}/__main__.py", "{}.py", "src/{}/__main__.py", "src/{}.py")
    names = " ".join(end.format(name.replace(".", "/")) for end in ends if name)
    text = project.find(names, is_upwards=False)[1]
    yield TargetStep(text, project.folder, "python")
    name = {"pre_commit": "pre-commit", "poethepoet": "poe"}.get(name, name)
    if not text and name in PROJECT_FILES:
        yield TargetStep(command_line([name, *rest]), project.folder)


def _tests(project: ProjectFiles) -> Iterator[TargetStep]:
    """Yield the steps of `pytest tests/test_x.py::test_y`: the named tests, with `conftest.py`."""
    parsed = parse(project.call.argv, "kmcpnWo", ("ignore", "rootdir", "cov"))
    for word in [word for _, word in parsed.operands] or ["."]:
        path, *names = re.split(r"::|\[", word)
        places = ["/".join(path.split("/")[:n]) or "." for n in range(path.count("/") + 2)]
        text = "\n".join(project.read(f"{place}/conftest.py") for place in places)
        hooks = {a or b for a, b in re.findall(_HOOKS, text, re.MULTILINE)}
        text += "\n" + (project.read(path) if path.endswith(".py") else "")
        wanted = set(names) or set(re.findall(_TESTS, text, re.MULTILINE))
        yield TargetStep(pieces_for(text, wanted | hooks), project.folder, "python")


def _setup(project: ProjectFiles) -> Iterator[TargetStep]:
    """Yield the steps of `pip install -e .`, `pip install ./folder`."""
    for word in project.call.argv:
        if folder := re.fullmatch(r"(\.{1,2}(?:/[\w./-]*)?)(?:\W.*)?", word):
            yield TargetStep(project.read(f"{folder[1]}/setup.py"), project.folder, "python")


def _config(project: ProjectFiles) -> Iterator[TargetStep]:
    """Yield the steps of `webpack --config x.js`, `mocha --require ./x.js`."""
    name, line = project.call.name, " ".join(project.call.argv)
    given = re.findall(r"\s(?:--(?:config|require|import)|-[cr])[ =](\S+\.[cm]?[jt]s)(?!\S)", line)
    ends = words("config.js config.mjs config.cjs config.ts conf.js")
    for names in given or [" ".join(f"{name}.{end}" for end in ends)]:
        folder, text = project.find(names, is_upwards=False)
        yield TargetStep(text, folder, "typescript")


def _go(project: ProjectFiles) -> Iterator[TargetStep]:
    """Yield the steps of `go run file.go`, `go test ./x -run TestY`, `go generate ./...`."""
    parsed = parse(project.call.argv, long_values=("run", "tags", "count"), long_with_one_dash=True)
    verb, *operands = [word for _, word in parsed.operands] or [""]
    module = re.search(r"(?m)^module\s+(\S+)", project.find("go.mod")[1])
    tests = {name for names in parsed.values(("run",)) for name in re.findall(r"\w+", names)}
    for package in operands or ["."]:
        folder, dots, _ = (package.removeprefix(module[1]) if module else package).partition("...")
        folder = folder.strip("/") or "."
        patterns = folder if folder.endswith(".go") else f"{folder}/*.go"
        patterns += f" {folder}/*/*.go {folder}/*/*/*.go" if dots else ""
        for path in project.paths(patterns):
            text = project.read(path)
            is_test = path.endswith("_test.go")
            if verb == "test" and is_test and not dots:
                yield TargetStep(pieces_for(text, tests or {""}), project.folder, "go")
            elif verb == "run" and not is_test:
                yield TargetStep(text, project.folder, "go")
            elif verb == "generate":
                for line in re.findall(r"(?m)^//go:generate\s+(.*)", text):
                    yield TargetStep(line, path.rpartition("/")[0])
        if verb == "run" and not package.endswith(".go"):
            break


def _cargo(project: ProjectFiles) -> Iterator[TargetStep]:
    """Yield the steps of `cargo run --bin x`, `cargo build` with a build.rs, and of aliases."""
    yield from tasks.steps_of(project)
    parsed = parse(project.call.argv, "p", ("bin", "package", "example"))
    verb = next((word for _, word in parsed.operands if word[:1] != "+"), "")
    if verb == "make":
        yield TargetStep(command_line(["makers", *project.call.argv[2:]]), project.folder)
    names = ["build.rs"] if verb in words("run r build b test t check c bench install") else []
    if verb in ("run", "r"):
        named = [f"src/bin/{name}.rs" for name in parsed.values(("bin",))]
        named += [f"examples/{name}.rs" for name in parsed.values(("example",))]
        names += named or ["src/main.rs"]
    crate = next((f"{name}/" for name in parsed.values(("p", "package"))), "")
    for name in names:
        text = project.find(f"{crate}{name} crates/{crate}{name}", is_upwards=False)[1]
        yield TargetStep(text, project.folder, "rust")


_STEPS = dict.fromkeys(RUNNERS, _program) | dict.fromkeys(CONFIGURED, _config)
_STEPS |= {"go": _go, "cargo": _cargo, "pytest": _tests, "py.test": _tests}
_STEPS |= dict.fromkeys(("pip", "pip3"), _setup)


def steps_of(project: ProjectFiles) -> Iterator[TargetStep]:
    """Yield the steps that a runner takes; any other program was given a module with `-m`."""
    return _STEPS.get(project.call.name, _module)(project)
