"""Makefiles: the recipes of the goals and of what they need, with make's variables filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from policy import marks
from policy.shell.options import parse
from policy.shell.outputs import quoted
from policy.shell.project_files import Project, Reader, Step
from policy.shell.state import VALUE_MAX

DEPTH_MAX = 16  # variables in variables, files in files
_LONG = ("directory", "file", "makefile", "include-dir", "eval", "jobs", "load-average")
_ASSIGNMENT = re.compile(
    r"\s*(?:export\s+|override\s+|private\s+)*([\w.-]+)\s*(:{0,3}=|\?=|\+=|!=)\s*(.*)", re.DOTALL
)
_DEFINITION = re.compile(r"(?ms)^[ \t]*(?:override[ \t]+)?define[ \t]+([\w.-]+)[^\n]*\n(.*?)^endef")
_REFERENCE = re.compile(r"\$(?:\$|[({]|.)", re.DOTALL)
_BRACKET = re.compile(r"[(){}]")
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")


class Rule(NamedTuple):
    """What a rule makes, what it needs for that, and its lines."""

    targets: str
    needed: str
    lines: list[str]


class Makefile:
    """What make has read, and the shell text that it runs meanwhile."""

    def __init__(self, project: Project, given: dict[str, str]) -> None:
        self.project = project
        self.given = given  # on the command line, which no file overrules
        self.variables = {"MAKE": "make", "RM": "rm -f", "CURDIR": project.folder}
        self.rules: list[Rule] = []
        self.shell_texts: list[str] = []

    def load(self, text: str, depth: int = 0) -> None:
        """Read the text of a makefile."""
        for name, body in _DEFINITION.findall(text):
            self.variables[name] = body
        text = _DEFINITION.sub("", text).replace("\\\n", " ")
        lines: list[str] | None = None
        for line in text.split("\n"):
            if line[:1] == "\t" and lines is not None:
                lines.append(line[1:])
            elif found := _ASSIGNMENT.match(line.partition(" #")[0]):
                self.assign(*found.groups())
            elif found := re.match(r" *[-s]?include\s+(.*)", line):
                for name in self.filled(found[1]).split() if depth < DEPTH_MAX else ():
                    self.load(self.project.read(name), depth + 1)
            elif ":" in line and line.lstrip()[:1] != "#":
                targets, _, rest = line.partition(":")
                needed, _, recipe = rest.lstrip(":&").partition(";")
                lines = [recipe] if recipe else []
                if found := _ASSIGNMENT.match(needed):
                    self.assign(*found.groups())
                    continue
                self.rules.append(Rule(self.filled(targets), self.filled(needed), lines))
            elif "$(" in line:
                self.filled(line)  # `$(shell …)`, `ifeq ($(shell …),x)`

    def assign(self, name: str, sign: str, value: str) -> None:
        """A variable gets a value: worked out now, or where it is used."""
        before = self.variables.get(name)
        if sign == "!=":
            self.shell_texts.append(self.filled(value))
            value = marks.LIST
        elif sign.startswith(":"):
            value = self.filled(value).replace("$", "$$")
        if sign == "+=" and before is not None:
            value = f"{before} {value}"
        if sign != "?=" or before is None:
            self.variables[name] = value[:VALUE_MAX]

    def filled(self, text: str, depth: int = 0, own: dict[str, str] | None = None) -> str:
        """A text with its variables and calls worked out; what is not known stays unknown."""
        self.project.call.walker.budget.spend()
        if depth > DEPTH_MAX:
            return marks.LIST
        pieces: list[str] = []
        at = 0
        while found := _REFERENCE.search(text, at):
            pieces.append(text[at : found.start()])
            at = found.end()
            name = found[0][1]
            if name in "({":
                end = _closing(text, at)
                name, at = text[at:end], end + 1
            pieces.append("$" if name == "$" else self.value(name, depth, own or {}))
        result = "".join([*pieces, text[at:]])
        return result if len(result) <= VALUE_MAX else marks.LIST

    def value(self, name: str, depth: int, own: dict[str, str]) -> str:
        """What stands for `$(name)`."""
        function, _, rest = name.partition(" ")
        if function == "shell":
            self.shell_texts.append(self.filled(rest, depth + 1, own))
            return marks.LIST
        if function in ("call", "foreach", "strip", "if", "eval", "or", "and"):
            words = [self.filled(word, depth + 1, own) for word in rest.split(",")]
            if function == "strip":
                return " ".join(words)
            called = self.given.get(words[0], self.variables.get(words[0].strip()))
            if function == "call" and called is not None:
                return self.filled(called, depth + 1, {str(i): w for i, w in enumerate(words)})
            return marks.LIST
        for known in (own, self.given):
            if name in known:
                return known[name]
        if name in self.variables:
            return self.filled(self.variables[name], depth + 1, own)
        inherited = self.project.call.state.lookup(name)
        return inherited.values[0] if inherited and len(inherited.values) == 1 else marks.LIST

    def steps(self, target: str, seen: set[str]) -> Iterator[Step]:
        """What makes a target, what it needs first; a pattern serves where no rule names it."""
        if target in seen:
            return
        seen.add(target)
        named = [rule for rule in self.rules if target in rule.targets.split()]
        for rule in named if any(r.lines for r in named) else [*named, *self.rules]:
            for pattern in (target,) if rule in named else rule.targets.split():
                head, sign, tail = pattern.partition("%")
                fits = target.startswith(head) and target.endswith(tail)
                if pattern != target and not (sign and fits):
                    continue
                stem = target[len(head) : len(target) - len(tail)] if sign else ""
                needed = rule.needed.rpartition(":")[2].replace("|", " ").replace("%", stem).split()
                for other in needed:
                    yield from self.steps(other, seen)
                every = " ".join(needed)
                own = {"@": target, "^": every, "+": every, "*": stem, "<": (*needed, "")[0]}
                yield from self.recipe(rule.lines, own)

    def recipe(self, lines: list[str], own: dict[str, str]) -> Iterator[Step]:
        """The lines of a recipe, as the shell is given them."""
        texts = [line for text in lines for line in self.filled(text, 0, own).split("\n")]
        if any(".ONESHELL" in rule.targets for rule in self.rules):
            texts = ["\n".join(texts)]
        shell = self.filled("$(SHELL)") if "SHELL" in self.variables else "sh"
        for text in texts:
            text = text.lstrip(" \t@+-")
            if shell.rpartition("/")[2] not in _SHELLS:
                text = f"{shell} -c {quoted(text)}"
            yield Step(text, self.project.folder)
        yield from self.shelled()

    def shelled(self) -> Iterator[Step]:
        """The text of `$(shell …)` and `!=`."""
        texts, self.shell_texts = self.shell_texts, []
        for text in texts:
            yield Step(text, self.project.folder)


def _closing(text: str, at: int) -> int:
    """Where the bracket that was opened before closes."""
    level = 1
    for found in _BRACKET.finditer(text, at):
        level += 1 if found[0] in "({" else -1
        if level == 0:
            return found.start()
    return len(text)


def _goals(project: Project) -> Iterator[Step]:
    """`make goal`, `make -C folder`, `make VAR=x`; the first goal where none is named."""
    parsed = parse(project.call.argv, "CfIjloWE", _LONG)
    for folder in parsed.values(("C", "directory")):
        project.folder = project.at(folder)
    operands = [word for _, word in parsed.operands]
    makefile = Makefile(project, dict(word.split("=", 1) for word in operands if "=" in word))
    stdin = project.call.frame.stdin or ""
    for name in list(parsed.values(("f", "file", "makefile"))) or [""]:
        text = project.find(name or "GNUmakefile makefile Makefile", is_upwards=False)[1]
        makefile.load(stdin if name in ("-", "/dev/stdin") else text)
        project.is_made |= name in ("-", "/dev/stdin")
    for text in parsed.values(("eval", "E")):
        makefile.load(text)
        project.is_made = True
    yield from makefile.shelled()
    first = (
        w for rule in makefile.rules for w in rule.targets.split() if w[0] != "." and "%" not in w
    )
    goals = [word for word in operands if "=" not in word]
    default = makefile.variables.get(".DEFAULT_GOAL") or next(first, "")
    seen: set[str] = set()
    if not parsed.has("n", "just-print", "dry-run", "recon", "q", "question", "t", "touch"):
        for goal in goals or [default]:
            yield from makefile.steps(goal, seen)


READERS: dict[str, Reader] = dict.fromkeys(("make", "gmake"), _goals)
