"""Commands that a project's files hold: CI steps, recipes, shell scripts, blocks of documents."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from policy.wordlist import word_set

SHELL_BLOCKS = word_set("sh bash shell zsh console shell-session shellsession terminal")
FUNCTION_DEPTH = 4  # variables of a Makefile within variables


class Found(NamedTuple):
    """A command, the kind of text it stands in, and the file."""

    command: str
    origin: str
    source: str


def read_text(path: Path) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def files_below(folder: Path, *patterns: str) -> list[Path]:
    """Files below a folder whose names fit a pattern, in a fixed order, links left out."""
    found = {path for pattern in patterns for path in folder.rglob(pattern)}
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def join_continued(lines: Iterable[str]) -> Iterator[str]:
    """Lines that end in a backslash come with those that follow, as one text."""
    held: list[str] = []
    for line in lines:
        held.append(line)
        if not line.endswith("\\"):
            yield "\n".join(held)
            held = []
    if held:
        yield "\n".join(held).rstrip("\\")


def strip_margin(text: str) -> str:
    """The text without the indentation that all its lines share."""
    lines = text.splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:].rstrip() for line in lines).strip("\n")


def name_plainly(text: str) -> str:
    """`<file name>` as it stands in documents becomes `file-name`."""

    def plain(match: re.Match[str]) -> str:
        return re.sub(r"\W+", "-", match[1]).strip("-")

    return re.sub(r"<([A-Za-z][\w. -]*)>", plain, text)


def is_synopsis(text: str) -> bool:
    """Whether the text is a form (`ls [OPTION]... FILE`) and no command."""
    form = r"\[[-A-Z<|]|\.\.\.|\u2026|(?<=\s)\[\w+\]|\{\{|\}\}"
    return re.search(form, text) is not None and "[[" not in text and "[ " not in text


def project_commands(folder: Path) -> Iterator[Found]:
    """Every command of a project's files."""
    for path in files_below(folder, "*.yml", "*.yaml"):
        if ".github" in path.parts and "workflows" in path.parts:
            yield from (Found(step, "ci", str(path)) for step in run_steps(read_text(path)))
    for path in files_below(folder, "Makefile", "makefile", "GNUmakefile", "*.mk"):
        yield from (Found(line, "recipe", str(path)) for line in recipes(read_text(path)))
    for path in files_below(folder, "*.sh"):
        text = read_text(path).strip()
        if is_shell_script(text):
            yield Found(text, "script", str(path))
    for path in files_below(folder, "*.md", "*.markdown"):
        yield from (Found(each, "document", str(path)) for each in shell_blocks(read_text(path)))


# CI steps


def run_steps(text: str) -> Iterator[str]:
    """The `run:` steps of a workflow that a POSIX shell reads."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        key = re.match(r"( *)(- +)?run: *(\S.*)$", line)
        if not key:
            continue
        indent = len(key[1]) + len(key[2] or "")
        if _is_read_by_another_shell(lines, at, indent):
            continue
        command = _scalar(key[3], _block_below(lines, at + 1, indent))
        yield re.sub(r"\$\{\{.*?\}\}", "value", command, flags=re.DOTALL).strip()


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _block_below(lines: list[str], start: int, indent: int) -> list[str]:
    """The lines from `start` that stand deeper than `indent`."""
    block = []
    for line in lines[start:]:
        if line.strip() and _indent_of(line) <= indent:
            break
        block.append(line)
    return block


def _is_read_by_another_shell(lines: list[str], at: int, indent: int) -> bool:
    """Whether the step whose key stands in line `at` names a shell that is none of POSIX."""
    first = at
    while first and not (
        lines[first].lstrip().startswith("- ") and _indent_of(lines[first]) < indent
    ):
        first -= 1
    step = [lines[first], *_block_below(lines, first + 1, _indent_of(lines[first]))]
    other = re.compile(r"\s*(?:- )?shell: *['\"]?(?:pwsh|powershell|cmd|python)")
    return any(map(other.match, step))


def _scalar(head: str, block: list[str]) -> str:
    """The value of a YAML key from the rest of its line and the lines below it."""
    if head[0] in "|>":
        text = strip_margin("\n".join(block))
        return text if head[0] == "|" else re.sub(r"(?<!\n)\n(?!\n)", " ", text)
    value = " ".join([head, *(line.strip() for line in block)]).strip()
    if len(value) > 1 and value[0] == '"' == value[-1]:
        try:
            return str(json.loads(value))
        except ValueError:
            return ""
    if len(value) > 1 and value[0] == "'" == value[-1]:
        return value[1:-1].replace("''", "'")
    return value


# Recipes and scripts


def recipes(text: str) -> Iterator[str]:
    """The recipe lines of a Makefile, as its shell gets them."""
    found = re.findall(r"^([A-Za-z_]\w*)\s*[:?]?=[ \t]*([^\n#]*)$", text, re.MULTILINE)
    variables = {name: value.strip() for name, value in found if "\\" not in value}
    lines = [line if line[:1] == "\t" or line[-1:] == "\\" else "" for line in text.splitlines()]
    for line in join_continued(lines):
        if line.startswith("\t"):
            recipe = re.sub(r"^[@+\s-]+", "", line).replace("\n\t", "\n")
            yield _expand_recipe(recipe, variables).strip()


def _expand_recipe(recipe: str, variables: dict[str, str]) -> str:
    """A recipe with its variables' values; empty if it calls functions of make."""
    text = recipe
    for _ in range(FUNCTION_DEPTH):
        text = re.sub(
            r"(?<!\$)\$[({](\w+)[)}]", lambda match: variables.get(match[1], match[1].lower()), text
        )
    text = re.sub(r"(?<!\$)\$[@*]", "target", re.sub(r"(?<!\$)\$[<^?]", "source", text))
    return "" if re.search(r"(?<!\$)\$[({]", text) else text.replace("$$", "$")


def is_shell_script(text: str) -> bool:
    """Whether a *.sh file is read by a POSIX shell."""
    first = text.partition("\n")[0]
    return not first.startswith("#!") or re.search(r"\b(?:ba|z|k|da)?sh\b", first) is not None


# Documents


def shell_blocks(text: str) -> Iterator[str]:
    """Commands of the fenced blocks of a Markdown text that are said to be shell."""
    fence = r"^[ \t]*(`{3,}|~{3,})[ \t{.]*([\w-]*)[^\n]*\n(.*?)^[ \t]*\1[`~]*[ \t]*$"
    for block in re.finditer(fence, text, re.MULTILINE | re.DOTALL):
        if block[2].lower() in SHELL_BLOCKS:
            for command in _commands_of_block(strip_margin(block[3])):
                if not is_synopsis(command):
                    yield name_plainly(command)


def _commands_of_block(block: str) -> Iterator[str]:
    """Of a session what stands after the prompts, otherwise the whole block."""
    plain = html.unescape(re.sub(r"</?(?:font|span|b|u|i|div)\b[^>]*>", "", block))
    lines = plain.splitlines()
    if not any(re.match(r"\s*\$ ", line) for line in lines):
        yield plain.strip()
        return
    for text in join_continued(lines):
        if prompt := re.match(r"\s*\$ +", text):
            yield text[prompt.end() :].strip()
