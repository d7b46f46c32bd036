"""Documents and queries for the knowledge base: by the rules of `data/query_sets.toml`.

Every query comes from the documents themselves, by a rule that no person's choice enters. Packages
are fetched into the folder of corpora when a set needs them; none is installed.
"""

from __future__ import annotations

import ast
import gzip
import random
import re
import subprocess
import sysconfig
import tarfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from benchmarks.harness import DATA, NotMeasuredError

SEED = 20240601
PER_SET = 600
WHOLE = 1 << 40
"""Beyond the end of any document: the whole page is asked for."""

CORPORA = "/tmp/corpora"
STDLIB = Path(sysconfig.get_path("stdlib"))
SETS: Mapping[str, Mapping[str, Any]] = tomllib.loads((DATA / "query_sets.toml").read_text())
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n\n")
_TEXTS = {".txt", ".html", ".py", ".gz", ".json", ".md"}


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a query: a document, and the bytes of the section in it. What a search returns
    is told in the same way."""

    query: str
    label: str
    start: int = 0
    end: int = WHOLE

    def overlaps(self, other: Target) -> bool:
        """Return whether both have bytes in common."""
        return self.label == other.label and self.start < other.end and self.end > other.start


def make_set(name: str, corpora: Path) -> tuple[dict[str, bytes], tuple[Target, ...]]:
    """Build a set: documents by their names in the store, and the queries taken from them."""
    row = SETS[name]
    root = STDLIB if row["root"] == "stdlib" else _fetch(corpora, row["root"])
    documents: dict[str, str] = {}
    skip = set(row.get("skip", ()))
    for path in sorted(root.rglob(row["glob"])):
        if (
            path.is_file()
            and not path.is_symlink()
            and not skip & set(path.relative_to(root).parts)
        ):
            documents[str(path.relative_to(root))] = _read(path).decode("utf-8", "replace")
    found, targets = _RULES[row["kind"]](documents, row)
    return {label: text.encode() for label, text in found.items()}, _sample(targets)


def _fetch(corpora: Path, root: str) -> Path:
    """Return a folder of a package, which is downloaded and unpacked unless it is there."""
    package = root.partition("/")[0]
    place = corpora / package
    corpora.mkdir(parents=True, exist_ok=True)
    try:
        if place.exists():
            pass
        elif package.startswith("eslint-"):
            pack = ["npm", "pack", "--silent", package.replace("-", "@")]
            subprocess.run(pack, cwd=corpora, check=True, timeout=600)
            with tarfile.open(corpora / f"{package}.tgz") as archive:
                archive.extractall(place, filter="data")
        else:
            subprocess.run(["apt-get", "download", package], cwd=corpora, check=True, timeout=600)
            (archive_path,) = corpora.glob(f"{package}_*.deb")
            subprocess.run(["dpkg", "-x", archive_path, place], check=True, timeout=600)
            archive_path.unlink()
    except (OSError, subprocess.SubprocessError) as error:
        raise NotMeasuredError(f"{package} can't be fetched: {error}") from None
    return corpora / root


def mixed_documents(corpora: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of Python's library and of what was fetched, mixed."""
    roots = [STDLIB, *sorted(corpora.glob("*/"))]
    paths = [
        (root, path)
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.suffix in _TEXTS and path.is_file() and "site-packages" not in path.parts
        and path.stat().st_size < 1_000_000
    ]  # fmt: skip
    random.Random(SEED).shuffle(paths)
    for root, path in paths:
        data = _read(path)
        if data and b"\0" not in data[:8192]:
            label = f"{root.name}/{path.relative_to(root)}"
            yield label.removesuffix(".gz").removesuffix(".txt"), data


def _read(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def _sample(targets: Iterable[Target]) -> tuple[Target, ...]:
    distinct = {(target.query.lower(), target.label, target.start): target for target in targets}
    chosen = sorted(distinct.values(), key=lambda t: (t.query, t.label, t.start))
    random.Random(SEED).shuffle(chosen)
    return tuple(chosen[:PER_SET])


Texts = dict[str, str]
Row = Mapping[str, Any]


def _pages(texts: Texts, row: Row) -> tuple[Texts, list[Target]]:
    pattern = re.compile(row["pattern"], re.MULTILINE)
    targets, kept = [], {}
    for label, text in texts.items():
        found = pattern.search(text)
        kept[label] = text if found is None else text[: found.start()] + text[found.end() :]
        if found is not None:
            said = found.group(1)
            said = said.partition(row["after"])[2].replace("\\", "") if row["after"] else said
            if len(said.split()) >= 3:
                targets.append(Target(" ".join(said.split()), label))
    return kept, targets


def _first_sentence(text: str) -> str:
    """Return what a docstring says first; empty if it is too short or too long."""
    words = _SENTENCE.split(text.strip())[0].split()
    return " ".join(words) if 4 <= len(words) <= 30 else ""


def _docstrings(texts: Texts, _: Row) -> tuple[Texts, list[Target]]:
    targets, kept = [], {}
    for label, source in texts.items():
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        lines = source.splitlines(keepends=True)
        asked: list[tuple[str, int, int]] = []
        for node in ast.walk(tree):
            if not isinstance(
                node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
            ):
                continue
            docstring = ast.get_docstring(node)
            if not docstring or not isinstance(node.body[0], ast.Expr):
                continue
            first = node.body[0]
            for number in range(first.lineno - 1, first.end_lineno or first.lineno):
                lines[number] = "\n"
            query = _first_sentence(docstring)
            if isinstance(node, ast.FunctionDef) and len(node.body) > 1 and query:
                asked.append((query, node.lineno, node.end_lineno or node.lineno))
        offsets = [0]
        for line in lines:
            offsets.append(offsets[-1] + len(line.encode()))
        kept[label] = "".join(lines)
        targets += [Target(query, label, offsets[a - 1], offsets[b]) for query, a, b in asked]
    return kept, targets


def _index(texts: Texts, row: Row) -> tuple[Texts, list[Target]]:
    entries = re.findall(row["pattern"], texts.pop(row["index"]))
    said = ((" ".join(unescape(entry).split()), page) for entry, page in entries)
    return texts, [Target(words, page) for words, page in said if " " in words]


_RULES: Mapping[str, Callable[[Texts, Row], tuple[Texts, list[Target]]]] = {
    "pages": _pages,
    "docstrings": _docstrings,
    "index": _index,
}
