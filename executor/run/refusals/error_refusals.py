"""Refusals that only a program's error output names, checked against its box."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from executor.engine import box
from executor.run.refusals.notices import SOURCES, TABLE, FoundRefusal

# Every language prints the kernel's own words, and most of them the path. It is still a guess: any
# program can print anything, so nothing here is called exact.

LINES_MAX = 400  # the end of the output, which alone is searched
LINE_CHARACTERS_MAX = 2000
CANDIDATES_MAX = 24

WORDS = {getattr(errno, name): tuple(words) for name, words in TABLE["words"].items()}
# Words of a line about something that was to be made.
MAKING_WORDS = ("creat", "touch", "mkdir", "cp:", "mv:", "tee:", "directory nonexistent", "write")
_LEFT, _RIGHT = "\N{LEFT SINGLE QUOTATION MARK}", "\N{RIGHT SINGLE QUOTATION MARK}"
_QUOTED = re.compile(
    r"'([^'\n]{1,1024})'|\"([^\"\n]{1,1024})\"|`([^`'\n]{1,1024})[`']"
    rf"|{_LEFT}([^{_RIGHT}\n]{{1,1024}}){_RIGHT}"
)
_WORD = re.compile(rf"[^\s:,;()='\"`<>\[\]{_LEFT}{_RIGHT}]{{1,1024}}")


ErrorText = tuple[int, tuple[str, ...], bool]
"""One line with an error: its number, possible paths, the likeliest first, and whether something
was to be made."""


def find_errors(text: str) -> Iterator[ErrorText]:
    """Yield the lines with an error that a sandbox may have caused."""
    for line in text.splitlines()[-LINES_MAX:]:
        short = line[:LINE_CHARACTERS_MAX]
        lower = short.lower()
        for error, words in WORDS.items():
            if any(word in lower for word in words):
                makes = "cannot stat" not in lower and any(w in lower for w in MAKING_WORDS)
                yield error, _candidates(short), makes
                break


def _candidates(line: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for match in _QUOTED.finditer(line):
        found[next(filter(None, match.groups()))] = None
    for match in _WORD.finditer(line):
        found[match[0].rstrip(".")] = None
    return tuple(found)[:CANDIDATES_MAX]


HOST_PATHS_MAX = 10  # limit of paths of the host reported in one run
NAMED_MAX = 2  # of a line
PATH_ERRORS = (errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOENT)
# Targets of errors that name none: reported only if no error of that kind has a name.
A_FILE, A_SOCKET = "a file", "a socket of another protocol"
AN_OPERATION, THE_NETWORK = "a privileged operation", "the network"
A_KEY = "a key to sign with"
UNNAMED = frozenset((A_FILE, A_SOCKET, AN_OPERATION, THE_NETWORK, A_KEY))
PATHLESS = {
    errno.ENETUNREACH: ("unreachable", THE_NETWORK),
    errno.EPROTONOSUPPORT: ("protocol", A_SOCKET),
    errno.ENOKEY: ("key", A_KEY),
}
# Folders that runs may always write.
SCRATCH_FOLDERS = (box.SCRATCH, "/var/tmp", box.SHARED_MEMORY, "/dev")
PROC_FOLDERS = ("/proc", "/sys")
# A limit that an error names.
ERROR_LIMITS = {
    errno.EMFILE: "open_files",
    errno.EFBIG: "file_bytes",
    errno.EAGAIN: "processes",
    errno.ENOMEM: "memory_bytes",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """The content of a program's box, for judging the paths that its errors name.

    Paths of the project are as in the box. `find_secrets` returns the hidden paths, relative to the
    project. `host_has` returns whether the host has a path that boxes do not show.
    """

    project: str
    cwd: str
    home: str
    scratch: str
    job: str
    is_writable: bool  # whether the program may change the project
    visible: tuple[str, ...]  # other paths of the host that are shown
    limits_memory: bool  # whether an allocation fails at the limit, instead of a kill
    host_home: str
    host_has: Callable[[str], bool]
    find_secrets: Callable[[], frozenset[str]]
    denies: Callable[[str], bool]  # whether a path is a secret, or a rule forbids reading it


def of_errors(text: str, shown: Shown) -> Iterator[FoundRefusal]:
    """Yield the refusals named in an error output, in its order, with duplicates."""
    asked: set[str] = set()
    kinds: set[str] = set()
    for found in find_errors(text):
        one = _judge(found, shown, asked)
        if one and not (one[1].target in UNNAMED and one[1].kind in kinds):
            kinds.add(one[1].kind)
            yield one


def _judge(found: ErrorText, shown: Shown, asked: set[str]) -> FoundRefusal | None:
    error = found[0]
    if error in ERROR_LIMITS:
        is_met = error != errno.ENOMEM or shown.limits_memory
        return SOURCES["met limit"].found(ERROR_LIMITS[error]) if is_met else None
    if error in PATHLESS:
        source, target = PATHLESS[error]
        return SOURCES[source].found(target)
    return _judge_paths(found, shown, asked) if error in PATH_ERRORS else None


def _judge_paths(found: ErrorText, shown: Shown, asked: set[str]) -> FoundRefusal | None:
    error, candidates, makes = found
    paths = [_absolute(text, shown) for text in candidates]
    if secret := next(filter(None, (_secret(path, shown) for path in paths)), ""):
        return SOURCES["secret"].found(secret)
    absolute = [
        path for path, text in zip(paths, candidates, strict=True) if text.startswith(("/", "~/"))
    ]
    # Most interpreters name the program itself as well, in front.
    named = [path for path in absolute if not _is_below(path, shown.job)]
    if error == errno.ENOENT:
        likeliest = named[:NAMED_MAX]
        absent = filter(None, (_absent(path, shown, asked) for path in likeliest))
        lacking = (_lacking(path, shown, asked) for path in likeliest if makes)
        return next(absent, None) or next(filter(None, lacking), None)
    if error != errno.EROFS and (foreign := next(filter(_is_of_process, named), "")):
        return SOURCES["process"].found(foreign)
    return _unwritable(error, named, paths, shown)


def _unwritable(
    error: int, named: list[str], paths: list[str], shown: Shown
) -> FoundRefusal | None:
    """Return the source of a refused write; None if the run, or the file itself, forbade it."""
    source, target = "", ""
    for target in named:
        if _is_below(target, shown.project):
            source = "" if shown.is_writable else "read-only project"
            break
        if _is_below(target, *SCRATCH_FOLDERS, shown.scratch, shown.home):
            break
        if error != errno.EPERM or _is_below(target, *PROC_FOLDERS):
            source = "read-only"
            break
    else:
        if likely := "" if shown.is_writable else _find_relative(paths, shown):
            source, target = "read-only project", likely
        elif error == errno.EROFS:
            source, target = "read-only", A_FILE
        elif error == errno.EPERM:
            source, target = "privilege", named[0] if named else AN_OPERATION
    return SOURCES[source].found(target) if source else None


def _find_relative(paths: list[str], shown: Shown) -> str:
    """Return the first file of the project among words; one without a dot is more likely a word."""
    files = (path for path in paths if "." in os.path.basename(path))
    return next((path for path in files if _is_below(path, shown.project)), "")


def _absent(path: str, shown: Shown, asked: set[str]) -> FoundRefusal | None:
    """Return a path that the host has and the box does not; few paths a run, and never secrets."""
    own = (shown.project, shown.scratch, *SCRATCH_FOLDERS, *PROC_FOLDERS)
    if _is_below(path, *own, *shown.visible):
        return None
    target = path
    if _is_below(path, shown.home):
        target = f"~{path[len(shown.home) :]}"
        path = f"{shown.host_home}{path[len(shown.home) :]}"
    if path == "/" or (path not in asked and len(asked) >= HOST_PATHS_MAX):
        return None
    asked.add(path)
    if shown.denies(path) or not shown.host_has(path):
        return None
    return SOURCES["absent"].found(target)


def _lacking(path: str, shown: Shown, asked: set[str]) -> FoundRefusal | None:
    """Return the host's folder in which something was to be made, if the box does not have it."""
    folder = os.path.dirname(path)
    here = (shown.project, shown.scratch, shown.home, *shown.visible)
    if any(_is_below(place, folder) for place in here):
        return None
    found = _absent(folder, shown, asked)
    return found and SOURCES["no folder"].found(found[1].target)


def _is_of_process(path: str) -> bool:
    """Return whether the kernel shows a process by its number at this path."""
    return path.startswith("/proc/") and path.split("/", 3)[2].isdigit()


def _secret(path: str, shown: Shown) -> str:
    """Return the hidden path at or above this one, relative to the project, or ""."""
    if not path.startswith(f"{shown.project}/"):
        return ""
    secrets = shown.find_secrets()
    below = path[len(shown.project) + 1 :]
    while below and below not in secrets:
        below = os.path.dirname(below)
    return below


def _absolute(text: str, shown: Shown) -> str:
    if text.startswith("~/"):
        text = f"{shown.home}{text[1:]}"
    return os.path.normpath(os.path.join(shown.cwd, text))


def _is_below(path: str, *folders: str) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
