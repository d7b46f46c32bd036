"""Justfiles: the recipes that are named, with those they need and their parameters filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

from policy import marks
from policy.paths import resolve
from policy.shell.options import parse
from policy.shell.outputs import quoted
from policy.shell.project_files import Project, Reader, Step

_LONG = ("justfile", "working-directory", "set", "shell", "dotenv-path", "color")
_SHOWS = ("n", "dry-run", "l", "list", "s", "show", "summary", "evaluate")
_SETTING = re.compile(r"(?:(alias|set|import\??|export)\s+)?([\w-]+|(?=['\"]))\s*(?::=)?\s*(.*)")
_HEADER = re.compile(r"@?([\w-]+)((?:\s+[^:]*+)?):(?!=)(.*)")
_PIECE = re.compile(r"""\s*(?:'([^']*+)'|"((?:[^"\\]|\\.)*+)"|`[^`]*+`|([\w-]+)(?!\()|([+/]))""")
_PARAMETER = re.compile(r"""([+*$]*)([\w-]+)(?:=('[^']*+'|"[^"]*+"|\S+))?""")


class Justfile:
    """What a justfile says: variables, other names, and recipes as parameters, needs and lines."""

    def __init__(self, project: Project, folder: str, given: dict[str, str]) -> None:
        self.project = project
        self.folder = folder
        self.given = given
        self.variables: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self.recipes: dict[str, tuple[str, str, list[str]]] = {}
        self.shell = ["sh", "-c"]
        self.texts: list[str] = []

    def load(self, text: str) -> None:
        """Read the text of a justfile, and of those that it imports."""
        lines: list[str] = []
        self.texts.append(text)
        for line in text.replace("\\\n", " ").split("\n"):
            if line[:1] in ("", " ", "\t"):
                lines.append(line)
            elif found := _HEADER.match(line):
                lines = []
                self.recipes[found[1]] = (found[2], found[3], lines)
            elif found := _SETTING.match(line):
                self.keep(*found.groups())

    def keep(self, kind: str | None, name: str, value: str) -> None:
        """A line that is no recipe's."""
        if kind in ("import", "import?"):
            text = self.project.read(value.strip("'\" "), self.folder)
            if text not in self.texts:
                self.load(text)
        elif kind == "alias":
            self.aliases[name] = value.strip()
        elif (kind, name) == ("set", "shell"):
            self.shell = re.findall(r"[^\s\[\]'\",]+", value) or self.shell
        else:
            self.variables[name] = value

    def value(self, text: str, own: dict[str, str], depth: int = 0) -> str:
        """What an expression stands for, as far as it is made of texts and names."""
        pieces: list[str] = []
        at = 0
        while found := _PIECE.match(text, at):
            at = found.end()
            plain, escaped, name, sign = found.groups()
            known = (
                own.get(name, self.given.get(name)) if name else escaped if plain is None else plain
            )
            if known is None and name in self.variables and depth < 16:
                known = self.value(self.variables[name], own, depth + 1)
            pieces.append({"+": "", "/": "/"}.get(sign, marks.LIST if known is None else known))
        return marks.LIST if text[at:].strip(" ()") else "".join(pieces)

    def steps(self, words: list[str], seen: set[tuple[str, ...]]) -> Iterator[Step]:
        """What the recipe at the head of the words runs; the words that it takes are taken away."""
        name = self.aliases.get(words[0], words[0])
        key = (name, *words[1:])
        del words[0]
        parameters, needed, lines = self.recipes.get(name, ("", "", []))
        if key in seen:
            return
        seen.add(key)
        own: dict[str, str] = {}
        for sign, parameter, default in _PARAMETER.findall(parameters):
            taken = words[: len(words) if "+" in sign or "*" in sign else 1]
            del words[: len(taken)]
            own[parameter] = " ".join(taken) if taken else self.value(default, own)
        for called, plain in re.findall(r"\(([^)]+)\)|([\w-]+)", needed):
            head, *rest = called.split() or [plain]
            yield from self.steps([head, *(self.value(word, own) for word in rest)], seen)
        body = re.sub(
            r"\{\{(?!\{)(.*?)\}\}", lambda m: self.value(m[1], own), dedent("\n".join(lines))
        )
        is_script = body[:2] == "#!"
        for line in [body] if is_script else [row.lstrip(" \t@-") for row in body.split("\n")]:
            is_shell = is_script or self.shell[0].rpartition("/")[2] in ("sh", "bash", "zsh")
            yield Step(line if is_shell else " ".join([*self.shell, quoted(line)]), self.folder)


def _recipes(project: Project) -> Iterator[Step]:
    """`just recipe arguments`, `just -f file x`, `just VAR=x y`; else the first recipe."""
    parsed = parse(project.call.argv, "fd", _LONG, permutes=False)
    words = [word for _, word in parsed.operands]
    given: dict[str, str] = {}
    while words and "=" in words[0]:
        name, _, given[name] = words.pop(0).partition("=")
    file = next(parsed.values(("f", "justfile")), "justfile Justfile .justfile")
    folder, text = project.find(file)
    folder = resolve(next(parsed.values(("d", "working-directory")), folder), project.folder)
    justfile = Justfile(project, folder, given)
    justfile.load(text)
    words = words or [*justfile.recipes][:1]
    seen: set[tuple[str, ...]] = set()
    while words and not parsed.has(*_SHOWS):
        yield from justfile.steps(words, seen)


READERS: dict[str, Reader] = {"just": _recipes}
