"""What a request's packages are: names of a registry's packages, or a file that lists them."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from executor.errors import RequestError
from executor.model import MIB
from executor.packages.model import Wanted
from executor.packages.requirement_lists import read_list
from policy import real_path
from policy.project_file import HiddenError, read_project_file
from runtimes.packages.model import Ecosystem
from runtimes.packages.registry import ecosystem_of

if TYPE_CHECKING:
    from executor.project.view.search import ProjectSearch

SPECS_MAX = 100
SPEC_CHARS_MAX = 300
FILE_BYTES_MAX = 8 * MIB
_ADDRESS = re.compile(r"://|@\s*[\w.+-]+:|^[\w.+-]+@[\w.-]+:|^(?:git|file|link|github|https?):")


def read_wanted(packages: Sequence[str], language: str, cwd: str, search: ProjectSearch) -> Wanted:
    """What the packages of a request for a language are.

    Raises:
        RequestError: one of them is neither a package's name nor a file of the project.
    """
    row = ecosystem_of(language)
    if row is None:
        raise RequestError(f"packages of {language} can't be fetched", "leave packages out")
    files = [item for item in packages if _is_file(item, row)]
    if files and len(packages) > 1:
        raise RequestError(
            "packages are named by one file or one by one, not both", f"put all into {files[0]}"
        )
    if files:
        return _read_file(files[0], row, cwd, search)
    if len(packages) > SPECS_MAX:
        raise RequestError(f"more than {SPECS_MAX} packages are named", "put them into a file")
    for item in packages:
        _check_spec(item, row)
    return Wanted(row.name, "\n".join(sorted({item.strip() for item in packages})))


def _is_file(item: str, row: Ecosystem) -> bool:
    name = os.path.basename(item)
    of_locks = any(name in group for group in row.lock_files)
    return of_locks or any(fnmatch.fnmatchcase(name, pattern) for pattern in row.wanted_files)


def _check_spec(item: str, row: Ecosystem) -> None:
    if _ADDRESS.search(item):
        raise RequestError(
            f"{item[:80]!r} is a direct address, and packages come from a registry alone",
            f"name a package of {row.title}'s registry",
        )
    if len(item) > SPEC_CHARS_MAX or not re.fullmatch(row.spec, item.strip()):
        files = ", ".join((*(group[0] for group in row.lock_files), *row.wanted_files))
        raise RequestError(
            f"{item[:80]!r} names no package of {row.title}",
            f"give a name, with a version where you like, or one of the files {files}",
        )


def _read_file(item: str, row: Ecosystem, cwd: str, search: ProjectSearch) -> Wanted:
    path = real_path(os.path.join(cwd, item))
    folder, name = os.path.split(path)
    groups = [group for group in row.lock_files if name in group]
    if groups:
        here = {n for group in groups for n in group if os.path.exists(os.path.join(folder, n))}
        group = next((group for group in groups if here | {name} >= set(group)), groups[0])
        lacking = [n for n in group if n not in {*here, name}]
        if lacking:
            raise RequestError(
                f"{lacking[0]} is missing, which {name} needs beside it", "lock there first"
            )
        return Wanted(row.name, lock={n: _read(os.path.join(folder, n), search) for n in group})
    if row.lists_requirements:
        return _read_list(path, row, search)
    content = _read(path, search)
    if row.locked_by and row.locked_by.encode() in content:
        return Wanted(row.name, lock={row.lock_name: content})
    try:
        return Wanted(row.name, content.decode(), file=name)
    except UnicodeDecodeError as error:
        raise RequestError(f"{item} is no UTF-8 text", "name another file") from error


def _read_list(path: str, row: Ecosystem, search: ProjectSearch) -> Wanted:
    contents: dict[str, bytes] = {}

    def read(file: str) -> bytes:
        contents[file] = _read(file, search)
        return contents[file]

    found = read_list(path, read)
    if f" {row.locked_by}" not in found.text:
        name = os.path.basename(path)
        return Wanted(row.name, found.text, file=name, indexes=found.indexes)
    # A lock is taken as it is, down to its last byte.
    content = contents[path] if len(contents) == 1 else f"{found.text}\n".encode()
    return Wanted(row.name, lock={row.lock_name: content}, indexes=found.indexes)


def _read(path: str, search: ProjectSearch) -> bytes:
    """Read a file of the project that programs are shown, too; no link leads out of it.

    Raises:
        RequestError: it can't be read, is hidden, lies outside, or is too large.
    """
    project = str(search.project)
    if not real_path(path).startswith(f"{project.rstrip('/')}/"):
        raise RequestError(f"{path} lies outside the project {project}", "name one inside it")
    try:
        return read_project_file(path, project, search.hides, FILE_BYTES_MAX)
    except HiddenError as error:
        raise RequestError(
            f"{path} is kept from programs: {error.strerror}",
            "Name a file that programs of the project may read.",
        ) from error
    except OSError as error:
        raise RequestError(
            f"{path} can't be read: {error.strerror}", "name another file"
        ) from error
