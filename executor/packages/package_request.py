"""Packages of a request: its names or lists, and how a run gets them."""

from __future__ import annotations

import fnmatch
import itertools
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import trio

import runtimes
from executor.engine.engine import Completed, PackagesAnswer
from executor.model import MIB, PackagesError, RequestError, Result, Status
from executor.packages.layers import Packages
from executor.packages.model import Layer, Wanted
from executor.request import Caller
from executor.toolchains.catalog import ProvenToolchain
from policy import real_path
from policy.project_file import HiddenError, read_project_file
from runtimes.packages import Ecosystem, ecosystem_of

if TYPE_CHECKING:
    from executor.project.view.search import ProjectSearch


KEY_VARIABLE = "CONTEXT_MODE_PACKAGES"
BROKEN = "its packages were changed on disk after the fetch, and have been removed"
AGAIN = "run it again to fetch them again"

Start = Callable[[runtimes.Candidate, tuple[tuple[str, str], ...]], Awaitable[Completed]]
"""Runs a program by a toolchain, in a box that shows additional paths."""


async def run_with(  # noqa: PLR0913 - keyword-only how sure it must be
    packages: Packages,
    wanted: Wanted,
    toolchain: ProvenToolchain,
    caller: Caller,
    start: Start,
    *,
    verify_first: bool,
) -> Completed:
    """Run a program with its packages, which are fetched first if they are not stored.

    With `verify_first` every file is checked against the seal before anything starts: changes of
    such a run reach the project.

    Raises:
        PackagesError: they cannot be fetched, or differ from the seal.
    """
    async with packages.layer(wanted, toolchain, caller) as layer:
        equipped = equip(toolchain[0], layer)
        sound = not layer.was_kept or (
            verify_first and await packages.is_sound(layer, in_full=True)
        )
        if sound or not verify_first:
            completed, sound = await _run(packages, layer, equipped, start, is_sound=sound)
    if not sound:
        await packages.drop(layer)
        if verify_first:
            raise PackagesError(BROKEN, AGAIN)
    result = replace(completed.result, packages="kept" if layer.was_kept else "now")
    return replace(completed, result=result if sound else _spoil(result))


async def have(  # noqa: PLR0913 - keyword-only what is to be done
    packages: Packages,
    wanted: Wanted,
    toolchain: ProvenToolchain,
    caller: Caller,
    *,
    fetch: bool,
    fresh: bool,
) -> PackagesAnswer:
    """Lock packages, and `fetch` them, unless they are stored; `fresh` locks again.

    Raises:
        PackagesError: they cannot be locked or fetched.
    """
    if not fetch:
        files, _ = await packages.lock(wanted, toolchain, caller, fresh=fresh)
        return PackagesAnswer(wanted.ecosystem, files)
    async with packages.layer(wanted, toolchain, caller, fresh=fresh) as layer:
        return PackagesAnswer(wanted.ecosystem, layer.lock, layer.key, layer.was_kept)


def equip(candidate: runtimes.Candidate, layer: Layer) -> runtimes.Candidate:
    """Return the candidate with the settings by which its programs find a layer."""
    env = dict(candidate.env)
    for name, text in layer.env.items():
        is_list = name in env and name.endswith(("PATH", "PERL5LIB"))
        env[name] = f"{text.rstrip(':')}:{env[name]}" if is_list else text
    paths = {**candidate.paths, **layer.paths}
    return candidate._replace(
        paths=paths, env={**env, KEY_VARIABLE: layer.key}, packages=layer.arguments
    )


async def _run(
    packages: Packages,
    layer: Layer,
    equipped: runtimes.Candidate,
    start: Start,
    *,
    is_sound: bool,
) -> tuple[Completed, bool]:
    """Run a program and check its layer at the same time; return both results."""
    found = [is_sound]

    async def verify() -> None:
        found[0] = await packages.is_sound(layer, in_full=False)

    async with trio.open_nursery() as nursery:
        if not is_sound:
            nursery.start_soon(verify)
        completed = await start(equipped, layer.shown)
    return completed, found[0]


def _spoil(result: Result) -> Result:
    return replace(result, status=Status.SANDBOX_ERROR, message=f"{BROKEN}: {AGAIN}")


# https://pip.pypa.io/en/stable/reference/requirements-file-format/
#
# Included lists replace their line. A line that would install anything but packages of the registry
# in use is refused: paths, addresses, other registries, constraints.

FILES_MAX = 50
LINES_MAX = 20_000
SHOWN = 80
_INCLUDES = re.compile(r"(?:-r|--requirement)(?:\s*=\s*|\s*)(\S.*)")
_INDEXES = re.compile(r"(?:-i|--index-url|--extra-index-url)(?:\s*=\s*|\s*)(\S+)")
# Only wheels are installed, by digest, whatever a list requests.
_NEEDLESS = re.compile(r"--(?:only-binary|no-binary|prefer-binary|require-hashes)\b.*")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_EXTRAS = re.compile(r"\[[\w\s,.-]{0,300}\]")
_VERSIONS = re.compile(r"[(<>=!~][\w\s.,*+!<>=~)-]{0,300}")
_DIGEST = re.compile(r"sha\d{3}:[0-9a-f]{64,128}")
_COMMENT = re.compile(r"(?:^|\s)#.*")


def read_list(path: str, read: Callable[[str], bytes]) -> tuple[str, tuple[str, ...]]:
    """Read a list and all that it includes. `read` returns a file's content, or refuses it.

    Return its packages, a line each, and the addresses of registries that it names.

    Raises:
        RequestError: a line is not supported, or `read` refuses a file.
    """
    indexes: list[str] = []
    files = set[str]()
    numbers = itertools.count(1)  # of the lines of all files

    def read_lines(path: str) -> Iterator[str]:
        """Yield the packages of a file and of the files that it includes; each file counts once."""
        if path in files:
            return
        files.add(path)
        if len(files) > FILES_MAX:
            raise RequestError(f"{path}: more than {FILES_MAX} lists include each other")
        try:
            text = read(path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise RequestError(f"{path} is not UTF-8 text", "Name another file.") from error
        for number, line in _join_lines(text):
            if next(numbers) > LINES_MAX:
                raise RequestError(f"{path}: the list has more than {LINES_MAX:,} lines")
            if found := _INCLUDES.fullmatch(line):
                yield from read_lines(os.path.normpath(f"{os.path.dirname(path)}/{found[1]}"))
            elif found := _INDEXES.fullmatch(line):
                indexes.append(found[1])
            elif _names_package(line):
                yield " ".join(line.split())
            elif not _NEEDLESS.fullmatch(line):
                raise _refuse(path, number, line)

    lines = dict.fromkeys(read_lines(path))
    return "\n".join(lines), tuple(dict.fromkeys(indexes))


def _join_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield non-empty lines with their numbers, joined after a backslash at the end."""
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
    """Return whether a line is a name, with optional extras, versions, marker and digests."""
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
        return RequestError(
            f"{what}: constraints are not supported", "Put the versions into the list."
        )
    if line.startswith("-") and not line.startswith(("-e", "--editable")):
        return RequestError(f"{what}: unknown option", "Remove it from the list.")
    return RequestError(
        f"{what} is not a package of a registry",
        "Remove it from the list. Folders and addresses are not installed; the project's own "
        "modules are found without it.",
    )


SPECS_MAX = 100
SPEC_CHARS_MAX = 300
FILE_BYTES_MAX = 8 * MIB
_ADDRESS = re.compile(r"://|@\s*[\w.+-]+:|^[\w.+-]+@[\w.-]+:|^(?:git|file|link|github|https?):")


def read_wanted(packages: Sequence[str], language: str, cwd: str, search: ProjectSearch) -> Wanted:
    """Return the packages of a request for a language.

    Raises:
        RequestError: one of them is neither a package's name nor a file of the project.
    """
    row = ecosystem_of(language)
    if row is None:
        raise RequestError(f"packages of {language} cannot be fetched", "Omit the packages.")
    files = [item for item in packages if _is_file(item, row)]
    if files and len(packages) > 1:
        raise RequestError(
            "packages are named by one file or one by one, not both", f"Put all into {files[0]}."
        )
    if files:
        return _read_file(files[0], row, cwd, search)
    if len(packages) > SPECS_MAX:
        raise RequestError(f"more than {SPECS_MAX} packages are named", "Put them into a file.")
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
            f"{item[:80]!r} is a direct address, and packages come only from a registry",
            f"Name a package of {row.title}'s registry.",
        )
    if len(item) > SPEC_CHARS_MAX or not re.fullmatch(row.spec, item.strip()):
        files = ", ".join((*(group[0] for group in row.lock_files), *row.wanted_files))
        raise RequestError(
            f"{item[:80]!r} is not a package name of {row.title}",
            f"Use a name, with an optional version, or one of the files {files}.",
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
                f"{lacking[0]} is missing, which {name} needs next to it", "Lock there first."
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
        raise RequestError(f"{item} is not UTF-8 text", "Name another file.") from error


def _read_list(path: str, row: Ecosystem, search: ProjectSearch) -> Wanted:
    contents: dict[str, bytes] = {}

    def read(file: str) -> bytes:
        contents[file] = _read(file, search)
        return contents[file]

    text, indexes = read_list(path, read)
    if f" {row.locked_by}" not in text:
        name = os.path.basename(path)
        return Wanted(row.name, text, file=name, indexes=indexes)
    # A lock is used unchanged, down to its last byte.
    content = contents[path] if len(contents) == 1 else f"{text}\n".encode()
    return Wanted(row.name, lock={row.lock_name: content}, indexes=indexes)


def _read(path: str, search: ProjectSearch) -> bytes:
    """Read a file of the project that programs are shown, too; no link may point outside.

    Raises:
        RequestError: it cannot be read, is hidden, is outside the project, or is too large.
    """
    project = str(search.project)
    if not real_path(path).startswith(f"{project.rstrip('/')}/"):
        raise RequestError(f"{path} is outside the project {project}", "Name a file inside it.")
    try:
        return read_project_file(path, project, search.hides, FILE_BYTES_MAX)
    except HiddenError as error:
        raise RequestError(
            f"{path} is hidden from programs: {error.strerror}",
            "Name a file that programs of the project may read.",
        ) from error
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror}", "Name another file.") from error
