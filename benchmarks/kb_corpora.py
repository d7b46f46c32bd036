"""Documents and queries to measure the knowledge base on: fetched from Debian, built by rule.

Every query comes from the documents themselves, by a rule that no person's choice enters: the text
of a cross-reference asks for the section it points to, an index entry for the place it stood, the
first sentence of a docstring for its function, a manual page's one-line description for the page.
What a query was taken from is removed from the documents first.
"""

from __future__ import annotations

import ast
import gzip
import random
import re
import subprocess
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("python3.11-doc", "nodejs-doc", "python-django-doc", "manpages", "manpages-dev")
SEED = 20240601
PER_SET = 600


@dataclass(frozen=True, slots=True)
class Document:
    label: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Target:
    """What a query asks for: a document, and the bytes of the section in it."""

    query: str
    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class QuerySet:
    name: str
    documents: tuple[Document, ...]
    targets: tuple[Target, ...]


def fetch(folder: Path, packages: Sequence[str] = PACKAGES) -> Path:
    """Unpack the packages below `folder`, unless they are there; install none."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages:
        target = folder / package
        if target.exists():
            continue
        subprocess.run(["apt-get", "download", package], cwd=folder, check=True, timeout=600)
        (archive,) = folder.glob(f"{package}_*.deb")
        subprocess.run(["dpkg", "-x", archive, target], check=True, timeout=600)
        archive.unlink()
    return folder


def query_sets(folder: Path) -> list[QuerySet]:
    """All sets; `pyref-typo` is `pyref` with one mistyped letter a query."""
    references = python_references(folder)
    return [
        references,
        QuerySet("pyref-typo", references.documents, tuple(map(mistyped, references.targets))),
        python_index(folder),
        python_code(),
        manual_pages(folder),
        node_references(folder),
    ]


def mixed_documents(folder: Path) -> Iterator[Document]:
    """Documentation and code of many kinds, in an order that mixes them."""
    roots = [*(folder / package for package in PACKAGES), Path(sysconfig.get_path("stdlib"))]
    paths = [
        (root, path)
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix in {".txt", ".html", ".py", ".gz", ".json", ".md"}
        and "site-packages" not in path.parts and path.stat().st_size < 1_000_000
    ]  # fmt: skip
    random.Random(SEED).shuffle(paths)
    for root, path in paths:
        data = _read(path)
        if data and b"\0" not in data[:8192]:
            label = f"{root.name}/{path.relative_to(root)}"
            yield Document(label.removesuffix(".gz").removesuffix(".txt"), data)


def _read(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def sample(targets: Iterable[Target]) -> tuple[Target, ...]:
    distinct = {(target.query.lower(), target.label, target.start): target for target in targets}
    chosen = sorted(distinct.values(), key=lambda t: (t.query, t.label, t.start))
    random.Random(SEED).shuffle(chosen)
    return tuple(chosen[:PER_SET])


# Python's documentation: cross-references and index entries.

_REF = re.compile(r":ref:`([^`<]{6,120}?)\s*<([^>`]+)>`")
_LABEL = re.compile(r"^\.\. _([^:\n]+):[ \t]*\n", re.MULTILINE)
_RST_HEADING = re.compile(r"^(?=\S)[^\n]+\n([=\-~^\"'*+#.])\1{3,}[ \t]*$", re.MULTILINE)
_INDEX = re.compile(
    r"^[ \t]*\.\. index::(?:[^\n]*\n)(?:[ \t]+[^\n]*\n|\n(?=[ \t]+(?:single|pair|triple|module)))*",
    re.MULTILINE,
)
_INDEX_ENTRY = re.compile(r"(?:single|pair|triple|module|index::)\s*:?\s*([^\n]+)")


def _python_sources(folder: Path) -> Iterator[tuple[str, str]]:
    root = folder / "python3.11-doc/usr/share/doc/python3.11/html/_sources"
    for path in sorted(root.rglob("*.rst.txt")):
        yield str(path.relative_to(root)).removesuffix(".txt"), path.read_text()


def _sections(text: str, heading: re.Pattern[str]) -> list[int]:
    return [0, *(found.start() for found in heading.finditer(text)), len(text)]


def _section_of(text: str, bounds: list[int], position: int) -> tuple[int, int]:
    """The bytes of the section that holds the character at `position`."""
    start = max(bound for bound in bounds if bound <= position)
    end = min((bound for bound in bounds if bound > position), default=len(text))
    return len(text[:start].encode()), len(text[:end].encode())


def python_references(folder: Path) -> QuerySet:
    """The text of a `:ref:` asks for the labelled section of another file."""
    asked: list[tuple[str, str, str]] = []
    texts: dict[str, str] = {}
    for label, text in _python_sources(folder):
        for found in _REF.finditer(text):
            asked.append((" ".join(found.group(1).split()), found.group(2).strip(), label))
        texts[label] = _REF.sub("", text)
    places: dict[str, tuple[str, int, int]] = {}
    for label, text in texts.items():
        bounds = _sections(text, _RST_HEADING)
        for found in _LABEL.finditer(text):
            heading = _RST_HEADING.search(text, found.end(), found.end() + 400)
            if heading:
                places[found.group(1)] = (label, *_section_of(text, bounds, heading.start()))
    targets = (
        Target(query, *places[name])
        for query, name, source in asked
        if name in places and places[name][0] != source
    )
    documents = tuple(Document(label, text.encode()) for label, text in texts.items())
    return QuerySet("pyref", documents, sample(targets))


def python_index(folder: Path) -> QuerySet:
    """An entry of the back-of-book index asks for the section it stood in."""
    documents: list[Document] = []
    targets: list[Target] = []
    for label, text in _python_sources(folder):
        pieces: list[str] = []
        places: list[tuple[int, str]] = []
        length = position = 0
        for found in _INDEX.finditer(text):
            pieces.append(text[position : found.start()])
            length += len(pieces[-1])
            position = found.end()
            for entry in _INDEX_ENTRY.findall(found.group()):
                bare = re.sub(r"^\s*(?:single|pair|triple|module)\s*:", "", entry)
                words = re.sub(r"[;!(),]|\bin module\b", " ", bare)
                places.append((length, " ".join(words.split())))
        clean = "".join(pieces) + text[position:]
        bounds = _sections(clean, _RST_HEADING)
        for at, query in places:
            if len(query) >= 6 and " " in query:
                targets.append(Target(query, label, *_section_of(clean, bounds, at)))
        documents.append(Document(label, clean.encode()))
    return QuerySet("pyindex", tuple(documents), sample(targets))


# The standard library's code: docstrings.


def python_code() -> QuerySet:
    """The standard library's functions."""
    return docstrings("pycode", Path(sysconfig.get_path("stdlib")))


def docstrings(name: str, root: Path) -> QuerySet:
    """The first sentence of a docstring asks for its function; docstrings are removed."""
    documents: list[Document] = []
    targets: list[Target] = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if {"test", "tests", "site-packages", "idle_test", "lib2to3"} & set(parts):
            continue
        try:
            source = path.read_text()
            tree = ast.parse(source)
        except (OSError, SyntaxError, UnicodeDecodeError):
            continue
        label = str(path.relative_to(root))
        clean, found = _without_docstrings(source, tree)
        documents.append(Document(label, clean.encode()))
        targets.extend(Target(query, label, start, end) for query, start, end in found)
    return QuerySet(name, tuple(documents), sample(targets))


def _without_docstrings(source: str, tree: ast.Module) -> tuple[str, list[tuple[str, int, int]]]:
    lines = source.splitlines(keepends=True)
    queries: list[tuple[str, int, int]] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            continue
        docstring = ast.get_docstring(node)
        if not docstring or not isinstance(node.body[0], ast.Expr):
            continue
        expression = node.body[0]
        for number in range(expression.lineno - 1, expression.end_lineno or expression.lineno):
            lines[number] = "\n" if number >= expression.lineno - 1 else lines[number]
        if isinstance(node, ast.FunctionDef) and len(node.body) > 1:
            sentence = re.split(r"(?<=[.!?])\s|\n\n", docstring.strip())[0]
            sentence = " ".join(sentence.split())
            if 4 <= len(sentence.split()) <= 30:
                queries.append((sentence, node.lineno, node.end_lineno or node.lineno))
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line.encode()))
    return "".join(lines), [(q, offsets[a - 1], offsets[b]) for q, a, b in queries]


# Manual pages: their one-line descriptions.

_NAME_SECTION = re.compile(r'^\.SH "?NAME"?\s*\n((?:(?!\.SH).*\n)*)', re.MULTILINE)


def manual_pages(folder: Path) -> QuerySet:
    """The one-line description of a manual page asks for the page, whose NAME section is gone."""
    documents: list[Document] = []
    targets: list[Target] = []
    for package in ("manpages", "manpages-dev"):
        for path in sorted((folder / package / "usr/share/man").glob("man*/*.gz")):
            if path.is_symlink():
                continue
            text = _read(path).decode("utf-8", "replace")
            found = _NAME_SECTION.search(text)
            if found is None:
                continue
            label = path.name.removesuffix(".gz")
            clean = (text[: found.start()] + text[found.end() :]).encode()
            documents.append(Document(label, clean))
            description = found.group(1).partition("\\-")[2].replace("\\", "")
            query = " ".join(description.split())
            if len(query.split()) >= 3:
                targets.append(Target(query, label, 0, len(clean)))
    return QuerySet("man", tuple(documents), sample(targets))


# Node's documentation: its links between pages.

_NODE_DEFINITION = re.compile(r"^\[([^\]\n]+)\]: ([\w]+\.md)?#(\S+)\n", re.MULTILINE)
_NODE_LINK = re.compile(r"\[([^\]\n]+)\]\[\]")
_MD_HEADING = re.compile(r"^#{1,6} [^\n]+$", re.MULTILINE)


def node_references(folder: Path) -> QuerySet:
    """The text of a link to a section of another page asks for that section."""
    asked: list[tuple[str, str, str]] = []
    texts: dict[str, str] = {}
    for path in sorted((folder / "nodejs-doc/usr/share/doc/nodejs/api").glob("*.md*")):
        label, text = path.name.removesuffix(".gz"), _read(path).decode()
        for text_, page, anchor in _NODE_DEFINITION.findall(text):
            if page:
                asked.append((text_.replace("`", ""), page, anchor))
        texts[label] = _NODE_LINK.sub("", _NODE_DEFINITION.sub("", text))
    places: dict[tuple[str, str], tuple[int, int]] = {}
    for label, text in texts.items():
        bounds = _sections(text, _MD_HEADING)
        for heading in _MD_HEADING.finditer(text):
            anchor = re.sub(r"[^\w\- ]", "", heading.group().lstrip("# ").lower()).replace(" ", "-")
            places.setdefault((label, anchor), _section_of(text, bounds, heading.start()))
    targets = (
        Target(query, page, *places[page, anchor])
        for query, page, anchor in asked
        if (page, anchor) in places
    )
    documents = tuple(Document(label, text.encode()) for label, text in texts.items())
    return QuerySet("node", documents, sample(targets))


# Typing mistakes.


def _swap(word: str, at: int, letter: str) -> str:
    return word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]


_EDITS: tuple[Callable[[str, int, str], str], ...] = (
    _swap,
    lambda word, at, letter: word[:at] + word[at + 1 :],
    lambda word, at, letter: word[:at] + letter + word[at:],
    lambda word, at, letter: word[:at] + letter + word[at + 1 :],
)


def mistyped(target: Target) -> Target:
    """`target` with one edit inside the longest word of its query."""
    words = target.query.split()
    longest = max(range(len(words)), key=lambda at: len(words[at]))
    chance = random.Random(f"{SEED} {target.query}")
    at = chance.randrange(1, max(2, len(words[longest])))
    edit = chance.choice(_EDITS)
    words[longest] = edit(words[longest], at, chance.choice("abcdefghijklmnopqrstuvwxyz"))
    return Target(" ".join(words), target.label, target.start, target.end)
