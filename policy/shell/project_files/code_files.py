"""Targets that are pieces of a program: noxfile.py, tasks.py, Rakefile, gulpfile.js, Go packages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from policy.shell.options import parse
from policy.shell.project_files import Project, Reader, Step, joined
from policy.shell.run import PROJECT_FILES
from policy.wordlist import words


class Row(NamedTuple):
    """A runner's files, their language, the option that names a target where no operand does.

    `context` is what each target is given as its first parameter.
    """

    files: str
    language: str
    option: str = ""
    values: str = ""
    context: str = ""


ROWS = {
    "nox": Row(
        "noxfile.py",
        "python",
        "s e session sessions",
        "s e k t p f session sessions",
        "nox.Session().",
    ),
    "inv": Row("tasks.py", "python", "", "c r f collection search-root", "invoke.Context()."),
    "fab": Row("fabfile.py", "python", "", "H i c r collection", "fabric.Connection()."),
    "rake": Row("Rakefile rakefile Rakefile.rb rakefile.rb", "ruby", "", "f C rakefile"),
    "grunt": Row("Gruntfile.js gruntfile.js Gruntfile.cjs", "javascript", "", "gruntfile base"),
    "gulp": Row(
        "gulpfile.js gulpfile.mjs gulpfile.cjs gulpfile.ts", "javascript", "", "f gulpfile"
    ),
}
ROWS["invoke"] = ROWS["inv"]
_DEFINES = re.compile(
    r"""^(?:async[ ]|export[ ])*(?:(?:def|function|multitask|task|file|namespace|const|let|var)\b"""
    r"""[\s(:'"]*|exports\.|\w+\.(?:task|registerTask)\(\s*['"])([\w-]+)|\bname=["']([\w-]+)""",
    re.MULTILINE,
)
_GOES_ON = re.compile(r"[\s)\]}#]|$|(?:end|else|elif|except|finally|rescue|ensure)\b")


def _reached(text: str, wanted: set[str]) -> str:
    """The pieces of a program that the wanted targets reach, and those that are no definition."""
    chunks: list[list[str]] = [[]]
    for line in text.split("\n"):
        follows = chunks[-1] and chunks[-1][-1][:1] == "@"
        if _GOES_ON.match(line) or follows:
            chunks[-1].append(line)
        else:
            chunks.append([line])
    pieces = ["\n".join(chunk) for chunk in chunks]
    names = [{a or b for a, b in _DEFINES.findall(piece)} for piece in pieces]
    if "" in wanted:  # none is asked for: those that the file says, else all
        said = re.findall(r"nox\.options\.sessions\s*=\s*(.*)", text)
        wanted = set(re.findall(r"[\w-]+", said[0])) if said else wanted
    kept: set[int] = set()
    for _ in pieces:
        found = {
            at
            for at, piece in enumerate(pieces)
            if at not in kept and (not names[at] or "" in wanted or names[at] & wanted)
        }
        if not found:
            break
        kept |= found
        for at in found:
            mentioned = r"[\w-]+" if names[at] else r"[\w-]+(?=\()"
            wanted = wanted | set(re.findall(mentioned, pieces[at]))
    return "\n".join(pieces[at] for at in sorted(kept))


def _program(project: Project) -> Iterator[Step]:
    """`nox -s x`, `inv x`, `rake x`, `gulp x`."""
    row = ROWS[project.call.name]
    values = words(row.values)
    parsed = parse(project.call.argv, "".join(v for v in values if len(v) == 1), values)
    targets = [word for _, word in parsed.operands if "=" not in word]
    if row.option:
        targets = [t for value in parsed.values(words(row.option)) for t in (value, *targets)]
    for name in targets[:]:
        targets += [name.replace("-", "_"), *re.split(r"[:.\[]", name)]
    if parsed.has("l", "list", "T", "tasks"):
        return
    folder, text = project.find(next(parsed.values(("f", "rakefile")), row.files))
    default = "" if project.call.name == "nox" else "default"
    text = _reached(text, set(targets) or {default})
    if row.context:
        text = _with_context(text, row.context)
    yield Step(text, folder, row.language)


def _with_context(text: str, context: str) -> str:
    """Python in which the first parameter of each function is what the runner gives it."""
    pieces = re.split(r"(?m)^(?=def )", text)
    for at, piece in enumerate(pieces):
        if parameter := re.match(r"def \w+\(\s*(\w+)", piece):
            pieces[at] = re.sub(rf"\b{parameter[1]}\.", context, piece)
    return "".join(pieces)


def _module(project: Project) -> Iterator[Step]:
    """`python -m package`: a module of the project, or a runner that is one."""
    argv = project.call.argv
    if "-m" not in argv[:-1]:
        return
    name, *rest = argv[argv.index("-m") + 1 :]
    path = name.replace(".", "/")
    names = " ".join(f"{at}{path}{end}.py" for at in ("", "src/") for end in ("/__main__", ""))
    folder, text = project.find(names, is_upwards=False)
    yield Step(text, project.folder, "python")
    name = {"pre_commit": "pre-commit", "poethepoet": "poe"}.get(name, name)
    if not text and name in PROJECT_FILES:
        yield Step(joined([name, *rest]), project.folder)


def _go(project: Project) -> Iterator[Step]:
    """`go run file.go`, `go run ./cmd/x`, `go generate ./...`."""
    verb, *rest = project.call.argv[1:] or [""]
    operands = [
        word
        for _, word in parse(
            [verb, *rest], "", ("tags", "exec", "ldflags"), permutes=False, long_with_one_dash=True
        ).operands
    ]
    if verb not in ("run", "generate"):
        return
    files = [word for word in operands if word.endswith(".go")]
    module = re.search(r"(?m)^module\s+(\S+)", project.find("go.mod")[1])
    for package in () if files else (operands[:1] if verb == "run" else operands) or ["."]:
        folder = package.removesuffix("...").rstrip("/")
        folder = folder.removeprefix(module[1]).lstrip("/") if module else folder
        files += _go_files(project, folder or ".", 3 if package.endswith("...") else 0)
    for name in files:
        text = project.read(name)
        if verb == "run":
            yield Step(text, project.folder, "go")
        for line in re.findall(r"(?m)^//go:generate\s+(.*)", text) if verb == "generate" else ():
            yield Step(line, project.at(f"{name}/.."))


def _go_files(project: Project, folder: str, levels: int) -> Iterator[str]:
    for name in project.names(folder):
        if name.endswith(".go") and not name.endswith("_test.go"):
            yield f"{folder}/{name}"
        elif levels and name and "." not in name:
            yield from _go_files(project, f"{folder}/{name}", levels - 1)


def _cmake(project: Project) -> Iterator[Step]:
    """`cmake -P file`: the commands of `execute_process`."""
    argv = project.call.argv
    text = project.read(argv[argv.index("-P") + 1]) if "-P" in argv[:-1] else ""
    for body in re.findall(r"execute_process\s*\(([^)]*)\)", text):
        for command in re.split(r"\bCOMMAND\s+", body)[1:]:
            yield Step(
                re.split(r"\s+[A-Z]+_[A-Z_]+\b", command)[0].replace("\n", " "), project.folder
            )


READERS: dict[str, Reader] = {"python": _module, "go": _go, "cmake": _cmake}
READERS |= dict.fromkeys(ROWS, _program)
