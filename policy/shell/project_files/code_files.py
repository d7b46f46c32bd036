"""Targets that are pieces of a program: noxfile.py, tasks.py, Rakefile, gulpfile.js, Go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from policy.shell.options import parse
from policy.shell.project_files import Project, Reader, Step, joined
from policy.shell.run import PROJECT_FILES
from policy.wordlist import words


class Row(NamedTuple):
    """A runner's files and their language, its options with a value, of them those that name a
    target, and what each target is given as its first parameter."""

    files: str
    language: str
    values: str = ""
    option: str = ""
    context: str = ""


ROWS = {
    "nox": Row("noxfile.py", "python", "s session sessions e k t p f", "s session sessions e",
               "nox.Session()."),
    "inv": Row("tasks.py", "python", "c r f collection search-root", "", "invoke.Context()."),
    "fab": Row("fabfile.py", "python", "H i c r collection", "", "fabric.Connection()."),
    "rake": Row("Rakefile rakefile Rakefile.rb rakefile.rb", "ruby", "f C rakefile"),
    "grunt": Row("Gruntfile.js gruntfile.js Gruntfile.cjs", "javascript", "gruntfile base"),
    "gulp": Row("gulpfile.js gulpfile.mjs gulpfile.cjs gulpfile.ts", "javascript", "f gulpfile"),
}  # fmt: skip
ROWS["invoke"] = ROWS["inv"]
_DEFINES = (
    r"""(?m)^(?:async[ ]|export[ ])*(?:(?:def|function|(?:multi)?task|file|namespace|const|let"""
    r"""|var)\b[\s(:'"]*|exports\.|\w+\.(?:task|registerTask)\(\s*['"])([\w-]+)|\bname=["']([\w-]+)"""
)
# Lines that begin something new: not inside, not closing, and not behind a decorator.
_BEGINS = r"(?m)(?<![^\n])(?=[^\s)\]}#])(?!(?:end|el|except|finally|rescue|ensure)\b)"


def _reached(text: str, wanted: set[str], context: str) -> str:
    """The pieces of a program that the wanted targets reach, and those that are no definition."""
    pieces: list[tuple[str, set[str]]] = []
    one = re.sub(r"(?m)^(@.*|\))\n(?=@|def |async )", r"\1\r", text)  # with its decorators
    for part in re.split(_BEGINS, one):
        piece = part.replace("\r", "\n")
        if context and (parameter := re.search(r"def \w+\(\s*(\w+)", piece)):
            piece = re.sub(rf"\b{parameter[1]}\.", context, piece)
        pieces.append((piece, {a or b for a, b in re.findall(_DEFINES, piece)}))
    said = re.search(r"nox\.options\.sessions\s*=(.*)", text)
    if "" in wanted and said:  # none is asked for: those that the file says, else all
        wanted = set(re.findall(r"[\w-]+", said[1]))
    kept: dict[int, str] = {}
    before = -1
    while len(kept) > before:
        before = len(kept)
        for at, (piece, names) in enumerate(pieces):
            if at not in kept and (not names or "" in wanted or names & wanted):
                kept[at] = piece
                wanted = wanted.union(re.findall(r"[\w-]+" if names else r"[\w-]+(?=\()", piece))
    return "".join(kept[at] for at in sorted(kept))


def _program(project: Project) -> Iterator[Step]:
    """`nox -s x`, `inv x`, `rake x`, `gulp x`."""
    row = ROWS[project.call.name]
    values = words(row.values)
    parsed = parse(project.call.argv, "".join(v for v in values if len(v) == 1), values)
    targets = [*parsed.values(words(row.option)), *(word for _, word in parsed.operands)]
    for name in targets[:]:
        targets += [name.replace("-", "_"), *re.split(r"[:.\[(]|-\d", name)]
    if not parsed.has("l", "list", "T", "tasks"):
        folder, text = project.find(next(parsed.values(("f", "rakefile")), row.files))
        default = "" if row.option else "default"
        yield Step(_reached(text, set(targets) or {default}, row.context), folder, row.language)


def _module(project: Project) -> Iterator[Step]:
    """`python -m package`: a module of the project, or a runner that is one."""
    argv = project.call.argv
    name, *rest = argv[argv.index("-m") + 1 :] if "-m" in argv[:-1] else [""]
    ends = ("{}/__main__.py", "{}.py", "src/{}/__main__.py", "src/{}.py")
    names = " ".join(end.format(name.replace(".", "/")) for end in ends if name)
    text = project.find(names, is_upwards=False)[1]
    yield Step(text, project.folder, "python")
    name = {"pre_commit": "pre-commit", "poethepoet": "poe"}.get(name, name)
    if not text and name in PROJECT_FILES:
        yield Step(joined([name, *rest]), project.folder)


def _go(project: Project) -> Iterator[Step]:
    """`go run file.go`, `go run ./cmd/x`, `go generate ./...`."""
    words = project.call.argv[1:]
    verb, *operands = [word for word in words if word[:1] != "-"] or [""]
    module = re.search(r"(?m)^module\s+(\S+)", project.find("go.mod")[1])
    for package in (operands or ["."]) if verb in ("run", "generate") else []:
        folder = package.removeprefix(module[1]).lstrip("/") if module else package
        for name in _go_files(
            project, folder.removesuffix("...").rstrip("/") or ".", "..." in folder
        ):
            text = project.read(name)
            if verb == "run":
                yield Step(text, project.folder, "go")
            for line in (
                re.findall(r"(?m)^//go:generate\s+(.*)", text) if verb == "generate" else ()
            ):
                yield Step(line, f"{project.folder}/{name.rpartition('/')[0]}")
        if verb == "run" and not package.endswith(".go"):
            break


def _go_files(project: Project, folder: str, is_deep: bool) -> Iterator[str]:
    """The Go files of a package, or the one that is named."""
    if folder.endswith(".go"):
        yield folder
    for name in project.read(f"{folder}/").split():
        if name.endswith(".go") and not name.endswith("_test.go"):
            yield f"{folder}/{name}"
        elif is_deep and "." not in name and folder.count("/") < 4:
            yield from _go_files(project, f"{folder}/{name}", is_deep)


def _cmake(project: Project) -> Iterator[Step]:
    """`cmake -P file`: the commands of `execute_process`."""
    argv = project.call.argv
    text = project.read(argv[argv.index("-P") + 1]) if "-P" in argv[:-1] else ""
    for command in re.findall(r"execute_process\s*\(\s*COMMAND\s+([^)]*)\)", text):
        line = re.split(r"\s+[A-Z]+_[A-Z_]+\b", command)[0]
        yield Step(" && ".join(re.split(r"\s+COMMAND\s+", line)).replace("\n", " "), project.folder)


READERS: dict[str, Reader] = {"-m": _module, "go": _go, "cmake": _cmake}
READERS |= dict.fromkeys(ROWS, _program)
