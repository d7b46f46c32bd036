"""Real input for the demo: at least a megabyte of this machine's text."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from ctxmode.errors import ContextModeError
from runtimes.languages import list_files, read_file

# Every question needs the whole input. Text is bytes and letters are ASCII, so that words are the
# same in all languages.

WORD = re.compile(rb"[A-Za-z_]+")
NUMBER = re.compile(rb"[0-9]+")
INPUT_NAME = "corpus.txt"


def _lines(content: bytes) -> list[bytes]:
    return content.split(b"\n")[:-1]


def _fnv1a(content: bytes) -> int:
    """Compute the 32-bit FNV-1a hash (Fowler, Noll, Vo), which depends on every byte."""
    digest = 0x811C9DC5
    for byte in content:
        digest = (digest ^ byte) * 0x01000193 & 0xFFFFFFFF
    return digest


QUESTIONS: Mapping[str, tuple[str, Callable[[bytes], int]]] = {
    # The question, and the function that computes its answer from the whole input.
    "definitions": (
        "how many lines define a Python function?",
        lambda content: sum(re.match(rb"[ \t]*def ", line) is not None for line in _lines(content)),
    ),
    "commonest": (
        "how often does the commonest word occur?",
        lambda content: Counter(WORD.findall(content)).most_common(1)[0][1],
    ),
    "distinct": (
        "how many different words are there?",
        lambda content: len(set(WORD.findall(content))),
    ),
    "words": ("how many words are there?", lambda content: len(WORD.findall(content))),
    "longest": (
        "how many bytes has the longest line?",
        lambda content: max(map(len, _lines(content))),
    ),
    "wide": (
        "how many lines are longer than 79 bytes?",
        lambda content: sum(len(line) > 79 for line in _lines(content)),
    ),
    "numbers": (
        "what do the numbers add up to, each modulo 1000?",
        lambda content: sum(int(number[-3:]) for number in NUMBER.findall(content)),
    ),
    "lines": ("how many lines are there?", lambda content: content.count(b"\n")),
    "digits": ("how many digits are there?", lambda content: len(re.findall(rb"[0-9]", content))),
    "hash": ("what is the FNV-1a hash of it all?", _fnv1a),
}


Program = tuple[str, str, str]
"""A language, the question that its program answers about a file, and the code."""


def load_programs() -> tuple[Program, ...]:
    """The programs `trial.QUESTION.*` of the languages' folders."""
    found = []
    for path in list_files("trial.*.*"):
        language, _, name = path.partition("/")
        found.append((language, name.split(".")[1], read_file(path)))
    return tuple(sorted(found))


BYTES_MIN = 1_000_000
BYTES_MAX_EACH = 1_500_000
GIT_DEADLINE_S = 15.0
# The repository's configuration may name programs for signatures, change watching and fetching
# objects of a partial clone; none of them may run here.
QUIET = (
    *("-c", "log.showSignature=false"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "protocol.allow=never"),
)
PACKAGE_LOGS = ("/var/lib/dpkg/status", "/var/log/dpkg.log", "/lib/apk/db/installed")
SOURCE_SUFFIXES = frozenset(
    (".py", ".md", ".toml", ".js", ".ts", ".rs", ".go", ".java", ".c", ".rb")
)


def gather(project: Path) -> tuple[bytes, Mapping[str, int]]:
    """Read what there is, the project's own history and sources first; return all of it, which ends
    with a line feed, and how many bytes of each kind there are. A ContextModeError says that it is
    less than a megabyte."""
    contents: list[bytes] = []
    parts: dict[str, int] = {}
    for name, read in SOURCES.items():
        content = b"".join(_limit(BYTES_MAX_EACH, read(project)))
        if content:
            contents.append(content if content.endswith(b"\n") else content + b"\n")
            parts[name] = len(contents[-1])
    whole = b"".join(contents)
    if len(whole) < BYTES_MIN:
        raise ContextModeError(
            f"only {len(whole):,} bytes of real input found; the demo needs {BYTES_MIN:,}",
            "Use a git checkout, or a Python that has its library's sources.",
        )
    return whole, parts


def _limit(limit: int, pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        # Line readers of several languages treat NUL differently, and no other byte.
        yield piece[:limit].replace(b"\0", b" ")
        limit -= len(piece)
        if limit <= 0:
            return


def _history(project: Path) -> Iterator[bytes]:
    show = (
        "--no-pager",
        "log",
        "--stat",
        "-p",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "-200",
    )
    yield _git(project, *show)


def _sources(project: Path) -> Iterator[bytes]:
    listed = _git(project, "ls-files", "-z")
    for name in sorted(filter(None, listed.split(b"\0"))):
        path = project / name.decode("utf-8", "surrogateescape")
        if path.suffix in SOURCE_SUFFIXES and path.is_file() and not path.is_symlink():
            yield _read(path)


def _git(project: Path, *arguments: str) -> bytes:
    if not (project / ".git").exists():
        return b""
    try:
        done = subprocess.run(
            ["git", "-C", str(project), *QUIET, *arguments],  # noqa: S607 - the user's own git
            env=os.environ | {"GIT_NO_LAZY_FETCH": "1"},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=GIT_DEADLINE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""


def _standard_library(_project: Path) -> Iterator[bytes]:
    folder = Path(sysconfig.get_path("stdlib"))
    for path in islice(sorted(folder.glob("*.py")), 400):
        yield _read(path)


def _packages(_project: Path) -> Iterator[bytes]:
    for name in PACKAGE_LOGS:
        if Path(name).is_file():
            yield _read(Path(name))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


SOURCES: dict[str, Callable[[Path], Iterator[bytes]]] = {
    "git history": _history,
    "project sources": _sources,
    "Python standard library": _standard_library,
    "package database": _packages,
}
