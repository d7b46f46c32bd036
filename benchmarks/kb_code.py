"""Queries for code in other languages, by rule: what a comment says asks for what it describes.

ESLint's rules by the descriptions in them, functions of Go's and Ruby's libraries by the first
sentences of the comments above them. What a query was taken from is removed from the documents.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.kb_corpora import Document, QuerySet, Target, sample

PACKAGES = ("golang-1.19-src", "libruby3.1")
ESLINT = "eslint-9.39.1"

_DESCRIPTION = re.compile(r'^\s*description:\s*(?:\n\s*)?"((?:[^"\\\n]|\\.)+)",\n', re.MULTILINE)
_GO_FUNCTION = re.compile(r"((?:^//.*\n)+)^func (?:\([^)\n]*\) )?([A-Z]\w*)", re.MULTILINE)
_RUBY_METHOD = re.compile(r"((?:^[ \t]*#.*\n)+)^[ \t]*def (?:self\.)?(\w+)", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_WORDS = range(4, 31)


def code_sets(folder: Path) -> list[QuerySet]:
    """All of them, of packages unpacked below `folder`."""
    return [eslint_rules(folder), go_functions(folder), ruby_methods(folder)]


def eslint_rules(folder: Path) -> QuerySet:
    """The description in a rule's metadata asks for the rule's file."""
    archive = folder / f"{ESLINT}.tgz"
    if not archive.exists():
        pack = ["npm", "pack", "--silent", ESLINT.replace("-", "@")]
        subprocess.run(pack, cwd=folder, check=True, timeout=600)
    documents: list[Document] = []
    targets: list[Target] = []
    with tarfile.open(archive) as tar:
        for member in sorted(tar.getmembers(), key=lambda one: one.name):
            stream = tar.extractfile(member) if member.name.endswith(".js") else None
            if stream is None:
                continue
            label, text = member.name.removeprefix("package/"), stream.read().decode()
            described = _DESCRIPTION.search(text) if "lib/rules/" in label else None
            if described is not None:
                text = text[: described.start()] + text[described.end() :]
                targets.append(Target(described.group(1), label, 0, len(text.encode())))
            documents.append(Document(label, text.encode()))
    return QuerySet("eslint", tuple(documents), sample(targets))


def go_functions(folder: Path) -> QuerySet:
    """The first sentence of a function's comment, without its name, asks for the function."""
    root = folder / "golang-1.19-src/usr/share/go-1.19/src"
    paths = (
        path
        for path in sorted(root.rglob("*.go"))
        if not {"cmd", "vendor", "testdata"} & set(path.relative_to(root).parts)
        and not path.name.endswith("_test.go")
    )
    return _functions("go", _read(root, paths), _Form(_GO_FUNCTION, "//", "\n}\n"))


def ruby_methods(folder: Path) -> QuerySet:
    """The first sentence of a method's comment asks for the method."""
    root = folder / "libruby3.1/usr/lib/ruby/3.1.0"
    texts = _read(root, sorted(root.rglob("*.rb")))
    texts = _read(root, sorted(root.rglob("*.rb")))
    return _functions("ruby", texts, _Form(_RUBY_METHOD, "#", "\n\n"))


def _read(root: Path, paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    for path in paths:
        yield str(path.relative_to(root)), path.read_text("utf-8", "replace")


class _Form(NamedTuple):
    """A comment and the name of what is below it, what each line of it begins with, and with what
    a function ends."""

    commented: re.Pattern[str]
    mark: str
    end: str


def _functions(name: str, texts: Iterable[tuple[str, str]], form: _Form) -> QuerySet:
    documents: list[Document] = []
    targets: list[Target] = []
    for label, text in texts:
        kept = ""
        position = 0
        for found in form.commented.finditer(text):
            kept += text[position : found.start()]
            position = found.end(1)
            query = _first_sentence(found.group(1), form.mark, found.group(2))
            if query is not None:
                start = len(kept.encode())
                close = text.find(form.end, position)
                body = text[position : close + len(form.end) if close >= 0 else len(text)]
                targets.append(Target(query, label, start, start + len(body.encode())))
        kept += text[position:]
        documents.append(Document(label, kept.encode()))
    return QuerySet(name, tuple(documents), sample(targets))


def _first_sentence(comment: str, mark: str, name: str) -> str | None:
    """What a comment says first, without the name of what it describes; None where that is no
    sentence."""
    lines = [line.strip().lstrip(mark).strip() for line in comment.splitlines()]
    paragraph = " ".join(lines).strip() if "" not in lines else " ".join(lines[: lines.index("")])
    words = _SENTENCE.split(paragraph)[0].split()
    if words and words[0] == name:
        words = words[1:]
    return " ".join(words) if len(words) in _WORDS else None
