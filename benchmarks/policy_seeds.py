"""Programs in every language that the guard reads: from the case tables, and from this machine."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from policy.cases import read_cases
from runtimes import LANGUAGES, language
from tests.policy.ordinary_texts import TEXTS

CASES = Path(__file__).resolve().parent.parent / "tests" / "policy" / "cases"
FOLDERS = tuple(map(Path, ("/usr/lib", "/usr/share", "/usr/include", "/usr/local", "/usr/src")))
FILES_MAX = 150  # of a language
PIECE_CHARACTERS = (400, 1_500, 4_000)  # of a file, beginning at some line
TEXT_LINES = 12  # of an ordinary text, as one program

Seeds = dict[str, list[str]]


def table_seeds() -> Seeds:
    """The codes of the case tables, and ordinary texts as if somebody had them run by a shell."""
    found: Seeds = {}
    for table in sorted(CASES.glob("*.tsv")):
        for case in read_cases(table):
            found.setdefault(language(case.language).name, []).append(case.code)
    for text in TEXTS.values():
        lines = text.splitlines()
        starts = range(0, len(lines), TEXT_LINES)
        found["shell"] += ["\n".join(lines[start : start + TEXT_LINES]) for start in starts]
    return found


def real_seeds(folders: Sequence[Path] = FOLDERS, seed: int = 0) -> Seeds:
    """Pieces of real programs by language, from so many files of each at most."""
    paths: dict[str, list[Path]] = {}
    for folder in folders:
        for path, name in _programs(folder):
            paths.setdefault(name, []).append(path)
    chance = random.Random(seed)
    return {
        name: [_piece(path, chance) for path in chance.sample(some, min(FILES_MAX, len(some)))]
        for name, some in sorted(paths.items())
    }


def _programs(folder: Path) -> Iterator[tuple[Path, str]]:
    """Files that a language's name ends, with that language."""
    by_ending = {ending: row.name for row in LANGUAGES for ending in row.extensions}
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            known = by_ending.get(os.path.splitext(name)[1])
            if known is not None:
                yield Path(place, name), known


def _piece(path: Path, chance: random.Random) -> str:
    try:
        code = path.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""
    length = chance.choice(PIECE_CHARACTERS)
    start = code.rfind("\n", 0, chance.randint(0, max(0, len(code) - length))) + 1
    return code[start : start + length]


def join_seeds(tables: Seeds, real: Seeds) -> Seeds:
    """Both kinds, about as many of each, so that neither is lost among the other."""
    both = {}
    for name, codes in tables.items():
        pieces = [code for code in real.get(name, ()) if code]
        both[name] = codes + pieces * (max(1, len(codes) // len(pieces)) if pieces else 0)
    return both
