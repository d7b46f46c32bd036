"""Makefiles: the recipes of the goals and their prerequisites, with make's variables filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from base.globs import is_made_of
from policy import marks
from policy.paths import resolve
from policy.shell.options import SHELLS, parse
from policy.shell.outputs import quote
from policy.shell.project_files import ProjectFiles, TargetStep
from policy.shell.state import VALUE_MAX

DEPTH_MAX = 16  # variables in variables, files in files
PATTERNS_MAX = 4  # pattern rules that serve one another
_LONG = ("directory", "file", "makefile", "include-dir", "eval", "jobs", "load-average")
_ASSIGNMENT = re.compile(
    r"\s*(?:export\s+|override\s+|private\s+)*([\w.-]+)\s*(:{0,3}=|\?=|\+=|!=)\s*(.*)"
)
_DEFINE = re.compile(r"\s*(?:override\s+)?define\s+([\w.-]+)")
# `$(name)`, `${name}`, `$x` and `$$`, with brackets up to four deep.
_DEEP = r"(?>(?:[^(){}]++|[({]@[)}])*)"
_INSIDE = _DEEP.replace("@", _DEEP.replace("@", _DEEP.replace("@", r"[^(){}]*+")))
_REFERENCE = re.compile(rf"\$(?:[({{]({_INSIDE})[)}}]|(.))", re.DOTALL)


MakeRule = tuple[str, list[str]]
"""The prerequisites of a target, and the lines that make it."""


class Makefile:
    """The parts that make has read, and the shell text that it runs while reading."""

    def __init__(self, project: ProjectFiles, given: dict[str, str]) -> None:
        self.project = project
        self.given = given  # on the command line; files do not override it
        self.variables = {"MAKE": "make", "RM": "rm -f", "SHELL": "sh"} | {"CURDIR": project.folder}
        self.rules: dict[str, list[MakeRule]] = {}  # by each target
        self.patterns: list[tuple[str, str, MakeRule]] = []  # text before and after `%`
        self.shell_texts: list[str] = []

    def load(self, text: str, depth: int = 0) -> None:
        """Read the text of a makefile."""
        lines: list[str] | None = None
        name = ""  # of the variable that `define` continues
        for line in text.replace("\\\n", " ").split("\n"):
            if name and line.strip() == "endef":
                name = ""
            elif name:
                self.variables[name] = f"{self.variables.get(name, '')}{line}\n"[:VALUE_MAX]
            elif found := _DEFINE.match(line):
                name = found[1]
            elif line[:1] == "\t" and lines is not None:
                lines.append(line[1:])
            elif found := _ASSIGNMENT.match(line.partition(" #")[0]):
                self.assign(*found.groups())
            elif found := re.match(r" *[-s]?include\s+(.*)", line):
                for path in self.project.paths(self.fill(found[1])) if depth < DEPTH_MAX else ():
                    self.project.report_read(path)
                    self.load(self.project.read(path), depth + 1)
            elif ":" in line and line.lstrip()[:1] != "#":
                targets, _, rest = line.partition(":")
                needed, _, recipe = rest.lstrip(":&").partition(";")
                lines = [recipe] if recipe else []
                if found := _ASSIGNMENT.match(needed):
                    self.assign(*found.groups())
                else:
                    needed = self.fill(needed).rpartition(":")[2].replace("|", " ")
                    self.add(self.fill(targets).split(), (needed, lines))
            else:
                self.fill(line)  # `$(shell …)`, `ifeq ($(shell …),x)`

    def add(self, targets: list[str], rule: MakeRule) -> None:
        """Add a rule to its targets, and to those that its patterns fit."""
        for target in targets:
            head, is_pattern, tail = target.partition("%")
            if is_pattern:
                self.patterns.append((head, tail, rule))
            else:
                self.rules.setdefault(target, []).append(rule)

    def assign(self, name: str, sign: str, value: str) -> None:
        """Give a variable a value: computed now, or where it is used."""
        before = self.variables.get(name)
        if sign == "!=":
            value = f"$(shell {value})"
        if sign.startswith((":", "!")):
            value = self.fill(value).replace("$", "$$")
        if sign == "+=":
            value = f"{before or ''} {value}"
        if sign != "?=" or before is None:
            self.variables[name] = value[:VALUE_MAX]

    def fill(self, text: str, depth: int = 0, own: dict[str, str] | None = None) -> str:
        """Return a text with its variables and calls computed; unknown parts stay unknown."""
        self.project.call.walk.spend()

        def value(found: re.Match[str]) -> str:
            return "$" if found[2] == "$" else self.value(found[1] or found[2] or "", depth, own)

        result = _REFERENCE.sub(value, text)
        return result if len(result) <= VALUE_MAX else marks.LIST

    def value(self, name: str, depth: int, own: dict[str, str] | None) -> str:
        """Return the value of `$(name)`."""
        function, is_call, rest = name.partition(" ")
        if depth > DEPTH_MAX:
            return marks.LIST
        if is_call:
            given = [self.fill(word, depth + 1, own) for word in rest.split(",")]
            if function == "shell":
                self.shell_texts.append(",".join(given))
            if function == "call" and given[0] in self.variables:
                own = {str(index): word for index, word in enumerate(given)}
                return self.fill(self.variables[given[0]], depth + 1, own)
            return marks.LIST
        known = (own or {}).get(name, self.given.get(name))
        if known is None and name in self.variables:
            known = self.fill(self.variables[name], depth + 1, own)
        inherited = self.project.call.state.lookup(name) if known is None else None
        return inherited.values[0] if inherited else marks.LIST if known is None else known

    def steps(self, target: str, seen: set[str], depth: int = 0) -> Iterator[TargetStep]:
        """Yield the steps of a target after its prerequisites; a pattern serves if no rule has
        lines. `depth` counts the patterns on the way here: `%: %.x` would never end."""
        if target in seen:
            return
        seen.add(target)
        self.project.call.walk.spend(1 + len(self.patterns))
        named = [(rule, "") for rule in self.rules.get(target, ())]
        if depth < PATTERNS_MAX and not any(lines for (_, lines), _ in named):
            for head, tail, rule in self.patterns:
                if is_made_of((head, tail), target):
                    named.append((rule, target[len(head) : len(target) - len(tail)]))
        for (needs, lines), stem in named:
            needed = needs.replace("%", stem).split()
            for other in needed:
                yield from self.steps(other, seen, depth + bool(stem))
            every = " ".join(needed)
            own = {"@": target, "^": every, "+": every, "*": stem, "<": (*needed, "")[0]}
            yield from self.recipe(lines, own)

    def recipe(self, lines: list[str], own: dict[str, str]) -> Iterator[TargetStep]:
        """Yield the lines of a recipe as the shell gets them, and what was run to compute them."""
        given = "\n".join(self.fill(line, 0, own) for line in lines).split("\n")
        given = [line.lstrip(" \t@+-") for line in given]
        if ".ONESHELL" in self.rules:
            given = ["\n".join(given)]
        shell = self.fill("$(SHELL)")
        if shell.rpartition("/")[2] not in SHELLS:
            given = [f"{shell} -c {quote(line)}" for line in given]
        given += self.shell_texts
        self.shell_texts = []
        yield from (TargetStep(line, self.project.folder) for line in given)


def steps_of(project: ProjectFiles) -> Iterator[TargetStep]:
    """Yield the steps of `make goal`, `make -C folder`, `make VAR=x`; by default the first goal."""
    parsed = parse(project.call.argv, "CfIjloWE", _LONG)
    for folder in parsed.values(("C", "directory")):
        project.folder = resolve(folder, project.folder)
    operands = [word for _, word in parsed.operands]
    makefile = Makefile(project, dict(word.split("=", 1) for word in operands if "=" in word))
    own = list(parsed.values(("eval", "E")))
    for name in list(parsed.values(("f", "file", "makefile"))) or [""]:
        if name in ("-", "/dev/stdin"):
            own.append(project.call.walk.stdin or "")
        else:
            text = project.find(name or "GNUmakefile makefile Makefile", is_upwards=False)[1]
            if text:
                makefile.load(text)
    for text in own:
        makefile.load(text)
        project.is_made = True
    yield from makefile.recipe([], {}) if makefile.shell_texts else ()
    if parsed.has("n", "just-print", "dry-run", "recon", "q", "question", "t", "touch"):
        return
    first = [name for name in makefile.rules if name[0] != "."][:1]
    default = makefile.variables.get(".DEFAULT_GOAL", "").split() or first
    seen: set[str] = set()
    for goal in [word for word in operands if "=" not in word] or default:
        yield from makefile.steps(goal, seen)
