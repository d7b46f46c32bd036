"""Lists of packages in pip's form, read as far as they name packages of a registry.

https://pip.pypa.io/en/stable/reference/requirements-file-format/

What they include is put in its place. Whatever would have something else installed than packages of
the registry in use is refused by its line: paths, addresses, other registries, constraints.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from executor.errors import RequestError

FILES_MAX = 50
LINES_MAX = 20_000
SHOWN = 80
_INCLUDES = re.compile(r"(?:-r|--requirement)(?:\s*=\s*|\s*)(\S.*)")
_INDEXES = re.compile(r"(?:-i|--index-url|--extra-index-url)(?:\s*=\s*|\s*)(\S+)")
# Wheels alone are taken, by digest, whatever a list says of it.
_NEEDLESS = re.compile(r"--(?:only-binary|no-binary|prefer-binary|require-hashes)\b.*")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_EXTRAS = re.compile(r"\[[\w\s,.-]{0,300}\]")
_VERSIONS = re.compile(r"[(<>=!~][\w\s.,*+!<>=~)-]{0,300}")
_DIGEST = re.compile(r"sha\d{3}:[0-9a-f]{64,128}")
_COMMENT = re.compile(r"(?:^|\s)#.*")


class RequirementList(NamedTuple):
    """The packages of a list, a line each, and the addresses of registries that it names."""

    text: str
    indexes: tuple[str, ...]


def read_list(path: str, read: Callable[[str], bytes]) -> RequirementList:
    """A list and all that it includes. `read` gives a file's content, or refuses it.

    Raises:
        RequestError: a line names what is not taken, or `read` refuses a file.
    """
    reading = _Reading(read)
    lines = dict.fromkeys(reading.lines(path))
    return RequirementList("\n".join(lines), tuple(dict.fromkeys(reading.indexes)))


@dataclass(slots=True)
class _Reading:
    read: Callable[[str], bytes]
    indexes: list[str] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    count: int = 0

    def lines(self, path: str) -> Iterator[str]:
        """The packages of a file, and of those that it includes; each file counts once."""
        if path in self.files:
            return
        self.files.add(path)
        if len(self.files) > FILES_MAX:
            raise RequestError(f"{path}: more than {FILES_MAX} lists include each other")
        try:
            text = self.read(path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise RequestError(f"{path} is no UTF-8 text", "name another file") from error
        for number, line in _join_lines(text):
            self.count += 1
            if self.count > LINES_MAX:
                raise RequestError(f"{path}: a list of more than {LINES_MAX:,} lines is not taken")
            if found := _INCLUDES.fullmatch(line):
                yield from self.lines(os.path.normpath(f"{os.path.dirname(path)}/{found[1]}"))
            elif found := _INDEXES.fullmatch(line):
                self.indexes.append(found[1])
            elif _names_package(line):
                yield " ".join(line.split())
            elif not _NEEDLESS.fullmatch(line):
                raise _refuse(path, number, line)


def _join_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with the number of each; one can go on after a backslash."""
    parts: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        parts.append(_COMMENT.sub("", line.removesuffix("\\")))
        if not line.endswith("\\"):
            if whole := " ".join(parts).strip():
                yield number, whole
            parts = []
    if whole := " ".join(parts).strip():
        yield len(text.splitlines()), whole


def _names_package(line: str) -> bool:
    """Whether a line is a name, with extras, versions, a marker and digests where it likes."""
    package, *digests = re.split(r"\s--hash[=\s]", line)
    head, _, marker = package.partition(";")
    name = _NAME.match(head)
    if name is None or not all(_DIGEST.fullmatch(digest.strip()) for digest in digests):
        return False
    rest = head[name.end() :].strip()
    if extras := _EXTRAS.match(rest):
        rest = rest[extras.end() :].strip()
    is_plain = not any(sign in text for text in (rest, marker) for sign in (" -", "@", "\\"))
    return is_plain and (not rest or _VERSIONS.fullmatch(rest) is not None)


def _refuse(path: str, number: int, line: str) -> RequestError:
    what = f"{os.path.basename(path)}, line {number}: {line[:SHOWN]!r}"
    if line.startswith(("-c", "--constraint")):
        return RequestError(f"{what}: constraints are not read", "put the versions into the list")
    if line.startswith("-") and not line.startswith(("-e", "--editable")):
        return RequestError(f"{what}: this option is not known here", "take it out of the list")
    return RequestError(
        f"{what} is no package of a registry",
        "take it out of the list: folders and addresses are not installed, and the project's own "
        "modules are found as they are",
    )
