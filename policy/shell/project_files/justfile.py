"""Justfiles: the recipes that are named, with those they need and their parameters filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import NamedTuple

from policy import marks
from policy.shell.options import parse
from policy.shell.outputs import quoted
from policy.shell.project_files import Project, Reader, Step

_LONG = ("justfile", "working-directory", "set", "shell", "dotenv-path", "color")
_NAMES = "justfile Justfile .justfile"
_SETTING = re.compile(r"(?:export\s+)?([\w-]+)\s*:=\s*(.*)")
_HEADER = re.compile(r"@?([\w-]+)((?:\s+[^:]*+)?):(?!=)(.*)")
_PIECE = re.compile(r"""\s*(?:'([^']*+)'|"((?:[^"\\]|\\.)*+)"|`([^`]*+)`|([\w-]+)|([+/]))""")
_PARAMETER = re.compile(r"""([+*$]*)([\w-]+)(?:=('[^']*+'|"[^"]*+"|\S+))?""")


class Recipe(NamedTuple):
    """A recipe: its parameters as they are written, those it needs, and its lines."""

    parameters: str
    needed: str
    lines: list[str]


class Justfile:
    """What a justfile says."""

    def __init__(self, project: Project, folder: str, given: dict[str, str]) -> None:
        self.project = project
        self.folder = folder
        self.given = given
        self.variables: dict[str, str] = {}
        self.recipes: dict[str, Recipe] = {}
        self.aliases: dict[str, str] = {}
        self.shell = ["sh", "-c"]
        self.texts: list[str] = []

    def load(self, text: str) -> None:
        """Read the text of a justfile, and of those that it imports."""
        lines: list[str] = []
        self.texts.append(text)
        for line in text.replace("\\\n", " ").split("\n"):
            if line[:1] in (" ", "\t"):
                lines.append(line)
            elif found := re.match(r"(import|mod|alias|set)\??\s+(.*)", line):
                self.set(found[1], found[2])
            elif found := _SETTING.match(line):
                self.variables[found[1]] = found[2]
            elif found := _HEADER.match(line):
                lines = []
                self.recipes[found[1]] = Recipe(found[2], found[3], lines)

    def set(self, kind: str, rest: str) -> None:
        """A line about the file itself."""
        if kind == "import":
            text = self.project.read(rest.strip("'\" "), self.folder)
            if text not in self.texts:
                self.load(text)
        elif kind == "alias" and ":=" in rest:
            name, _, other = rest.partition(":=")
            self.aliases[name.strip()] = other.strip()
        elif found := re.match(r"shell\s*:=\s*\[(.*)\]", rest):
            self.shell = [a or b for a, b in re.findall(r"'([^']*)'|\"([^\"]*)\"", found[1])]

    def value(self, text: str, own: dict[str, str], depth: int = 0) -> str:
        """What an expression stands for, as far as it is made of texts and names."""
        pieces: list[str] = []
        at = 0
        while found := _PIECE.match(text, at):
            at = found.end()
            plain, escaped, shelled, name, sign = found.groups()
            known = own.get(name, self.given.get(name)) if name else None
            if name and known is None and name in self.variables and depth < 16:
                known = self.value(self.variables[name], own, depth + 1)
            if sign != "+":
                pieces.append(
                    sign or next((x for x in (plain, escaped, known) if x is not None), marks.LIST)
                )
        return "".join(pieces) if not text[at:].strip() and pieces else marks.LIST

    def filled(self, text: str, own: dict[str, str]) -> str:
        return re.sub(r"\{\{(?!\{)(.*?)\}\}", lambda m: self.value(m[1], own), text)

    def steps(self, words: list[str], seen: set[tuple[str, ...]]) -> Iterator[Step]:
        """What the recipe at the head of the words runs; the words that it takes are taken away."""
        name = words.pop(0)
        recipe = self.recipes.get(self.aliases.get(name, name))
        if recipe is None or (name, *words) in seen:
            return
        seen.add((name, *words))
        own: dict[str, str] = {}
        for sign, parameter, default in _PARAMETER.findall(recipe.parameters):
            taken = words[:] if sign[:1] in ("+", "*") and sign else words[:1]
            del words[: len(taken)]
            own[parameter] = (
                " ".join(taken) if taken else self.value(default, own) if default else ""
            )
        for called, plain in re.findall(r"\(([^)]*)\)|([\w-]+)", recipe.needed):
            needed = (
                [called.split()[0], *(self.value(w, own) for w in called.split()[1:])]
                if called.split()
                else [plain]
            )
            yield from self.steps(needed, seen)
        body = self.filled(dedent("\n".join(recipe.lines)), own)
        is_script = body[:2] == "#!"
        for text in [body] if is_script else body.split("\n"):
            line = text if is_script else text.lstrip(" \t@-")
            if not is_script and self.shell[0].rpartition("/")[2] not in ("sh", "bash", "zsh"):
                line = " ".join([*self.shell, quoted(line)])
            yield Step(line, self.folder)


def _recipes(project: Project) -> Iterator[Step]:
    """`just recipe arguments`, `just -f file x`, `just VAR=x y`; else the first recipe."""
    parsed = parse(project.call.argv, "fd", _LONG, permutes=False)
    words = [word for _, word in parsed.operands]
    given: dict[str, str] = {}
    while words and "=" in words[0]:
        name, _, given[name] = words.pop(0).partition("=")
    file = next(parsed.values(("f", "justfile")), _NAMES)
    folder, text = project.find(file)
    folder = next(map(project.at, parsed.values(("d", "working-directory"))), folder)
    justfile = Justfile(project, folder, given)
    justfile.load(text)
    words = words or [*justfile.recipes][:1]
    seen: set[tuple[str, ...]] = set()
    while words and not parsed.has("n", "dry-run", "l", "list", "show", "summary", "evaluate"):
        yield from justfile.steps(words, seen)


READERS: dict[str, Reader] = {"just": _recipes}
